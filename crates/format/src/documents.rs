//! Documents of single commands: written, converted and analysed plans, answers, configuration.

use std::sync::Arc;

use planwright_core::flow::{FlowParameter, FlowReport, FlowVerdict, OutputField, ParameterRule};
use planwright_core::{Diagnostic, Value};
use serde::Serialize;

use crate::{ErrorV1, ReportV1, UsageV1};

/// The schema's name and version.
pub const CREATED_SCHEMA: &str = "planwright.created/1";

/// A plan that a model wrote, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct CreatedV1 {
    /// [`CREATED_SCHEMA`].
    pub schema: &'static str,
    /// The plan in Planwright's own dialect; none if no answer was a sound plan.
    pub plan: Option<Value>,
    /// The name of the model.
    pub model: String,
    /// The number of answers.
    pub model_calls: usize,
    /// True if the plan was created earlier and reused.
    pub cached: bool,
    /// The diagnostics of each answer.
    pub attempts: Vec<AttemptV1>,
    /// The model's reply in place of a plan.
    pub declined: Option<DeclinedV1>,
    /// The tokens and the cost of the answers.
    pub usage: UsageV1,
    /// The reason why the model did not answer.
    pub error: Option<ModelErrorV1>,
}

/// A model's reply that declines to write a plan.
#[derive(Clone, Debug, Serialize)]
pub struct DeclinedV1 {
    /// `cannot`, or `ask` for a question to the person.
    pub kind: &'static str,
    /// The reply or question of the model.
    pub text: String,
}

/// An answer of a model.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptV1 {
    /// The diagnostics after the repairs. Places are those of the model's own JSON.
    pub diagnostics: Vec<Diagnostic>,
    /// The repairs that needed no further answer.
    pub repairs: Vec<RepairV1>,
    /// The model's reply, if it contains no plan.
    pub said: Option<String>,
}

/// A repair of a plan's text.
#[derive(Clone, Debug, Serialize)]
pub struct RepairV1 {
    /// The place, as a JSON pointer into the model's own JSON.
    pub pointer: String,
    /// The text before the repair.
    pub before: String,
    /// The text after the repair.
    pub after: String,
}

/// The reason why a model did not answer.
#[derive(Clone, Debug, Serialize)]
pub struct ModelErrorV1 {
    /// The reason, as one clause.
    pub message: String,
    /// A hint how to fix it.
    pub help: Option<String>,
    /// The model's reply, if there is one.
    pub said: Option<String>,
}

impl CreatedV1 {
    /// Creates a plan of an earlier time.
    pub fn cached(plan: Option<Value>, model: &str) -> Self {
        Self {
            schema: CREATED_SCHEMA,
            cached: plan.is_some(),
            plan,
            model: model.to_owned(),
            model_calls: 0,
            attempts: Vec::new(),
            declined: None,
            usage: UsageV1::default(),
            error: None,
        }
    }
}

/// Calls that were made while the plan was still being written.
#[derive(Clone, Debug, Serialize)]
pub struct StreamedV1 {
    /// The share of the model's answer that had arrived when the first call was sent, between 0 and 1; none if all of it had.
    pub first_call_at: Option<f64>,
    /// The calls before the plan was complete. All of them only read.
    pub early: Vec<EarlyCallV1>,
    /// The report of the early run if the final plan did not continue it; none otherwise.
    pub abandoned: Option<ReportV1>,
}

/// A call that was sent before the plan was whole.
#[derive(Clone, Debug, Serialize)]
pub struct EarlyCallV1 {
    /// The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
    pub address: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The tool, as the plan names it.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// The reason why it failed or was cancelled.
    pub error: Option<ErrorV1>,
    /// True if the run of the whole plan reuses the call; otherwise its result was discarded.
    pub counts: bool,
}

/// The schema's name and version.
pub const CONVERSION_SCHEMA: &str = "planwright.conversion/1";

