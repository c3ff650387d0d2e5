//! The slot schema pass: the values before the first step, and those that steps write, against the schemas of slots.

use std::sync::Arc;

use super::positional::properties;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::type_inference::TypeInference;
use crate::plan::{InitialValues, SlotKind, SlotPath, SlotSchema};
use crate::schema::{Compatibility, SchemaViolation, SchemaViolationKind, Type, declares_secrets};
use crate::{Code, PointerSegment, Schema, Severity, Step, Value};

pub(in crate::check) fn check(
    resolved: &ResolvedPlan<'_>,
    types: &TypeInference<'_>,
    reporter: &mut Reporter<'_>,
) {
    for declared in &resolved.plan.slot_schemas {
        let schema = Schema::from_value(declared.schema.clone());
        if let Some(reason) = schema.malformed() {
            let message = format!("the schema of `{}` is malformed: {reason}", declared.kind);
            let diagnostic = reporter
                .warning(Code::InvalidSchema, declared.place, message)
                .help("any value is accepted until it is fixed");
            reporter.push(diagnostic);
            continue;
        }
        for content in &resolved.plan.contents {
            if content.kind == declared.kind {
                check_initial(declared, &schema, content, reporter);
            }
        }
        // Inputs are never written, which is reported elsewhere.
        if declared.kind == SlotKind::Inputs {
            continue;
        }
        for (index, step) in resolved.steps() {
            let targets = step.writes.iter().flat_map(|writes| writes.targets.paths());
            for (position, target) in targets.enumerate() {
                if target.kind == declared.kind {
                    let is_set = types.is_set(index, position);
                    let written = is_set.then(|| types.output_type(index));
                    check_write(schema.structure(), step, target, written, reporter);
                }
            }
        }
    }
}

/// Reports the initial values that do not fit. Fields may be missing, since steps can fill them.
fn check_initial(
    declared: &SlotSchema,
    schema: &Schema,
    content: &InitialValues,
    reporter: &mut Reporter<'_>,
) {
    for violation in schema.validate(&content.value) {
        let SchemaViolation {
            path,
            kind,
            message,
            ..
        } = violation;
        if may_be_filled(schema.structure(), &content.value, &path, &kind) {
            continue;
        }
        if reporter.count_if_full(Severity::Error) {
            return;
        }
        let code = match content.kind {
            SlotKind::Inputs | SlotKind::Vars => Code::InvalidInputValue,
            SlotKind::State | SlotKind::Data => Code::InvalidLiteral,
        };
        let place = reporter.descend(content.place, &path);
        let slot = slot_name(content.kind, &path);
        let message = format!("the initial value of `{slot}` does not fit its schema: {message}");
        let mut diagnostic = reporter.error(code, place, message);
        if declares_secrets(&declared.schema) {
            // The span would quote the value, which may be secret.
            diagnostic.span = None;
        }
        reporter.push(diagnostic);
    }
}

/// Returns the name of a part of a slot, such as `state.rows[0]`.
fn slot_name(kind: SlotKind, path: &[PointerSegment]) -> String {
    let mut name = kind.to_string();
    for segment in path {
        match segment {
            PointerSegment::Root => {}
            PointerSegment::Key(key) => name.extend([".", key]),
            PointerSegment::Index(index) => name.extend(["[", &index.to_string(), "]"]),
        }
    }
    name
}

/// Returns true if steps may still resolve a violation, because they can add fields to the object that has it.
fn may_be_filled(
    schema: &Type,
    value: &Value,
    path: &[PointerSegment],
    kind: &SchemaViolationKind,
) -> bool {
    // A step writes to fields by their keys, and never to the items of a list.
    let keys: Option<Vec<&Arc<str>>> = path
        .iter()
        .map(|segment| match segment {
            PointerSegment::Key(key) => Some(key),
            PointerSegment::Index(_) | PointerSegment::Root => None,
        })
        .collect();
    let Some(keys) = keys else {
        return false;
    };
    match kind {
        SchemaViolationKind::Missing(_) => true,
        SchemaViolationKind::Unknown(_) => false,
        SchemaViolationKind::Wrong => {
            let part = keys.iter().try_fold(value, |value, key| value.get(key));
            let is_object = part.is_some_and(|part| part.as_object().is_some());
            // Such as `minProperties`, or `anyOf` with other required fields.
            is_object
                && type_at(schema, keys)
                    .is_ok_and(|wanted| wanted.accepts(&Type::any_object()) != Compatibility::No)
        }
    }
}

/// Returns the type of the slot at `keys`, or else the type of the first object that excludes a key, and that key.
fn type_at<'k>(
    schema: &Type,
    keys: impl IntoIterator<Item = &'k Arc<str>>,
) -> Result<Type, (Type, &'k Arc<str>)> {
    let mut found = schema.clone();
    for key in keys {
        found = match found.property(key) {
            Some(inner) => inner,
            None => return Err((found, key)),
        };
    }
    Ok(found)
}

/// Reports a slot that the schema excludes, and a value that can never fit; `written` is the type of the value, if it is known.
fn check_write(
    schema: &Type,
    step: &Step,
    target: &SlotPath,
    written: Option<Type>,
    reporter: &mut Reporter<'_>,
) {
    let wanted = match type_at(schema, &target.keys) {
        Ok(wanted) => wanted,
        Err((outer, key)) => {
            if !reporter.count_if_full(Severity::Error) {
                let message = format!(
                    "the step `{}` writes `{target}`, but the schema has no `{key}`",
                    step.id
                );
                let mut diagnostic = reporter.error(Code::UnknownField, target.place, message);
                let known = properties(&outer);
                diagnostic.help = reporter.advice(key, "places", known.iter().map(|name| &**name));
                reporter.push(diagnostic);
            }
            return;
        }
    };
    if let Some(found) = written
        && wanted.accepts(&found) == Compatibility::No
        && !reporter.count_if_full(Severity::Error)
    {
        let message = format!(
            "the slot `{target}` takes {wanted}, but the step `{}` gives {found}",
            step.id
        );
        let diagnostic = reporter
            .error(Code::InvalidLiteral, target.place, message)
            .help("write another value to it, or change its schema");
        reporter.push(diagnostic);
    }
}
