//! Finds texts in other texts, however they are spelled there: as they are, percent-encoded, with JSON's escapes, in
//! hexadecimal digits, in base64.

use std::ops::Range;

/// How many backslashes may stand before one character: a text in JSON in JSON, five times over.
const MOST_BACKSLASHES: usize = 64;

/// How often a percent sign may itself be encoded.
const MOST_NESTED_PERCENTS: usize = 8;

/// What looking at one text may cost for each of its bytes, and for any text. A character that fits costs one, and
/// several where it may be written in several ways; secrets that people have cost a few.
const EFFORT_PER_BYTE: usize = 128;
const LEAST_EFFORT: usize = 64 * 1024;

/// What one more way to go on costs.
const WAY: usize = 32;

/// How often a character may be compared for what one unit of effort costs.
const QUICK_LOOKS: usize = 64;

/// The fewest characters of a secret that are one beside the mark of a cut.
const SHORTEST_PART: usize = 4;

/// What stands where a text was cut.
const CUT_MARKS: [&str; 2] = ["…", "..."];

/// The longest escape of which the mark of a cut may hide a part: `\\u00e`.
const LONGEST_CUT_ESCAPE: usize = 8;

/// Finds some texts in others.
#[derive(Debug)]
pub(super) struct Finder {
    needles: Vec<Needle>,
    /// By the byte that something begins with: which needles that can be.
    by_start: Vec<Vec<usize>>,
    finds_numbers: bool,
}

/// One way to write one text.
#[derive(Debug)]
struct Needle {
    atoms: Vec<Atom>,
    /// Whether the character before it has a part in it, and the one behind it.
    edges: (bool, bool),
}

/// A character, or another one that means the same.
#[derive(Clone, Copy, Debug)]
struct Atom(char, Option<char>);

impl Finder {
    /// Finds `texts`, none of which is empty.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut finder = Self {
            needles: Vec::new(),
            by_start: vec![Vec::new(); 256],
            finds_numbers: false,
        };
        for text in texts {
            finder.finds_numbers |= text.bytes().all(is_of_number);
            finder.add(Needle::plain(text));
            finder.add(Needle::hexadecimal(text));
            let escaped = escaped(text);
            for alignment in 0..3 {
                finder.add(Needle::base64(text.as_bytes(), alignment));
                if escaped != text {
                    finder.add(Needle::base64(escaped.as_bytes(), alignment));
                }
            }
        }
        finder
    }

    /// Whether what it looks for may stand in a number.
    pub(super) fn finds_numbers(&self) -> bool {
        self.finds_numbers
    }

    /// Whether there is something to be found in `text`.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let mut effort = Effort::for_text(text);
        let cuts = cut_marks(text);
        (0..text.len()).any(|at| {
            let range = self.longest_at(text.as_bytes(), at, &cuts, &mut effort);
            range.is_some() || effort.is_used_up()
        })
    }

    /// Where something stands in `text`, from left to right; what overlaps is one. Where that cannot be told soon, it may stand
    /// anywhere.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut effort = Effort::for_text(text);
        let cuts = cut_marks(text);
        let mut found: Vec<Range<usize>> = Vec::new();
        for at in 0..text.len() {
            let range = self.longest_at(text.as_bytes(), at, &cuts, &mut effort);
            if effort.is_used_up() {
                return std::iter::once(0..text.len()).collect();
            }
            let Some(range) = range else {
                continue;
            };
            match found.last_mut() {
                Some(last) if range.start < last.end => {
                    last.end = last.end.max(range.end);
                    last.start = last.start.min(range.start);
                }
                _ => found.push(range),
            }
        }
        found
    }

    fn longest_at(
        &self,
        text: &[u8],
        at: usize,
        cuts: &[Range<usize>],
        effort: &mut Effort,
    ) -> Option<Range<usize>> {
        let first = *text.get(at)?;
        let needles = self.by_start.get(usize::from(first))?;
        let from_its_start = needles
            .iter()
            .filter_map(|index| self.needles.get(*index)?.at(text, at, cuts, effort))
            .max_by_key(|range| range.end);
        if cuts.binary_search_by_key(&at, |mark| mark.end).is_err() {
            return from_its_start;
        }
        let mut ends = from_its_start;
        for needle in &self.needles {
            let end = needle.end_at(text, at, cuts, effort);
            ends = ends.into_iter().chain(end).max_by_key(|range| range.end);
        }
        ends
    }

    fn add(&mut self, needle: Needle) {
        let index = self.needles.len();
        let Some(first) = needle.atoms.first() else {
            return;
        };
        let mut starts = vec![b'%', b'\\'];
        for letter in first.letters() {
            starts.extend(letter.encode_utf8(&mut [0; 4]).bytes().next());
            starts.extend((letter == ' ').then_some(b'+'));
        }
        starts.sort_unstable();
        starts.dedup();
        for start in starts {
            if let Some(needles) = self.by_start.get_mut(usize::from(start)) {
                needles.push(index);
            }
        }
        self.needles.push(needle);
    }
}

