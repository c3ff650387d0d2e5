//! Positions: every read of a step learns where that step stands, so that a run need not look its id up.

use std::collections::HashMap;

use crate::plan::reference::Position;
use crate::plan::{Action, Alternative, Form, Node, OnError, Output, Read, Source};
use crate::{Hashing, Plan, Step, StepId};

/// Tells the reads of `plan` the positions of `ids`. Those of expressions are shared with other plans, so they go by the
/// id; those of plans that stand in steps are told when these are checked.
pub(super) fn tell(plan: &mut Plan, ids: &HashMap<StepId, u32, Hashing>) {
    let mut told = |read: &mut Read| {
        read.position = Position(match &read.source {
            Source::Step(id) | Source::Result(id) => ids.get(id).copied(),
            _ => None,
        });
    };
    let mut tell = |node: &mut Node| {
        node.each_reference_mut(&mut |reference| match &mut reference.form {
            Form::All(reads) => reads.iter_mut().for_each(&mut told),
            Form::First(alternatives) => {
                for alternative in alternatives {
                    if let Alternative::Read(read) = alternative {
                        told(read);
                    }
                }
            }
        });
    };
    for step in &mut plan.steps {
        nodes(step).for_each(&mut tell);
    }
    if let Output::Value(node) = &mut plan.output {
        tell(node);
    }
}

/// The nodes of `step` that may hold references.
fn nodes(step: &mut Step) -> impl Iterator<Item = &mut Node> {
    let value = match &mut step.action {
        Action::Value(value) => Some(value),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    let on_error = match &mut step.on_error {
        OnError::Output(output) => Some(output),
        OnError::Fail | OnError::Continue => None,
    };
    std::iter::once(&mut step.args)
        .chain(&mut step.positional)
        .chain(value)
        .chain(&mut step.when)
        .chain(step.for_each.as_mut().map(|for_each| &mut for_each.over))
        .chain(step.repeat.as_mut().map(|repeat| &mut repeat.until))
        .chain(on_error)
}
