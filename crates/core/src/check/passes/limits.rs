//! How large a plan may be.

use std::ops::ControlFlow;

use crate::check::checked_plan::Extent;
use crate::check::policy::Limits;
use crate::check::reporter::Findings;
use crate::check::resolved_plan::Survey;
use crate::expression::PatternBudget;
use crate::plan::{Alternative, Form, Reference};
use crate::{Code, Place, Plan, PointerSegment, Schema, Step};

/// The longest way to a slot: each part makes an object inside of the one before, and values nest no deeper either.
const MAX_SLOT_DEPTH: usize = 512;

/// Whether the plan is small enough to be looked at. One that is not is not looked at any further.
/// `patterns` is what is left for those in its schemas.
pub(in crate::check) fn size(
    plan: &Plan,
    limits: &Limits,
    patterns: &mut PatternBudget,
    findings: &mut Findings<'_>,
) -> ControlFlow<()> {
    steps(plan, limits, findings)?;
    slots(plan, findings)?;
    schemas(plan, patterns, findings)
}

/// A schema that takes too long to read for itself is malformed; together, they may do so, too.
fn schemas(
    plan: &Plan,
    patterns: &mut PatternBudget,
    findings: &mut Findings<'_>,
) -> ControlFlow<()> {
    for input in &plan.inputs {
        let schema = Schema::from_value(input.schema.clone());
        let is_sound_alone = || schema.spend_patterns(&mut PatternBudget::default()).is_ok();
        if let Err(matter) = schema.spend_patterns(patterns)
            && is_sound_alone()
        {
            let message = format!(
                "the schema of `{}` takes too long to read: {matter}",
                input.name
            );
            let finding = findings.error(Code::InvalidSchema, input.place, message);
            findings.push(finding.help("let fewer patterns ignore case"));
            return ControlFlow::Break(());
        }
    }
    ControlFlow::Continue(())
}

/// Whether the plan is small enough together with the plans and instances that it runs.
pub(in crate::check) fn extent(
    plan: &Plan,
    extent: Extent,
    limits: &Limits,
    findings: &mut Findings<'_>,
) {
    if extent.steps <= limits.max_steps {
        return;
    }
    let message = format!(
        "the plan has {} steps with those of all plans and instances that it runs, more than the {} that are allowed",
        extent.steps, limits.max_steps
    );
    let finding = findings.error(Code::TooManySteps, plan.place, message);
    findings.push(finding.help("let fewer steps run plans, or make fewer instances"));
}

fn slots(plan: &Plan, findings: &mut Findings<'_>) -> ControlFlow<()> {
    let mut flow = ControlFlow::Continue(());
    let writes = plan.steps.iter().filter_map(|step| step.writes.as_ref());
    for path in writes.flat_map(|writes| writes.targets.paths()) {
        let depth = path.keys.len();
        if depth > MAX_SLOT_DEPTH {
            let message = format!(
                "the way to the slot has {depth} parts, more than the {MAX_SLOT_DEPTH} that are allowed"
            );
            let finding = findings.error(Code::TooDeep, path.place, message);
            findings.push(finding.help("name the slot by fewer parts"));
            flow = ControlFlow::Break(());
        }
    }
    flow
}

fn steps(plan: &Plan, limits: &Limits, findings: &mut Findings<'_>) -> ControlFlow<()> {
    let steps = plan.steps.len();
    if steps <= limits.max_steps {
        return ControlFlow::Continue(());
    }
    let finding = findings
        .error(
            Code::TooManySteps,
            plan.place,
            format!(
                "the plan has {steps} steps, more than the {} that are allowed",
                limits.max_steps
            ),
        )
        .help("use `for_each` where steps differ only in their arguments");
    findings.push(finding);
    ControlFlow::Break(())
}

pub(in crate::check) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    let limits = &survey.context.policy.limits;
    for (_, step) in survey.steps() {
        if let Some(repeat) = &step.repeat
            && repeat.max.get() > limits.max_repeat
        {
            let message = format!(
                "the step `{}` may repeat {} times, more than the {} that are allowed",
                step.id, repeat.max, limits.max_repeat
            );
            let place = inside(step, &["repeat", "max"], findings);
            let finding = findings.error(Code::BoundTooLarge, place, message);
            findings.push(finding.help("lower the bound"));
        }
        if let Some(retry) = &step.retry
            && retry.attempts.get() > limits.max_attempts
        {
            let message = format!(
                "the step `{}` may try {} times, more than the {} that are allowed",
                step.id, retry.attempts, limits.max_attempts
            );
            let place = inside(step, &["retry", "attempts"], findings);
            let finding = findings.error(Code::BoundTooLarge, place, message);
            findings.push(finding.help("lower the bound"));
        }
    }
    let most = limits.max_expression_length;
    survey.each_use(&mut |place| {
        let length = longest_expression(place.reference);
        if length > most {
            let finding = findings
                .error(
                    Code::ExpressionTooLong,
                    place.reference.place,
                    format!(
                        "the expression has {length} bytes, more than the {most} that are allowed"
                    ),
                )
                .help("split it over several `value` steps");
            findings.push(finding);
        }
    });
}

/// Where the step says what is at `keys`, or the nearest around it that was written so.
fn inside(step: &Step, keys: &[&str], findings: &Findings<'_>) -> Place {
    let path: Vec<PointerSegment> = keys
        .iter()
        .map(|key| PointerSegment::Key((*key).into()))
        .collect();
    findings.inside(step.place, &path)
}

fn longest_expression(reference: &Reference) -> usize {
    match &reference.form {
        Form::All(_) => 0,
        Form::First(alternatives) => alternatives
            .iter()
            .map(|alternative| match alternative {
                Alternative::Expression(expression) => expression.text().len(),
                Alternative::Read(_) | Alternative::Literal(_) => 0,
            })
            .max()
            .unwrap_or(0),
    }
}
