//! From a solution to a plan that may run: read in the dialect of the Acts, without what is done already, and checked.

use std::sync::Arc;

use planwright_core::plan::{Action, Step};
use planwright_core::{
    CheckContext, CheckedPlan, Code, Diagnostic, Diagnostics, Lookup, Object, Plan, PointerSegment,
    Schema, StepId, Value, check,
};
use planwright_dialects::acts::Acts;
use planwright_dialects::{ReadOptions, parse_as};

use super::done::{Done, effect, results};
use super::solution::{Solution, literally, refers, text};
use super::world::World;

/// What the text of a solution is called.
const NAME: &str = "solution";

/// A solution that may run.
#[derive(Debug)]
pub(super) struct Sound {
    pub(super) solution: Solution,
    /// By call: the step that makes it, and what that may change; none where it is done already.
    pub(super) steps: Vec<Option<(StepId, Option<Arc<str>>)>>,
    /// What runs; nothing where there is nothing to do.
    pub(super) plan: Option<(CheckedPlan, Arc<str>)>,
    /// Whether every call may be made a second time.
    pub(super) is_repeatable: bool,
}

/// What a solution is judged by.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) world: &'a World,
    pub(super) done: &'a [Done],
    pub(super) check: CheckContext<'a>,
    pub(super) output: Option<&'a Schema>,
}

impl Judge<'_> {
    /// Proves a solution, or says everything that is wrong with it.
    pub(super) fn prove(&self, solution: Solution) -> Result<Sound, Diagnostics> {
        let mut found = Diagnostics::new();
        let fits = faults(&solution.output, self.output);
        if !refers(&solution.output) {
            found.extend(fits);
        }
        let (whole, more) = self.plan(&solution.calls, &solution.output);
        if more.has_errors() {
            found.extend(more);
            // What can be checked nevertheless is told at once.
            if let Some(whole) = whole {
                found.extend(check(whole, &self.check).1);
            }
            return Err(found);
        }
        let whole = whole.unwrap_or_default();
        let earlier = self.earlier(&whole, &solution);
        let written = written(&solution, &earlier);
        if written.is_empty() {
            return finish(found, || Sound {
                steps: vec![None; solution.calls.len()],
                solution,
                plan: None,
                is_repeatable: true,
            });
        }
        let calls: Vec<Value> = written.iter().map(|(_, call)| call.clone()).collect();
        let (plan, _) = self.plan(&calls, &solution.output);
        let plan = plan.unwrap_or_default();
        let is_repeatable = plan.steps.iter().all(|step| self.is_repeatable(step));
        let mut steps = vec![None; solution.calls.len()];
        for ((origin, _), step) in written.iter().zip(&plan.steps) {
            if let Some(of_call) = steps.get_mut(*origin)
                && earlier.get(*origin).is_some_and(Option::is_none)
            {
                *of_call = Some((step.id.clone(), effect(step, self.check.catalog)));
            }
        }
        let (checked, more) = check(plan, &self.check);
        found.extend(moved(more, &written));
        let Some(checked) = checked else {
            return Err(found);
        };
        let text = text(self.world, &calls, &solution.output).into();
        finish(found, || Sound {
            solution,
            steps,
            plan: Some((checked, text)),
            is_repeatable,
        })
    }

    fn plan(&self, calls: &[Value], output: &Value) -> (Option<Plan>, Diagnostics) {
        let text = text(self.world, calls, output);
        let result = parse_as(&Acts, text.as_bytes(), &ReadOptions::new(NAME));
        (result.plan, result.diagnostics)
    }

    fn earlier(&self, plan: &Plan, solution: &Solution) -> Vec<Option<Vec<&Done>>> {
        let paths: Vec<Option<Value>> = solution.calls.iter().map(path).collect();
        results(
            plan,
            &solution.again,
            &paths,
            self.world,
            self.done,
            self.check.catalog,
        )
    }

    /// Whether a second call does no harm.
    fn is_repeatable(&self, step: &Step) -> bool {
        match &step.action {
            Action::Tool(name) => match self.check.catalog.find(&name.text) {
                Lookup::Found(tool) => tool.is_repeatable(),
                _ => false,
            },
            Action::Value(_) => true,
            Action::Plan(_) => false,
        }
    }
}

