//! Steps in the text: definition, references, outline, renaming.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use planwright::core::StepId;
use planwright::core::expression::parse_form;
use planwright::core::plan::{Action, Alternative, Form, Path, Plan, Read, Source, Step};

use crate::analysis::{AnalyzedPlan, contains, read, span};
use crate::occurrences::{StepOccurrence, inner_plan, may_have_variable};

/// A step of the outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutlineStep {
    pub(crate) id: String,
    /// The tool, or what the step does instead.
    pub(crate) detail: String,
    /// The bytes of the whole step.
    pub(crate) span: Range<usize>,
    /// The bytes of its id.
    pub(crate) name: Range<usize>,
    /// The steps of its inner plan.
    pub(crate) steps: Vec<OutlineStep>,
}

/// The reason why a step cannot be renamed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RenameError {
    #[error("the text is no plan, so its steps cannot be renamed")]
    NoPlan,
    #[error("there is no step here")]
    NoStep,
    #[error("`{0}` is the id of another step")]
    Taken(String),
    #[error("the id of a step is not empty")]
    Empty,
    #[error("`{0}` is the variable of a loop in a reference to the step")]
    Variable(String),
    #[error("references do not read `{0}` as the id of a step")]
    Unreadable(String),
    #[error("not all references to `{0}` are written in a way that can be renamed")]
    Unclear(StepId),
}

/// Returns the name of a step at the byte `offset`.
pub(crate) fn occurrence_at(plan: &AnalyzedPlan, offset: usize) -> Option<&StepOccurrence> {
    let mut found = plan.occurrences.iter();
    found.find(|occurrence| contains(&occurrence.span, offset))
}

/// Returns the place of the id of the step that `name` names.
pub(crate) fn definition<'a>(
    plan: &'a AnalyzedPlan,
    name: &'a StepOccurrence,
) -> Option<&'a StepOccurrence> {
    references(plan, name).find(|occurrence| occurrence.is_definition)
}

/// Returns all places that name the same step as `name`.
pub(crate) fn references<'a>(
    plan: &'a AnalyzedPlan,
    name: &'a StepOccurrence,
) -> impl Iterator<Item = &'a StepOccurrence> {
    let found = plan.occurrences.iter();
    found.filter(move |found| found.step == name.step && found.scope == name.scope)
}

/// Returns the steps of the plan, with those of inner plans within them.
pub(crate) fn outline(plan: &AnalyzedPlan) -> Vec<OutlineStep> {
    let definitions = plan.occurrences.iter().filter(|found| found.is_definition);
    let names: HashMap<(&[StepId], &StepId), &Range<usize>> = definitions
        .map(|found| ((found.scope.as_slice(), &found.step), &found.span))
        .collect();
    outline_within(&plan.plan, &[], &names)
}

fn outline_within(
    plan: &Plan,
    scope: &[StepId],
    names: &HashMap<(&[StepId], &StepId), &Range<usize>>,
) -> Vec<OutlineStep> {
    let steps = plan.steps.iter().filter_map(|step| {
        let whole = span(&plan.sources, step.place)?;
        let name = names.get(&(scope, &step.id)).copied().unwrap_or(&whole);
        let detail = match &step.action {
            Action::Tool(name) => name.text.to_string(),
            Action::Plan(_) => "plan".to_owned(),
            Action::Value(_) => "value".to_owned(),
        };
        let steps = inner_plan(step).map(|inner| {
            let scope: Vec<StepId> = scope.iter().chain([&step.id]).cloned().collect();
            outline_within(inner, &scope, names)
        });
        Some(OutlineStep {
            id: step.id.to_string(),
            detail,
            name: name.clone(),
            span: whole,
            steps: steps.unwrap_or_default(),
        })
    });
    steps.collect()
}

/// Returns the plan in which `scope` lies: that of the step at its end.
fn plan_at<'a>(plan: &'a Plan, scope: &[StepId]) -> Option<&'a Plan> {
    let mut found = plan;
    for id in scope {
        let step = found.steps.iter().find(|step| step.id == *id)?;
        found = inner_plan(step)?;
    }
    Some(found)
}

