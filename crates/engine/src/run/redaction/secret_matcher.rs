//! Search for secrets in texts, in several encodings: verbatim, percent-encoded, with JSON escapes, hexadecimal,
//! base64.

use std::ops::Range;

/// The maximum number of backslashes before one character: JSON nested in JSON five times.
const MAX_BACKSLASHES: usize = 64;

/// The maximum number of times that a percent sign is itself encoded.
const MAX_PERCENT_NESTING: usize = 8;

/// The scan budget of one text for each of its bytes, and for any text. A matching character costs one unit, and
/// several if it can be encoded in several ways; typical secrets cost a few.
const BUDGET_PER_BYTE: usize = 128;
const MIN_BUDGET: usize = 64 * 1024;

/// The cost of one more candidate position.
const CANDIDATE_COST: usize = 32;

/// The number of character comparisons that cost one unit.
const COMPARISONS_PER_UNIT: usize = 64;

/// The minimum number of characters of a secret that count as one beside a truncation mark.
const MIN_PART_CHARS: usize = 4;

/// The marks of truncated texts.
const CUT_MARKS: [&str; 2] = ["…", "..."];

/// The longest escape that a truncation mark may cut: `\\u00e`.
const MAX_CUT_ESCAPE: usize = 8;

/// Matches secrets in texts.
#[derive(Debug)]
pub(super) struct SecretMatcher {
    patterns: Vec<SecretPattern>,
    /// The patterns that can begin with a byte, by that byte.
    patterns_by_byte: Vec<Vec<usize>>,
    finds_numbers: bool,
}

/// A secret in one encoding.
#[derive(Debug)]
struct SecretPattern {
    chars: Vec<PatternChar>,
    /// True for an edge if the adjacent character encodes a part of the secret as well: before the start, after the
    /// end.
    edges: (bool, bool),
}

/// A character with an equivalent one.
#[derive(Clone, Copy, Debug)]
struct PatternChar(char, Option<char>);

impl SecretMatcher {
    /// Creates a matcher for `texts`, none of which is empty.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut matcher = Self {
            patterns: Vec::new(),
            patterns_by_byte: vec![Vec::new(); 256],
            finds_numbers: false,
        };
        for text in texts {
            matcher.finds_numbers |= text.bytes().all(is_of_number);
            matcher.add(SecretPattern::plain(text));
            matcher.add(SecretPattern::hexadecimal(text));
            let escaped = escaped(text);
            for alignment in 0..3 {
                matcher.add(SecretPattern::base64(text.as_bytes(), alignment));
                if escaped != text {
                    matcher.add(SecretPattern::base64(escaped.as_bytes(), alignment));
                }
            }
        }
        matcher
    }

    /// Returns true if a number can match.
    pub(super) fn finds_numbers(&self) -> bool {
        self.finds_numbers
    }

    /// Returns true if `text` contains a match.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut budget = ScanBudget::for_text(text);
        let cuts = cut_marks(text);
        (0..text.len()).any(|at| {
            let range = self.longest_at(text.as_bytes(), at, &cuts, &mut budget);
            range.is_some() || budget.is_exhausted()
        })
    }

    /// The ranges of all matches in `text`, in order; overlapping ones are merged. If the scan budget is exceeded, the
    /// whole text counts as a match.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut budget = ScanBudget::for_text(text);
        let cuts = cut_marks(text);
        let mut found: Vec<Range<usize>> = Vec::new();
        for at in 0..text.len() {
            let range = self.longest_at(text.as_bytes(), at, &cuts, &mut budget);
            if budget.is_exhausted() {
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
        budget: &mut ScanBudget,
    ) -> Option<Range<usize>> {
        let first = *text.get(at)?;
        let patterns = self.patterns_by_byte.get(usize::from(first))?;
        let complete = patterns
            .iter()
            .filter_map(|index| self.patterns.get(*index)?.match_at(text, at, cuts, budget))
            .max_by_key(|range| range.end);
        if cuts.binary_search_by_key(&at, |mark| mark.end).is_err() {
            return complete;
        }
        let mut ends = complete;
        for pattern in &self.patterns {
            let end = pattern.partial_match_at(text, at, cuts, budget);
            ends = ends.into_iter().chain(end).max_by_key(|range| range.end);
        }
        ends
    }

    fn add(&mut self, pattern: SecretPattern) {
        let index = self.patterns.len();
        let Some(first) = pattern.chars.first() else {
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
            if let Some(patterns) = self.patterns_by_byte.get_mut(usize::from(start)) {
                patterns.push(index);
            }
        }
        self.patterns.push(pattern);
    }
}

