//! The effective configuration: the user's file and the project's together; and its settings with their sources, as a list.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::{Policy, ToolRule};
use planwright_core::flow::FlowPolicy;
use planwright_core::plan::ExternalValue;
use planwright_core::{Catalog, Tool, ToolPattern, Value};
use planwright_engine::{Bound, Guards, Rate};
use planwright_format::SettingV1 as Setting;
use toml::Spanned;

use super::dates::DatesSettings;
use super::external_values::{ConfigPlace, OutsideRules};
use super::flow::FlowRules;
use super::model::ModelSettings;
use super::serve::{self, Stage};
use super::serve::{Retention, Serve};
use super::source::{ConfigSource, Origin};
use super::telemetry::TelemetrySettings;
use super::tools::{ToolRules, place_of};
use crate::pins::PinPolicy;

/// The effective configuration: the user's file and the project's together.
/// The author of the project writes the project's file, so that file can only restrict: a tool must be in every `allow` list, a tool that
/// any file denies is denied, and the lower of two bounds applies.
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

    /// Returns `catalog` with the overrides of the configuration: approval, read-only and idempotent.
    pub fn catalog(&self, catalog: &Catalog) -> Catalog {
        self.catalog_asking(catalog, |_| false)
    }

    /// Like [`catalog`](Self::catalog), but tools selected by `asks` need approval if they do not declare whether they are destructive
    /// and no file has
    /// a rule for such tools.
    pub fn catalog_asking(&self, catalog: &Catalog, asks: impl Fn(&Tool) -> bool) -> Catalog {
        catalog.map(|tool| {
            let asks = asks(tool);
            self.tools.apply(tool, asks, self.flow.is_by_flow());
        })
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
        // Stages of two files are not merged, since that could allow transitions that neither file has.
        if self.stages.is_empty() {
            self.stages = serve::read(source);
        }
        self.tools.add(source);
        self.flow.add(source);
        self.outside.add(source);
        self.serve.add(source);
        self.retention.add(source);
        self.telemetry.add(source);
        self.model.add(source);
        self.dates.add(source);
        let count = |value: &Spanned<u64>| bound(source, value, *value.get_ref());
        if let Some(wanted) = &source.file.approvals.passphrase {
            let wants = *wanted.get_ref() || self.requires_passphrase();
            self.passphrase = Some(bound(source, wanted, wants));
        }
        let budgets = &source.file.budgets;
        let guards = &mut self.guards;
        lower(&mut guards.calls, budgets.calls.as_ref().map(count));
        lower(
            &mut guards.wall_time,
            budgets
                .wall_time
                .as_ref()
                .map(|time| bound(source, time, time.get_ref().0)),
        );
        lower(
            &mut guards.output_bytes,
            budgets
                .output_bytes
                .as_ref()
                .map(|size| bound(source, size, size.get_ref().0)),
        );
        // The default is at least as strict, so a looser project's file has no effect.
        let written = budgets.written_bytes.as_ref().filter(|size| {
            source.origin == Origin::User || size.get_ref().0 <= Guards::WRITTEN_BYTES
        });
        lower(
            &mut guards.written_bytes,
            written.map(|size| bound(source, size, size.get_ref().0)),
        );
        let whole =
            |value: &Spanned<std::num::NonZeroU64>| bound(source, value, value.get_ref().get());
        lower(
            &mut guards.failures_in_a_row,
            budgets.failures_in_a_row.as_ref().map(whole),
        );
        let runaway = &source.file.runaway;
        lower(&mut guards.same_call, runaway.same_call.as_ref().map(whole));
        lower(
            &mut guards.same_rounds,
            runaway.same_rounds.as_ref().map(whole),
        );
        for (pattern, limit) in &budgets.tools {
            let pattern = ToolPattern::new(pattern.get_ref().as_str());
            guards.tools.push((pattern, count(limit)));
        }
        for (server, limit) in &budgets.servers {
            guards.servers.push((server.as_str().into(), count(limit)));
        }
        for (server, rate) in &source.file.rates {
            let rate = bound(source, rate, rate.get_ref().0);
            self.add_rate(server, rate);
        }
        // Limits on output are no protection, so the nearer file decides.
        if let Some(size) = &source.file.output.max_bytes {
            self.max_output = Some(bound(source, size, size.get_ref().0));
        }
    }

    /// Adds a rate limit; of two for one server, the one with the longer interval between calls applies.
    fn add_rate(&mut self, server: &str, rate: Bound<Rate>) {
        let rates = &mut self.guards.rates;
        let known = rates.iter_mut().find(|(known, _)| &**known == server);
        match known {
            Some((_, known)) if gap(rate.limit) > gap(known.limit) => *known = rate,
            Some(_) => {}
            None => rates.push((server.into(), rate)),
        }
    }
}

