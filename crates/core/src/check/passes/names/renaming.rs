//! Another id for a step whose id an earlier one has, and the references that move with it.

use crate::StepId;
use crate::check::resolved_plan::ResolvedPlan;
use crate::plan::Source;

/// The end of the hint for the step at the second of `positions`, whose id the step at the first one has. Where an id is given again,
/// the steps after it mean the newest one, unless the two are alternatives of each other.
pub(super) fn advice(
    resolved: &ResolvedPlan<'_>,
    (first, position): (usize, usize),
) -> Option<String> {
    let steps = &resolved.plan.steps;
    let (before, step) = (steps.get(first)?, steps.get(position)?);
    let id = step.id.as_str();
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let is_name = id.starts_with(char::is_alphabetic) && id.chars().all(is_word);
    let is_plain = before.when.is_none() && step.when.is_none() && is_name;
    if !is_plain {
        return None;
    }
    let is_free = |name: &str| steps.iter().all(|step| step.id.as_str() != name);
    // Each of several steps with the id gets another one.
    let earlier = steps
        .iter()
        .take(position)
        .filter(|other| other.id == step.id);
    let mut numbers = earlier.count().saturating_add(1)..=steps.len().saturating_add(1);
    let other = numbers.find_map(|number| {
        let name = format!("{id}_{number}");
        is_free(&name).then_some(name)
    })?;
    // From the next step with the id on, it means that one.
    let later = steps.iter().enumerate().skip(position.checked_add(1)?);
    let later = later.take_while(|(_, later)| later.id != step.id);
    let mut readers: Vec<&StepId> = Vec::new();
    for (index, later) in later {
        let mut reads = later.after.iter().any(|after| &*after.text == id);
        let index = u32::try_from(index).ok()?;
        ResolvedPlan::each_use_in_step(index, later, &mut |usage| {
            let sources = usage.reference.reads();
            reads |= sources.iter().any(|read| {
                matches!(&read.source, Source::Step(read) | Source::Result(read) if *read == step.id)
            });
        });
        if reads {
            readers.push(&later.id);
        }
    }
    let names: Vec<String> = readers.iter().map(|id| format!("`{id}`")).collect();
    Some(match names.as_slice() {
        [] => format!(", such as `{other}`"),
        _ => format!(
            ", such as `{other}`, also in the steps after it that mean this one ({})",
            names.join(", ")
        ),
    })
}
