//! Steps in the text: definition, references, outline, renaming.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use planwright::core::StepId;
use planwright::core::plan::{Action, Plan, Source};

use crate::analysis::{AnalyzedPlan, contains, read, span};
use crate::occurrences::StepOccurrence;

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
    #[error("not all references to `{0}` are written in a way that can be renamed")]
    Unclear(StepId),
}

/// Returns the name of a step at the byte `offset`.
pub(crate) fn occurrence_at(plan: &AnalyzedPlan, offset: usize) -> Option<&StepOccurrence> {
    let mut found = plan.occurrences.iter();
    found.find(|occurrence| contains(&occurrence.span, offset))
}

/// Returns the place of the id of a step.
pub(crate) fn definition<'a>(plan: &'a AnalyzedPlan, step: &StepId) -> Option<&'a StepOccurrence> {
    let mut found = plan.occurrences.iter();
    found.find(|occurrence| occurrence.is_definition && occurrence.step == *step)
}

/// Returns all places that name a step.
pub(crate) fn references<'a>(
    plan: &'a AnalyzedPlan,
    step: &'a StepId,
) -> impl Iterator<Item = &'a StepOccurrence> {
    let found = plan.occurrences.iter();
    found.filter(move |occurrence| occurrence.step == *step)
}

/// Returns the steps of the plan.
pub(crate) fn outline(plan: &AnalyzedPlan) -> Vec<OutlineStep> {
    let definitions = plan.occurrences.iter().filter(|found| found.is_definition);
    let names: HashMap<&StepId, &Range<usize>> = definitions
        .map(|found| (&found.step, &found.span))
        .collect();
    let steps = plan.plan.steps.iter().filter_map(|step| {
        let whole = span(&plan.plan.sources, step.place)?;
        let name = names.get(&step.id).copied().unwrap_or(&whole).clone();
        let detail = match &step.action {
            Action::Tool(name) => name.text.to_string(),
            Action::Plan(_) => "plan".to_owned(),
            Action::Value(_) => "value".to_owned(),
        };
        Some(OutlineStep {
            id: step.id.to_string(),
            detail,
            span: whole,
            name,
        })
    });
    steps.collect()
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
    if plan.plan.steps.iter().any(|other| *other.id == *name) {
        return Err(RenameError::Taken(name.to_owned()));
    }
    let places: Vec<&StepOccurrence> = references(plan, step).collect();
    let mut renamed = String::with_capacity(text.len());
    let mut at = 0;
    for place in &places {
        renamed.push_str(text.get(at..place.span.start).unwrap_or_default());
        renamed.push_str(name);
        at = place.span.end;
    }
    renamed.push_str(text.get(at..).unwrap_or_default());
    let unclear = || RenameError::Unclear(step.clone());
    let result = read("plan", &renamed);
    let after = result.plan.ok_or_else(unclear)?;
    if result.diagnostics.has_errors() || !is_renamed(&plan.plan, &after, step, name) {
        return Err(unclear());
    }
    let edits = places
        .into_iter()
        .map(|place| (place.span.clone(), name.to_owned()));
    Ok(edits.collect())
}

/// Returns true if `after` reads the same steps as `before`, but for the step that has the id `to` instead of `from`.
fn is_renamed(before: &Plan, after: &Plan, from: &StepId, to: &str) -> bool {
    let named = |id: &StepId| if id == from { to.into() } else { id.clone() };
    let ids = before.steps.iter().map(|step| named(&step.id));
    let same_ids = ids.eq(after.steps.iter().map(|step| step.id.clone()));
    let waits = |plan: &Plan| -> Vec<StepId> {
        let steps = plan.steps.iter().flat_map(|step| &step.after);
        steps.map(|name| StepId::new(name.text.clone())).collect()
    };
    let waits_before: Vec<StepId> = waits(before).iter().map(named).collect();
    let reads_before = reads(before)
        .into_iter()
        .map(|(place, id)| (place, named(&id)));
    let reads_before: BTreeSet<_> = reads_before.collect();
    let unknown = |plan: &Plan| {
        let known: BTreeSet<&StepId> = plan.steps.iter().map(|step| &step.id).collect();
        let read = reads(plan);
        read.iter().filter(|(_, id)| !known.contains(id)).count()
    };
    same_ids
        && waits_before == waits(after)
        && reads_before == reads(after)
        && unknown(before) == unknown(after)
}

/// The steps that references read, each with the position of its reference in the plan.
fn reads(plan: &Plan) -> BTreeSet<(usize, StepId)> {
    let mut found = BTreeSet::new();
    let mut position = 0;
    plan.each_reference(&mut |reference| {
        for read in reference.reads() {
            match &read.source {
                Source::Step(id) | Source::Result(id) => {
                    found.insert((position, id.clone()));
                }
                Source::Slot(_)
                | Source::Item
                | Source::Index
                | Source::Last
                | Source::ExternalValue(..) => {}
            }
        }
        position += 1;
    });
    found
}
