//! A `planwright.toml` that was read: all its faults, and the settings that are left without them.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{ConfigFault, explain, line_of, not_toml};
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
            .chain(super::outside::faults(self))
            .chain(super::stages::faults(self))
            .chain(super::serve::faults(self))
            .chain(super::store::faults(self))
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
