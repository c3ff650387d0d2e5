//! Validation of tool outputs against their schemas. The plan was checked against these.

use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Value};

use crate::run::calls::attempts::fault_text;
use crate::run::state::Run;
use crate::schedule::TaskId;

impl Run {
    /// Warns if an output does not match the tool's output schema, once per tool. The output is used unchanged, since
    /// its readers may not need the wrong part.
    pub(in crate::run) fn check_output(&mut self, task: TaskId, output: &Value) {
        let Some(tool) = self.task_data(task).and_then(|data| data.tool.as_ref()) else {
            return;
        };
        if tool.output.is_any()
            || self
                .mismatched_tools
                .iter()
                .any(|other| Arc::ptr_eq(other, tool))
        {
            return;
        }
        let mut faults = tool.output.validate(output);
        faults.retain(|fault| !self.holds_secret(output, &fault.path));
        let (Some(first), Some((frame, step))) = (faults.first(), self.step_of(task)) else {
            return;
        };
        let mut message = format!(
            "the output of the tool `{}` at `{}` does not fit its output schema: {}",
            tool.name,
            step.id,
            fault_text(first)
        );
        if faults.len() > 1 {
            message = format!("{message}, and {} more of the kind", faults.len() - 1);
        }
        let warning = Diagnostic::warning(Code::UnexpectedOutput, message)
            .help("the plan was checked against that schema, and the output is used as it came")
            .at(step.place, &frame.plan.plan().sources);
        let tool = Arc::clone(tool);
        self.warnings.borrow_mut().push(warning);
        self.mismatched_tools.push(tool);
    }
}