/// The calls that run, each with the position of the one that the model wrote: those that are done are left out, or only write their
/// results where they are not yet.
fn written(solution: &Solution, earlier: &[Option<Vec<&Done>>]) -> Vec<(usize, Value)> {
    let mut written = Vec::new();
    for (origin, (call, earlier)) in solution.calls.iter().zip(earlier).enumerate() {
        let calls = match earlier {
            None => vec![call.clone()],
            Some(results) => rewritten(call, results),
        };
        written.extend(calls.into_iter().map(|call| (origin, call)));
    }
    if written.is_empty() && refers(&solution.output) {
        // Something must run for the output to be read.
        let nothing = Value::object([
            ("_tool", Value::from("output")),
            ("_output", Value::from(true)),
        ]);
        written.push((solution.calls.len(), nothing));
    }
    written
}

fn finish(found: Diagnostics, sound: impl FnOnce() -> Sound) -> Result<Sound, Diagnostics> {
    if found.has_errors() {
        Err(found)
    } else {
        Ok(sound())
    }
}

/// Where the result of a call goes, as it is written: `_outputPath` with its method.
pub(super) fn path(call: &Value) -> Option<Value> {
    let path = call.get("_outputPath").filter(|path| !path.is_null())?;
    Some(match call.get("_outputMethod") {
        Some(method) => Value::list([path.clone(), method.clone()]),
        None => path.clone(),
    })
}

/// A call that is done, as calls that write its results where they are not yet.
fn rewritten(call: &Value, results: &[&Done]) -> Vec<Value> {
    let Some(path) = path(call) else {
        return Vec::new();
    };
    let elsewhere = results
        .iter()
        .filter(|done| done.path.as_ref() != Some(&path) && !done.result.is_null());
    elsewhere
        .map(|done| {
            let mut fields = Object::default();
            for name in ["_tool", "_outputPath", "_outputMethod"] {
                if let Some(value) = call.get(name) {
                    fields.insert(name.into(), value.clone());
                }
            }
            if let Some(instance) = &done.instance {
                fields.insert("_instance".into(), Value::Text(Arc::clone(instance)));
            }
            fields.insert("_output".into(), literally(&done.result));
            fields.into()
        })
        .collect()
}

/// Findings about calls, at the places where the model wrote them.
fn moved(found: Diagnostics, written: &[(usize, Value)]) -> Diagnostics {
    let moved = found.into_iter().map(|mut finding| {
        if let Some(rest) = finding.pointer.strip_prefix("/calls/") {
            let (index, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let call = index
                .parse()
                .ok()
                .and_then(|index: usize| written.get(index));
            if let Some((origin, _)) = call {
                finding.pointer = format!("/calls/{origin}{below}");
            }
        }
        finding
    });
    moved.collect()
}

/// What is wrong with an output; nothing where there is none yet.
pub(super) fn faults(output: &Value, schema: Option<&Schema>) -> Diagnostics {
    let Some(schema) = schema.filter(|_| !output.is_null()) else {
        return Diagnostics::new();
    };
    let faults = schema.validate(output).into_iter().map(|fault| {
        let mut finding = Diagnostic::error(Code::InvalidLiteral, fault.message);
        finding.pointer = fault
            .path
            .iter()
            .fold("/output".to_owned(), |pointer, segment| match segment {
                PointerSegment::Root => pointer,
                PointerSegment::Key(key) => format!("{pointer}/{key}"),
                PointerSegment::Index(index) => format!("{pointer}/{index}"),
            });
        finding
    });
    faults.collect()
}
