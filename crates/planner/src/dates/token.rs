//! First step of resolution: words, numbers, and signs with their positions, and the vocabulary of date phrases.

use std::ops::Range;

use jiff::civil::Weekday;

use super::phrase::TimeUnit;

/// A word, a number, or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateToken {
    pub(super) kind: DateTokenKind,
    /// The byte range, without a trailing `'s`.
    pub(super) at: Range<usize>,
    /// True if no space separates it from the previous token.
    pub(super) is_adjacent: bool,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DateTokenKind {
    /// Letters, or letters and digits, in lower case.
    Word(String),
    /// Digits only: their value and their number.
    Number(u32, usize),
    /// `1st`
    Ordinal(u32),
    /// Any other character; all dashes are `-`.
    Sign(char),
}

impl DateToken {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            DateTokenKind::Word(word) => Some(word),
            DateTokenKind::Number(..) | DateTokenKind::Ordinal(_) | DateTokenKind::Sign(_) => None,
        }
    }

    pub(super) fn is_sign(&self, wanted: char) -> bool {
        self.kind == DateTokenKind::Sign(wanted)
    }
}

/// Splits a text into tokens. The `'s` of `today's` and the apostrophe of `days'` belong to no token.
pub(super) fn tokens(text: &str) -> Vec<DateToken> {
    let mut found: Vec<DateToken> = Vec::new();
    let mut previous_end = None;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let is_adjacent = previous_end == Some(start);
        let mut push = |kind, length: usize| {
            found.push(DateToken {
                kind,
                at: start..start + length,
                is_adjacent,
            });
        };
        let length = if is_word_char(first) {
            let length = rest
                .find(|letter| !is_word_char(letter))
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            push(token_kind(word), length);
            length + possessive_length(word, after)
        } else {
            // Typographic dashes and quotes have one form in the grammar.
            let sign = match first {
                '–' | '—' | '‐' | '‑' => '-',
                '’' => '\'',
                other => other,
            };
            push(DateTokenKind::Sign(sign), first.len_utf8());
            first.len_utf8()
        };
        previous_end = Some(start + length);
        rest = &rest[length..];
    }
    found
}

fn is_word_char(letter: char) -> bool {
    // `q1_total` is a name, not a quarter.
    letter.is_alphanumeric() || letter == '_'
}

fn token_kind(word: &str) -> DateTokenKind {
    let digits = word
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(word.len());
    let (number, suffix) = word.split_at(digits);
    let suffix = suffix.to_ascii_lowercase();
    match number.parse() {
        Ok(value) if suffix.is_empty() => DateTokenKind::Number(value, digits),
        Ok(value) if ["st", "nd", "rd", "th"].contains(&suffix.as_str()) => {
            DateTokenKind::Ordinal(value)
        }
        // A number that is too large becomes a word, which no parser takes.
        _ => DateTokenKind::Word(word.to_ascii_lowercase()),
    }
}

/// Returns the length of a possessive suffix.
fn possessive_length(word: &str, after: &str) -> usize {
    let Some(mark) = ["'", "’"].into_iter().find(|mark| after.starts_with(mark)) else {
        return 0;
    };
    let after = &after[mark.len()..];
    let ends = |rest: &str| !rest.starts_with(is_word_char);
    match after.strip_prefix(['s', 'S']) {
        Some(rest) if ends(rest) => mark.len() + 1,
        // `days'`, unless it closes a quotation.
        _ if word.ends_with(['s', 'S']) && after.starts_with(' ') => mark.len(),
        _ => 0,
    }
}

const MONTHS: &str = "\
january february march april may june july august september october november december";

const WEEKDAYS: [(&str, &[&str], Weekday); 7] = [
    ("Monday", &["mon"], Weekday::Monday),
    ("Tuesday", &["tue", "tues"], Weekday::Tuesday),
    ("Wednesday", &["wed"], Weekday::Wednesday),
    ("Thursday", &["thu", "thur", "thurs"], Weekday::Thursday),
    ("Friday", &["fri"], Weekday::Friday),
    ("Saturday", &["sat"], Weekday::Saturday),
    ("Sunday", &["sun"], Weekday::Sunday),
];

const NUMBERS: &str = "\
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen \
eighteen nineteen twenty";

// Periods of other tens are written in digits.
const TENS: [(&str, i32); 3] = [("thirty", 30), ("sixty", 60), ("ninety", 90)];