/// The rest of the scan budget of one text.
#[derive(Debug)]
struct ScanBudget(Option<usize>);

impl ScanBudget {
    fn for_text(text: &str) -> Self {
        let most = text.len().saturating_mul(BUDGET_PER_BYTE);
        Self(Some(most.saturating_add(MIN_BUDGET)))
    }

    fn spend(&mut self, units: usize) -> Option<()> {
        self.0 = self.0.and_then(|left| left.checked_sub(units));
        self.0.map(|_| ())
    }

    fn is_exhausted(&self) -> bool {
        self.0.is_none()
    }
}

impl SecretPattern {
    fn plain(text: &str) -> Self {
        Self {
            chars: text
                .chars()
                .map(|letter| PatternChar(letter, None))
                .collect(),
            edges: (false, false),
        }
    }

    fn hexadecimal(text: &str) -> Self {
        let digits = text.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
        let next_char = |digit: u8| {
            let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
            PatternChar(digit, Some(digit.to_ascii_uppercase()))
        };
        Self {
            chars: digits.map(next_char).collect(),
            edges: (false, false),
        }
    }

    /// The base64 characters that depend on `bytes` alone, if `alignment` bytes precede them in their group of three.
    fn base64(bytes: &[u8], alignment: usize) -> Self {
        let mut whole = vec![0; alignment];
        whole.extend_from_slice(bytes);
        let first = (alignment * 8).div_ceil(6);
        let end = whole.len() * 8 / 6;
        Self {
            chars: (first..end).map(|at| sextet(&whole, at)).collect(),
            edges: (alignment > 0, !(whole.len() * 8).is_multiple_of(6)),
        }
    }

    /// The range of a match that begins at `start`.
    fn match_at(
        &self,
        text: &[u8],
        start: usize,
        cuts: &[Range<usize>],
        budget: &mut ScanBudget,
    ) -> Option<Range<usize>> {
        let end = self.end_from(0, text, start, cuts, budget)?;
        Some(self.with_edges(text, start..end))
    }

    /// The range of an end or inner part of the secret that begins at `start`, after a truncation mark.
    fn partial_match_at(
        &self,
        text: &[u8],
        start: usize,
        cuts: &[Range<usize>],
        budget: &mut ScanBudget,
    ) -> Option<Range<usize>> {
        let last = self.chars.len().checked_sub(MIN_PART_CHARS)?;
        let may_be_escape = matches!(text.get(start), Some(b'%' | b'\\' | b'+'));
        // Comparing a character is cheap, and most texts with such marks hold no secret.
        budget.spend(if may_be_escape {
            last
        } else {
            last / COMPARISONS_PER_UNIT + 1
        })?;
        let ends = (1..=last).filter_map(|first| {
            let may_begin = may_be_escape || self.chars.get(first)?.plain_at(text, start).is_some();
            if !may_begin {
                return None;
            }
            self.end_from(first, text, start, cuts, budget)
        });
        let end = ends.max()?;
        Some(self.with_edges(text, start..end))
    }

    /// The end of a match that begins at `start` with the character at `first`: after the last character, or at a
    /// truncation mark.
    fn end_from(
        &self,
        first: usize,
        text: &[u8],
        start: usize,
        cuts: &[Range<usize>],
        budget: &mut ScanBudget,
    ) -> Option<usize> {
        let mut end = start;
        let mut cut = None;
        for (index, next_char) in self.chars.iter().enumerate().skip(first) {
            if first + MIN_PART_CHARS <= index {
                cut = cut_at(text, end, cuts).or(cut);
            }
            if matches!(text.get(end), Some(b'%' | b'\\' | b'+' | b'\r' | b'\n')) {
                // From here on the text may continue in several encodings.
                return self
                    .search_encodings((first, index), text, end, cuts, budget)
                    .or(cut);
            }
            let Some(next) = next_char.plain_at(text, end) else {
                return cut;
            };
            end = next;
            budget.spend(1)?;
        }
        Some(end)
    }

