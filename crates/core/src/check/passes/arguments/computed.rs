//! Outputs of steps that are made here, as an object of a `value`, where a tool takes text: alone, and as one of several alternatives.

use std::sync::Arc;

use super::ArgumentPass;
use crate::check::passes::meant::replaced;
use crate::check::passes::positional::{ArgumentReceiver, fitting_fields, fitting_names};
use crate::check::reporter::Reporter;
use crate::check::type_inference::ReadTarget;
use crate::expression::print_path;
use crate::plan::{Alternative, Form, Read, Reference, Source};
use crate::schema::{Compatibility, PathLookup, Type};
use crate::{Code, PointerSegment, Severity, Value};

impl ArgumentPass<'_> {
    /// The advice to read the only field of `found` that fits, if `reference` is the whole output of a step that is made here.
    pub(super) fn only_field_advice(
        &self,
        wanted: &Type,
        reference: &Reference,
        found: &Type,
    ) -> Option<String> {
        let read = reference.as_read()?;
        self.types.is_computed_read(read).then_some(())?;
        field_advice(wanted, (reference, read), found)
    }

    /// Reports each alternative of `reference` that is an object or a list where text is `wanted`. Returns true if there is one.
    pub(super) fn report_alternatives(
        &self,
        receiver: &ArgumentReceiver<'_>,
        wanted: &Type,
        reference: &Reference,
        path: &[PointerSegment],
        reporter: &mut Reporter<'_>,
    ) -> bool {
        let Form::First(alternatives) = &reference.form else {
            return false;
        };
        let mut is_reported = false;
        if alternatives.len() < 2 || !wanted.takes_text() {
            return false;
        }
        for alternative in alternatives {
            let Alternative::Read(read) = alternative else {
                continue;
            };
            // A server may send the whole output of a tool as text.
            if !self.types.is_computed_read(read) {
                continue;
            }
            let ReadTarget::Path(PathLookup::Found(found)) =
                self.types.resolve_read(read, Some(self.index))
            else {
                continue;
            };
            if !is_composite(&found) || wanted.accepts(&found) != Compatibility::No {
                continue;
            }
            is_reported = true;
            if reporter.count_if_full(Severity::Error) {
                break;
            }
            let message = format!(
                "the argument {} of {} takes {wanted}, but `{}` in `{}` gives {found}",
                receiver.named(path),
                receiver.name,
                written(read),
                reference.shown()
            );
            let mut diagnostic = reporter.error(Code::WrongReferenceType, reference.place, message);
            diagnostic.help = field_advice(wanted, (reference, read), &found)
                .or_else(|| fitting_fields(wanted, &found));
            reporter.push(diagnostic);
        }
        is_reported
    }
}

/// The advice to read the only field of `found` that fits, in place of the whole output that `read` is in `reference`.
fn field_advice(
    wanted: &Type,
    (reference, read): (&Reference, &Read),
    found: &Type,
) -> Option<String> {
    let names = match found {
        // The type of a constant is its value.
        Type::Literal(Value::Object(fields)) => {
            let fits = |field: &Value| wanted.accepts(&Type::Literal(field.clone()));
            let fields = fields.iter();
            fields
                .filter(|(_, field)| fits(field) == Compatibility::Yes)
                .map(|(name, _)| Arc::clone(name))
                .collect()
        }
        found => fitting_names(wanted, found),
    };
    let [name] = names.as_slice() else {
        return None;
    };
    let path = written(read);
    // Texts of other dialects have other forms of the path.
    (reference.text.starts_with("${") && reference.text.contains(&path)).then_some(())?;
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let meant = name
        .chars()
        .all(is_name)
        .then(|| format!("{path}.{name}"))?;
    let meant = replaced(&reference.text, &path, &meant);
    Some(format!("did you mean `{meant}`?"))
}

/// The path of `read` as references write it.
fn written(read: &Read) -> String {
    match &read.source {
        Source::Step(id) => format!("{id}{}", print_path(&read.path)),
        Source::Result(_)
        | Source::Slot(_)
        | Source::Item
        | Source::Index
        | Source::Last
        | Source::ExternalValue(..) => String::new(),
    }
}

/// Returns true if all values of `shape` are lists or objects.
fn is_composite(shape: &Type) -> bool {
    let members = shape.members();
    let is_composite = |member: &Type| {
        matches!(
            member,
            Type::List(_) | Type::Object(_) | Type::Literal(Value::List(_) | Value::Object(_))
        )
    };
    !members.is_empty() && members.iter().all(is_composite)
}