/// A plan in another dialect, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct ConversionV1 {
    /// [`CONVERSION_SCHEMA`].
    pub schema: &'static str,
    /// True if the plan was converted.
    pub ok: bool,
    /// The dialect that the plan was read in, as far as it is known.
    pub from: Option<String>,
    /// The dialect that the plan was to be written in.
    pub dialect: String,
    /// The text of the converted plan; none if a part could not be expressed.
    pub plan: Option<String>,
    /// The diagnostics of the plan, and of everything that the dialect cannot express. Places are those of the plan as it was read.
    pub diagnostics: Vec<Diagnostic>,
}

impl ConversionV1 {
    /// Creates the document about a conversion `from` one dialect `to` another, with its diagnostics.
    pub fn new(
        from: Option<&str>,
        to: &str,
        plan: Option<&str>,
        diagnostics: impl IntoIterator<Item = Diagnostic>,
    ) -> Self {
        Self {
            schema: CONVERSION_SCHEMA,
            ok: plan.is_some(),
            from: from.map(str::to_owned),
            dialect: to.to_owned(),
            plan: plan.map(str::to_owned),
            diagnostics: diagnostics.into_iter().collect(),
        }
    }
}

/// The schema's name and version.
pub const ANSWER_SCHEMA: &str = "planwright.answer/1";

/// The answer to a question, stage by stage: the plan, its run, the statistics, the answer.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerV1 {
    /// [`ANSWER_SCHEMA`].
    pub schema: &'static str,
    /// The question.
    pub question: String,
    /// The answer, if there is one.
    pub answer: Option<String>,
    /// The author of the answer: the model, or `analysis` if the model gave none.
    pub by: Option<String>,
    /// The steps that the answer cites as its support.
    pub rests_on: Vec<String>,
    /// The steps that failed.
    pub failed: Vec<MissingV1>,
    /// The steps that did not run.
    pub left_out: Vec<MissingV1>,
    /// The document about the plan.
    pub created: CreatedV1,
    /// The calls before the plan was complete; none if it was written first.
    pub streamed: Option<StreamedV1>,
    /// The report of the run.
    pub run: Option<ReportV1>,
    /// The figures computed from the results.
    pub analysis: Option<Value>,
    /// The tokens and the cost of all answers of the model.
    pub usage: UsageV1,
    /// The reason why the model gave no answer in the end.
    pub error: Option<ModelErrorV1>,
}

/// A step without an output.
#[derive(Clone, Debug, Serialize)]
pub struct MissingV1 {
    /// The step.
    pub step: String,
    /// The reason.
    pub because: String,
}

impl AnswerV1 {
    /// Creates the document of a question with the result of its plan only.
    pub fn new(question: &str, created: CreatedV1) -> Self {
        Self {
            schema: ANSWER_SCHEMA,
            question: question.to_owned(),
            answer: None,
            by: None,
            rests_on: Vec::new(),
            failed: Vec::new(),
            left_out: Vec::new(),
            usage: created.usage,
            created,
            streamed: None,
            run: None,
            analysis: None,
            error: None,
        }
    }

    /// Adds the calls that ran while the plan was still being written.
    #[must_use]
    pub fn with_streamed(mut self, streamed: StreamedV1) -> Self {
        self.streamed = Some(streamed);
        self
    }
}

/// The schema's name and version, of the flow of data in a plan.
pub const FLOW_SCHEMA: &str = "planwright.flow/1";

/// The schema's name and version, for the classification of tools by the flow policy.
pub const FLOW_TOOLS_SCHEMA: &str = "planwright.flow-tools/1";

/// The flow of data in a plan, `planwright.flow/1`.
#[derive(Clone, Debug, Serialize)]
pub struct FlowV1 {
    /// [`FLOW_SCHEMA`].
    pub schema: &'static str,
    /// The overall result.
    pub verdict: FlowVerdict,
    /// The guarded and leaving parameters, in the order of the steps.
    pub parameters: Vec<FlowParameter>,
    /// The diagnostics of the check, those of the flow included.
    pub diagnostics: Vec<Diagnostic>,
}

impl FlowV1 {
    /// Creates the document about `report`; without one, the plan is not sound, for the reasons in its diagnostics.
    pub fn new(report: Option<&FlowReport>, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            schema: FLOW_SCHEMA,
            verdict: report.map_or(FlowVerdict::Denied, FlowReport::verdict),
            parameters: report.map_or_else(Vec::new, |report| report.parameters.to_vec()),
            diagnostics,
        }
    }
}

