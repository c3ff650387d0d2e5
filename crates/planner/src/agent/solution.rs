//! Solutions as written by a model, and their validation: a solution is parsed in the dialect `acts`, stripped of its completed
//! calls, and checked as a plan.

use std::sync::Arc;

use planwright_core::plan::{Action, Step};
use planwright_core::{
    CheckContext, CheckedPlan, Code, Diagnostic, Diagnostics, Lookup, Object, Plan, PointerSegment,
    Schema, StepId, Value, check,
};
use planwright_dialects::acts::Acts;
use planwright_dialects::{ReadOptions, parse_as};

use super::completed_calls::{CompletedAgentCall, callee_with_side_effects, completed_results};
use super::memory::WorkingMemory;
use crate::create::extract;
use crate::model::{FinishReason, Reply};

/// Fields that the plan message adds to calls; the dialect has no such fields.
const ADDED_FIELDS: [&str; 2] = ["_status", "_result"];

/// Field that requests a completed call once more.
const REPEAT_FIELD: &str = "_again";

/// A solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Solution {
    /// The calls, without the fields we added.
    pub(super) calls: Vec<Value>,
    /// For each call, whether to repeat it if it is completed.
    pub(super) repeat: Vec<bool>,
    pub(super) output: Value,
}

impl Solution {
    /// Extracts the solution from a reply of at most `max_bytes` bytes.
    pub(super) fn read(reply: &Reply, max_bytes: usize) -> Result<Self, Box<Diagnostic>> {
        if reply.text.len() > max_bytes {
            let message = format!(
                "the reply has {} bytes, and at most {max_bytes} are allowed",
                reply.text.len()
            );
            let diagnostic = Diagnostic::error(Code::TooLarge, message);
            return Err(Box::new(diagnostic.help("write a smaller solution")));
        }
        // The missing part may have had further calls, so the rest is not used.
        if reply.finish == FinishReason::Length {
            let diagnostic =
                Diagnostic::error(Code::TooLarge, "the reply reached the maximum length");
            return Err(Box::new(diagnostic.help("write a smaller solution")));
        }
        let text =
            extract(&reply.text).ok_or_else(|| rejected("the reply contains no solution"))?;
        let value = Value::from_json(text)
            .map_err(|error| rejected(&format!("the reply is not JSON: {error}")))?;
        Self::parse(&value)
    }

    /// Interprets a value as a solution. Accepts a wrapped solution, a list of calls, and a single call: models write all three.
    fn parse(value: &Value) -> Result<Self, Box<Diagnostic>> {
        let value = value
            .get("solution")
            .filter(|inner| inner.as_object().is_some())
            .unwrap_or(value);
        let has_output = value.get("output").is_some();
        let calls = match (value.get("calls"), value.as_list()) {
            (Some(calls), _) => calls
                .as_list()
                .ok_or_else(|| rejected("`calls` must be a list"))?,
            (None, Some(calls)) => calls,
            (None, None) if value.get("_tool").is_some() => std::slice::from_ref(value),
            (None, None) if has_output => &[],
            (None, None) => return Err(rejected("the reply has no `calls`")),
        };
        let output = value.get("output").filter(|_| value.as_object().is_some());
        Ok(Self::new(calls, output.cloned().unwrap_or_default()))
    }

    /// Creates a solution of these calls.
    pub(super) fn new(calls: &[Value], output: Value) -> Self {
        let is_repeat =
            |call: &Value| call.get(REPEAT_FIELD).and_then(Value::as_bool) == Some(true);
        Self {
            repeat: calls.iter().map(is_repeat).collect(),
            calls: calls.iter().map(without_added_fields).collect(),
            output,
        }
    }

    /// Returns the solution as a value, for comparison and storage.
    pub(super) fn value(&self) -> Value {
        Value::object([
            ("calls", Value::from(self.calls.clone())),
            ("output", self.output.clone()),
        ])
    }
}

/// Returns a plan in the dialect of the Acts: `calls`, with `memory` as their context.
pub(super) fn plan_text(memory: &WorkingMemory, calls: &[Value], output: &Value) -> String {
    let mut fields = Object::default();
    fields.insert("context".into(), Value::from(memory.messages()));
    fields.insert("calls".into(), Value::from(calls.to_vec()));
    fields.insert("output".into(), output.clone());
    Value::from(fields).to_json()
}

/// Returns true if a value contains a reference.
pub(super) fn has_reference(value: &Value) -> bool {
    match value {
        Value::Text(text) => {
            // A doubled `†` is an escaped one.
            text.trim_start().starts_with('†') && !text.trim_start().starts_with("††")
        }
        Value::List(items) => items.iter().any(has_reference),
        Value::Object(fields) => fields.values().any(has_reference),
        _ => false,
    }
}

