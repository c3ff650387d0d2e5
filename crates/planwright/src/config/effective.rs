//! The effective configuration: the user's file and the project's together; its settings with their sources, as a list; and the options
//! of runs, in which flags take precedence over it.

use std::sync::Arc;

use planwright_core::check::{AllowList, Policy, ToolRule};
use planwright_core::flow::FlowPolicy;
use planwright_core::plan::ExternalValue;
use planwright_core::{Catalog, Tool, Value};
use planwright_engine::{Bound, Guards, RunOptions};
use planwright_format::SettingV1 as Setting;

use super::budgets::RUN_BOUNDS;
use super::dates::DatesSettings;
use super::external_values::{ConfigPlace, OutsideRules};
use super::flow::FlowRules;
use super::model::ModelSettings;
use super::serve::{self, ClientIdentity, ClientPolicy, ClientRules, Retention, Serve};
use super::setting::List;
use super::source::ConfigSource;
use super::stages::Stage;
use super::telemetry::TelemetrySettings;
use super::tools::ToolRules;
use super::{budgets, stages};
use crate::pins::PinPolicy;

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
    pub fn client_policy(&self, client: &ClientIdentity) -> ClientPolicy {
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
