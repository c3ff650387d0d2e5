//! `${…}`: reading and writing it.

use std::sync::Arc;

use planwright_core::expression::{
    ExpressionErrorKind, PatternBudget, parse_form_within, print_form,
};
use planwright_core::plan::{Alternative, Form, NodeKind, Reference, TextPart};
use planwright_core::{Code, Diagnostic, Place, Source, Value};

use crate::document::{Findings, quote};
use crate::lowering::{Found, References, lower_template};
use crate::printing::{Unsaid, WriteReferences};
use crate::template::{self, QUOTES};

/// Reads references.
pub(super) struct Templates<'a> {
    pub(super) source: &'a mut Source,
    pub(super) findings: &'a mut Findings,
    pub(super) patterns: &'a mut PatternBudget,
}

impl References for Templates<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let borders = (&mut *self.source, &mut *self.findings);
        let mut read = |inside: &str, place| read(inside, place, self.patterns);
        folded(lower_template(text, place, QUOTES, borders, &mut read))
    }
}

/// `kind` with references to literal texts, such as `${'{{x}}'}`, as the texts that they are.
fn folded(kind: NodeKind) -> NodeKind {
    match kind {
        NodeKind::Reference(reference) => match literal(&reference) {
            Some(text) => NodeKind::Literal(Value::Text(text)),
            None => NodeKind::Reference(reference),
        },
        NodeKind::Text(parts) if parts.iter().any(is_literal_reference) => {
            let mut folded: Vec<TextPart> = Vec::with_capacity(parts.len());
            for part in parts {
                let text = match &part {
                    TextPart::Literal(text) => Some(Arc::clone(text)),
                    TextPart::Reference(reference) => literal(reference),
                };
                match (folded.last_mut(), text) {
                    (Some(TextPart::Literal(before)), Some(text)) => {
                        *before = format!("{before}{text}").into();
                    }
                    (_, Some(text)) => folded.push(TextPart::Literal(text)),
                    (_, None) => folded.push(part),
                }
            }
            match folded.as_slice() {
                [TextPart::Literal(text)] => NodeKind::Literal(Value::Text(Arc::clone(text))),
                _ => NodeKind::Text(folded),
            }
        }
        other => other,
    }
}

fn is_literal_reference(part: &TextPart) -> bool {
    matches!(part, TextPart::Reference(reference) if literal(reference).is_some())
}

/// The text that `reference` consists of, if it reads nothing.
fn literal(reference: &Reference) -> Option<Arc<str>> {
    match &reference.form {
        Form::First(alternatives) => match alternatives.as_slice() {
            [Alternative::Literal(Value::Text(text))] => Some(Arc::clone(text)),
            _ => None,
        },
        Form::All(_) => None,
    }
}

/// The reference that has `inside` between its braces.
fn read(inside: &str, place: Place, patterns: &mut PatternBudget) -> Found<Reference> {
    let text = format!("${{{inside}}}");
    match parse_form_within(inside, patterns) {
        Ok(form) => Ok(Reference {
            text: text.into(),
            place,
            form,
        }),
        Err(error) => {
            let code = match error.kind {
                ExpressionErrorKind::Reference => Code::MalformedReference,
                ExpressionErrorKind::Expression => Code::InvalidExpression,
                ExpressionErrorKind::TooLarge => Code::ExpressionTooLong,
            };
            let message = format!("{} in {}", error.message, quote(&text));
            let finding = Diagnostic::error(code, message);
            Err(Box::new(match error.help {
                Some(help) => finding.help(help),
                None => finding,
            }))
        }
    }
}

/// Whether `text` would mean something between the braces, where `patterns` is left for patterns.
pub(super) fn is_readable(text: &str, patterns: &mut PatternBudget) -> bool {
    parse_form_within(text, patterns).is_ok()
}

/// Whether `text` is one marker and nothing else.
pub(super) fn is_reference(text: &str) -> bool {
    let whole = 0..text.len();
    matches!(template::split(text, QUOTES).as_slice(), [template::Piece::Marker(_, range)] if *range == whole)
}

/// The text that `text` says, if there is no reference in it.
pub(super) fn plain(text: &str) -> Option<String> {
    let mut plain = String::new();
    for piece in template::split(text, QUOTES) {
        match piece {
            template::Piece::Literal(literal) => plain.push_str(&literal),
            _ => return None,
        }
    }
    Some(plain)
}

/// Writes references.
pub(super) struct Writer;

impl WriteReferences for Writer {
    fn whole(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> Value {
        self.inside(reference, unsaid).into()
    }

    fn inside(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> String {
        if let Some(text) = print_form(&reference.form) {
            return format!("${{{text}}}");
        }
        let what = format!(
            "what {} refers to: it is too long, or nested too deeply",
            quote(&reference.text)
        );
        unsaid.error_with(
            reference.place,
            &what,
            "refer to less at once, in steps of their own",
        );
        String::new()
    }

    fn text(&self, text: &str, before_marker: bool) -> String {
        template::escape(text, before_marker)
    }
}
