//! Whether tools give what they say that they give. A plan was checked against their word.

use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Value};

use super::calls::told;
use super::state::Run;
use crate::schedule::TaskId;

impl Run {
    /// Warns where what a tool gave does not fit its own output schema, once for each tool. It is used as it came: what
    /// reads it may not need the part that is wrong.
    pub(super) fn look_at_output(&mut self, task: TaskId, output: &Value) {
        let Some(tool) = self.work(task).and_then(|work| work.tool.as_ref()) else {
            return;
        };
        if tool.output.is_any() || self.doubted.iter().any(|other| Arc::ptr_eq(other, tool)) {
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
            told(first)
        );
        if faults.len() > 1 {
            message = format!("{message}, and {} more of the kind", faults.len() - 1);
        }
        let warning = Diagnostic::warning(Code::UnexpectedOutput, message)
            .help("the plan was checked against that schema, and the output is used as it came")
            .at(step.place, &frame.plan.plan().sources);
        let tool = Arc::clone(tool);
        self.warnings.borrow_mut().push(warning);
        self.doubted.push(tool);
    }
}
