//! Clients that have read untrusted text: literals of their later plans are untrusted.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_core::check::CheckedPlan;
use planwright_core::flow::{Integrity, OnViolation, ValueLabels};
use planwright_core::{Code, Tool, Value, flow};
use planwright_engine::run::{StepStatus, StepSummary};
use planwright_engine::{RunStatus, RunSummary};
use planwright_mcp::gateway::ClientId;

use crate::host::PlanHost;

/// The clients that have read untrusted text. A session is one client, and so is a client without sessions.
#[derive(Debug, Default)]
pub(crate) struct ExposedClients(Mutex<HashSet<ClientId>>);

impl ExposedClients {
    pub(crate) fn contains(&self, client: &ClientId) -> bool {
        self.lock().contains(client)
    }

    /// Forgets a client whose session has ended.
    pub(crate) fn remove(&self, client: &ClientId) {
        self.lock().remove(client);
    }

    fn insert(&self, client: &ClientId) {
        self.lock().insert(client.clone());
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ClientId>> {
        // Nothing that may panic happens while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlanHost {
    /// Returns true if the client has read untrusted text.
    pub(crate) fn is_exposed(&self, client: &ClientId) -> bool {
        self.exposed().contains(client)
    }

    /// Returns the reason to ask about a call without a plan, if the client has read untrusted text and writes a guarded
    /// parameter itself.
    pub(crate) fn guarded_literals(
        &self,
        client: &ClientId,
        tool: &Tool,
        arguments: &Value,
    ) -> Option<Arc<str>> {
        if !self.exposed().contains(client) {
            return None;
        }
        let policy = self.policy(client).flow?;
        if policy.violation == OnViolation::Warn {
            return None;
        }
        let guarded = flow::guarded_arguments(&policy, tool, arguments);
        let parameter = guarded.first()?;
        Some(
            format!(
                "{}: its author has read untrusted text and writes the guarded parameter `{}`",
                Code::UntrustedArgument,
                parameter
            )
            .into(),
        )
    }

    /// Records that the client gets the answer about a run. Without its `plan`, nothing is known of its output.
    pub(crate) fn note_run_answer(
        &self,
        client: &ClientId,
        plan: Option<&CheckedPlan>,
        summary: &RunSummary,
    ) {
        // The answers of compatibility profiles show more than the output.
        let shows_all = self.settings.compat.is_some() && !summary.calls.is_empty();
        // The report of the run has the labels that servers have stated as well.
        let report = plan.and_then(|plan| summary.flow.as_ref().or(plan.flow()));
        if shows_all || report.is_none_or(|report| report.exposes) || shows_errors(summary) {
            self.exposed().insert(client);
        }
    }

    /// Records that the client gets the answer of a tool as it is.
    pub(crate) fn note_answer_of(&self, client: &ClientId, tool: &Tool) {
        if flow::may_expose(self.settings.config.flow(), tool) {
            self.exposed().insert(client);
        }
    }

    /// Records that the client gets the result of a call as it is, with the labels that the server states.
    pub(crate) fn note_stated_labels(&self, client: &ClientId, result: &Value) {
        let stated = result.get("_meta").map(ValueLabels::from_meta);
        if stated.is_some_and(|labels| labels.integrity == Integrity::Untrusted) {
            self.exposed().insert(client);
        }
    }

    /// Records that the client gets a value whose source is not known.
    pub(crate) fn note_unknown_answer(&self, client: &ClientId) {
        self.exposed().insert(client);
    }
}

/// Returns true if the answer about the run shows texts of errors, or arguments of calls that wait.
fn shows_errors(summary: &RunSummary) -> bool {
    fn is_shown(step: &StepSummary) -> bool {
        let waits = matches!(step.status, StepStatus::Waiting | StepStatus::Unknown);
        step.error.is_some() || waits || step.parts.iter().any(is_shown)
    }
    summary.status != RunStatus::Succeeded && summary.steps.iter().any(is_shown)
        || summary.steps.iter().any(|step| step.error.is_some())
}
