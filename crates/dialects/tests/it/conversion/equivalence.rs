//! The equivalence of a plan before and after printing: all of it, except what the dialect writes in its own way (ids
//! by position, an order as a chain, results as variables) and the reported losses.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{
    Alternative, Form, Idempotency, Missing, Node, NodeKind, OnFailure, Ordering, Output, Read,
    Reference, Retry, Sharing, Source, TextPart,
};
use planwright_core::{Diagnostics, Plan, StepId, Value};

use crate::native::without_places::without_places;

/// Asserts that `again` is `plan` after it was `printed` in the dialect `name` with these diagnostics.
#[track_caller]
pub(super) fn assert_equivalent(
    plan: &Plan,
    again: &Plan,
    diagnostics: &Diagnostics,
    name: &str,
    printed: &str,
) {
    if name == "native" {
        assert_eq!(without_places(again), without_places(plan), "{printed}");
        return;
    }
    // Changed ids are not further loss.
    let is_of_origin = |message: &str| message.contains("the ids of steps");
    let lossy = diagnostics
        .iter()
        .any(|diagnostic| !is_of_origin(&diagnostic.message));
    let (one, two) = (normal(plan, lossy, name), normal(again, lossy, name));
    assert_eq!(two.steps.len(), one.steps.len(), "{name}: {printed}");
    // A reference to a step becomes one to the state that the step writes, which only a run can compare.
    if name == "acts" {
        return;
    }
    assert_eq!(two, one, "{name}: {diagnostics:#?}\n{printed}");
}

fn normal(plan: &Plan, lossy: bool, name: &str) -> Plan {
    let mut plan = without_places(plan);
    let positions: HashMap<StepId, StepId> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(position, step)| (step.id.clone(), StepId::new(position.to_string())))
        .collect();
    if name == "mcp-cli" {
        plan.title = None;
    }
    let is_listed = plan.ordering == Ordering::Listed;
    plan.ordering = Ordering::Dataflow;
    for (position, step) in plan.steps.iter_mut().enumerate() {
        step.id = StepId::new(position.to_string());
        let mut after: BTreeSet<Arc<str>> = step
            .after
            .iter()
            .map(|name| {
                let known = positions.get(&StepId::new(Arc::clone(&name.text)));
                known.map_or_else(|| Arc::clone(&name.text), |id| Arc::clone(id.text()))
            })
            .collect();
        if is_listed && position > 0 {
            after.insert((position - 1).to_string().into());
        }
        // An order that follows from the data, or from the list, is not written.
        match name {
            "agentle" | "concierge" => after.clear(),
            "mcp-cli" | "clear-ai" => after.extend(sources(&step.args, &positions)),
            _ => {}
        }
        step.after = after
            .into_iter()
            .map(|text| planwright_core::plan::Name {
                text,
                place: planwright_core::Place::NOWHERE,
            })
            .collect();
        rename(&mut step.args, &positions, lossy);
        // References to steps become references to variables that the steps write.
        if name == "mcp-cli" {
            (step.writes, step.title) = (None, None);
        }
        if lossy {
            (step.title, step.note, step.writes) = (None, None, None);
            step.idempotency = Idempotency::AsTool;
            if let Some(retry) = &mut step.retry {
                *retry = Retry::new(retry.attempts());
            }
            if let Some(timeout) = &mut step.timeout {
                *timeout -= Duration::from_nanos(u64::from(timeout.subsec_nanos() % 1_000_000));
            }
        }
    }
    if let Output::Steps(names) = &mut plan.output {
        for name in names {
            let known = positions.get(&StepId::new(Arc::clone(&name.text)));
            name.text = known.map_or_else(|| Arc::clone(&name.text), |id| Arc::clone(id.text()));
        }
    }
    if lossy {
        (plan.name, plan.title, plan.description) = (None, None, None);
        plan.metadata = Value::Null;
        plan.sharing = Sharing::Open;
        plan.on_failure = OnFailure::KeepGoing;
        plan.output = Output::All;
    }
    plan
}

/// The positions of the steps that `args` read.
fn sources(args: &Node, positions: &HashMap<StepId, StepId>) -> Vec<Arc<str>> {
    let mut sources = Vec::new();
    args.each_reference(&mut |reference| {
        for read in reference.reads() {
            if let Source::Step(id) | Source::Result(id) = &read.source {
                sources.push(Arc::clone(positions.get(id).unwrap_or(id).text()));
            }
        }
    });
    sources
}

fn rename(node: &mut Node, positions: &HashMap<StepId, StepId>, lossy: bool) {
    match &mut node.kind {
        NodeKind::Literal(_) => {}
        NodeKind::Reference(reference) => rename_reference(reference, positions, lossy),
        NodeKind::Text(parts) => {
            for part in parts {
                if let TextPart::Reference(reference) = part {
                    rename_reference(reference, positions, lossy);
                }
            }
        }
        NodeKind::List(items) => {
            for item in items {
                rename(item, positions, lossy);
            }
        }
        NodeKind::Object(fields) => {
            for field in fields {
                rename(&mut field.value, positions, lossy);
            }
        }
    }
}

fn rename_reference(reference: &mut Reference, positions: &HashMap<StepId, StepId>, lossy: bool) {
    let change = |read: &mut Read| {
        if let Source::Step(id) | Source::Result(id) = &mut read.source
            && let Some(known) = positions.get(id)
        {
            *id = known.clone();
        }
        // A whole value is never missing.
        if lossy || read.path.is_empty() {
            read.missing = Missing::Fail;
        }
        // The value decides if a number is an index or a key, unless the dialect distinguishes them.
        for segment in &mut read.path {
            if let planwright_core::plan::Segment::Index(index) = segment {
                *segment = planwright_core::plan::Segment::key(index.to_string());
            }
        }
    };
    match &mut reference.form {
        Form::All(reads) => reads.iter_mut().for_each(change),
        Form::First(alternatives) => {
            if let [Alternative::Read(_), Alternative::Literal(Value::Null)] =
                alternatives.as_slice()
            {
                // `:-null` is the form of a missing value that gives null in a dialect with defaults.
                alternatives.pop();
                if let Some(Alternative::Read(read)) = alternatives.first_mut() {
                    read.missing = if lossy { Missing::Fail } else { Missing::Null };
                }
            }
            for alternative in alternatives {
                if let Alternative::Read(read) = alternative {
                    let missing = read.missing;
                    change(read);
                    if !lossy && !read.path.is_empty() {
                        read.missing = missing;
                    }
                }
            }
        }
    }
}
