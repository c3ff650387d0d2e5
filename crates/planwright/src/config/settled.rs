//! The effective configuration: the user's file and the project's together.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::Policy;
use planwright_core::flow::FlowPolicy;
use planwright_core::plan::ExternalValue;
use planwright_core::{Catalog, Tool, ToolPattern};
use planwright_engine::{Bound, Guards, Rate};
use toml::Spanned;

use super::external_values::{ConfigPlace, OutsideRules};
use super::flow::FlowRules;
use super::model::ModelSettings;
use super::serve::{Retention, Serve};
use super::source::{ConfigSource, Origin};
use super::stages::{self, Stage};
use super::telemetry::TelemetrySettings;
use super::tools::ToolRules;
use crate::pins::PinPolicy;

/// The effective configuration: the user's file and the project's together.
///
/// The project's file comes with a folder, from the author of that folder. So it can make things stricter and never looser: a tool has to
/// be in each list of allowed ones, whatever one file denies is denied, and of two bounds the lower one holds.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub(super) tools: ToolRules,
    pub(super) passphrase: Option<Bound<bool>>,
    pub(super) flow: FlowRules,
    pub(super) guards: Guards,
    pub(super) max_output: Option<Bound>,
    pub(super) outside: OutsideRules,
    pub(super) stages: Vec<Stage>,
    pub(super) serve: Serve,
    pub(super) retention: Retention,
    pub(super) telemetry: TelemetrySettings,
    pub(super) model: ModelSettings,
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

    /// Switches the analysis of the flow on unless the user's own file switches it off.
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
    pub fn given_out(&self) -> impl Iterator<Item = (ExternalValue, Arc<str>)> {
        let releases = self.outside.releases.iter();
        releases.map(|release| (release.what, Arc::clone(&release.name)))
    }

    /// The tools of `catalog`, each as the configuration knows it: whether it asks first, whether it may be called again.
    pub fn catalog(&self, catalog: &Catalog) -> Catalog {
        self.catalog_asking(catalog, |_| false)
    }

    /// Like [`catalog`](Self::catalog), but tools selected by `asks` ask first if they do not declare whether they are destructive
    /// and no file has a rule for such tools.
    pub fn catalog_asking(&self, catalog: &Catalog, asks: impl Fn(&Tool) -> bool) -> Catalog {
        catalog.map(|tool| {
            let asks = asks(tool);
            self.tools.apply(tool, asks, self.flow.is_by_flow());
        })
    }

    /// Returns true if a file makes calls of this tool ask first, regardless of its annotations.
    pub fn asks_about(&self, tool: &Tool) -> bool {
        self.tools.ask_about(tool)
    }

    /// Returns true if decisions from the command line require a passphrase.
    pub fn wants_passphrase(&self) -> bool {
        self.passphrase.as_ref().is_some_and(|wanted| wanted.most)
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

    /// The most bytes that are shown of one step's output.
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

    /// Returns the settings of the model that writes plans.
    pub fn model(&self) -> &ModelSettings {
        &self.model
    }

    fn add(&mut self, source: &ConfigSource) {
        // Stages are a whole: to mix those of two files would open ways that neither has.
        if self.stages.is_empty() {
            self.stages = stages::read(source);
        }
        self.tools.add(source);
        self.flow.add(source);
        self.outside.add(source);
        self.serve.add(source);
        self.retention.add(source);
        self.telemetry.add(source);
        self.model.add(source);
        let count = |value: &Spanned<u64>| bound(source, value, *value.get_ref());
        if let Some(wanted) = &source.file.approvals.passphrase {
            let wants = *wanted.get_ref() || self.wants_passphrase();
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
        for (pattern, most) in &budgets.tools {
            let pattern = ToolPattern::new(pattern.get_ref().as_str());
            guards.tools.push((pattern, count(most)));
        }
        for (server, most) in &budgets.servers {
            guards
                .servers
                .push((Arc::from(server.as_str()), count(most)));
        }
        for (server, rate) in &source.file.rates {
            let rate = bound(source, rate, rate.get_ref().0);
            self.add_rate(server, rate);
        }
        // Limits on output protect no one, so the nearer file decides.
        if let Some(size) = &source.file.output.max_bytes {
            self.max_output = Some(bound(source, size, size.get_ref().0));
        }
    }

    /// Of two rates of one server, the one that lets fewer calls through in the long run holds.
    fn add_rate(&mut self, server: &str, rate: Bound<Rate>) {
        let rates = &mut self.guards.rates;
        let known = rates.iter_mut().find(|(known, _)| &**known == server);
        match known {
            Some((_, known)) if gap(rate.most) > gap(known.most) => *known = rate,
            Some(_) => {}
            None => rates.push((Arc::from(server), rate)),
        }
    }
}

/// The time from one call to the next.
fn gap(rate: Rate) -> Duration {
    rate.per / rate.calls.get()
}

fn bound<T, U>(source: &ConfigSource, value: &Spanned<T>, most: U) -> Bound<U> {
    Bound::set_in(most, source.place(value))
}

/// Takes the lower one of two bounds.
pub(super) fn lower<T: Ord>(known: &mut Option<Bound<T>>, other: Option<Bound<T>>) {
    let Some(other) = other else {
        return;
    };
    if known.as_ref().is_none_or(|known| other.most < known.most) {
        *known = Some(other);
    }
}
