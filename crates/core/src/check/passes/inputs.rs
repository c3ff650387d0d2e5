//! The input pass: schemas, defaults and given values of inputs, and inputs that no step reads.

use std::collections::HashSet;
use std::sync::Arc;

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{PlanRole, ResolvedPlan};
use crate::plan::{Action, Form, Input, InputKind, Missing, Read, Segment, SlotKind, Source};
use crate::schema::{SchemaViolation, declares_secrets};
use crate::{Code, Object, Place, Plan, PointerSegment, Schema, Value};

/// Returns the values of the inputs: the given ones, defaults for the others, and given values without a declaration.
pub(in crate::check) fn values(plan: &Plan, inputs: &Object) -> Object {
    let mut values = Object::default();
    for input in &plan.inputs {
        if let Some(default) = &input.default {
            values.insert(Arc::clone(&input.name), default.clone());
        }
    }
    for (name, value) in inputs {
        values.insert(Arc::clone(name), value.clone());
    }
    values
}

pub(in crate::check) fn check(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    let read = read_names(resolved);
    for input in &resolved.plan.inputs {
        let schema = Schema::from_value(input.schema.clone());
        if let Some(reason) = schema.malformed() {
            let diagnostic = reporter
                .warning(
                    Code::InvalidSchema,
                    input.place,
                    format!(
                        "the schema of the {} `{}` is malformed: {reason}",
                        noun(input),
                        input.name
                    ),
                )
                .help("any value is accepted until it is fixed");
            reporter.push(diagnostic);
        }
        if let Some(default) = &input.default {
            let what = format!("the default of the {} `{}`", noun(input), input.name);
            check_value(input, &schema, default, &what, Some("default"), reporter);
        }
        match resolved.inputs.get(&input.name) {
            Some(value) => {
                let what = format!("what the {} `{}` is given", noun(input), input.name);
                check_value(input, &schema, value, &what, None, reporter);
            }
            None if input.default.is_none()
                && matches!(resolved.role, PlanRole::Main)
                && is_needed(resolved, input, &read) =>
            {
                let diagnostic = reporter
                    .error(
                        Code::MissingInput,
                        input.place,
                        format!(
                            "the {} `{}` is not given and has no default",
                            noun(input),
                            input.name
                        ),
                    )
                    .help(format!(
                        "give it a value (`--var {}=…` on the command line), or declare a default",
                        input.name
                    ));
                reporter.push(diagnostic);
            }
            None => {}
        }
        if !read.contains(&*input.name) && !is_meant(resolved, &input.name) {
            let diagnostic = reporter
                .warning(
                    Code::UnusedInput,
                    input.place,
                    format!("the {} `{}` is never read", noun(input), input.name),
                )
                .help("remove it, or refer to it");
            reporter.push(diagnostic);
        }
    }
    warn_unknown_inputs(resolved, &read, reporter);
}

/// Returns true if a step needs the value of `input`, one of those that are `read`: not each of its reads has a default.
fn is_needed(resolved: &ResolvedPlan<'_>, input: &Input, read: &HashSet<&str>) -> bool {
    if !read.contains(&*input.name) {
        return is_meant(resolved, &input.name);
    }
    let (mut is_read, mut is_needed) = (false, false);
    resolved.each_use(&mut |usage| {
        let has_default = match &usage.reference.form {
            Form::First(alternatives) => alternatives.len() > 1,
            Form::All(_) => false,
        };
        usage.reference.each_read(&mut |one: &Read| {
            let is_this = matches!(one.source, Source::Slot(SlotKind::Inputs | SlotKind::Vars))
                && one
                    .path
                    .first()
                    .is_none_or(|first| *first == Segment::Key(Arc::clone(&input.name)));
            is_read |= is_this;
            is_needed |= is_this && !has_default && one.missing == Missing::Fail;
        });
    });
    // A plan inside may read it as well.
    is_needed || !is_read
}

