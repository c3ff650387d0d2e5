//! The schemas of steps that extract data.

use crate::catalog::extraction_schema;
use crate::check::reporter::Reporter;
use crate::plan::NodeKind;
use crate::{Code, EXTRACTION, Place, Schema, Step, Value};

/// Checks that the schema of a step that extracts data is known and well-formed.
pub(in crate::check) fn check_extraction(step: &Step, reporter: &mut Reporter<'_>) {
    if step.tool().is_none_or(|name| &*name.text != EXTRACTION) {
        return;
    }
    let schema = match (extraction_schema(step), &step.args.kind) {
        (Some(schema), _) => schema,
        // The argument pass reports that it is missing.
        (None, NodeKind::Literal(_) | NodeKind::Object(_)) => return,
        (None, _) => step.args.clone(),
    };
    let place = match schema.place {
        Place::NOWHERE => step.place,
        place => place,
    };
    let violation = match schema.as_literal() {
        None => (
            format!("the schema of `{}` has references", step.id),
            "write the schema itself, so that the types of the output are known",
        ),
        // The argument pass reports a schema that is not an object.
        Some(value) if !matches!(value, Value::Object(_)) => return,
        Some(value) => match Schema::from_value(value.clone()).malformed() {
            None => return,
            Some(reason) => (
                format!("the schema of `{}` is malformed: {reason}", step.id),
                "write a JSON Schema of the data, such as {\"type\": \"object\", \"properties\": {…}}",
            ),
        },
    };
    let diagnostic = reporter.error(Code::InvalidSchema, place, violation.0);
    reporter.push(diagnostic.help(violation.1));
}
