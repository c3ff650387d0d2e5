//! A `planwright.toml`: its format, and the result of reading one: all issues with their places, and the valid settings.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use planwright_dialects::document::nearest;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::dates::DatesTable;
use super::flow::FlowTable;
use super::model::ModelTable;
use super::serve::{ServeTable, StoreTable};
use super::telemetry::TelemetryTable;
use super::tools::{PinWord, SharablePattern, Unannotated};
use super::value_syntax::{Pattern, RateLimit, Size, TimeLimit};

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user's own, in the folder of settings.
    User,
    /// A project's file, written by the author of the project.
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
        let source = Self {
            name: Arc::from(name),
            origin,
            file,
            text: text.to_owned(),
        };
        source.check(&mut issues);
        if issues.is_empty() {
            return Ok(source);
        }
        issues.sort_by_key(|issue| issue.line);
        Err(issues)
    }

    /// Returns the place of a value: `planwright.toml:12`.
    pub(super) fn place<T>(&self, value: &Spanned<T>) -> Arc<str> {
        format!("{}:{}", self.name, line_of(&self.text, value.span().start)).into()
    }

    /// Checks the rules that the types cannot express.
    fn check(&self, issues: &mut Vec<ConfigIssue>) {
        let mut say = |span: Range<usize>, message: &str, help: &str| {
            issues.push(ConfigIssue {
                file: self.name.to_string(),
                line: line_of(&self.text, span.start),
                message: message.to_owned(),
                help: help.to_owned(),
            });
        };
        let issues_of_tables = super::tools::issues(self)
            .into_iter()
            .chain(super::flow::issues(self))
            .chain(super::external_values::issues(self))
            .chain(super::serve::stage_issues(self))
            .chain(super::serve::issues(self))
            .chain(super::serve::store_issues(self))
            .chain(super::telemetry::issues(self))
            .chain(super::model::issues(self));
        for (span, message, help) in issues_of_tables {
            say(span, &message, &help);
        }
        for pattern in self.file.budgets.tools.keys() {
            if let Err(issue) = Pattern::try_from(pattern.get_ref().clone()) {
                let (message, help) = issue.split_once(" (").unwrap_or((&issue, ""));
                say(pattern.span(), message, help.trim_end_matches(')'));
            }
        }
        if let Some(rounds) = &self.file.runaway.same_rounds
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

/// Returns the line of the byte `at` of `text`, from 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count()
}

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
    pub(super) rates: BTreeMap<String, Spanned<RateLimit>>,
    /// The limits on repetition without progress.
    pub(super) runaway: RunawayTable,
    /// The limits on values shown to people and models.
    pub(super) output: OutputTable,
    /// The variables of the environment that plans may pass to tools, such as `REGION = ["shop.*"]`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Vec<String>>"))]
    pub(super) env: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<Pattern>>>>,
    /// The secrets that plans may pass to tools, by their names.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, SecretTable>"))]
    pub(super) secrets: BTreeMap<Spanned<String>, SecretTable>,
    /// The stages of work through a gateway, by their names. The first one of the file is where a client begins. If your own file
    /// has stages, those of a project do not apply.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, StageTable>"))]
    pub(super) stages: BTreeMap<Spanned<String>, StageTable>,
    /// The limits of `serve` for its clients, and its HTTP server.
    pub(super) serve: ServeTable,
    /// The time and the size for which `serve` stores runs.
    pub(super) store: StoreTable,
    /// The collector of spans and metrics.
    pub(super) telemetry: TelemetryTable,
    /// The model that writes plans.
    pub(super) model: ModelTable,
    /// The calendar of phrases of time.
    pub(super) dates: DatesTable,
}

/// Rules for decisions about calls.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "approvals"))]
pub(crate) struct ApprovalsTable {
    /// True if decisions from the command line require the passphrase that `planwright passphrase` sets.
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(super) passphrase: Option<Spanned<bool>>,
}

/// A stage: its tools, and the stages that can follow. Calls and plans that need a tool of another stage are refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "stage"))]
pub(super) struct StageTable {
    /// The tools of the stage.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) tools: Option<Spanned<Vec<Spanned<Pattern>>>>,
    /// The stages that can follow it; without it, none.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) next: Vec<Spanned<String>>,
    /// The names that must have values before a client can move to it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) needs: Vec<Spanned<String>>,
}

/// A secret: its place, and the tools that may receive it. Only your own file can set the place.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "secret"))]
pub(crate) struct SecretTable {
    /// The variable of the environment that holds it.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) env: Option<Spanned<String>>,
    /// The file that holds it, from the folder of this file on; a line break at its end does not count.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) file: Option<Spanned<String>>,
    /// The tools that may receive it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) tools: Option<Spanned<Vec<Spanned<Pattern>>>>,
}

