//! A `planwright.toml`: its format, and the result of reading one, all issues with their places, and the valid settings; then the
//! effective configuration, of the user's file and the project's together, with its settings as a list; and the options of runs, in
//! which flags take precedence over it.

#[cfg(test)]
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::check::{AllowList, Policy, ToolRule};
use planwright_core::flow::FlowPolicy;
use planwright_core::plan::ExternalValue;
use planwright_core::{Catalog, Tool, Value};
use planwright_dialects::document::nearest;
use planwright_engine::{Bound, Guards, RunOptions};
use planwright_format::SettingV1 as Setting;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::budgets::{BudgetsTable, OutputTable, RUN_BOUNDS, RateTable, RunawayTable};
use super::dates::{DatesSettings, DatesTable};
use super::external_values::{ConfigPlace, OutsideRules, SecretTables, ToolsByName};
use super::flow::{FlowRules, FlowTable};
use super::model::{ModelSettings, ModelTable};
use super::serve::{
    AuthenticatedClient, ClientPolicy, ClientRules, ClientTables, Retention, Serve, ServeTable,
    StoreTable,
};
use super::setting::{ConfigText, List, Origin, line_of};
use super::stages::{Stage, StageTables};
use super::telemetry::{TelemetrySettings, TelemetryTable};
use super::tools::{ApprovalsTable, ToolRules, ToolsTable};
use super::value_syntax::Pattern;
use super::{budgets, external_values, flow, model, serve, stages, telemetry, tools};
use crate::pins::PinPolicy;

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
fn explain(file: &str, text: &str, span: &Range<usize>, message: &str) -> ConfigIssue {
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

/// The effective configuration: the user's file and the project's together. The author of the project writes the project's file, so that
/// file can only restrict: a tool must be in every `allow` list, a tool that any file denies is denied, and the lower of two bounds
/// applies.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub(super) tools: ToolRules,
    pub(super) passphrase: Option<Bound<bool>>,
    pub(super) flow: FlowRules,
    pub(super) guards: Guards,
    max_output: Option<Bound>,
    pub(super) outside: OutsideRules,
    pub(super) stages: Vec<Stage>,
    pub(super) serve: Serve,
    clients: Vec<Arc<ClientRules>>,
    retention: Retention,
    pub(super) telemetry: TelemetrySettings,
    pub(super) model: ModelSettings,
    dates: DatesSettings,
}

