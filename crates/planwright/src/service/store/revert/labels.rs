//! The labels of the arguments of undos, for the flow policy: data does not become trusted because a run returned it.

use std::sync::Arc;

use planwright_core::Policy;
use planwright_core::flow::{
    self, FlowContext, PlannerLabel, RecalledLabels, StepLabels, ValueLabels,
};
use planwright_engine::RunId;
use planwright_engine::journal::Record;

use super::calls::MadeCall;
use crate::stored::StoredRun;

/// Returns the labels of the arguments that undo `calls`, by the step that undoes each. Those without labels count as untrusted and private.
pub(super) fn argument_labels<'a>(
    stored: &StoredRun,
    run: &RunId,
    calls: impl Iterator<Item = (&'a str, &'a MadeCall)>,
    policy: &Policy,
) -> RecalledLabels {
    let (Some(mut flow), Some(planner)) = (policy.flow.clone(), stored.planner()) else {
        return RecalledLabels::new();
    };
    // Anyone can write into a file that data is trusted.
    if stored.imported.is_some() {
        return RecalledLabels::new();
    }
    // Under another plan, a step of the same id may have read other data.
    let (true, Ok(plan)) = (stored.changes().is_empty(), stored.latest_plan()) else {
        return RecalledLabels::new();
    };
    flow.planner = planner;
    let labels = stored.labels();
    let context = FlowContext {
        recalled: Some(&labels.recalled),
        retained: Some(&labels.retained),
        ..FlowContext::new(&flow, &policy.releases)
    };
    let calls: Vec<_> = calls.collect();
    // Of all calls: the arguments of those to undo were computed from others, which only read.
    let stated: Vec<(Arc<str>, ValueLabels)> = stored
        .entries
        .iter()
        .filter_map(|entry| {
            let Record::Answered { at, result, .. } = &entry.record else {
                return None;
            };
            let labels = match result {
                Ok(output) => output.labels,
                Err(error) => error.labels,
            };
            Some((at.steps().into(), labels))
        })
        .collect();
    // An undo may contain literals of the author of the plan.
    let author = ValueLabels::new(planner == PlannerLabel::Exposed, false);
    let outputs = flow::step_labels(&plan, context, &stated);
    let arguments = flow::argument_labels(&plan, context, &stated);
    let known = calls.iter().filter_map(|(step, call)| {
        // The outputs of inner steps are not among the labels.
        let path: Arc<str> = call.at.steps().into();
        let output = outputs.get(&path).filter(|_| call.at.inside.is_none())?;
        let joined = output.joined(*arguments.get(&path)?).joined(author);
        Some((Arc::from(*step), joined))
    });
    let known: StepLabels = known.collect();
    RecalledLabels::from([(Arc::from(run.as_str()), known)])
}