/// Returns the edits that give the step at the byte `offset` another id. They are tried first: the plan that they lead to must be the same
/// but for the id.
///
/// # Errors
///
/// [`RenameError`], also if a reference would be lost or would mean something else.
pub(crate) fn rename(
    plan: Option<&AnalyzedPlan>,
    text: &str,
    offset: usize,
    name: &str,
) -> Result<Vec<(Range<usize>, String)>, RenameError> {
    let plan = plan.ok_or(RenameError::NoPlan)?;
    let found = occurrence_at(plan, offset).ok_or(RenameError::NoStep)?;
    let step = &found.step;
    if name.is_empty() {
        return Err(RenameError::Empty);
    }
    if **step == *name {
        return Ok(Vec::new());
    }
    let own = plan_at(&plan.plan, &found.scope).ok_or(RenameError::NoStep)?;
    if own.steps.iter().any(|other| *other.id == *name) {
        return Err(RenameError::Taken(name.to_owned()));
    }
    let places: Vec<&StepOccurrence> = references(plan, found).collect();
    if may_capture(own, step, name) {
        return Err(RenameError::Variable(name.to_owned()));
    }
    let mut renamed = String::with_capacity(text.len());
    let mut at = 0;
    for place in &places {
        renamed.push_str(text.get(at..place.span.start).unwrap_or_default());
        renamed.push_str(name);
        at = place.span.end;
    }
    renamed.push_str(text.get(at..).unwrap_or_default());
    let unclear = || {
        if is_readable(name) {
            RenameError::Unclear(step.clone())
        } else {
            RenameError::Unreadable(name.to_owned())
        }
    };
    let result = read("plan", &renamed);
    let after = result.plan.ok_or_else(unclear)?;
    if result.diagnostics.has_errors()
        || !is_renamed(&plan.plan, &after, Some(&found.scope), (step, name))
    {
        return Err(unclear());
    }
    let edits = places
        .into_iter()
        .map(|place| (place.span.clone(), name.to_owned()));
    Ok(edits.collect())
}

/// Returns true if a reference `${name}` reads the step of this name: it is not reserved, and no path or operation.
fn is_readable(name: &str) -> bool {
    let Ok(form) = parse_form(name) else {
        return false;
    };
    let Form::First(alternatives) = form else {
        return false;
    };
    matches!(
        alternatives.as_slice(),
        [Alternative::Read(read)] if read.path.is_empty() && read.source == Source::Step(name.into())
    )
}

/// Returns true if `after` makes the same reads of steps as `before`, also in inner plans, but for the step in `scope` that has the id `to`
/// instead of `from`. Without a scope, all ids are the same.
fn is_renamed(
    before: &Plan,
    after: &Plan,
    scope: Option<&[StepId]>,
    (from, to): (&StepId, &str),
) -> bool {
    let is_own = scope.is_some_and(<[StepId]>::is_empty);
    let named = |id: &StepId| {
        if is_own && id == from {
            to.into()
        } else {
            id.clone()
        }
    };
    let ids = before.steps.iter().map(|step| named(&step.id));
    let same_ids = ids.eq(after.steps.iter().map(|step| step.id.clone()));
    let waits = |plan: &Plan| -> Vec<StepId> {
        let steps = plan.steps.iter().flat_map(|step| &step.after);
        steps.map(|name| StepId::new(name.text.clone())).collect()
    };
    let waits_before: Vec<StepId> = waits(before).iter().map(named).collect();
    let reads_before = reads(before).into_iter();
    let reads_before = reads_before.map(|read| StepRead {
        step: named(&read.step),
        ..read
    });
    let unknown = |plan: &Plan| {
        let known: BTreeSet<&StepId> = plan.steps.iter().map(|step| &step.id).collect();
        let read = reads(plan);
        read.iter()
            .filter(|read| !known.contains(&read.step))
            .count()
    };
    let same_inner = |(before, after): (&Step, &Step)| {
        let below = scope.and_then(|scope| match scope.split_first() {
            Some((first, rest)) if *first == before.id => Some(rest),
            Some(_) | None => None,
        });
        match (inner_plan(before), inner_plan(after)) {
            (Some(before), Some(after)) => is_renamed(before, after, below, (from, to)),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    };
    same_ids
        && waits_before == waits(after)
        && reads_before.eq(reads(after))
        && unknown(before) == unknown(after)
        && before.steps.iter().zip(&after.steps).all(same_inner)
}

/// Returns true if a reference that reads `step` has a loop with the variable `name`, which could take the place of the renamed step, or the
/// other way round.
fn may_capture(plan: &Plan, step: &StepId, name: &str) -> bool {
    let mut found = false;
    plan.each_reference(&mut |reference| {
        let reads_step = |read: &&Read| match &read.source {
            Source::Step(id) | Source::Result(id) => id == step,
            Source::Slot(_)
            | Source::Item
            | Source::Index
            | Source::Last
            | Source::ExternalValue(..) => false,
        };
        found |=
            may_have_variable(&reference.text, name) && reference.reads().iter().any(reads_step);
    });
    found
}

/// A read of a step.
#[derive(Debug, PartialEq, Eq)]
struct StepRead {
    /// The position of the reference in the plan.
    reference: usize,
    step: StepId,
    path: Path,
}

/// Returns each read of a step in the order of the plan, also repeated ones: a name that a variable has captured is a read less.
fn reads(plan: &Plan) -> Vec<StepRead> {
    let mut found = Vec::new();
    let mut reference = 0;
    plan.each_reference(&mut |each| {
        for read in each.reads() {
            match &read.source {
                Source::Step(id) | Source::Result(id) => found.push(StepRead {
                    reference,
                    step: id.clone(),
                    path: read.path.clone(),
                }),
                Source::Slot(_)
                | Source::Item
                | Source::Index
                | Source::Last
                | Source::ExternalValue(..) => {}
            }
        }
        reference += 1;
    });
    found
}