/// Escapes a value so that the dialect reads it literally.
pub(super) fn escape(value: &Value) -> Value {
    replace(value, "†", "††")
}

/// Unescapes a value without references.
pub(super) fn unescape(value: &Value) -> Value {
    replace(value, "††", "†")
}

fn replace(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::Text(text) if text.contains(from) => Value::from(text.replace(from, to)),
        Value::List(items) => Value::list(items.iter().map(|item| replace(item, from, to))),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), replace(value, from, to)));
            Value::from(fields.collect::<Object>())
        }
        other => other.clone(),
    }
}

fn without_added_fields(call: &Value) -> Value {
    let Some(fields) = call.as_object() else {
        return call.clone();
    };
    let is_own = |name: &str| !ADDED_FIELDS.contains(&name) && name != REPEAT_FIELD;
    let fields = fields.iter().filter(|(name, _)| is_own(name));
    let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
    Value::from(fields.collect::<Object>())
}

fn rejected(message: &str) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::error(Code::NotJson, message);
    Box::new(diagnostic.help("answer with one JSON object, {\"calls\": [...], \"output\": ...}"))
}

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

/// Validates solutions against the memory, the completed calls and the output schema.
#[derive(Clone, Copy)]
pub(super) struct SolutionValidator<'a> {
    pub(super) memory: &'a WorkingMemory,
    pub(super) completed: &'a [CompletedAgentCall],
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
            return unless_errors(diagnostics, || ValidSolution {
                steps: vec![None; solution.calls.len()],
                solution,
                plan: None,
                is_repeatable: true,
            });
        }
        let calls: Vec<Value> = to_run.iter().map(|(_, call)| call.clone()).collect();
        // Removing completed calls changes the steps and their dependencies, so the rest is parsed again.
        let (plan, _) = self.parse(&calls, &solution.output);
        let plan = plan.unwrap_or_default();
        let is_repeatable = plan.steps.iter().all(|step| self.is_repeatable(step));
        let mut steps = vec![None; solution.calls.len()];
        for ((index, _), step) in to_run.iter().zip(&plan.steps) {
            if let Some(slot) = steps.get_mut(*index)
                && earlier.get(*index).is_some_and(Option::is_none)
            {
                *slot = Some((
                    step.id.clone(),
                    callee_with_side_effects(step, self.check.catalog),
                ));
            }
        }
        let (checked, found) = check(plan, &self.check);
        diagnostics.extend(map_pointers(found, &to_run));
        let Some(checked) = checked else {
            return Err(diagnostics);
        };
        let text = plan_text(self.memory, &calls, &solution.output).into();
        unless_errors(diagnostics, || ValidSolution {
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
    ) -> Vec<Option<Vec<&CompletedAgentCall>>> {
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

    /// Returns true if the call of a step may safely be repeated.
    fn is_repeatable(&self, step: &Step) -> bool {
        match &step.action {
            Action::Tool(name) => match self.check.catalog.find(&name.text) {
                Lookup::Found(tool) => tool.is_repeatable(),
                Lookup::Ambiguous(_) | Lookup::Unknown => false,
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
    earlier: &[Option<Vec<&CompletedAgentCall>>],
) -> Vec<(usize, Value)> {
    let mut to_run = Vec::new();
    for (index, (call, earlier)) in solution.calls.iter().zip(earlier).enumerate() {
        let calls = match earlier {
            None => vec![call.clone()],
            Some(results) => copy_calls(call, results),
        };
        to_run.extend(calls.into_iter().map(|call| (index, call)));
    }
    if to_run.is_empty() && has_reference(&solution.output) {
        // Only a run resolves references, so an output with a reference needs one.
        let nothing = Value::object([
            ("_tool", Value::from("output")),
            ("_output", Value::from(true)),
        ]);
        to_run.push((solution.calls.len(), nothing));
    }
    to_run
}

fn unless_errors(
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
fn copy_calls(call: &Value, results: &[&CompletedAgentCall]) -> Vec<Value> {
    let Some(path) = output_path(call) else {
        return Vec::new();
    };
    // A result that already is at this destination is not copied.
    let to_copy = results
        .iter()
        .filter(|completed| completed.path.as_ref() != Some(&path) && !completed.result.is_null());
    to_copy
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
            // The result is data: a text in it that looks like a reference must stay literal.
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
            // Completed calls were removed before the check, so the positions differ from those of the model.
            let call = index
                .parse()
                .ok()
                .and_then(|index: usize| to_run.get(index));
            if let Some((index, _)) = call {
                diagnostic.pointer = format!("/calls/{index}{below}");
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
    let errors = schema.validate(output).into_iter().map(|violation| {
        let mut diagnostic = Diagnostic::error(Code::InvalidLiteral, violation.message);
        diagnostic.pointer =
            violation
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
