//! The flow of data while the plan runs: labels that servers state for their results, and the comparison of the actual sources of texts
//! with the sources that the analysis has named. A text keeps its allocation on its way through references, loops, slots, inner plans and
//! most functions of expressions. So the address of a text in an argument identifies the output that it is from. Computed texts and numbers
//! have no recorded source, so only the analysis covers them.
//!
//! Design: [Why a comparison at run time?](https://github.com/planwright/planwright/blob/main/docs/design/flow.md#why-a-comparison-at-run-time)

use std::sync::Arc;

use planwright_core::diagnostic::FLOW_REFUSAL;
use planwright_core::flow::{FlowParameter, FlowReport, OnViolation, ValueLabels};
use planwright_core::{Diagnostic, Value};

use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::run::run_machine::RunMachine;
use crate::schedule::TaskId;

/// Calls `visit` for the parts of `args` at `path`, which has dots between names and leaves out positions of lists. Names may
/// contain dots; parts that two paths of the same text lead to are left out.
fn each_part(args: &Value, path: &str, visit: &mut dyn FnMut(&Value)) {
    match args {
        _ if path.is_empty() => visit(args),
        Value::List(items) => items.iter().for_each(|item| each_part(item, path, visit)),
        Value::Object(fields) => {
            let ends = path.match_indices('.').map(|(at, _)| at);
            let mut parts = ends.chain([path.len()]).filter_map(|end| {
                let (name, rest) = path.split_at_checked(end)?;
                Some((fields.get(name)?, rest.strip_prefix('.').unwrap_or(rest)))
            });
            // Two ways to split the path mean two possible parts; a comparison with the wrong one would report a false defect.
            if let (Some((part, rest)), None) = (parts.next(), parts.next()) {
                each_part(part, rest, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

/// Returns the error of a call that the flow policy refuses: a sentence that says nothing to the model that wrote the plan.
fn flow_refusal() -> ToolError {
    ToolError::new(ErrorKind::Policy, FLOW_REFUSAL)
}

/// Returns true if `error` is [`flow_refusal`].
pub(in crate::run) fn is_flow_refusal(error: &ToolError) -> bool {
    error.kind == ErrorKind::Policy && error.message == FLOW_REFUSAL
}

impl RunMachine {
    /// Returns the flow of data in the run's plan with the labels that servers have stated, if the plan was checked for it.
    pub(in crate::run) fn flow(&self) -> Option<&FlowReport> {
        match &self.run_flow.report {
            Some(report) => Some(report),
            None => self.frames.get(0)?.plan.flow(),
        }
    }

    /// Returns the path of the step of a task.
    fn step_path(&self, task: TaskId) -> Option<Arc<str>> {
        Some(self.task_data(task)?.address.steps().into())
    }

    /// Records the labels and the texts of an output that a task has received, and whether it fits the schema of its tool.
    pub(in crate::run) fn observe_output(&mut self, task: TaskId, output: &ToolOutput, fits: bool) {
        if !fits {
            self.observe_mismatch(task);
        }
        let is_followed = self.flow().is_some_and(|flow| !flow.parameters.is_empty());
        // Most plans have no guarded parameters, and need not remember any text.
        if !is_followed && output.labels.is_empty() {
            return;
        }
        let (Some(path), Some(data)) = (self.step_path(task), self.task_data(task)) else {
            return;
        };
        let args = data.args.clone().unwrap_or_default();
        // The output of an extraction has the sources of the text that it was made of.
        let is_source = data.tool.as_ref().is_some_and(|tool| !tool.is_extraction());
        if is_followed && is_source {
            self.run_flow.sources.add(&path, &output.value, &args);
        }
        self.state_labels(path, output.labels);
    }

    /// Records the labels that a server has stated for an error.
    pub(in crate::run) fn observe_error(&mut self, task: TaskId, error: &ToolError) {
        if error.labels.is_empty() {
            return;
        }
        if let Some(path) = self.step_path(task) {
            self.state_labels(path, error.labels);
        }
    }

    fn state_labels(&mut self, path: Arc<str>, labels: ValueLabels) {
        if !labels.is_empty() {
            self.apply_stated(&path, labels);
            self.run_flow.stated.push((path, labels));
            self.expose_unfitting();
        }
    }

    /// Records that an output may have texts where the schema has none.
    fn observe_mismatch(&mut self, task: TaskId) {
        let Some(path) = self.step_path(task) else {
            return;
        };
        if !self.run_flow.unfitting.contains(&path) {
            self.run_flow.unfitting.push(path);
            self.expose_unfitting();
        }
    }

    /// Marks the report if the output of the plan may contain texts where a schema has none.
    fn expose_unfitting(&mut self) {
        let mut unfitting = self.run_flow.unfitting.iter();
        let exposed = self
            .flow()
            .filter(|flow| unfitting.any(|path| flow.may_expose_by(path)));
        if let Some(mut report) = exposed.cloned() {
            report.exposes = true;
            self.run_flow.report = Some(Box::new(report));
        }
    }

    /// Applies stated labels to the report, with a warning for each violation that they cause.
    fn apply_stated(&mut self, path: &str, labels: ValueLabels) {
        let Some(mut report) = self.flow().cloned() else {
            return;
        };
        for parameter in report.apply_stated(path, labels) {
            if let Some((code, message)) = parameter.stated_violation() {
                self.warnings.add(Diagnostic::warning(code, message));
            }
        }
        self.run_flow.report = Some(Box::new(report));
    }

    /// Applies the stated labels to the report of a plan that has grown.
    pub(in crate::run) fn restate_labels(&mut self) {
        // The grown plan has a new report without the stated labels.
        if self.run_flow.report.take().is_some() {
            for (path, labels) in self.run_flow.stated.clone() {
                self.apply_stated(&path, labels);
            }
        }
        self.expose_unfitting();
    }

    /// Returns the labels that servers have stated for the outputs of steps.
    pub(in crate::run) fn stated_labels(&self) -> &[(Arc<str>, ValueLabels)] {
        &self.run_flow.stated
    }

    /// Returns the steps whose outputs violate their schemas.
    pub(in crate::run) fn unfitting_steps(&self) -> &[Arc<str>] {
        &self.run_flow.unfitting
    }

    /// Records that the texts of `inputs` are not outputs.
    pub(in crate::run) fn exclude_from_sources(&mut self, inputs: &Value) {
        self.run_flow.sources.exclude(inputs);
    }

    /// Records that texts of the arguments of a call may not be outputs.
    pub(in crate::run) fn exclude_args_from_sources(&mut self, args: &Value) {
        let is_followed = self.flow().is_some_and(|flow| !flow.parameters.is_empty());
        if is_followed {
            self.run_flow.sources.exclude_computed(args);
        }
    }

    /// Returns the violations of the flow policy by the call of a task.
    pub(in crate::run) fn flow_violations(&self, task: TaskId) -> Vec<&FlowParameter> {
        let Some(flow) = self.flow() else {
            return Vec::new();
        };
        // Most plans have no violation, and need no path.
        if flow.violations().next().is_none() {
            return Vec::new();
        }
        let path = self.step_path(task).unwrap_or_default();
        flow.parameters_of(&path)
            .filter(|parameter| parameter.code.is_some())
            .collect()
    }

    /// Checks that the flow policy allows the call of a task with `args`, and that their texts come from where the analysis
    /// says.
    ///
    /// # Errors
    ///
    /// Returns the refusal if a stated label violates a policy that denies violations, and an internal error if a text of
    /// a guarded or leaving parameter has a source that the analysis has not named.
    pub(in crate::run) fn check_flow(&self, task: TaskId, args: &Value) -> Result<(), ToolError> {
        // A replay knows no policy, so it repeats the recorded refusals.
        let recorded = self.journal.replayed_consent();
        let address = self.task_data(task).map(|data| &data.address);
        if recorded.is_some_and(|recorded| address.is_some_and(|at| recorded.refused.contains(at)))
        {
            return Err(flow_refusal());
        }
        let Some(flow) = self.flow().filter(|flow| !flow.parameters.is_empty()) else {
            return Ok(());
        };
        // The check before the run has refused all other violations; this one is due to a label that a server has stated
        // since.
        if flow.on_violation == OnViolation::Deny && !self.flow_violations(task).is_empty() {
            return Err(flow_refusal());
        }
        let path = self.step_path(task).unwrap_or_default();
        // The arguments as a whole have no name, and neither has a parameter with an empty one.
        let has_unnamed = args.get("").is_some();
        for parameter in flow.parameters_of(&path) {
            if parameter.parameter.is_empty() && has_unnamed {
                continue;
            }
            let mut unnamed = None;
            each_part(args, &parameter.parameter, &mut |part| {
                unnamed = unnamed
                    .take()
                    .or_else(|| self.run_flow.sources.unnamed(part, parameter));
            });
            if let Some(source) = unnamed {
                return Err(ToolError::new(
                    ErrorKind::Internal,
                    format!(
                        "the parameter `{}` has a text of `{source}`, a source that the flow analysis has not named",
                        parameter.parameter
                    ),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