impl Config {
    /// Combines the files, the user's first.
    pub fn of<'a>(sources: impl IntoIterator<Item = &'a ConfigSource>) -> Self {
        let mut config = Self::default();
        for source in sources {
            config.add(source);
        }
        config
    }

    /// The policy, with the rules of the configuration added.
    pub fn restrict(&self, policy: Policy) -> Policy {
        let policy = self.outside.restrict(self.tools.restrict(policy));
        match self.flow.enabled() {
            Some(flow) => policy.with_flow(flow.clone()),
            None => policy,
        }
    }

    /// Returns `catalog` with the overrides of the configuration: approval, read-only and idempotent.
    pub fn catalog(&self, catalog: &Catalog) -> Catalog {
        self.catalog_asking(catalog, |_| false)
    }

    /// Like [`catalog`](Self::catalog), but tools selected by `asks` need approval if they do not declare whether they are destructive
    /// and no file has a rule for such tools.
    pub fn catalog_asking(&self, catalog: &Catalog, asks: impl Fn(&Tool) -> bool) -> Catalog {
        catalog.map(|tool| {
            let asks = asks(tool);
            self.tools.apply(tool, asks, self.flow.is_by_flow());
        })
    }

    /// Returns one tool with the overrides of the configuration.
    #[must_use]
    pub fn configured(&self, mut tool: Tool) -> Tool {
        self.tools.apply(&mut tool, false, self.flow.is_by_flow());
        tool
    }

    /// Returns the names of the tools that undo calls of others.
    pub fn undo_tools(&self) -> impl Iterator<Item = &Arc<str>> {
        self.tools.undo.iter().map(|rule| &rule.call.undo.tool.text)
    }

    /// Returns `names`, by which a plan calls tools, with those of the tools that undo such calls: the check of the plan needs them, too.
    #[must_use]
    pub fn with_undo_tools(&self, mut names: BTreeSet<String>) -> BTreeSet<String> {
        let rules = self.tools.undo.iter();
        let rules = rules.filter(|rule| names.iter().any(|name| rule.may_cover(name)));
        let undos: Vec<String> = rules
            .map(|rule| rule.call.undo.tool.text.to_string())
            .collect();
        names.extend(undos);
        names
    }

    /// Enables the flow analysis, overriding the files.
    #[must_use]
    pub fn with_flow(mut self) -> Self {
        self.flow.switch_on();
        self
    }

    /// Labels literals and inputs of plans as untrusted: their author has read untrusted text.
    #[must_use]
    pub fn with_exposed_planner(mut self) -> Self {
        self.flow.expose();
        self
    }

    /// Returns the flow policy, whether or not a file switches it on.
    pub fn flow(&self) -> &FlowPolicy {
        self.flow.policy()
    }

    /// Enables the flow analysis unless the user's own file disables it.
    #[must_use]
    pub fn with_flow_by_default(self) -> Self {
        if self.flow.unless_switched_off().is_some() {
            self.with_flow()
        } else {
            self
        }
    }

    /// Returns the place of an external value.
    pub fn place_of(&self, what: ExternalValue, name: &str) -> Option<ConfigPlace> {
        self.outside.place(what, name)
    }

    /// Returns the external values that plans may have.
    pub fn released_values(&self) -> impl Iterator<Item = (ExternalValue, Arc<str>)> {
        let releases = self.outside.releases.iter();
        releases.map(|release| (release.what, Arc::clone(&release.name)))
    }

    /// Returns false if a file switches off the record of the structure of answers.
    pub fn learns_outputs(&self) -> bool {
        self.tools.learns_nothing.is_none()
    }

    /// Returns true if a file requires approval of calls of this tool, regardless of its annotations.
    pub fn asks_about(&self, tool: &Tool) -> bool {
        self.tools.ask_about(tool)
    }

    /// Returns true if decisions from the command line require a passphrase.
    pub fn requires_passphrase(&self) -> bool {
        self.passphrase.as_ref().is_some_and(|wanted| wanted.limit)
    }

    /// Returns the policy for tools that changed since they were pinned. `is_own` says whether their servers are those of the user's own
    /// `mcp.json`, rather than of one that others may have written.
    pub fn pin(&self, is_own: bool) -> PinPolicy {
        self.tools.pin(is_own)
    }

    /// The bounds of a run.
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// The maximum number of bytes that are shown of one step's output.
    pub fn max_output(&self) -> Option<&Bound> {
        self.max_output.as_ref()
    }

    /// Returns the stages of work through a gateway, in order; none if stages are not configured.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Returns the limits of `serve` for its clients, and of its HTTP server.
    pub fn serve(&self) -> &Serve {
        &self.serve
    }

    /// Returns the rules for a client of `serve --listen`, which narrow the rest of the configuration.
    pub fn client_policy(&self, client: &AuthenticatedClient) -> ClientPolicy {
        ClientPolicy::of(&self.clients, client)
    }

    /// Returns the bounds of the runs of a client, with the places that set them.
    pub fn client_bounds(&self, client: &ClientPolicy) -> Vec<Setting> {
        let mut guards = self.guards.clone();
        client.narrow(&mut guards);
        budgets::settings(&guards)
    }

    /// Returns the rule below `[tools]` that forbids a tool to all, with its place.
    pub fn forbidding_rule(&self, tool: &Tool) -> Option<String> {
        let place = |set_in: Option<&Arc<str>>| super::setting::place_of(set_in);
        let denies = |rule: &&ToolRule| rule.pattern.covers(tool);
        if let Some(rule) = self.tools.deny.iter().find(denies) {
            return Some(format!("`deny` in {}", place(rule.set_in.as_ref())));
        }
        let omits = |list: &&AllowList| !list.tools.iter().any(|pattern| pattern.covers(tool));
        let list = self.tools.allow.iter().find(omits)?;
        Some(format!("`allow` in {}", place(list.set_in.as_ref())))
    }

    /// Returns the time and the size for which `serve` stores runs.
    pub fn retention(&self) -> &Retention {
        &self.retention
    }

    /// Returns the collector of spans and metrics.
    pub fn telemetry(&self) -> &TelemetrySettings {
        &self.telemetry
    }

    /// Returns the calendar of phrases of time.
    pub fn dates(&self) -> &DatesSettings {
        &self.dates
    }

    /// Returns the settings of the model that writes plans.
    pub fn model(&self) -> &ModelSettings {
        &self.model
    }

    fn add(&mut self, source: &ConfigSource) {
        let ConfigSource { file, text } = source;
        // Stages of two files are not merged, since that could allow transitions that neither file has.
        if self.stages.is_empty() {
            self.stages = stages::read(&file.stages, text);
        }
        self.tools.add(&file.tools, text);
        if let Some(flow) = &file.flow {
            self.flow.add(flow, text);
        }
        self.outside.add(&file.env, &file.secrets, text);
        self.serve.add(&file.serve, text);
        serve::add_clients(&mut self.clients, &file.clients, text);
        self.retention.add(&file.store, text);
        self.telemetry.add(&file.telemetry, text);
        self.model.add(&file.model, text);
        self.dates.add(&file.dates, text);
        if let Some(wanted) = &file.approvals.passphrase {
            let wants = *wanted.get_ref() || self.requires_passphrase();
            self.passphrase = Some(text.bound(wanted, wants));
        }
        let tables = (&file.budgets, &file.rates, &file.runaway);
        budgets::add(&mut self.guards, tables, text);
        // Limits on output are no protection, so the nearer file decides.
        if let Some(size) = &file.output.max_bytes {
            self.max_output = Some(text.bound(size, size.get_ref().0));
        }
    }
}

