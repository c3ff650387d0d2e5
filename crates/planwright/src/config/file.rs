//! The form of a `planwright.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::flow::FlowTable;
use super::model::ModelTable;
use super::serve::{ServeTable, StoreTable};
use super::telemetry::TelemetryTable;
use super::tools::{PinWord, Unannotated};
use super::words::{Pattern, RateLimit, Size, TimeLimit};

/// `planwright.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "config"))]
pub(super) struct ConfigFile {
    /// The tools that plans may call, and assumptions about them.
    pub(super) tools: ToolsTable,
    /// The way in which decisions about calls are made.
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
    /// The stages of work through a gateway, by their names. The first one of the file is where a client begins. Where
    /// your own file has stages, those of a project do not count.
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
}

/// The way in which decisions about calls are made.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "approvals"))]
pub(super) struct ApprovalsTable {
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
    /// The tools that there are in it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) tools: Option<Spanned<Vec<Spanned<Pattern>>>>,
    /// The stages that one can move to from it; without it, there are none.
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
pub(super) struct SecretTable {
    /// The variable of the environment that holds it.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) env: Option<Spanned<String>>,
    /// The file that holds it, from the folder of this file on; a line break at its end does not count.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) file: Option<Spanned<String>>,
    /// The tools that may be given it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) tools: Option<Spanned<Vec<Spanned<Pattern>>>>,
}

/// Lists of patterns: `server.tool`, or `tool` of any server, in which `*` stands for any text.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "tools"))]
pub(super) struct ToolsTable {
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
    /// The policy for tools of MCP servers that changed since they were pinned: `ask` asks before each call until a person accepts the
    /// change, `warn` shows it, `off` pins nothing. Without it, `ask`, and `warn` for the servers of the user's own `mcp.json`. A project's
    /// file can only make it stricter.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) pin: Option<Spanned<PinWord>>,
    /// The policy for tools that state neither `readOnlyHint: true` nor `destructiveHint`: `ask` asks before each call, `run` calls them.
    /// Without it, they ask if a plan or `call_tool` of the gateway calls them, and run elsewhere. A project's file can only make it
    /// stricter.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) unannotated: Option<Spanned<Unannotated>>,
}

/// The budgets of one run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "budgets"))]
pub(super) struct BudgetsTable {
    /// The most calls, each attempt and each failed one included.
    #[cfg_attr(test, schemars(with = "u64"))]
    pub(super) calls: Option<Spanned<u64>>,
    /// The longest time that the run may take, such as `10m`. Calls that are in flight then are cancelled.
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
    /// The most calls of the tools that a pattern covers, all of them together, such as `"mail.*" = 5`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(super) tools: BTreeMap<Spanned<String>, Spanned<u64>>,
    /// The most calls of a server, by its name.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(super) servers: BTreeMap<String, Spanned<u64>>,
}

/// The limits on repetition without progress. Nothing is limited unless it is set.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "runaway"))]
pub(super) struct RunawayTable {
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
pub(super) struct OutputTable {
    /// The most bytes that are shown of one step's output: a number, or text such as `64KiB`.
    #[cfg_attr(test, schemars(schema_with = "super::reference::size"))]
    pub(super) max_bytes: Option<Spanned<Size>>,
}
