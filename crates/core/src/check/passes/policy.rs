//! The policy pass: the tools that a plan calls, the external values that it passes to them, and the size of the plan and of its
//! parts.

use std::ops::ControlFlow;

use crate::catalog::extraction_schema;
use crate::check::checked_plan::PlanSize;
use crate::check::context::Limits;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::expression::PatternBudget;
use crate::plan::{
    Action, Alternative, ExternalValue, Form, Missing, Node, Output, Read, Reference, Source,
};
use crate::{Code, EXTRACTION, Place, Plan, PointerSegment, Schema, Step, Tool};

/// Checks that the policy allows the tool of a step.
pub(in crate::check) fn check_tool(
    resolved: &ResolvedPlan<'_>,
    (index, step): (u32, &Step),
    reporter: &mut Reporter<'_>,
) {
    let (Some(name), Some(tool)) = (step.tool(), resolved.tool(index)) else {
        return;
    };
    if let Some((message, help)) = resolved.context.policy.objection_to(&name.text, tool) {
        let diagnostic = reporter.error(Code::DeniedTool, name.place, message);
        reporter.push(diagnostic.help(help));
    }
}

pub(in crate::check) fn check_external_values(
    resolved: &ResolvedPlan<'_>,
    reporter: &mut Reporter<'_>,
) {
    if !resolved.reads.external_values {
        return;
    }
    for (index, step) in resolved.steps() {
        let mut pass = ExternalValuePass {
            resolved,
            is_argument: matches!(step.action, Action::Tool(_)),
            tool: resolved.tool(index).map(AsRef::as_ref),
        };
        for node in step.argument_nodes() {
            pass.node(node, reporter);
        }
        pass.is_argument = false;
        step.each_other_node(&mut |node, _| pass.node(node, reporter));
    }
    if let Output::Value(node) = &resolved.plan.output {
        let pass = ExternalValuePass {
            resolved,
            is_argument: false,
            tool: None,
        };
        pass.node(node, reporter);
    }
}

struct ExternalValuePass<'a> {
    resolved: &'a ResolvedPlan<'a>,
    /// True if the visited node is an argument of a tool call.
    is_argument: bool,
    tool: Option<&'a Tool>,
}

impl ExternalValuePass<'_> {
    fn node(&self, node: &Node, reporter: &mut Reporter<'_>) {
        node.each_reference(&mut |reference| {
            reference.each_read(&mut |read| {
                if let Source::ExternalValue(what, name) = &read.source {
                    self.read(reference, read, (*what, name), reporter);
                }
            });
        });
    }

    fn read(
        &self,
        reference: &Reference,
        read: &Read,
        (what, name): (ExternalValue, &str),
        reporter: &mut Reporter<'_>,
    ) {
        let text = reference.shown();
        // A condition, the length of a list or a field of an output reveals something of a value, and no mask sees it.
        let misplaced = if !self.is_argument {
            Some((
                format!("`{text}` is used outside the arguments of a tool"),
                "external values can only be passed to tools: move it into the step that needs it",
            ))
        } else if reference.as_read() != Some(read) {
            Some((
                format!("`{text}` computes with `{what}.{name}`, which can only be passed on"),
                "write the name alone, as the whole argument or in the middle of a text",
            ))
        } else if !read.path.is_empty() || read.missing != Missing::Fail {
            Some((
                format!("`{what}.{name}` is a text, and `{text}` reads a part of it"),
                "write nothing after the name",
            ))
        } else {
            None
        };
        let diagnostic = match (misplaced, self.tool) {
            (Some((message, help)), _) => reporter
                .error(Code::MisplacedExternalValue, reference.place, message)
                .help(help),
            (None, Some(tool)) => {
                let Some(help) = self
                    .resolved
                    .context
                    .policy
                    .releases
                    .objection(what, name, tool)
                else {
                    return;
                };
                let message = format!(
                    "the tool `{}` may not be given `{what}.{name}`",
                    tool.qualified_name()
                );
                reporter
                    .error(Code::UnreleasedValue, reference.place, message)
                    .help(help)
            }
            (None, None) => return,
        };
        reporter.push(diagnostic);
    }
}

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
    let inputs = plan.inputs.iter();
    let inputs = inputs.map(|input| (&*input.name, input.place, input.schema.clone()));
    let extracts = |step: &&Step| step.tool().is_some_and(|name| &*name.text == EXTRACTION);
    let extractions = plan.steps.iter().filter(extracts).flat_map(|step| {
        // Positional arguments have no names yet, so any of them may be the schema.
        let schemas = extraction_schema(step).into_iter();
        let schemas = schemas.chain(step.positional.iter().cloned());
        let schemas = schemas.filter_map(|node| node.as_literal().cloned());
        schemas.map(|schema| (step.id.as_str(), step.place, schema))
    });
    for (name, place, schema) in inputs.chain(extractions) {
        let schema = Schema::from_value(schema);
        // A schema that is too costly alone is reported by the pass that reads it.
        let is_sound_alone = || schema.spend_patterns(&mut PatternBudget::default()).is_ok();
        if let Err(reason) = schema.spend_patterns(patterns)
            && is_sound_alone()
        {
            let message = format!("the schema of `{name}` takes too long to read: {reason}");
            let diagnostic = reporter.error(Code::InvalidSchema, place, message);
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
        .help("use `for_each` for steps that differ only in their arguments");
    reporter.push(diagnostic);
    // The passes do not check a plan that exceeds the limit.
    ControlFlow::Break(())
}

/// Checks that the bounds of a step are allowed.
pub(in crate::check) fn check_limits(step: &Step, limits: &Limits, reporter: &mut Reporter<'_>) {
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
        && retry.attempts().get() > limits.max_attempts
    {
        let message = format!(
            "the step `{}` may try {} times, more than the {} that are allowed",
            step.id,
            retry.attempts(),
            limits.max_attempts
        );
        let place = inside(step, &["retry", "attempts"], reporter);
        let diagnostic = reporter.error(Code::BoundTooLarge, place, message);
        reporter.push(diagnostic.help("lower the bound"));
    }
}

/// Checks the length of the expressions of a reference.
pub(in crate::check) fn check_length(
    resolved: &ResolvedPlan<'_>,
    usage: ReferenceUse<'_>,
    reporter: &mut Reporter<'_>,
) {
    let limit = resolved.context.policy.limits.max_expression_length;
    let length = longest_expression(usage.reference);
    if length > limit {
        let diagnostic = reporter
            .error(
                Code::ExpressionTooLong,
                usage.reference.place,
                format!(
                    "the expression has {length} bytes, more than the {limit} that are allowed"
                ),
            )
            .help("split it over several `value` steps");
        reporter.push(diagnostic);
    }
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