/// What is left of what looking at one text may cost.
#[derive(Debug)]
struct Effort(Option<usize>);

impl Effort {
    fn for_text(text: &str) -> Self {
        let most = text.len().saturating_mul(EFFORT_PER_BYTE);
        Self(Some(most.saturating_add(LEAST_EFFORT)))
    }

    fn spend(&mut self, units: usize) -> Option<()> {
        self.0 = self.0.and_then(|left| left.checked_sub(units));
        self.0.map(|_| ())
    }

    fn is_used_up(&self) -> bool {
        self.0.is_none()
    }
}

impl Needle {
    fn plain(text: &str) -> Self {
        Self {
            atoms: text.chars().map(|letter| Atom(letter, None)).collect(),
            edges: (false, false),
        }
    }

    fn hexadecimal(text: &str) -> Self {
        let digits = text.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
        let atom = |digit: u8| {
            let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
            Atom(digit, Some(digit.to_ascii_uppercase()))
        };
        Self {
            atoms: digits.map(atom).collect(),
            edges: (false, false),
        }
    }

    /// What of base64 depends on `bytes` alone where `alignment` bytes stand between them and the last whole group.
    fn base64(bytes: &[u8], alignment: usize) -> Self {
        let mut whole = vec![0; alignment];
        whole.extend_from_slice(bytes);
        let first = (alignment * 8).div_ceil(6);
        let end = whole.len() * 8 / 6;
        Self {
            atoms: (first..end).map(|at| sextet(&whole, at)).collect(),
            edges: (alignment > 0, !(whole.len() * 8).is_multiple_of(6)),
        }
    }

    /// Where it stands, if it begins at `start`.
    fn at(
        &self,
        text: &[u8],
        start: usize,
        cuts: &[Range<usize>],
        effort: &mut Effort,
    ) -> Option<Range<usize>> {
        let end = self.end_from(0, text, start, cuts, effort)?;
        Some(self.with_edges(text, start..end))
    }

    /// Where its end stands, or an inner part of it, if that begins at `start`, behind the mark of a cut.
    fn end_at(
        &self,
        text: &[u8],
        start: usize,
        cuts: &[Range<usize>],
        effort: &mut Effort,
    ) -> Option<Range<usize>> {
        let last = self.atoms.len().checked_sub(SHORTEST_PART)?;
        let may_be_escape = matches!(text.get(start), Some(b'%' | b'\\' | b'+'));
        // To look at a character is quick, and most texts with such marks hold no secret.
        effort.spend(if may_be_escape {
            last
        } else {
            last / QUICK_LOOKS + 1
        })?;
        let ends = (1..=last).filter_map(|first| {
            let may_begin = may_be_escape || self.atoms.get(first)?.plain_at(text, start).is_some();
            if !may_begin {
                return None;
            }
            self.end_from(first, text, start, cuts, effort)
        });
        let end = ends.max()?;
        Some(self.with_edges(text, start..end))
    }

    /// The end of what begins at `start` with the atom at `first`: behind its last atom, or at the mark of a cut.
    fn end_from(
        &self,
        first: usize,
        text: &[u8],
        start: usize,
        cuts: &[Range<usize>],
        effort: &mut Effort,
    ) -> Option<usize> {
        let mut end = start;
        let mut cut = None;
        for (index, atom) in self.atoms.iter().enumerate().skip(first) {
            if first + SHORTEST_PART <= index {
                cut = cut_at(text, end, cuts).or(cut);
            }
            if matches!(text.get(end), Some(b'%' | b'\\' | b'+' | b'\r' | b'\n')) {
                // Here it may go on in several ways.
                return self.search((first, index), text, end, cuts, effort).or(cut);
            }
            let Some(next) = atom.plain_at(text, end) else {
                return cut;
            };
            end = next;
            effort.spend(1)?;
        }
        Some(end)
    }

