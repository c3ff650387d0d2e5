//! Validation of a solution: parses it in the dialect of the Acts, removes completed calls, and checks the rest as a plan.

use std::sync::Arc;

use planwright_core::plan::{Action, Step};
use planwright_core::{
    CheckContext, CheckedPlan, Code, Diagnostic, Diagnostics, Lookup, Object, Plan, PointerSegment,
    Schema, StepId, Value, check,
};
use planwright_dialects::acts::Acts;
use planwright_dialects::{ReadOptions, parse_as};

use super::completed_calls::{AgentCall, completed_results, side_effect};
use super::memory::WorkingMemory;
use super::solution::{Solution, escape, has_reference, plan_text};

/// Source name of solutions in diagnostics.
const SOURCE_NAME: &str = "solution";

/// A solution that passed the check.
#[derive(Debug)]
pub(super) struct ValidSolution {
    pub(super) solution: Solution,
    /// For each call, the step that makes it and its callee if it has side effects; `None` for a completed call.
    pub(super) steps: Vec<Option<(StepId, Option<Arc<str>>)>>,
    /// The plan to run and its text; `None` if there is nothing left to do.
    pub(super) plan: Option<(CheckedPlan, Arc<str>)>,
    /// True if every call may safely be repeated.
    pub(super) is_repeatable: bool,
}

/// The inputs of validation.
#[derive(Clone, Copy)]
pub(super) struct SolutionValidator<'a> {
    pub(super) memory: &'a WorkingMemory,
    pub(super) completed: &'a [AgentCall],
    pub(super) check: CheckContext<'a>,
    pub(super) output: Option<&'a Schema>,
}

impl SolutionValidator<'_> {
    /// Validates a solution, or returns all of its errors.
    pub(super) fn validate(&self, solution: Solution) -> Result<ValidSolution, Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        // References in the output get their values only after the run.
        if !has_reference(&solution.output) {
            diagnostics.extend(output_errors(&solution.output, self.output));
        }
        let (plan, found) = self.parse(&solution.calls, &solution.output);
        if found.has_errors() {
            diagnostics.extend(found);
            // Check the readable part as well, so that the model gets all errors at once.
            if let Some(plan) = plan {
                diagnostics.extend(check(plan, &self.check).1);
            }
            return Err(diagnostics);
        }
        let plan = plan.unwrap_or_default();
        let earlier = self.earlier_results(&plan, &solution);
        let to_run = calls_to_run(&solution, &earlier);
        if to_run.is_empty() {
            return finish(diagnostics, || ValidSolution {
                steps: vec![None; solution.calls.len()],
                solution,
                plan: None,
                is_repeatable: true,
            });
        }
        let calls: Vec<Value> = to_run.iter().map(|(_, call)| call.clone()).collect();
        // Without the completed calls, steps and dependencies are different ones.
        let (plan, _) = self.parse(&calls, &solution.output);
        let plan = plan.unwrap_or_default();
        let is_repeatable = plan.steps.iter().all(|step| self.is_repeatable(step));
        let mut steps = vec![None; solution.calls.len()];
        for ((origin, _), step) in to_run.iter().zip(&plan.steps) {
            if let Some(slot) = steps.get_mut(*origin)
                && earlier.get(*origin).is_some_and(Option::is_none)
            {
                *slot = Some((step.id.clone(), side_effect(step, self.check.catalog)));
            }
        }
        let (checked, found) = check(plan, &self.check);
        diagnostics.extend(map_pointers(found, &to_run));
        let Some(checked) = checked else {
            return Err(diagnostics);
        };
        let text = plan_text(self.memory, &calls, &solution.output).into();
        finish(diagnostics, || ValidSolution {
            solution,
            steps,
            plan: Some((checked, text)),
            is_repeatable,
        })
    }

    fn parse(&self, calls: &[Value], output: &Value) -> (Option<Plan>, Diagnostics) {
        let text = plan_text(self.memory, calls, output);
        let result = parse_as(&Acts, text.as_bytes(), &ReadOptions::new(SOURCE_NAME));
        (result.plan, result.diagnostics)
    }

    fn earlier_results(
        &self,
        plan: &Plan,
        solution: &Solution,
    ) -> Vec<Option<Vec<&AgentCall>>> {
        let paths: Vec<Option<Value>> = solution.calls.iter().map(output_path).collect();
        completed_results(
            plan,
            &solution.repeat,
            &paths,
            self.memory,
            self.completed,
            self.check.catalog,
        )
    }

    /// Returns whether the call of a step may safely be repeated.
    fn is_repeatable(&self, step: &Step) -> bool {
        match &step.action {
            Action::Tool(name) => match self.check.catalog.find(&name.text) {
                Lookup::Found(tool) => tool.is_repeatable(),
                _ => false,
            },
            Action::Value(_) => true,
            // The inner plan may have calls with side effects.
            Action::Plan(_) => false,
        }
    }
}