/// Lists of patterns: `server.tool`, or `tool` of any server, in which `*` stands for any text.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "tools"))]
pub(crate) struct ToolsTable {
    /// The tools that plans may call; without it, all of them.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) allow: Option<Spanned<Vec<Spanned<Pattern>>>>,
    /// The tools that plans may not call, even if they are allowed.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) deny: Vec<Spanned<Pattern>>,
    /// The tools that ask a person before each call.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) ask: Vec<Spanned<Pattern>>,
    /// The tools that need not ask although they declare themselves destructive; only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) no_ask: Vec<Spanned<Pattern>>,
    /// The tools that change nothing, regardless of their annotations; only in your own file. Such a tool need not ask either.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) read_only: Vec<Spanned<Pattern>>,
    /// The tools that may safely be called twice with the same arguments, regardless of their annotations; only in your own
    /// file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) idempotent: Vec<Spanned<Pattern>>,
    /// The policy for tools of MCP servers that changed since they were pinned: `ask` asks before each call until a person
    /// accepts the change, `warn` shows it, `off` pins nothing. Default: `ask`, and `warn` for the servers of the user's own
    /// `mcp.json`. A project's file can only make it stricter.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) pin: Option<Spanned<PinWord>>,
    /// The policy for tools that state neither `readOnlyHint: true` nor `destructiveHint`: `ask` asks before each call, `run`
    /// calls them. Default: they ask if a plan or `call_tool` of the gateway calls them, and run otherwise. A project's file can
    /// only make it stricter.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) unannotated: Option<Spanned<Unannotated>>,
    /// The parameters of other people's servers that take references in a plan that shares marked parameters only, as those of the
    /// Concierge dialect: `TOOL:PARAMETER`, or `TOOL:*` for all of a tool; only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) sharable: Vec<Spanned<SharablePattern>>,
    /// False to record no structure of answers: the names and types of the fields that tools without an output schema returned in stored runs,
    /// without values. A project's file can only switch it off.
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(super) learn_outputs: Option<Spanned<bool>>,
}

/// The budgets of one run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "budgets"))]
pub(crate) struct BudgetsTable {
    /// Maximum number of calls, including each attempt and each failed call.
    #[cfg_attr(test, schemars(with = "u64"))]
    pub(super) calls: Option<Spanned<u64>>,
    /// Maximum duration of the run, such as `10m`. Calls that are in flight then are cancelled.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) wall_time: Option<Spanned<TimeLimit>>,
    /// Maximum size of all outputs together: a number of bytes, or text such as `50MB`.
    #[cfg_attr(test, schemars(schema_with = "super::reference::size"))]
    pub(super) output_bytes: Option<Spanned<Size>>,
    /// Maximum size of the values of the run wherever they are written: computed outputs, arguments with
    /// their step and with each attempt, slots, the run's output. If it is not set, 64 MiB, plus four times the size of inputs and answers of
    /// tools.
    #[cfg_attr(test, schemars(schema_with = "super::reference::size"))]
    pub(super) written_bytes: Option<Spanned<Size>>,
    /// The number of failed calls in a row after which nothing new is called.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU64"))]
    pub(super) failures_in_a_row: Option<Spanned<std::num::NonZeroU64>>,
    /// Maximum number of calls of all tools together that match a pattern, such as `"mail.*" = 5`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(super) tools: BTreeMap<Spanned<String>, Spanned<u64>>,
    /// Maximum number of calls of a server, by its name.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(super) servers: BTreeMap<String, Spanned<u64>>,
}

/// The limits on repetition without progress. Nothing is limited unless it is set.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "runaway"))]
pub(crate) struct RunawayTable {
    /// The largest number of calls of a tool with the same arguments in one run.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU64"))]
    pub(super) same_call: Option<Spanned<std::num::NonZeroU64>>,
    /// The largest number of rounds of a `repeat` in a row with the same output.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU64"))]
    pub(super) same_rounds: Option<Spanned<std::num::NonZeroU64>>,
}

/// The limits on values shown to people and models. Steps still pass on whole values.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "output"))]
pub(crate) struct OutputTable {
    /// Maximum number of bytes that are shown of one step's output: a number, or text such as `64KiB`.
    #[cfg_attr(test, schemars(schema_with = "super::reference::size"))]
    pub(super) max_bytes: Option<Spanned<Size>>,
}
