//! The words that phrases of time are made of.

use jiff::civil::Weekday;

use super::phrase::Unit;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [(&str, &[&str], Weekday); 7] = [
    ("Monday", &["mon"], Weekday::Monday),
    ("Tuesday", &["tue", "tues"], Weekday::Tuesday),
    ("Wednesday", &["wed"], Weekday::Wednesday),
    ("Thursday", &["thu", "thur", "thurs"], Weekday::Thursday),
    ("Friday", &["fri"], Weekday::Friday),
    ("Saturday", &["sat"], Weekday::Saturday),
    ("Sunday", &["sun"], Weekday::Sunday),
];

const NUMBERS: [&str; 20] = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

const TENS: [(&str, i32); 3] = [("thirty", 30), ("sixty", 60), ("ninety", 90)];

const UNITS: [(&[&str], Unit); 7] = [
    (&["minute", "minutes"], Unit::Minute),
    (&["hour", "hours"], Unit::Hour),
    (&["day", "days"], Unit::Day),
    (&["week", "weeks"], Unit::Week),
    (&["month", "months"], Unit::Month),
    (&["quarter", "quarters"], Unit::Quarter),
    (&["year", "years"], Unit::Year),
];

/// Words that say something else as well, and are taken for a time only where what stands around them says so.
const ALSO_WORDS: &[&str] = &[
    "may", "march", "mar", "jan", "dec", "sat", "sun", "wed", "mon",
];

/// The number of a month: its name, or the first three letters of it.
pub(super) fn month(word: &str) -> Option<i8> {
    let is_it =
        |name: &&str| *name == word || name[..3] == *word || *name == "september" && word == "sept";
    (1..)
        .zip(MONTHS)
        .find(|(_, name)| is_it(name))
        .map(|(number, _)| number)
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    let is_it =
        |name: &str, short: &[&str]| name.eq_ignore_ascii_case(word) || short.contains(&word);
    let found = WEEKDAYS.iter().find(|(name, short, _)| is_it(name, short));
    found.map(|(.., weekday)| *weekday)
}

/// What a weekday is called.
pub(super) fn name_of(weekday: Weekday) -> &'static str {
    let found = WEEKDAYS.iter().find(|(.., other)| *other == weekday);
    found.map_or("day", |(name, ..)| name)
}

/// The number that a word says, from one to twenty and the tens that people use.
pub(super) fn number(word: &str) -> Option<i32> {
    let small = (1..).zip(NUMBERS).find(|(_, name)| *name == word);
    let tens = || TENS.iter().find(|(name, _)| *name == word);
    small
        .map(|(value, _)| value)
        .or_else(|| tens().map(|(_, value)| *value))
}

pub(super) fn unit(word: &str) -> Option<Unit> {
    let found = UNITS.iter().find(|(names, _)| names.contains(&word));
    found.map(|(_, unit)| *unit)
}

/// The number of a quarter that is written `q3`.
pub(super) fn quarter(word: &str) -> Option<i8> {
    match word {
        "q1" | "first" => Some(1),
        "q2" | "second" => Some(2),
        "q3" | "third" => Some(3),
        "q4" | "fourth" => Some(4),
        _ => None,
    }
}

pub(super) fn is_also_a_word(word: &str) -> bool {
    ALSO_WORDS.contains(&word)
}