    /// The farthest end of the characters from `index` on, of a match that began with `first`.
    fn search_encodings(
        &self,
        (first, index): (usize, usize),
        text: &[u8],
        at: usize,
        cuts: &[Range<usize>],
        budget: &mut ScanBudget,
    ) -> Option<usize> {
        let mut ends = vec![at];
        let mut cut = None;
        for (index, next_char) in self.chars.iter().enumerate().skip(index) {
            let mut next = Vec::new();
            for end in ends {
                if first + MIN_PART_CHARS <= index {
                    cut = cut_at(text, end, cuts).or(cut);
                }
                next_char.each_end(text, end, &mut next);
                if index > first {
                    let behind = behind_breaks(text, end);
                    if behind > end {
                        next_char.each_end(text, behind, &mut next);
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return cut;
            }
            budget.spend(CANDIDATE_COST * next.len())?;
            ends = next;
        }
        ends.last().copied()
    }

    /// Extends the range by adjacent characters that encode a part of the secret.
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

impl PatternChar {
    fn letters(self) -> impl Iterator<Item = char> {
        [Some(self.0), self.1].into_iter().flatten()
    }

    /// The end of the verbatim character.
    fn plain_at(self, text: &[u8], at: usize) -> Option<usize> {
        self.letters().find_map(|letter| {
            let mut bytes = [0; 4];
            let bytes = letter.encode_utf8(&mut bytes).as_bytes();
            text.get(at..)?
                .starts_with(bytes)
                .then_some(at + bytes.len())
        })
    }

    /// All possible ends of the character, over all encodings.
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

/// The possible ends of `letter` in percent-encoding.
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
    for _ in 0..MAX_PERCENT_NESTING {
        if hexadecimal(text, digits, 2) == Some(u32::from(byte)) {
            ends.push(digits + 2);
        }
        // The percent sign may itself be encoded.
        if text.get(digits..digits + 2) != Some(b"25") {
            break;
        }
        digits += 2;
    }
    ends
}

/// The possible ends of `letter` as a JSON escape, which may be percent-encoded.
fn each_escape(letter: char, text: &[u8], at: usize, ends: &mut Vec<usize>) {
    let slashes = backslashes(text, at);
    let Some(behind) = slashes.last().copied() else {
        return;
    };
    if letter == '\\' {
        // Each level of nesting doubles them.
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

/// The ranges of the truncation marks in `text`.
fn cut_marks(text: &str) -> Vec<Range<usize>> {
    let mut marks: Vec<Range<usize>> = CUT_MARKS
        .iter()
        .flat_map(|mark| text.match_indices(mark))
        .map(|(start, mark)| {
            let end = start + mark.len();
            // A space may separate the mark from the text.
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

/// The start of a truncation mark at `at`, or after a partial escape there.
fn cut_at(text: &[u8], at: usize, cuts: &[Range<usize>]) -> Option<usize> {
    let next = cuts.partition_point(|mark| mark.start < at);
    let start = cuts.get(next)?.start;
    let between = text.get(at..start)?;
    let is_escape = matches!(between.first(), Some(b'%' | b'\\'));
    (between.is_empty() || is_escape && between.len() < MAX_CUT_ESCAPE).then_some(start)
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

/// The ends of the backslashes at `at`.
fn backslashes(text: &[u8], mut at: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    while ends.len() < MAX_BACKSLASHES
        && let Some((b'\\', end)) = read(text, at)
    {
        ends.push(end);
        at = end;
    }
    ends
}

/// The position after the line breaks at `at`, which may be escaped.
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
    for _ in 0..MAX_PERCENT_NESTING {
        let byte = u8::try_from(hexadecimal(text, digits, 2)?).ok()?;
        if byte != b'%' || hexadecimal(text, digits + 2, 2).is_none() {
            return Some((byte, digits + 2));
        }
        digits += 2;
    }
    None
}

/// The number written with `length` hexadecimal digits.
fn hexadecimal(text: &[u8], at: usize, length: usize) -> Option<u32> {
    let digits = text.get(at..at + length)?;
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// The base64 character at a position, in both alphabets.
fn sextet(bytes: &[u8], at: usize) -> PatternChar {
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
    };
    let value = (0..6).fold(0_u8, |value, offset| {
        value << 1 | u8::from(bit(at * 6 + offset))
    });
    match value {
        0..26 => PatternChar(char::from(b'A' + value), None),
        26..52 => PatternChar(char::from(b'a' + value - 26), None),
        52..62 => PatternChar(char::from(b'0' + value - 52), None),
        62 => PatternChar('+', Some('-')),
        _ => PatternChar('/', Some('_')),
    }
}

/// The text as JSON escapes it, without the quotation marks.
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
