//! A `planwright.toml` that was read: all its faults with their places, and the settings that are left without them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use planwright_dialects::document::nearest;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::ConfigFile;
use super::words::Pattern;

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user's own, in the folder of settings.
    User,
    /// A project's file, which comes with a folder: from the author of that folder.
    Project,
}

/// A `planwright.toml` that was read.
#[derive(Debug)]
pub struct ConfigSource {
    /// The name of the file in diagnostics.
    pub(super) name: Arc<str>,
    pub(super) origin: Origin,
    pub(super) file: ConfigFile,
    text: String,
}

impl ConfigSource {
    /// Reads `text`, which findings call `name`.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn read(origin: Origin, name: &str, text: &str) -> Result<Self, Vec<ConfigFault>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let faults = errors.iter().map(|error| {
                let span = error.span().unwrap_or(0..0);
                not_toml(name, text, &span, error.message())
            });
            return Err(faults.collect());
        }
        let mut faults = Vec::new();
        let file = read_all(name, text, table, &mut faults);
        let source = Self {
            name: Arc::from(name),
            origin,
            file,
            text: text.to_owned(),
        };
        source.check(&mut faults);
        if faults.is_empty() {
            return Ok(source);
        }
        faults.sort_by_key(|fault| fault.line);
        Err(faults)
    }

    /// Returns the place of a value: `planwright.toml:12`.
    pub(super) fn place<T>(&self, value: &Spanned<T>) -> Arc<str> {
        format!("{}:{}", self.name, line_of(&self.text, value.span().start)).into()
    }

    /// Checks the rules that the types cannot express.
    fn check(&self, faults: &mut Vec<ConfigFault>) {
        let mut say = |span: Range<usize>, message: &str, help: &str| {
            faults.push(ConfigFault {
                file: self.name.to_string(),
                line: line_of(&self.text, span.start),
                message: message.to_owned(),
                help: help.to_owned(),
            });
        };
        let faults_of_tables = super::tools::faults(self)
            .into_iter()
            .chain(super::flow::faults(self))
            .chain(super::external_values::faults(self))
            .chain(super::stages::faults(self))
            .chain(super::serve::faults(self))
            .chain(super::serve::store_faults(self))
            .chain(super::telemetry::faults(self))
            .chain(super::model::faults(self));
        for (span, message, help) in faults_of_tables {
            say(span, &message, &help);
        }
        for pattern in self.file.budgets.tools.keys() {
            if let Err(fault) = Pattern::try_from(pattern.get_ref().clone()) {
                let (message, help) = fault.split_once(" (").unwrap_or((&fault, ""));
                say(pattern.span(), message, help.trim_end_matches(')'));
            }
        }
        if let Some(rounds) = &self.file.runaway.same_rounds
            && rounds.get_ref().get() < 2
        {
            say(
                rounds.span(),
                "one round alone cannot give the same as another",
                "write 2 or more",
            );
        }
    }
}

/// Reads a table. Faulty parts are reported and removed until the rest can be read.
fn read_all(
    name: &str,
    text: &str,
    mut table: Spanned<DeTable<'_>>,
    faults: &mut Vec<ConfigFault>,
) -> ConfigFile {
    loop {
        let reader = toml::Deserializer::from(table.clone());
        let error = match ConfigFile::deserialize(reader) {
            Ok(file) => return file,
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        faults.push(explain(name, text, &span, error.message()));
        if !take_out(table.get_mut(), &span) {
            return ConfigFile::default();
        }
    }
}

/// Takes the innermost entry out that `span` is about; whether there was one.
fn take_out(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    let holds = |outer: &Range<usize>| outer.start <= span.start && span.end <= outer.end;
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let inner = match value.get_mut() {
            DeValue::Table(inner) => take_out(inner, span),
            _ => false,
        };
        if inner {
            return true;
        }
        if holds(&key.span()) || holds(&value.span()) {
            found = Some(key.clone());
        }
    }
    found.is_some_and(|key| table.remove(&key).is_some())
}

/// An invalid part of a `planwright.toml`.
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

/// Translates the messages of the TOML reader.
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

/// The reader's terms for expected values, and their translations.
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

/// The default advice.
const REFERENCE: &str = "the reference of planwright.toml lists what may stand here";