/// The classification of tools by the flow policy, `planwright.flow-tools/1`.
#[derive(Clone, Debug, Serialize)]
pub struct FlowToolsV1 {
    /// [`FLOW_TOOLS_SCHEMA`].
    pub schema: &'static str,
    /// The tools.
    pub tools: Vec<FlowToolV1>,
    /// The rules that cover nothing.
    pub diagnostics: Vec<Diagnostic>,
}

/// The classification of a tool.
#[derive(Clone, Debug, Serialize)]
pub struct FlowToolV1 {
    /// The tool, as `server.tool`.
    pub tool: String,
    /// The labels of its output; one entry if all of it has the same.
    pub outputs: Vec<OutputField>,
    /// The guarded and leaving parameters of the tool.
    pub parameters: Vec<ParameterRule>,
}

impl FlowToolsV1 {
    /// Creates the document about `tools`.
    pub fn new(tools: Vec<FlowToolV1>, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            schema: FLOW_TOOLS_SCHEMA,
            tools,
            diagnostics,
        }
    }
}

/// The schema's name and version, for the report of `wrap`.
pub const WRAP_SCHEMA: &str = "planwright.wrap/1";

/// The schema's name and version, for the report of `init`.
pub const INIT_SCHEMA: &str = "planwright.init/1";

/// The schema's name and version.
pub const SERVERS_SCHEMA: &str = "planwright.servers/1";

/// The servers of an `mcp.json`.
#[derive(Clone, Debug, Serialize)]
pub struct ServersV1 {
    /// [`SERVERS_SCHEMA`].
    pub schema: &'static str,
    /// The file; none if there is none.
    pub file: Option<String>,
    /// True if commands may start its servers: it was named, or is trusted.
    pub trusted: bool,
    /// The servers.
    pub servers: Vec<ListedServerV1>,
}

/// A server of an `mcp.json`.
#[derive(Clone, Debug, Serialize)]
pub struct ListedServerV1 {
    /// The name.
    pub name: String,
    /// `program`, `http`, `openapi`, or `unknown` for one that is disabled or cannot be used.
    pub kind: &'static str,
    /// The command with its arguments, or the address. References to variables stay as they are written.
    pub address: String,
    /// True if the file disables it.
    pub disabled: bool,
    /// The reason why it cannot be used.
    pub problem: Option<String>,
}

impl ServersV1 {
    /// Creates the document about a file and its servers.
    pub fn new(file: Option<String>, trusted: bool, servers: Vec<ListedServerV1>) -> Self {
        Self {
            schema: SERVERS_SCHEMA,
            file,
            trusted,
            servers,
        }
    }
}

/// The schema's name and version.
pub const SERVER_TESTS_SCHEMA: &str = "planwright.server-tests/1";

/// Tests that start servers.
#[derive(Clone, Debug, Serialize)]
pub struct ServerTestsV1 {
    /// [`SERVER_TESTS_SCHEMA`].
    pub schema: &'static str,
    /// The tests.
    pub tests: Vec<ServerTestV1>,
}

/// A server that was started.
#[derive(Clone, Debug, Serialize)]
pub struct ServerTestV1 {
    /// The name.
    pub name: String,
    /// True if it started and listed its tools.
    pub ok: bool,
    /// The number of its tools.
    pub tools: usize,
    /// The time from its start to the list of its tools, in milliseconds.
    pub duration_ms: f64,
    /// The reason why it did not start.
    pub error: Option<String>,
    /// A hint how to fix it.
    pub help: Option<String>,
}

impl ServerTestsV1 {
    /// Creates the document of these tests.
    pub fn new(tests: Vec<ServerTestV1>) -> Self {
        Self {
            schema: SERVER_TESTS_SCHEMA,
            tests,
        }
    }
}

/// The schema's name and version.
pub const DOCTOR_SCHEMA: &str = "planwright.doctor/1";

