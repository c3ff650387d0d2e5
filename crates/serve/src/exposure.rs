//! Sessions that have read untrusted text: literals of their later plans are untrusted.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::flow::{
    FlowContext, FlowPolicy, Integrity, OnViolation, StepLabels, ValueLabels,
};
use planwright_core::plan::Output;
use planwright_core::{Code, Tool, Value, flow};
use planwright_engine::backend::ToolOutput;
use planwright_engine::run::{StepStatus, StepSummary};
use planwright_engine::{RunStatus, RunSummary};
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::GatewayClient;

use crate::host::PlanHost;
use crate::response::content;
use crate::tools::arguments::BadRequest;

impl PlanHost {
    /// Returns true if the session has read untrusted text, or may have: this gateway does not know what its replicas have answered.
    pub(crate) fn is_exposed(&self, client: &GatewayClient) -> bool {
        self.settings.has_replicas || self.exposed.contains(client)
    }

    /// Applies the flow policy to a call without a plan: its session may have read untrusted text and write a guarded parameter
    /// itself. Returns the reason to ask a person, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if the policy denies the call.
    pub(crate) fn objection_to_literals(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
    ) -> Result<Option<Arc<str>>, BadRequest> {
        if !self.is_exposed(client) {
            return Ok(None);
        }
        let policy = self.policy(client).flow;
        let Some(policy) = policy.filter(|policy| policy.violation != OnViolation::Warn) else {
            return Ok(None);
        };
        let guarded = flow::guarded_arguments(&policy, tool, arguments);
        let Some(parameter) = guarded.first() else {
            return Ok(None);
        };
        let what = if parameter.is_empty() {
            "calls a guarded tool".to_owned()
        } else {
            format!("writes the guarded parameter `{parameter}`")
        };
        let reason = format!(
            "{}: its author has read untrusted text and {what}",
            Code::UntrustedArgument,
        );
        match policy.violation {
            OnViolation::Deny => Err(BadRequest(reason)),
            OnViolation::Ask | OnViolation::Warn => Ok(Some(reason.into())),
        }
    }

    /// Records that the client gets the answer about a run. Without `plan`, the output of the run counts as untrusted.
    pub(crate) fn note_run_answer(
        &self,
        client: &GatewayClient,
        plan: Option<&CheckedPlan>,
        summary: &RunSummary,
    ) {
        let is_exposed = summary.has_error_texts()
            || self.shows_blocks(plan, summary)
            || plan.is_none_or(|plan| self.shows_untrusted(client, plan, summary));
        if is_exposed {
            self.exposed.insert(client);
        }
    }

    /// Returns true if the answer about a run shows an untrusted output, or untrusted arguments of calls that wait.
    fn shows_untrusted(
        &self,
        client: &GatewayClient,
        plan: &CheckedPlan,
        summary: &RunSummary,
    ) -> bool {
        // The report of the run has the labels that servers have stated as well.
        let Some(report) = summary.flow.as_ref().or(plan.flow()) else {
            return true;
        };
        let policy = self.policy(client);
        let Some(flow) = policy.flow else {
            return true;
        };
        let author = FlowPolicy {
            planner: report.planner,
            ..flow
        };
        let context = FlowContext {
            retained: Some(&report.retained),
            ..FlowContext::new(&author, &policy.releases)
        };
        let is_untrusted = |labels: &StepLabels, step: &str| {
            let labels = labels.get(step);
            labels.is_none_or(|labels| labels.integrity == Integrity::Untrusted)
        };
        let has_succeeded = summary.status == RunStatus::Succeeded;
        let has_untrusted_step = || {
            let labels = flow::step_labels(plan, context, &summary.stated);
            let mut shown = summary.steps.iter().filter(|step| step.output.is_some());
            shown.any(|step| is_untrusted(&labels, step.at.step.as_str()))
        };
        let shows_output = match &plan.plan().output {
            Output::All => report.exposes && (has_succeeded || has_untrusted_step()),
            // The answers of compatibility profiles show more than the output.
            _ if self.settings.compat.is_some() => has_untrusted_step(),
            _ => report.exposes && !summary.output.is_null(),
        };
        if shows_output {
            return true;
        }
        let waiting = waiting_steps(summary, &report.asking_steps());
        if has_succeeded || waiting.is_empty() {
            return false;
        }
        let labels = flow::argument_labels(plan, context, &summary.stated);
        waiting.iter().any(|step| is_untrusted(&labels, step))
    }