impl Config {
    /// Returns all effective settings, in the order of the reference. A list has one entry for each of its patterns.
    pub fn settings(&self) -> Vec<Setting> {
        let mut list = List::default();
        self.list_tools(&mut list);
        list.one(
            "approvals.passphrase",
            self.passphrase.as_ref(),
            Value::from,
        );
        self.flow.list(&mut list);
        budgets::list(&self.guards, &mut list);
        list.count("output.max_bytes", self.max_output.as_ref());
        self.list_outside(&mut list);
        self.list_stages(&mut list);
        self.serve.list(&mut list);
        serve::list_clients(&self.clients, &mut list);
        self.retention.list(&mut list);
        self.telemetry.list(&mut list);
        self.model.list(&mut list);
        self.dates.list(&mut list);
        list.0
    }

    fn list_stages(&self, list: &mut List) {
        for stage in &self.stages {
            let texts = |names: &[Arc<str>]| names.iter().cloned().map(Value::from).collect();
            let tools = stage.tools.iter().map(|tool| Value::from(tool.as_str()));
            let lists: [(&str, Vec<Value>); 3] = [
                ("tools", tools.collect()),
                ("next", texts(&stage.next)),
                ("needs", texts(&stage.needs)),
            ];
            for (word, values) in lists {
                let key = format!("stages.{}.{word}", stage.name);
                if values.is_empty() && word == "tools" {
                    list.push(&key, Value::list([]), stage.set_in.as_ref());
                }
                for value in values {
                    list.push(&key, value, stage.set_in.as_ref());
                }
            }
        }
    }

