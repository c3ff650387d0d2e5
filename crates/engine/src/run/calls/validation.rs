//! Validation of arguments and outputs against the schemas of their tools.

use std::sync::Arc;

use planwright_core::place::push_pointer_segment;
use planwright_core::schema::{FaultKind, SchemaFault};
use planwright_core::{Code, Diagnostic, PointerSegment, Value};

use crate::backend::{ErrorKind, ToolError};
use crate::run::state::Run;
use crate::schedule::TaskId;

impl Run {
    /// Warns if an output does not match the tool's output schema, once per tool. The output is used unchanged, since
    /// its readers may not need the wrong part.
    pub(in crate::run) fn check_output(&mut self, task: TaskId, output: &Value) {
        let Some(tool) = self.task_data(task).and_then(|data| data.tool.as_ref()) else {
            return;
        };
        // One warning per tool is enough.
        if tool.output.is_any()
            || self
                .mismatched_tools
                .iter()
                .any(|other| Arc::ptr_eq(other, tool))
        {
            return;
        }
        let mut faults = tool.output.validate(output);
        // A message about a secret would reveal a part of it.
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

    /// Validates arguments against the tool's schema.
    pub(in crate::run) fn check_args(&self, task: TaskId, args: &Value) -> Result<(), ToolError> {
        let Some(tool) = self.task_data(task).and_then(|data| data.tool.as_ref()) else {
            return Ok(());
        };
        let mut faults = tool.input.validate(args);
        // A schema error about a secret would reveal it, and could not be reproduced in a replay, which does not have
        // the secret. The server reports it instead.
        faults.retain(|fault| {
            fault.kind != FaultKind::Wrong || !self.holds_secret(args, &fault.path)
        });
        let Some(first) = faults.first() else {
            return Ok(());
        };
        let mut message = fault_text(first);
        if faults.len() > 1 {
            let more = faults.len() - 1;
            message = format!("{message}, and {more} more of the kind");
        }
        let all = Value::list(faults.iter().map(|fault| Value::from(fault_text(fault))));
        Err(ToolError::new(ErrorKind::Arguments, message)
            .with_data(Value::object([("faults", all)])))
    }

    /// Returns true if the part of `value` at `path` holds a secret.
    fn holds_secret(&self, value: &Value, path: &[PointerSegment]) -> bool {
        let mut part = value;
        for segment in path {
            let inner = match segment {
                PointerSegment::Root => Some(part),
                PointerSegment::Key(key) => part.as_object().and_then(|fields| fields.get(key)),
                PointerSegment::Index(index) => part.as_list().and_then(|items| items.get(*index)),
            };
            part = inner.unwrap_or(part);
        }
        self.redactor.occurs(part)
    }
}

/// A schema error with its place.
fn fault_text(fault: &SchemaFault) -> String {
    let mut pointer = String::new();
    for segment in &fault.path {
        push_pointer_segment(&mut pointer, segment);
    }
    if pointer.is_empty() {
        fault.message.clone()
    } else {
        format!("{} at {pointer}", fault.message)
    }
}