const UNITS: [(&[&str], TimeUnit); 8] = [
    (&["minute", "minutes"], TimeUnit::Minute),
    (&["hour", "hours"], TimeUnit::Hour),
    (&["day", "days"], TimeUnit::Day),
    (&["week", "weeks"], TimeUnit::Week),
    (&["fortnight", "fortnights"], TimeUnit::Fortnight),
    (&["month", "months"], TimeUnit::Month),
    (&["quarter", "quarters"], TimeUnit::Quarter),
    (&["year", "years"], TimeUnit::Year),
];

/// Words and names with other meanings, which are dates only if the words around them indicate it.
const AMBIGUOUS_WORDS: &[&str] = &[
    "april", "aug", "august", "dec", "jan", "june", "mar", "march", "may", "mon", "sat", "sun",
    "wed",
];

/// Other words of phrases, for the correction of misspelt words.
const OTHER_WORDS: &str = "\
today yesterday tomorrow last next this past previous since until between from before after through weekend \
half first second third fourth quarter ago";

/// Words that are never corrected.
const FUNCTION_WORDS: &[&str] = &[
    "and", "the", "of", "to", "in", "on", "for", "a", "an", "early", "late", "mid",
];

/// Looks a word up in a list that is a text separated by spaces.
pub(super) fn contains_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Returns the number of a month by its name, or by the first three letters.
pub(super) fn month(word: &str) -> Option<i8> {
    let is_it =
        // `sept` is the only usual abbreviation with four letters.
        |name: &&str| *name == word || name[..3] == *word || *name == "september" && word == "sept";
    (1..)
        .zip(MONTHS.split(' '))
        .find(|(_, name)| is_it(name))
        .map(|(number, _)| number)
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    let is_it =
        |name: &str, short: &[&str]| name.eq_ignore_ascii_case(word) || short.contains(&word);
    let found = WEEKDAYS.iter().find(|(name, short, _)| is_it(name, short));
    found.map(|(.., weekday)| *weekday)
}

/// Returns the name of a weekday.
pub(super) fn weekday_name(weekday: Weekday) -> &'static str {
    let found = WEEKDAYS.iter().find(|(.., other)| *other == weekday);
    found.map_or("day", |(name, ..)| name)
}

/// Returns the value of a number word: one to twenty, thirty, sixty, ninety.
pub(super) fn number(word: &str) -> Option<i32> {
    let small = (1..)
        .zip(NUMBERS.split(' '))
        .find(|(_, name)| *name == word);
    let tens = || TENS.iter().find(|(name, _)| *name == word);
    small
        .map(|(value, _)| value)
        .or_else(|| tens().map(|(_, value)| *value))
}

pub(super) fn unit(word: &str) -> Option<TimeUnit> {
    let found = UNITS.iter().find(|(names, _)| names.contains(&word));
    found.map(|(_, unit)| *unit)
}

/// Returns the number of a quarter written as `q3` or `third`.
pub(super) fn quarter(word: &str) -> Option<i8> {
    match word {
        "q1" | "first" => Some(1),
        "q2" | "second" => Some(2),
        "q3" | "third" => Some(3),
        "q4" | "fourth" => Some(4),
        _ => None,
    }
}

/// Returns the known word that a misspelt word resembles.
pub(super) fn correct_spelling(word: &str) -> Option<String> {
    // A word that is right must not be replaced by a similar one.
    let is_known =
        FUNCTION_WORDS.contains(&word) || number(word).is_some() || quarter(word).is_some();
    let names = WEEKDAYS.iter().map(|(name, ..)| (*name).to_owned());
    let months = MONTHS.split(' ').map(|name| {
        // Suggestions have the capital that the name is written with.
        let mut name = name.to_owned();
        name[..1].make_ascii_uppercase();
        name
    });
    let units = UNITS.iter().flat_map(|(names, _)| names.iter().copied());
    let words = OTHER_WORDS.split(' ').chain(units).map(str::to_owned);
    let distances = words.chain(names).chain(months).map(|known| {
        let distance = strsim::damerau_levenshtein(&known.to_lowercase(), word);
        (distance, known)
    });
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    // One error per three letters, so that short words are not replaced by others.
    (!is_known && 0 < distance && distance * 3 <= word.chars().count()).then_some(nearest)
}

pub(super) fn is_ambiguous(word: &str) -> bool {
    AMBIGUOUS_WORDS.contains(&word)
}
