//! Search for secrets in texts, in several encodings: verbatim, percent-encoded, with JSON escapes, hexadecimal,
//! base64.

use std::ops::Range;

use super::encodings::{PatternChar, after_line_breaks, escaped, sextet};

/// The scan budget of a text: the units for each of its bytes, and the minimum. A matching character costs one unit for each encoding that
/// it may have. Typical secrets cost a few units.
const BUDGET_PER_BYTE: usize = 128;
const MIN_BUDGET: usize = 64 * 1024;

/// The cost of one more candidate position.
const CANDIDATE_COST: usize = 32;

/// The number of character comparisons that cost one unit.
const COMPARISONS_PER_UNIT: usize = 64;

/// The minimum number of characters of a secret that count as the secret next to a truncation mark.
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

impl SecretMatcher {
    /// Creates a matcher for `texts`, which are not empty.
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
            // Base64 encodes three bytes at a time, so a secret looks different at each offset.
            for alignment in 0..3 {
                matcher.add(SecretPattern::base64(text.as_bytes(), alignment));
                // Encoded JSON contains the escaped form.
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
        // Every character can be percent-encoded or escaped.
        let mut starts = vec![b'%', b'\\'];
        for letter in first.letters() {
            starts.extend(letter.encode_utf8(&mut [0; 4]).bytes().next());
            // Forms encode a space as `+`.
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
        let limit = text.len().saturating_mul(BUDGET_PER_BYTE);
        Self(Some(limit.saturating_add(MIN_BUDGET)))
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
                    let behind = after_line_breaks(text, end);
                    if behind > end {
                        next_char.each_end(text, behind, &mut next);
                    }
                }
            }
            // Several encodings may end at the same place; as duplicates, they would multiply with each character.
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return cut;
            }
            budget.spend(CANDIDATE_COST * next.len())?;
            ends = next;
        }
        // They are sorted, and the farthest one redacts most.
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

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}