    /// Returns true if images, resources or links of a tool whose output may be untrusted are attached to the answer, also if
    /// the output of the plan is something else of that step.
    fn shows_blocks(&self, plan: Option<&CheckedPlan>, summary: &RunSummary) -> bool {
        let rules = self.settings.config.flow();
        let is_stated = |step: &StepSummary| {
            let mut stated = summary.stated.iter();
            stated.any(|(at, labels)| {
                **at == *step.at.steps() && labels.integrity == Integrity::Untrusted
            })
        };
        content::steps_with_blocks(summary, plan).any(|step| {
            let tool = plan.and_then(|plan| {
                let mut steps = plan.plan().steps.iter();
                let index = steps.position(|planned| planned.id == step.at.step)?;
                plan.steps().get(index)?.tool.as_deref()
            });
            is_stated(step) || tool.is_none_or(|tool| flow::may_be_untrusted(rules, tool))
        })
    }

    /// Records that the client gets the answer of a tool as it is.
    pub(crate) fn note_answer_of(&self, client: &GatewayClient, tool: &Tool) {
        if flow::may_expose(self.settings.config.flow(), tool) {
            self.exposed.insert(client);
        }
    }

    /// Records that the client gets the result of a call as it is, with the labels that the server states and with texts that
    /// the schema of the tool does not have.
    pub(crate) fn note_result_of(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        result: &Result<Value, UpstreamError>,
    ) {
        // The text of an error is untrusted, whichever tool failed.
        let Ok(result) = result else {
            return self.note_unknown_answer(client);
        };
        let stated = result.get("_meta").map(ValueLabels::from_meta);
        let is_stated = stated.is_some_and(|labels| labels.integrity == Integrity::Untrusted);
        let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
        let may_be_untrusted =
            is_stated || flow::may_be_untrusted(self.settings.config.flow(), tool);
        // The default policy trusts no output.
        let may_be_text = is_stated && flow::may_expose(&FlowPolicy::default(), tool);
        if is_error || may_be_text || may_be_untrusted && !shows_only_typed_value(tool, result) {
            self.exposed.insert(client);
        }
    }

    /// Records that the client gets a text whose source is not known, or an error.
    pub(crate) fn note_unknown_answer(&self, client: &GatewayClient) {
        self.exposed.insert(client);
    }
}

/// Returns true if the result of a call contains only a value that matches the output schema of the tool.
fn shows_only_typed_value(tool: &Tool, result: &Value) -> bool {
    let Ok(output) = ToolOutput::from_call_result(result) else {
        return false;
    };
    // Servers repeat the value as a text.
    let blocks = result.get("content").and_then(Value::as_list);
    let mut texts = blocks.into_iter().flatten().map(|block| {
        let text = block.get("text").and_then(Value::as_text);
        text.and_then(|text| Value::from_json(text).ok())
    });
    texts.all(|text| text.is_some_and(|text| text == output.value))
        && tool.output.validate(&output.value).is_empty()
}

/// Returns the paths of the steps whose arguments the answer about a run shows, since they wait. Those of calls that wait for the
/// flow policy are `hidden`.
fn waiting_steps(summary: &RunSummary, hidden: &BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
    fn collect(step: &StepSummary, hidden: &BTreeSet<Arc<str>>, waiting: &mut BTreeSet<Arc<str>>) {
        let path = step.at.steps();
        let waits = matches!(step.status, StepStatus::Waiting | StepStatus::Unknown);
        if waits && !hidden.contains(&*path) {
            waiting.insert(path.into());
        }
        for part in &step.parts {
            collect(part, hidden, waiting);
        }
    }
    let mut waiting = BTreeSet::new();
    for step in &summary.steps {
        collect(step, hidden, &mut waiting);
    }
    waiting
}
