//! Faults of a `planwright.toml`, with their place and the way out.

use std::fmt;
use std::ops::Range;

use planwright_dialects::document::nearest;

/// Something in a `planwright.toml` that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file, as findings call it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The fault, as one clause.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for ConfigFault {}

/// The line on which the byte `at` of `text` stands, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// A text that is not TOML at all.
pub(super) fn not_toml(file: &str, text: &str, span: &Range<usize>, message: &str) -> ConfigFault {
    ConfigFault {
        file: file.to_owned(),
        line: line_of(text, span.start),
        message: format!("this is not TOML: {message}"),
        help: "write `[table]` on a line of its own, and `key = value` below it, text in quotes"
            .to_owned(),
    }
}

/// Puts what the reader of TOML says into our words.
pub(super) fn explain(file: &str, text: &str, span: &Range<usize>, message: &str) -> ConfigFault {
    let (message, help) = match message.strip_prefix("unknown field ") {
        Some(rest) => unknown(rest),
        None => other(message),
    };
    ConfigFault {
        file: file.to_owned(),
        line: line_of(text, span.start),
        message,
        help,
    }
}

/// `` `alow`, expected one of `allow`, `deny` ``.
fn unknown(rest: &str) -> (String, String) {
    let mut names = rest.split('`').skip(1).step_by(2);
    let name = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    let message = format!("`{name}` is not known here");
    let help = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: `{}`", known.join("`, `")),
    };
    (message, help)
}

/// The reader's words for what it expected, and ours.
const WORDS: &[(&str, &str)] = &[
    ("a sequence", "a list"),
    ("sequence", "list"),
    ("a map", "a table"),
    ("a nonzero u64", "a whole number from 1"),
    ("a nonzero u32", "a whole number from 1"),
    ("a string", "text"),
    ("string ", "text "),
    ("expected u64", "expected a whole number from 0"),
    ("invalid type: ", "found "),
    ("invalid value: ", "found "),
];

fn other(message: &str) -> (String, String) {
    let message = WORDS
        .iter()
        .fold(message.to_owned(), |message, (theirs, ours)| {
            message.replace(theirs, ours)
        });
    match message.split_once(" (") {
        // Our own words bring their advice along.
        Some((message, help)) => (message.to_owned(), help.trim_end_matches(')').to_owned()),
        None => (message, REFERENCE.to_owned()),
    }
}

/// Advice where there is no better one.
const REFERENCE: &str = "the reference of planwright.toml lists what may stand here";