/// Returns true if a reference to something that the plan does not have has the name of an input, which it probably means.
fn is_meant(resolved: &ResolvedPlan<'_>, name: &str) -> bool {
    let mut is_found = false;
    resolved.each_use(&mut |usage| {
        usage.reference.each_read(&mut |read: &Read| {
            let is_key = matches!(read.path.first(), Some(Segment::Key(key)) if &**key == name);
            is_found |= match &read.source {
                Source::Step(id) => {
                    !resolved.ids.contains_key(id) && (id.as_str() == name || is_key)
                }
                Source::ExternalValue(_, variable) => **variable == *name,
                _ => false,
            };
        });
    });
    is_found
}

fn noun(input: &Input) -> &'static str {
    match input.kind {
        InputKind::Input => "input",
        InputKind::Variable => "variable",
    }
}

fn check_value(
    input: &Input,
    schema: &Schema,
    value: &Value,
    what: &str,
    below: Option<&str>,
    reporter: &mut Reporter<'_>,
) {
    for SchemaViolation { path, message, .. } in schema.validate(value) {
        let place = match below {
            Some(key) => {
                let inside: Vec<PointerSegment> = [PointerSegment::Key(key.into())]
                    .into_iter()
                    .chain(path)
                    .collect();
                reporter.descend(input.place, &inside)
            }
            None => input.place,
        };
        let message = format!("{what} does not fit its schema: {message}");
        let mut diagnostic = reporter.error(Code::InvalidInputValue, place, message);
        if input.default.is_some() && declares_secrets(&input.schema) {
            // The span would quote the default, which is secret.
            diagnostic.span = None;
        }
        reporter.push(diagnostic);
    }
}

/// Warns of given values that the plan neither declares nor reads, since they are probably misspelt.
fn warn_unknown_inputs(
    resolved: &ResolvedPlan<'_>,
    read: &HashSet<&str>,
    reporter: &mut Reporter<'_>,
) {
    let inputs = &resolved.plan.inputs;
    let declared: HashSet<&str> = inputs.iter().map(|input| &*input.name).collect();
    for name in resolved.inputs.keys() {
        if read.contains(&**name) || declared.contains(&**name) {
            continue;
        }
        let mut diagnostic = reporter.warning(
            Code::UnknownInput,
            // The value comes from the caller, so no place in the plan is at violation.
            Place::NOWHERE,
            format!("a value is given for `{name}`, which the plan does not know"),
        );
        diagnostic.help = reporter.advice(name, "inputs", inputs.iter().map(|input| &*input.name));
        reporter.push(diagnostic);
    }
}

/// Returns the names of the inputs and variables that the plan reads.
fn read_names<'a>(resolved: &'a ResolvedPlan<'a>) -> HashSet<&'a str> {
    let inputs = resolved.plan.inputs.iter();
    let mut read = HashSet::new();
    let mut whole_kinds = Vec::new();
    let mut add = |one: &'a Read| {
        let Source::Slot(kind @ (SlotKind::Inputs | SlotKind::Vars)) = one.source else {
            return;
        };
        match one.path.first() {
            Some(Segment::Key(name)) => {
                read.insert(&**name);
            }
            // A computed key or the whole slot may read any input.
            _ => whole_kinds.push(kind),
        }
    };
    if resolved.reads.slots {
        resolved.each_use(&mut |usage| usage.reference.each_read(&mut add));
    }
    for (_, step) in resolved.steps() {
        if let Action::Plan(call) = &step.action {
            // A sub-plan with shared slots may read any of them.
            whole_kinds.extend(&call.scopes);
        }
    }
    for input in inputs {
        let is_read = whole_kinds.iter().any(|kind| match kind {
            SlotKind::Inputs => true,
            SlotKind::Vars => input.kind == InputKind::Variable,
            SlotKind::State | SlotKind::Data => false,
        });
        if is_read {
            read.insert(&input.name);
        }
    }
    if whole_kinds
        .iter()
        .any(|kind| matches!(kind, SlotKind::Inputs | SlotKind::Vars))
    {
        read.extend(resolved.inputs.keys().map(|name| &**name));
    }
    read
}