/// The time from one call to the next.
fn gap(rate: Rate) -> Duration {
    rate.per / rate.calls.get()
}

fn bound<T, U>(source: &ConfigSource, value: &Spanned<T>, limit: U) -> Bound<U> {
    Bound::set_in(limit, source.place(value))
}

/// Replaces `known` by the lower of two bounds.
pub(super) fn lower<T: Ord>(known: &mut Option<Bound<T>>, other: Option<Bound<T>>) {
    let Some(other) = other else {
        return;
    };
    if known.as_ref().is_none_or(|known| other.limit < known.limit) {
        *known = Some(other);
    }
}

impl Config {
    /// Returns all effective settings, in the order of the reference. A list has one entry for each of its patterns.
    pub fn settings(&self) -> Vec<Setting> {
        let mut list = List(Vec::new());
        self.list_tools(&mut list);
        list.one(
            "approvals.passphrase",
            self.passphrase.as_ref(),
            Value::from,
        );
        self.flow.list(&mut list);
        let guards = &self.guards;
        list.count("budgets.calls", guards.calls.as_ref());
        let time = guards.wall_time.as_ref();
        list.one("budgets.wall_time", time, |time| {
            Value::from(shown_time(time))
        });
        list.count("budgets.output_bytes", guards.output_bytes.as_ref());
        list.count("budgets.written_bytes", guards.written_bytes.as_ref());
        list.count(
            "budgets.failures_in_a_row",
            guards.failures_in_a_row.as_ref(),
        );
        for (pattern, bound) in &guards.tools {
            list.count(&format!("budgets.tools.\"{pattern}\""), Some(bound));
        }
        for (server, bound) in &guards.servers {
            list.count(&format!("budgets.servers.{server}"), Some(bound));
        }
        for (server, bound) in &guards.rates {
            let key = format!("rates.{server}");
            list.one(&key, Some(bound), |rate| Value::from(shown_rate(rate)));
        }
        list.count("runaway.same_call", guards.same_call.as_ref());
        list.count("runaway.same_rounds", guards.same_rounds.as_ref());
        list.count("output.max_bytes", self.max_output.as_ref());
        self.list_outside(&mut list);
        self.list_stages(&mut list);
        self.serve.list(&mut list);
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

pub(super) struct List(Vec<Setting>);

impl List {
    pub(super) fn push(&mut self, key: &str, value: Value, set_in: Option<&Arc<str>>) {
        self.0.push(Setting {
            key: key.to_owned(),
            value,
            set_in: place_of(set_in),
        });
    }

    fn rules<'a>(&mut self, key: &str, rules: impl Iterator<Item = &'a ToolRule>) {
        let before = self.0.len();
        for rule in rules {
            self.push(
                key,
                Value::from(rule.pattern.as_str()),
                rule.set_in.as_ref(),
            );
        }
        if self.0.len() == before {
            self.push(key, Value::Null, None);
        }
    }

    fn count(&mut self, key: &str, bound: Option<&Bound>) {
        self.one(key, bound, Value::from);
    }

    fn one<T: Copy>(&mut self, key: &str, bound: Option<&Bound<T>>, shown: impl Fn(T) -> Value) {
        match bound {
            Some(bound) => self.push(key, shown(bound.limit), Some(&bound.set_in)),
            None => self.push(key, Value::Null, None),
        }
    }

    /// A setting that is optional: it is listed only if a file sets it.
    pub(super) fn add<T: Copy>(
        &mut self,
        key: &str,
        bound: Option<&Bound<T>>,
        shown: impl Fn(T) -> Value,
    ) {
        if bound.is_some() {
            self.one(key, bound, shown);
        }
    }
}

/// A time as it may be written in the file.
pub(super) fn shown_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.is_zero() => "0s".to_owned(),
        _ if time.subsec_nanos() > 0 => format!("{}ms", time.as_millis()),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

pub(super) fn shown_rate(rate: Rate) -> String {
    let per = shown_time(rate.per);
    let per = match per.as_str() {
        "1s" | "1m" | "1h" => &per[1..],
        other => other,
    };
    format!("{}/{per}", rate.calls)
}