/// The state of the parts that commands depend on.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorV1 {
    /// [`DOCTOR_SCHEMA`].
    pub schema: &'static str,
    /// True if no part is `bad`.
    pub ok: bool,
    /// The parts.
    pub checks: Vec<DoctorCheckV1>,
}

/// The state of a part.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorCheckV1 {
    /// The part.
    pub part: &'static str,
    /// `good`, `absent` or `bad`.
    pub status: &'static str,
    /// The state, as one clause.
    pub message: String,
    /// Hints how to fix it.
    pub hints: Vec<String>,
}

impl DoctorV1 {
    /// Creates the document of these checks.
    pub fn new(checks: Vec<DoctorCheckV1>) -> Self {
        Self {
            schema: DOCTOR_SCHEMA,
            ok: checks.iter().all(|check| check.status != "bad"),
            checks,
        }
    }
}

/// The schema's name and version.
pub const EXPLANATION_SCHEMA: &str = "planwright.explanation/1";

/// The explanation of a diagnostic code, or of the kind of a step's error.
#[derive(Clone, Debug, Serialize)]
pub struct ExplanationV1 {
    /// [`EXPLANATION_SCHEMA`].
    pub schema: &'static str,
    /// The code, such as `PW0201`, or the kind, such as `timeout`.
    pub code: &'static str,
    /// The title.
    pub title: &'static str,
    /// The page about it, in Markdown.
    pub page: &'static str,
}

impl ExplanationV1 {
    /// Creates an explanation from a page.
    pub fn new(code: &'static str, title: &'static str, page: &'static str) -> Self {
        Self {
            schema: EXPLANATION_SCHEMA,
            code,
            title,
            page,
        }
    }
}

/// The changes to the files of a client.
#[derive(Clone, Debug, Serialize)]
pub struct WrapV1 {
    /// [`WRAP_SCHEMA`].
    pub schema: &'static str,
    /// True if servers were restored to the client instead of moved behind the gateway.
    pub undo: bool,
    /// True for a dry run, which changes nothing.
    pub dry_run: bool,
    /// The lists of servers, each with its changes.
    pub files: Vec<WrappedFileV1>,
}

/// The changes to one list of servers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WrappedFileV1 {
    /// The client's file.
    pub path: String,
    /// The scope of the servers, `user`, `project` or `local`, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// The name of the gateway's entry.
    pub entry: String,
    /// True if the file changed, or would change.
    pub changed: bool,
    /// The servers that moved behind the gateway now.
    pub moved: Vec<String>,
    /// The servers that could not be moved.
    pub stay: Vec<StayingServerV1>,
    /// The fields of the moved servers that have no equivalent in an `mcp.json`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedFieldV1>,
    /// The reason why the servers cannot be restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The restored servers, by their current names.
    pub returned: Vec<String>,
    /// The servers that were restored under another name.
    pub renamed: Vec<RenamedServerV1>,
    /// The file that holds the servers behind the gateway.
    pub servers_file: String,
    /// The client's file as it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The lines that would change, without the values of environment variables and headers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub difference: Vec<String>,
    /// The client's rules about the tools of these servers, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<CarriedRulesV1>,
}

/// The changes to a client's rules about tools.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CarriedRulesV1 {
    /// The user's own `planwright.toml`.
    pub file: String,
    /// The rules by which a tool need not ask.
    pub no_ask: Vec<CarriedRuleV1>,
    /// The rules by which a tool asks.
    pub ask: Vec<CarriedRuleV1>,
    /// The rules by which a tool is denied.
    pub deny: Vec<CarriedRuleV1>,
    /// The rules that were not carried over: they would loosen the configuration, and others can write their file.
    pub left: Vec<CarriedRuleV1>,
    /// The lines that are added to the file, or taken out of it.
    pub difference: Vec<String>,
}

/// A client's rule about tools of one server.
#[derive(Clone, Debug, Serialize)]
pub struct CarriedRuleV1 {
    /// The tools, as `planwright.toml` names them.
    pub tools: String,
    /// The rule, as the client has it.
    pub rule: String,
    /// The client's file.
    pub from: String,
}

