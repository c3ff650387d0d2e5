//! Calls that were made: one that may have changed something is not made again with the same arguments.

use std::sync::Arc;

use planwright_core::path::read_path;
use planwright_core::plan::{
    Action, Alternative, Form, Node, NodeKind, PlanTarget, Read, Reference, Source,
};
use planwright_core::plan::{Segment, SlotKind, Step};
use planwright_core::{Catalog, Lookup, Object, Plan, Value};
use serde::{Deserialize, Serialize};

use super::world::{Word, World};

/// A call that has given its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Done {
    /// The tool by its whole name, or the plan.
    pub(super) what: Arc<str>,
    #[serde(default)]
    pub(super) instance: Option<Arc<str>>,
    pub(super) args: Value,
    pub(super) result: Value,
    /// Where the result went, as it was written.
    #[serde(default)]
    pub(super) path: Option<Value>,
}

/// What a step would call, where that may change something: asking again does no harm to what only reads.
pub(super) fn effect(step: &Step, catalog: &Catalog) -> Option<Arc<str>> {
    match &step.action {
        Action::Tool(name) => match catalog.find(&name.text) {
            Lookup::Found(tool) if tool.annotations.trusted && tool.annotations.read_only => None,
            Lookup::Found(tool) => Some(tool.qualified_name().into()),
            _ => None,
        },
        // What sees more than its arguments may do something else the next time.
        Action::Plan(call) if call.scopes.is_empty() => match &call.target {
            PlanTarget::Named(name) => Some(format!("plan {}", name.text).into()),
            PlanTarget::Inline(_) => None,
        },
        Action::Plan(_) | Action::Value(_) => None,
    }
}

/// By step of `plan`: the results that it gave already, one for each instance that it would run in.
///
/// A step only counts where its arguments are known now: what another step writes anew is not.
pub(super) fn results<'a>(
    plan: &Plan,
    again: &[bool],
    paths: &[Option<Value>],
    world: &World,
    done: &'a [Done],
    catalog: &Catalog,
) -> Vec<Option<Vec<&'a Done>>> {
    let mut results: Vec<Option<Vec<&Done>>> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let is_wanted = again.get(index).copied().unwrap_or(false);
            let what = effect(step, catalog).filter(|_| !is_wanted)?;
            found(&what, step, world, done, &[])
        })
        .collect();
    loop {
        let writers: Vec<&Step> = plan
            .steps
            .iter()
            .enumerate()
            .filter(|(index, _)| {
                let earlier = results.get(*index).and_then(Option::as_ref);
                let path = paths.get(*index).and_then(Option::as_ref);
                // A result that goes where it is already changes nothing.
                earlier.is_none_or(|done| done.iter().any(|done| done.path.as_ref() != path))
            })
            .map(|(_, step)| step)
            .collect();
        let mut is_stable = true;
        for (step, result) in plan.steps.iter().zip(&mut results) {
            if result.is_some() {
                let what = effect(step, catalog).unwrap_or_default();
                *result = found(&what, step, world, done, &writers);
                is_stable &= result.is_some();
            }
        }
        if is_stable {
            return results;
        }
    }
}

/// The results of a step, where it has one in each instance.
fn found<'a>(
    what: &str,
    step: &Step,
    world: &World,
    done: &'a [Done],
    writers: &[&Step],
) -> Option<Vec<&'a Done>> {
    let instances: Vec<Option<&Arc<str>>> = match &step.instance {
        Some(instance) => vec![Some(instance)],
        None if world.instances.is_empty() => vec![None],
        None => world.instances.keys().map(Some).collect(),
    };
    let of = |instance: Option<&Arc<str>>| {
        let args = value(
            &step.args,
            &Sight {
                world,
                instance,
                writers,
            },
        )?;
        let mut all = done.iter().rev();
        all.find(|done| {
            *done.what == *what && done.instance.as_ref() == instance && done.args == args
        })
    };
    instances.into_iter().map(of).collect()
}

/// What is known before a run.
struct Sight<'a> {
    world: &'a World,
    instance: Option<&'a Arc<str>>,
    writers: &'a [&'a Step],
}

fn value(node: &Node, sight: &Sight<'_>) -> Option<Value> {
    match &node.kind {
        NodeKind::Literal(value) => Some(value.clone()),
        NodeKind::Reference(reference) => referred(reference, sight),
        NodeKind::List(items) => {
            let items: Option<Vec<Value>> = items.iter().map(|item| value(item, sight)).collect();
            Some(items?.into())
        }
        NodeKind::Object(fields) => {
            let fields = fields
                .iter()
                .map(|field| Some((Arc::clone(&field.key), value(&field.value, sight)?)));
            Some(fields.collect::<Option<Object>>()?.into())
        }
        NodeKind::Text(_) => None,
    }
}

fn referred(reference: &Reference, sight: &Sight<'_>) -> Option<Value> {
    if reference
        .reads()
        .iter()
        .any(|read| is_written(read, sight.writers))
    {
        return None;
    }
    match &reference.form {
        Form::First(alternatives) => {
            alternatives
                .iter()
                .find_map(|alternative| match alternative {
                    Alternative::Read(one) => read(one, sight),
                    Alternative::Literal(value) => Some(value.clone()),
                    Alternative::Expression(_) => None,
                })
        }
        Form::All(reads) => {
            let all: Option<Vec<Value>> = reads.iter().map(|one| read(one, sight)).collect();
            all?.pop()
        }
    }
}

fn read(read: &Read, sight: &Sight<'_>) -> Option<Value> {
    let Source::Slot(kind) = read.source else {
        return None;
    };
    let seen = sight.world.seen(sight.instance, Word::of(kind)?);
    read_path(&seen, &read.path, read.missing).ok()
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

fn overlaps(keys: &[Arc<str>], path: &[Segment]) -> bool {
    keys.iter().zip(path).all(|(key, segment)| match segment {
        Segment::Key(name) => name == key,
        Segment::Index(_) | Segment::Each => true,
    })
}
