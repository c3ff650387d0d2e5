//! The limit pass: the size of a plan and of its parts.

use std::ops::ControlFlow;

use crate::check::checked_plan::PlanSize;
use crate::check::policy::Limits;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::expression::PatternBudget;
use crate::plan::{Alternative, Form, Reference};
use crate::{Code, Place, Plan, PointerSegment, Schema, Step};

/// Maximum number of parts of a slot path. Each part nests one object deeper, and values are limited to the same depth.
const MAX_SLOT_DEPTH: usize = 512;

/// Checks that the plan is small enough for the other passes. `patterns` is the remaining budget for patterns in its
/// schemas.
pub(in crate::check) fn check_size(
    plan: &Plan,
    limits: &Limits,
    patterns: &mut PatternBudget,
    reporter: &mut Reporter<'_>,
) -> ControlFlow<()> {
    check_steps(plan, limits, reporter)?;
    check_slots(plan, reporter)?;
    check_schemas(plan, patterns, reporter)
}

/// Checks the total cost of all schemas. A schema that is too costly alone is reported as malformed instead.
fn check_schemas(
    plan: &Plan,
    patterns: &mut PatternBudget,
    reporter: &mut Reporter<'_>,
) -> ControlFlow<()> {
    for input in &plan.inputs {
        let schema = Schema::from_value(input.schema.clone());
        // A schema that is too costly alone is reported by the input pass.
        let is_sound_alone = || schema.spend_patterns(&mut PatternBudget::default()).is_ok();
        if let Err(reason) = schema.spend_patterns(patterns)
            && is_sound_alone()
        {
            let message = format!(
                "the schema of `{}` takes too long to read: {reason}",
                input.name
            );
            let diagnostic = reporter.error(Code::InvalidSchema, input.place, message);
            reporter.push(diagnostic.help("let fewer patterns ignore case"));
            return ControlFlow::Break(());
        }
    }
    ControlFlow::Continue(())
}

/// Checks the size of the plan together with its sub-plans and instances.
pub(in crate::check) fn check_total_size(
    plan: &Plan,
    size: PlanSize,
    limits: &Limits,
    reporter: &mut Reporter<'_>,
) {
    if size.steps <= limits.max_steps {
        return;
    }
    let message = format!(
        "the plan has {} steps with those of all plans and instances that it runs, more than the {} that are allowed",
        size.steps, limits.max_steps
    );
    let diagnostic = reporter.error(Code::TooManySteps, plan.place, message);
    reporter.push(diagnostic.help("let fewer steps run plans, or make fewer instances"));
}

fn check_slots(plan: &Plan, reporter: &mut Reporter<'_>) -> ControlFlow<()> {
    let mut flow = ControlFlow::Continue(());
    let writes = plan.steps.iter().filter_map(|step| step.writes.as_ref());
    for path in writes.flat_map(|writes| writes.targets.paths()) {
        let depth = path.keys.len();
        if depth > MAX_SLOT_DEPTH {
            let message = format!(
                "the path of the slot has {depth} parts, more than the {MAX_SLOT_DEPTH} that are allowed"
            );
            let diagnostic = reporter.error(Code::TooDeep, path.place, message);
            reporter.push(diagnostic.help("name the slot by fewer parts"));
            flow = ControlFlow::Break(());
        }
    }
    flow
}

fn check_steps(plan: &Plan, limits: &Limits, reporter: &mut Reporter<'_>) -> ControlFlow<()> {
    let steps = plan.steps.len();
    if steps <= limits.max_steps {
        return ControlFlow::Continue(());
    }
    let diagnostic = reporter
        .error(
            Code::TooManySteps,
            plan.place,
            format!(
                "the plan has {steps} steps, more than the {} that are allowed",
                limits.max_steps
            ),
        )
        .help("use `for_each` where steps differ only in their arguments");
    reporter.push(diagnostic);
    // The passes do not look at a plan that exceeds the limit.
    ControlFlow::Break(())
}

pub(in crate::check) fn check(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    let limits = &resolved.context.policy.limits;
    for (_, step) in resolved.steps() {
        if let Some(repeat) = &step.repeat
            && repeat.max.get() > limits.max_repeat
        {
            let message = format!(
                "the step `{}` may repeat {} times, more than the {} that are allowed",
                step.id, repeat.max, limits.max_repeat
            );
            let place = inside(step, &["repeat", "max"], reporter);
            let diagnostic = reporter.error(Code::BoundTooLarge, place, message);
            reporter.push(diagnostic.help("lower the bound"));
        }
        if let Some(retry) = &step.retry
            && retry.attempts.get() > limits.max_attempts
        {
            let message = format!(
                "the step `{}` may try {} times, more than the {} that are allowed",
                step.id, retry.attempts, limits.max_attempts
            );
            let place = inside(step, &["retry", "attempts"], reporter);
            let diagnostic = reporter.error(Code::BoundTooLarge, place, message);
            reporter.push(diagnostic.help("lower the bound"));
        }
    }
    let most = limits.max_expression_length;
    resolved.each_use(&mut |usage| {
        let length = longest_expression(usage.reference);
        if length > most {
            let diagnostic = reporter
                .error(
                    Code::ExpressionTooLong,
                    usage.reference.place,
                    format!(
                        "the expression has {length} bytes, more than the {most} that are allowed"
                    ),
                )
                .help("split it over several `value` steps");
            reporter.push(diagnostic);
        }
    });
}

/// Returns the place of the part of the step at `keys`, or of its nearest ancestor with a place.
fn inside(step: &Step, keys: &[&str], reporter: &Reporter<'_>) -> Place {
    let path: Vec<PointerSegment> = keys
        .iter()
        .map(|key| PointerSegment::Key((*key).into()))
        .collect();
    reporter.descend(step.place, &path)
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