/// A field of a moved server that has no equivalent in an `mcp.json`. It returns with the server.
#[derive(Clone, Debug, Serialize)]
pub struct DroppedFieldV1 {
    /// The name of the server.
    pub server: String,
    /// The field.
    pub field: String,
}

/// A server that stays with its client.
#[derive(Clone, Debug, Serialize)]
pub struct StayingServerV1 {
    /// The name of the server.
    pub server: String,
    /// The reason.
    pub because: String,
}

/// A server that was restored under another name, since the client has another one with its name.
#[derive(Clone, Debug, Serialize)]
pub struct RenamedServerV1 {
    /// The name before.
    pub server: String,
    /// The name now.
    pub now: String,
}

impl WrapV1 {
    /// Creates the document about `files`.
    pub fn new(undo: bool, dry_run: bool, files: Vec<WrappedFileV1>) -> Self {
        Self {
            schema: WRAP_SCHEMA,
            undo,
            dry_run,
            files,
        }
    }
}

/// The schema's name and version.
pub const CLIENT_LISTS_SCHEMA: &str = "planwright.clients/1";

/// The lists of servers that the known clients have.
#[derive(Clone, Debug, Serialize)]
pub struct ClientListsV1 {
    /// [`CLIENT_LISTS_SCHEMA`].
    pub schema: &'static str,
    /// The lists, in the order of the clients.
    pub lists: Vec<ClientListV1>,
}

/// A list of servers of a client.
#[derive(Clone, Debug, Serialize)]
pub struct ClientListV1 {
    /// The name of the client.
    pub client: &'static str,
    /// The file.
    pub file: String,
    /// The scope of the servers, `user`, `project` or `local`.
    pub scope: Option<&'static str>,
    /// True if the gateway is in front of servers of this list.
    pub wrapped: bool,
    /// The servers that the client starts itself, without the gateway.
    pub servers: Vec<String>,
    /// The file that holds the servers behind the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers_file: Option<String>,
    /// The reason why the list or the gateway in front of it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ClientListsV1 {
    /// Creates the document about `lists`.
    pub fn new(lists: Vec<ClientListV1>) -> Self {
        Self {
            schema: CLIENT_LISTS_SCHEMA,
            lists,
        }
    }
}

/// The files that `init` wrote, and those that it left alone.
#[derive(Clone, Debug, Serialize)]
pub struct InitV1 {
    /// [`INIT_SCHEMA`].
    pub schema: &'static str,
    /// The files that are new.
    pub written: Vec<String>,
    /// The files that were there already.
    #[serde(rename = "kept")]
    pub existing: Vec<String>,
}

impl InitV1 {
    /// Creates the document about files that were written and files that existed.
    pub fn new(written: Vec<String>, existing: Vec<String>) -> Self {
        Self {
            schema: INIT_SCHEMA,
            written,
            existing,
        }
    }
}

/// The schema's name and version.
pub const CONFIG_SCHEMA: &str = "planwright.config/1";

/// The effective configuration, with the source of each setting.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigV1 {
    /// [`CONFIG_SCHEMA`].
    pub schema: &'static str,
    /// The files that were read.
    pub files: Vec<ConfigFileV1>,
    /// Every setting. A list has one entry for each of its patterns.
    pub settings: Vec<SettingV1>,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigFileV1 {
    /// The owner: `user` or `project`.
    pub origin: &'static str,
    /// The path.
    pub path: String,
}

/// An effective setting.
#[derive(Clone, Debug, Serialize)]
pub struct SettingV1 {
    /// The key in `planwright.toml`.
    pub key: String,
    /// The value; `null` if it is not set.
    pub value: Value,
    /// The place that sets it: `planwright.toml:12`, or `default`.
    pub set_in: Arc<str>,
}

impl ConfigV1 {
    /// Creates the document about these files and settings.
    pub fn new(
        files: impl IntoIterator<Item = ConfigFileV1>,
        settings: impl IntoIterator<Item = SettingV1>,
    ) -> Self {
        Self {
            schema: CONFIG_SCHEMA,
            files: files.into_iter().collect(),
            settings: settings.into_iter().collect(),
        }
    }
}