    /// Lists the names, sources and tools of external values, but never their values.
    fn list_outside(&self, list: &mut List) {
        let outside = &self.outside;
        for release in &outside.releases {
            let (what, name) = (release.what, &release.name);
            let mut key = format!("{what}.{name}");
            if what == ExternalValue::Secrets {
                let mut secrets = outside.secrets.iter();
                if let Some(secret) = secrets.find(|secret| secret.name == *name) {
                    let (word, place) = match &secret.place {
                        ConfigPlace::Variable(variable) => ("env", variable),
                        ConfigPlace::File(path) => ("file", path),
                    };
                    let shown = Value::from(&**place);
                    list.push(&format!("{key}.{word}"), shown, Some(&secret.set_in));
                }
                key += ".tools";
            }
            for tools in &release.tools {
                for pattern in &tools.tools {
                    let shown = Value::from(pattern.as_str());
                    list.push(&key, shown, tools.set_in.as_ref());
                }
                if tools.tools.is_empty() {
                    list.push(&key, Value::list([]), tools.set_in.as_ref());
                }
            }
        }
    }

    fn list_tools(&self, list: &mut List) {
        let tools = &self.tools;
        if tools.allow.is_empty() {
            list.push("tools.allow", Value::Null, None);
        }
        for allowed in &tools.allow {
            for pattern in &allowed.tools {
                list.push(
                    "tools.allow",
                    Value::from(pattern.as_str()),
                    allowed.set_in.as_ref(),
                );
            }
            if allowed.tools.is_empty() {
                list.push("tools.allow", Value::list([]), allowed.set_in.as_ref());
            }
        }
        list.rules("tools.deny", tools.deny.iter());
        list.rules("tools.ask", tools.ask.iter());
        list.rules("tools.no_ask", tools.no_ask.iter());
        list.rules("tools.read_only", tools.read_only.iter());
        list.rules("tools.idempotent", tools.idempotent.iter());
        // Both apply; the stricter one decides.
        let pins = tools.pin.iter().chain(&tools.project_pin);
        let before = list.0.len();
        for rule in pins {
            let word = Value::from(rule.policy.as_str());
            list.push("tools.pin", word, Some(&rule.set_in));
        }
        if list.0.len() == before {
            list.push("tools.pin", Value::Null, None);
        }
        let rule = tools.unannotated.as_ref();
        let word = rule.map_or(Value::Null, |rule| Value::from(rule.word.as_str()));
        list.push("tools.unannotated", word, rule.map(|rule| &rule.set_in));
        for rule in &tools.sharable {
            let pattern = Value::from(rule.pattern.as_str());
            list.push("tools.sharable", pattern, Some(&rule.set_in));
        }
        for rule in &tools.undo {
            let key = format!("tools.undo.{:?}", rule.tools.as_str());
            list.push(&key, Value::from(&*rule.call.text), Some(&rule.set_in));
        }
        let set_in = tools.learns_nothing.as_ref();
        list.push("tools.learn_outputs", Value::from(set_in.is_none()), set_in);
    }
}

/// Options of single runs, which take precedence over the configuration.
#[derive(Clone, Debug, Default)]
pub struct RunOverrides {
    /// Limits, retries and timeouts, which a configuration does not set.
    pub base: RunOptions,
    /// The bounds of [`RUN_BOUNDS`] that flags set, each in the place of its flag.
    pub bounds: Guards,
}

impl RunOverrides {
    /// The options of a new run. The service adds what a store knows when the run is [launched](crate::Planwright::launch).
    pub fn options(&self, config: &Config) -> RunOptions {
        RunOptions {
            guards: self.guards(config.guards().clone()),
            ..self.base.clone()
        }
    }

    /// Returns the options of a resumed run: those of `before`, with the current bounds of the configuration. A bound that was an
    /// override when the run began still applies, unless another override replaces it.
    pub fn resumed(&self, config: &Config, before: RunOptions) -> RunOptions {
        let mut guards = config.guards().clone();
        for bound in RUN_BOUNDS {
            if let Some(flag) = &bound.flag {
                bound.replace(&mut guards, &before.guards, |set_in| set_in == flag.name);
            }
        }
        RunOptions {
            guards: self.guards(guards),
            ..before
        }
    }

    fn guards(&self, mut guards: Guards) -> Guards {
        for bound in RUN_BOUNDS {
            bound.replace(&mut guards, &self.bounds, |_| true);
        }
        guards
    }
}