    /// The farthest end of what is left from the second of the atoms on, of those from the first on.
    fn search(
        &self,
        (first, index): (usize, usize),
        text: &[u8],
        at: usize,
        cuts: &[Range<usize>],
        effort: &mut Effort,
    ) -> Option<usize> {
        let mut ends = vec![at];
        let mut cut = None;
        for (index, atom) in self.atoms.iter().enumerate().skip(index) {
            let mut next = Vec::new();
            for end in ends {
                if first + SHORTEST_PART <= index {
                    cut = cut_at(text, end, cuts).or(cut);
                }
                atom.each_end(text, end, &mut next);
                if index > first {
                    let behind = behind_breaks(text, end);
                    if behind > end {
                        atom.each_end(text, behind, &mut next);
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return cut;
            }
            effort.spend(WAY * next.len())?;
            ends = next;
        }
        ends.last().copied()
    }

    /// The range with the characters that tell a part of what was found.
    fn with_edges(&self, text: &[u8], mut range: Range<usize>) -> Range<usize> {
        let is_base64 = |at: usize| {
            let byte = text.get(at).copied();
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
        };
        if self.edges.0 && range.start.checked_sub(1).is_some_and(is_base64) {
            range.start -= 1;
        }
        if self.edges.1 && is_base64(range.end) {
            range.end += 1;
            while text.get(range.end) == Some(&b'=') {
                range.end += 1;
            }
        }
        range
    }
}

impl Atom {
    fn letters(self) -> impl Iterator<Item = char> {
        [Some(self.0), self.1].into_iter().flatten()
    }

    /// The end of the character as it is.
    fn plain_at(self, text: &[u8], at: usize) -> Option<usize> {
        self.letters().find_map(|letter| {
            let mut bytes = [0; 4];
            let bytes = letter.encode_utf8(&mut bytes).as_bytes();
            text.get(at..)?
                .starts_with(bytes)
                .then_some(at + bytes.len())
        })
    }

    /// All ends that the character may have, however it is written.
    fn each_end(self, text: &[u8], at: usize, ends: &mut Vec<usize>) {
        ends.extend(self.plain_at(text, at));
        for letter in self.letters() {
            if letter == ' '
                && let Some((b'+', end)) = read(text, at)
            {
                ends.push(end);
            }
            ends.extend(percent_encoded(letter, text, at));
            each_escape(letter, text, at, ends);
        }
    }
}

/// The ends of `letter` in percent-encoding.
fn percent_encoded(letter: char, text: &[u8], at: usize) -> Vec<usize> {
    let mut ends = vec![at];
    for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
        let next = ends
            .iter()
            .flat_map(|at| percent_encoded_byte(byte, text, *at));
        ends = next.collect();
    }
    ends
}

fn percent_encoded_byte(byte: u8, text: &[u8], at: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    if text.get(at) != Some(&b'%') {
        return ends;
    }
    let mut digits = at + 1;
    for _ in 0..MOST_NESTED_PERCENTS {
        if hexadecimal(text, digits, 2) == Some(u32::from(byte)) {
            ends.push(digits + 2);
        }
        // The percent sign may be encoded itself.
        if text.get(digits..digits + 2) != Some(b"25") {
            break;
        }
        digits += 2;
    }
    ends
}

/// The ends of `letter` as an escape of JSON, which may be percent-encoded itself.
fn each_escape(letter: char, text: &[u8], at: usize, ends: &mut Vec<usize>) {
    let slashes = backslashes(text, at);
    let Some(behind) = slashes.last().copied() else {
        return;
    };
    if letter == '\\' {
        // Each text around it doubles them.
        let doubled = [2, 4, 8, 16, 32, 64_usize];
        ends.extend(doubled.iter().filter_map(|count| slashes.get(count - 1)));
    } else if let Some(short) = short_escape(letter)
        && let Some((byte, end)) = read(text, behind)
        && byte == short
    {
        ends.push(end);
    }
    let mut end = at;
    for unit in letter.encode_utf16(&mut [0; 2]) {
        let is_unit = |digits: &usize| {
            text.get(digits - 1) == Some(&b'u')
                && hexadecimal(text, *digits, 4) == Some(u32::from(*unit))
        };
        let digits = backslashes(text, end).last().map(|behind| behind + 1);
        let Some(digits) = digits.filter(is_unit) else {
            return;
        };
        end = digits + 4;
    }
    ends.push(end);
}

/// Where marks of a cut stand in `text`.
fn cut_marks(text: &str) -> Vec<Range<usize>> {
    let mut marks: Vec<Range<usize>> = CUT_MARKS
        .iter()
        .flat_map(|mark| text.match_indices(mark))
        .map(|(start, mark)| {
            let end = start + mark.len();
            // A space may set the mark off from the text.
            let (before, behind) = text.split_at(start);
            let before = usize::from(before.ends_with(' '));
            let behind = usize::from(
                behind
                    .get(mark.len()..)
                    .unwrap_or_default()
                    .starts_with(' '),
            );
            start - before..end + behind
        })
        .collect();
    marks.sort_unstable_by_key(|mark| mark.end);
    marks
}

/// Where a mark of a cut begins that stands at `at`, or behind the beginning of an escape there.
fn cut_at(text: &[u8], at: usize, cuts: &[Range<usize>]) -> Option<usize> {
    let next = cuts.partition_point(|mark| mark.start < at);
    let start = cuts.get(next)?.start;
    let between = text.get(at..start)?;
    let is_escape = matches!(between.first(), Some(b'%' | b'\\'));
    (between.is_empty() || is_escape && between.len() < LONGEST_CUT_ESCAPE).then_some(start)
}

fn short_escape(letter: char) -> Option<u8> {
    Some(match letter {
        '"' | '/' => u8::try_from(letter).ok()?,
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        _ => return None,
    })
}

/// Where each of the backslashes at `at` ends.
fn backslashes(text: &[u8], mut at: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    while ends.len() < MOST_BACKSLASHES
        && let Some((b'\\', end)) = read(text, at)
    {
        ends.push(end);
        at = end;
    }
    ends
}

/// What is behind the line breaks at `at`, which may be escaped.
fn behind_breaks(text: &[u8], mut at: usize) -> usize {
    loop {
        let slashes = backslashes(text, at);
        let letter = slashes.last().copied().unwrap_or(at);
        at = match read(text, letter) {
            Some((b'\r' | b'\n', end)) if slashes.is_empty() => end,
            Some((b'r' | b'n', end)) if !slashes.is_empty() => end,
            _ => return at,
        };
    }
}

/// The byte at `at`, which may be percent-encoded, and its end.
fn read(text: &[u8], at: usize) -> Option<(u8, usize)> {
    let first = *text.get(at)?;
    if first != b'%' {
        return Some((first, at + 1));
    }
    let mut digits = at + 1;
    for _ in 0..MOST_NESTED_PERCENTS {
        let byte = u8::try_from(hexadecimal(text, digits, 2)?).ok()?;
        if byte != b'%' || hexadecimal(text, digits + 2, 2).is_none() {
            return Some((byte, digits + 2));
        }
        digits += 2;
    }
    None
}

/// The number that `length` hexadecimal digits stand for.
fn hexadecimal(text: &[u8], at: usize, length: usize) -> Option<u32> {
    let digits = text.get(at..at + length)?;
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// The character of base64 at a position, as both alphabets write it.
fn sextet(bytes: &[u8], at: usize) -> Atom {
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
    };
    let value = (0..6).fold(0_u8, |value, offset| {
        value << 1 | u8::from(bit(at * 6 + offset))
    });
    match value {
        0..26 => Atom(char::from(b'A' + value), None),
        26..52 => Atom(char::from(b'a' + value - 26), None),
        52..62 => Atom(char::from(b'0' + value - 52), None),
        62 => Atom('+', Some('-')),
        _ => Atom('/', Some('_')),
    }
}

/// A text as it stands between the quotation marks of JSON.
fn escaped(text: &str) -> String {
    let json = planwright_core::Value::from(text).to_json();
    let inner = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}