/// Returns the calls to run, each with its index in the solution. Completed calls are removed, or replaced by calls that only copy
/// their results to a new destination.
fn calls_to_run(
    solution: &Solution,
    earlier: &[Option<Vec<&AgentCall>>],
) -> Vec<(usize, Value)> {
    let mut to_run = Vec::new();
    for (origin, (call, earlier)) in solution.calls.iter().zip(earlier).enumerate() {
        let calls = match earlier {
            None => vec![call.clone()],
            Some(results) => copy_calls(call, results),
        };
        to_run.extend(calls.into_iter().map(|call| (origin, call)));
    }
    if to_run.is_empty() && has_reference(&solution.output) {
        // A reference in the output is resolved by a run, so one must take place.
        let nothing = Value::object([
            ("_tool", Value::from("output")),
            ("_output", Value::from(true)),
        ]);
        to_run.push((solution.calls.len(), nothing));
    }
    to_run
}

fn finish(
    diagnostics: Diagnostics,
    valid: impl FnOnce() -> ValidSolution,
) -> Result<ValidSolution, Diagnostics> {
    if diagnostics.has_errors() {
        Err(diagnostics)
    } else {
        Ok(valid())
    }
}

/// Returns the destination of a call's result: `_outputPath`, with its method if there is one.
pub(super) fn output_path(call: &Value) -> Option<Value> {
    let path = call.get("_outputPath").filter(|path| !path.is_null())?;
    Some(match call.get("_outputMethod") {
        Some(method) => Value::list([path.clone(), method.clone()]),
        None => path.clone(),
    })
}

/// Replaces a completed call by calls that write its results to a new destination.
fn copy_calls(call: &Value, results: &[&AgentCall]) -> Vec<Value> {
    let Some(path) = output_path(call) else {
        return Vec::new();
    };
    let elsewhere = results
        .iter()
        .filter(|completed| completed.path.as_ref() != Some(&path) && !completed.result.is_null());
    elsewhere
        .map(|completed| {
            let mut fields = Object::default();
            for name in ["_tool", "_outputPath", "_outputMethod"] {
                if let Some(value) = call.get(name) {
                    fields.insert(name.into(), value.clone());
                }
            }
            if let Some(instance) = &completed.instance {
                fields.insert("_instance".into(), Value::Text(Arc::clone(instance)));
            }
            fields.insert("_output".into(), escape(&completed.result));
            fields.into()
        })
        .collect()
}

/// Maps the pointers of diagnostics to the calls as the model wrote them.
fn map_pointers(found: Diagnostics, to_run: &[(usize, Value)]) -> Diagnostics {
    let diagnostics = found.into_iter().map(|mut diagnostic| {
        if let Some(rest) = diagnostic.pointer.strip_prefix("/calls/") {
            let (index, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let call = index
                .parse()
                .ok()
                .and_then(|index: usize| to_run.get(index));
            if let Some((origin, _)) = call {
                diagnostic.pointer = format!("/calls/{origin}{below}");
            }
        }
        diagnostic
    });
    diagnostics.collect()
}

/// Validates an output against its schema. A null output is valid, since it is not known yet.
pub(super) fn output_errors(output: &Value, schema: Option<&Schema>) -> Diagnostics {
    let Some(schema) = schema.filter(|_| !output.is_null()) else {
        return Diagnostics::new();
    };
    let errors = schema.validate(output).into_iter().map(|fault| {
        let mut diagnostic = Diagnostic::error(Code::InvalidLiteral, fault.message);
        diagnostic.pointer = fault
            .path
            .iter()
            .fold("/output".to_owned(), |pointer, segment| match segment {
                PointerSegment::Root => pointer,
                PointerSegment::Key(key) => format!("{pointer}/{key}"),
                PointerSegment::Index(index) => format!("{pointer}/{index}"),
            });
        diagnostic
    });
    errors.collect()
}
