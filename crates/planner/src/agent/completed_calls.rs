//! The results of earlier calls with side effects, which are reused so that no side effect is repeated.

use std::sync::Arc;

use planwright_core::path::read_path;
use planwright_core::plan::{
    Action, Alternative, Form, Node, NodeKind, PlanTarget, Read, Reference, Segment, SlotKind,
    Source, Step,
};
use planwright_core::{Catalog, Lookup, Object, Plan, Value};
use serde::{Deserialize, Serialize};

use super::memory::{MemoryKind, WorkingMemory};

/// A call that has returned its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CompletedAgentCall {
    /// The qualified name of the tool, or the name of the plan. Stored states call it `what`.
    #[serde(rename = "what")]
    pub(super) callee: Arc<str>,
    #[serde(default)]
    pub(super) instance: Option<Arc<str>>,
    pub(super) args: Value,
    pub(super) result: Value,
    /// Destination of the result, as written in the call.
    #[serde(default)]
    pub(super) path: Option<Value>,
}

/// Returns the callee of a step that may have side effects; `None` for a call that only reads, which may be repeated because its result
/// may have changed.
pub(super) fn callee_with_side_effects(step: &Step, catalog: &Catalog) -> Option<Arc<str>> {
    match &step.action {
        Action::Tool(name) => match catalog.find(&name.text) {
            // Annotations of servers that are not trusted are mere claims.
            Lookup::Found(tool) if tool.annotations.trusted && tool.annotations.read_only => None,
            Lookup::Found(tool) => Some(tool.qualified_name().into()),
            Lookup::Ambiguous(_) | Lookup::Unknown => None,
        },
        // A plan with scopes reads more than its arguments, so equal arguments do not mean an equal call.
        Action::Plan(call) if call.scopes.is_empty() => match &call.target {
            PlanTarget::Named(name) => Some(format!("plan {}", name.text).into()),
            PlanTarget::Inline(_) => None,
        },
        Action::Plan(_) | Action::Value(_) => None,
    }
}

/// Returns for each step of `plan` the earlier results that replace its calls, one for each instance, or `None` if the step must run.
/// A step with `true` in `repeat` must run. `paths` has the `_outputPath` of each step.
///
/// A step counts as completed only if its arguments are known before the run; values that another step will write are not.
pub(super) fn completed_results<'a>(
    plan: &Plan,
    repeat: &[bool],
    paths: &[Option<Value>],
    memory: &WorkingMemory,
    completed: &'a [CompletedAgentCall],
    catalog: &Catalog,
) -> Vec<Option<Vec<&'a CompletedAgentCall>>> {
    let mut results: Vec<Option<Vec<&CompletedAgentCall>>> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let is_repeat = repeat.get(index).copied().unwrap_or(false);
            let callee = callee_with_side_effects(step, catalog).filter(|_| !is_repeat)?;
            earlier_results(&callee, step, memory, completed, &[])
        })
        .collect();
    loop {
        // A step that has to run after all may write what another step reads, so this repeats until nothing changes.
        let writers: Vec<&Step> = plan
            .steps
            .iter()
            .enumerate()
            .filter(|(index, _)| {
                let earlier = results.get(*index).and_then(Option::as_ref);
                let path = paths.get(*index).and_then(Option::as_ref);
                // A result that is already at its destination changes nothing.
                earlier.is_none_or(|calls| calls.iter().any(|call| call.path.as_ref() != path))
            })
            .map(|(_, step)| step)
            .collect();
        let mut is_stable = true;
        for (step, result) in plan.steps.iter().zip(&mut results) {
            if result.is_some() {
                let callee = callee_with_side_effects(step, catalog).unwrap_or_default();
                *result = earlier_results(&callee, step, memory, completed, &writers);
                is_stable &= result.is_some();
            }
        }
        if is_stable {
            return results;
        }
    }
}

/// Returns the earlier results of a step; `None` unless it has one in each instance.
fn earlier_results<'a>(
    callee: &str,
    step: &Step,
    memory: &WorkingMemory,
    completed: &'a [CompletedAgentCall],
    writers: &[&Step],
) -> Option<Vec<&'a CompletedAgentCall>> {
    let instances: Vec<Option<&Arc<str>>> = match &step.instance {
        Some(instance) => vec![Some(instance)],
        None if memory.instances.is_empty() => vec![None],
        None => memory.instances.keys().map(Some).collect(),
    };
    let result_in = |instance: Option<&Arc<str>>| {
        let args = evaluate(
            &step.args,
            &ReadScope {
                memory,
                instance,
                writers,
            },
        )?;
        // The latest one counts, because a call may have been repeated on request.
        let mut latest = completed.iter().rev();
        latest.find(|call| {
            *call.callee == *callee && call.instance.as_ref() == instance && call.args == args
        })
    };
    instances.into_iter().map(result_in).collect()
}

/// The values that are known before a run.
struct ReadScope<'a> {
    memory: &'a WorkingMemory,
    instance: Option<&'a Arc<str>>,
    writers: &'a [&'a Step],
}

/// Evaluates arguments that are known without a run; `None` if they have expressions or results of other steps.
fn evaluate(node: &Node, scope: &ReadScope<'_>) -> Option<Value> {
    match &node.kind {
        NodeKind::Literal(value) => Some(value.clone()),
        NodeKind::Reference(reference) => evaluate_reference(reference, scope),
        NodeKind::List(items) => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| evaluate(item, scope)).collect();
            Some(items?.into())
        }
        NodeKind::Object(fields) => {
            let fields = fields
                .iter()
                .map(|field| Some((Arc::clone(&field.key), evaluate(&field.value, scope)?)));
            Some(fields.collect::<Option<Object>>()?.into())
        }
        // The Acts have no references within longer texts.
        NodeKind::Text(_) => None,
    }
}

fn evaluate_reference(reference: &Reference, scope: &ReadScope<'_>) -> Option<Value> {
    if reference
        .reads()
        .iter()
        .any(|read| is_written(read, scope.writers))
    {
        return None;
    }
    match &reference.form {
        Form::First(alternatives) => {
            alternatives
                .iter()
                .find_map(|alternative| match alternative {
                    Alternative::Read(read) => evaluate_read(read, scope),
                    Alternative::Literal(value) => Some(value.clone()),
                    Alternative::Expression(_) => None,
                })
        }
        Form::All(reads) => {
            let all: Option<Vec<Value>> = reads
                .iter()
                .map(|read| evaluate_read(read, scope))
                .collect();
            // `†a && †b` requires both and yields the last one.
            all?.pop()
        }
    }
}

fn evaluate_read(read: &Read, scope: &ReadScope<'_>) -> Option<Value> {
    let Source::Slot(kind) = read.source else {
        return None;
    };
    let view = scope.memory.view(scope.instance, MemoryKind::of(kind)?);
    read_path(&view, &read.path, read.missing).ok()
}

fn is_written(read: &Read, writers: &[&Step]) -> bool {
    let Source::Slot(kind) = read.source else {
        return false;
    };
    let mut targets = writers
        .iter()
        .filter_map(|step| step.writes.as_ref())
        .flat_map(|writes| writes.targets.paths());
    targets.any(|target| {
        target.kind == kind && kind != SlotKind::Inputs && overlaps(&target.keys, &read.path)
    })
}

/// Returns true if a write to `keys` may change what `path` reads: an index may stand for any key.
fn overlaps(keys: &[Arc<str>], path: &[Segment]) -> bool {
    keys.iter().zip(path).all(|(key, segment)| match segment {
        Segment::Key(name) => name == key,
        Segment::Index(_) | Segment::Each => true,
    })
}
