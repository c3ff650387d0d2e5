//! A `planwright.toml`: its format, and the result of reading one: all issues with their places, and the valid settings.

#[cfg(test)]
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use planwright_dialects::document::nearest;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::budgets::{BudgetsTable, OutputTable, RateTable, RunawayTable};
use super::dates::DatesTable;
use super::external_values::{SecretTables, ToolsByName};
use super::flow::FlowTable;
use super::model::ModelTable;
use super::serve::{ClientTables, ServeTable, StoreTable};
use super::setting::{ConfigText, Origin, line_of};
use super::stages::StageTables;
use super::telemetry::TelemetryTable;
use super::tools::{ApprovalsTable, ToolsTable};
use super::value_syntax::Pattern;
use super::{external_values, flow, model, serve, stages, telemetry, tools};

/// A `planwright.toml` that was read.
#[derive(Debug)]
pub struct ConfigSource {
    pub(super) file: ConfigFile,
    pub(super) text: ConfigText,
}

impl ConfigSource {
    /// Parses `text`, which diagnostics call `name`.
    ///
    /// # Errors
    ///
    /// All diagnostics of the text.
    pub fn read(origin: Origin, name: &str, text: &str) -> Result<Self, Vec<ConfigIssue>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let issues = errors.iter().map(|error| {
                let span = error.span().unwrap_or(0..0);
                not_toml(name, text, &span, error.message())
            });
            return Err(issues.collect());
        }
        let mut issues = Vec::new();
        let file = read_all(name, text, table, &mut issues);
        let text = ConfigText {
            name: Arc::from(name),
            origin,
            text: text.to_owned(),
        };
        let source = Self { file, text };
        source.check(&mut issues);
        if issues.is_empty() {
            return Ok(source);
        }
        issues.sort_by_key(|issue| issue.line);
        Err(issues)
    }

    /// Checks the rules that the types cannot express.
    fn check(&self, issues: &mut Vec<ConfigIssue>) {
        let Self { file, text } = self;
        let mut say = |span: Range<usize>, message: &str, help: &str| {
            issues.push(ConfigIssue {
                file: text.name.to_string(),
                line: line_of(&text.text, span.start),
                message: message.to_owned(),
                help: help.to_owned(),
            });
        };
        let issues_of_tables = tools::issues(&file.tools, &file.approvals, text)
            .into_iter()
            .chain(file.flow.iter().flat_map(|flow| flow::issues(flow, text)))
            .chain(external_values::issues(&file.secrets, text))
            .chain(stages::issues(&file.stages))
            .chain(serve::issues(&file.serve, text))
            .chain(serve::client_issues(&file.clients, text))
            .chain(serve::store_issues(&file.store, text))
            .chain(telemetry::issues(&file.telemetry, text))
            .chain(model::issues(&file.model, text));
        for (span, message, help) in issues_of_tables {
            say(span, &message, &help);
        }
        for pattern in file.budgets.tools.keys() {
            if let Err(issue) = Pattern::try_from(pattern.get_ref().clone()) {
                let (message, help) = issue.split_once(" (").unwrap_or((&issue, ""));
                say(pattern.span(), message, help.trim_end_matches(')'));
            }
        }
        if let Some(rounds) = &file.runaway.same_rounds
            && rounds.get_ref().get() < 2
        {
            say(
                rounds.span(),
                "`same_rounds` must be at least 2: a round is compared with others",
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
    issues: &mut Vec<ConfigIssue>,
) -> ConfigFile {
    loop {
        let reader = toml::Deserializer::from(table.clone());
        let error = match ConfigFile::deserialize(reader) {
            Ok(file) => return file,
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        issues.push(explain(name, text, &span, error.message()));
        if !remove_entry(table.get_mut(), &span) {
            return ConfigFile::default();
        }
    }
}

/// Removes the innermost entry that contains `span`. Returns true if there was one.
fn remove_entry(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    let contains = |outer: &Range<usize>| outer.start <= span.start && span.end <= outer.end;
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let inner = match value.get_mut() {
            DeValue::Table(inner) => remove_entry(inner, span),
            _ => false,
        };
        if inner {
            return true;
        }
        if contains(&key.span()) || contains(&value.span()) {
            found = Some(key.clone());
        }
    }
    found.is_some_and(|key| table.remove(&key).is_some())
}

/// An invalid part of a `planwright.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigIssue {
    /// The name of the file in diagnostics.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The issue, as one clause.
    pub message: String,
    /// The hint.
    pub help: String,
}

impl fmt::Display for ConfigIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for ConfigIssue {}

/// The issue of a text that is not TOML.
fn not_toml(file: &str, text: &str, span: &Range<usize>, message: &str) -> ConfigIssue {
    ConfigIssue {
        file: file.to_owned(),
        line: line_of(text, span.start),
        message: format!("this is not TOML: {message}"),
        help: "write `[table]` on its own line, and `key = value` below it, text in quotes"
            .to_owned(),
    }
}

/// Translates the messages of the TOML reader.
pub(super) fn explain(file: &str, text: &str, span: &Range<usize>, message: &str) -> ConfigIssue {
    let (message, help) = match message.strip_prefix("unknown field ") {
        Some(rest) => unknown(rest),
        None => other(message),
    };
    ConfigIssue {
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
    let message = format!("unknown field `{name}`");
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
        // Messages of our own types contain their advice.
        Some((message, help)) => (message.to_owned(), help.trim_end_matches(')').to_owned()),
        None => (message, REFERENCE.to_owned()),
    }
}

/// The default advice.
const REFERENCE: &str = "see the reference of planwright.toml for fields and values";

/// `planwright.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "config"))]
pub(super) struct ConfigFile {
    /// The tools that plans may call, and assumptions about them.
    pub(super) tools: ToolsTable,
    /// Rules for decisions about calls.
    pub(super) approvals: ApprovalsTable,
    /// The rules of data flow.
    #[cfg_attr(test, schemars(with = "FlowTable"))]
    pub(super) flow: Option<FlowTable>,
    /// The budgets of one run.
    pub(super) budgets: BudgetsTable,
    /// The rate limits of servers, by their names, such as `github = "100/m"`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    pub(super) rates: RateTable,
    /// The limits on repetition without progress.
    pub(super) runaway: RunawayTable,
    /// The limits on values shown to people and models.
    pub(super) output: OutputTable,
    /// The variables of the environment that plans may pass to tools, such as `REGION = ["shop.*"]`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Vec<String>>"))]
    pub(super) env: ToolsByName,
    /// The secrets that plans may pass to tools, by their names.
    #[cfg_attr(
        test,
        schemars(with = "BTreeMap<String, super::external_values::SecretTable>")
    )]
    pub(super) secrets: SecretTables,
    /// The stages of work through a gateway, by their names. The first one of the file is where a client begins. Where
    /// your own file has stages, those of a project do not count.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, super::stages::StageTable>"))]
    pub(super) stages: StageTables,
    /// The limits of `serve` for its clients, and its HTTP server.
    pub(super) serve: ServeTable,
    /// Rules for some clients of `serve --listen`, by names of your choice.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, super::serve::ClientTable>"))]
    pub(super) clients: ClientTables,
    /// The time and the size for which `serve` stores runs.
    pub(super) store: StoreTable,
    /// The collector of spans and metrics.
    pub(super) telemetry: TelemetryTable,
    /// The model that writes plans.
    pub(super) model: ModelTable,
    /// The calendar of phrases of time.
    pub(super) dates: DatesTable,
}
