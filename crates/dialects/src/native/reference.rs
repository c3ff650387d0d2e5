//! Reads and writes references `${…}`, and the slots that steps write.

use std::sync::Arc;

use planwright_core::expression::{
    ExpressionErrorKind, PatternBudget, parse_form_in_loop, parse_form_within, print_form_in_loop,
    print_path, query_form, time_form,
};
use planwright_core::plan::{
    Alternative, Form, Missing, NodeKind, Reference, Segment, SlotKind, SlotPath, Source, TextPart,
};
use planwright_core::{Code, Diagnostic, Place, SourceText, TextEdit, Value};

use super::foreign_expression::{TranslatedForm, translated};
use super::guesses::expression_of;
use crate::document::template::{self, QUOTES};
use crate::document::{DiagnosticSink, quote};
use crate::lowering::{LowerResult, ReferenceSyntax, lower_template, nested_calls};
use crate::printing::{LossReport, WriteReferences};

/// The reference syntax of the native dialect.
pub(super) struct NativeTemplates<'a> {
    pub(super) source: &'a mut SourceText,
    pub(super) sink: &'a mut DiagnosticSink,
    pub(super) patterns: &'a mut PatternBudget,
    /// The name of the item of the step's loop.
    pub(super) item_name: Option<&'a str>,
}

impl ReferenceSyntax for NativeTemplates<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let borders = (&mut *self.source, &mut *self.sink);
        let mut unreadable = Vec::new();
        let mut renamed = Vec::new();
        let mut read = |inside: &str, place| {
            // A reference that is the whole text shares it.
            let reference: Arc<str> = if text.len() == inside.len() + "${}".len() {
                Arc::clone(text)
            } else {
                ["${", inside, "}"].concat().into()
            };
            let found = read(
                Arc::clone(&reference),
                inside,
                place,
                self.item_name,
                self.patterns,
            );
            let Err(mut diagnostic) = found else {
                return found;
            };
            // It is read with its intended meaning, or else as a value of any type, so that it causes no follow-up errors.
            let exact = (diagnostic.code != Code::ExpressionTooLong)
                .then(|| {
                    time_form(inside)
                        .or_else(|| quoted_id(inside))
                        .filter(|form| is_readable(form, self.patterns))
                        .map(TranslatedForm::exact)
                        .or_else(|| translated(inside, self.patterns))
                        .or_else(|| {
                            let query = shown_query(inside, self.item_name);
                            query
                                .or_else(|| words_between(inside))
                                .map(TranslatedForm::exact)
                        })
                })
                .flatten();
            let (reference, form) = match exact {
                Some(TranslatedForm { text, difference }) => {
                    let written = format!("${{{text}}}");
                    // Only advice that says what to write is a fix.
                    diagnostic.help = Some(match difference {
                        Some(difference) => format!("`{written}` is similar, but {difference}"),
                        None => format!("write `{written}`"),
                    });
                    if quoted_id(inside).is_some() {
                        renamed.push((unreadable.len(), reference, written.clone()));
                    }
                    (written.into(), text)
                }
                None => (reference, ANY_VALUE.to_owned()),
            };
            let Ok(form) = parse_form_in_loop(&form, self.item_name, self.patterns) else {
                return Err(diagnostic);
            };
            unreadable.push((place, diagnostic));
            Ok(Reference {
                text: reference,
                place,
                form,
            })
        };
        let kind = lower_template(text, place, QUOTES, borders, &mut read);
        for (index, reference, written) in renamed {
            if let Some((place, diagnostic)) = unreadable.get_mut(index) {
                let edit = reference_edit(self.source, *place, &reference, &written);
                diagnostic.fixes = edit.into_iter().collect();
            }
        }
        for (place, diagnostic) in unreadable {
            self.sink.push(place, *diagnostic);
        }
        // References to literals are the escape for texts that look like references of other systems.
        fold_literals(kind)
    }
}

/// The expression for `inside` with a word between two values in place of a method, `a contains 'x'`.
fn words_between(inside: &str) -> Option<String> {
    expression_of(inside).filter(|form| form != inside.trim())
}

/// The expression for the query `inside` of another language, as it stands in a text of JSON.
fn shown_query(inside: &str, item_name: Option<&str>) -> Option<String> {
    let form = query_form(inside, item_name)?;
    // Double quotes would end a text of JSON.
    let is_quoted = form.contains(['\'', '\\']);
    Some(if is_quoted {
        form
    } else {
        form.replace('"', "'")
    })
}

/// The edit that writes `written`, which has single quotes, in place of `reference` in the value at `place`; `None` if it is not certain
/// that the text remains one value.
fn reference_edit(
    source: &SourceText,
    place: Place,
    reference: &str,
    written: &str,
) -> Option<TextEdit> {
    let span = source.span(place)?;
    let text = source.text();
    let start = span.start + text.get(span.start..span.end)?.find(reference)?;
    // A text in single quotes would end at the first of them.
    (!text.contains('\'')).then(|| TextEdit::new(start..start + reference.len(), written))
}

/// The path `inside`, which begins with a step's id that begins with a digit, as `steps['2nd'].x`.
fn quoted_id(inside: &str) -> Option<String> {
    let inside = inside.trim();
    let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
    let end = inside.find(|sign| !is_sign(sign)).unwrap_or(inside.len());
    let (id, rest) = inside.split_at(end);
    // A number alone is a number, and has no fields.
    let has_field = rest
        .strip_prefix('.')
        .is_some_and(|field| field.starts_with(|sign: char| sign.is_alphabetic() || sign == '_'));
    let is_name = id.contains(char::is_alphabetic)
        || has_field && id.chars().all(|sign| sign.is_ascii_digit());
    let is_id = id.starts_with(|sign: char| sign.is_ascii_digit()) && is_name && !id.ends_with('-');
    let is_path = rest.is_empty() || rest.starts_with(['.', '[']);
    (is_id && is_path).then(|| format!("steps['{id}']{rest}"))
}

/// An expression whose value may have any type.
const ANY_VALUE: &str = "dyn(null)";

/// `kind` with references to literal texts, such as `${'{{x}}'}`, replaced by these texts.
fn fold_literals(kind: NodeKind) -> NodeKind {
    match kind {
        NodeKind::Reference(reference) => match literal(&reference) {
            Some(text) => NodeKind::Literal(Value::Text(text)),
            None => NodeKind::Reference(reference),
        },
        NodeKind::Text(parts) if parts.iter().any(is_literal_reference) => {
            let mut fold_literals: Vec<TextPart> = Vec::with_capacity(parts.len());
            for part in parts {
                let text = match &part {
                    TextPart::Literal(text) => Some(Arc::clone(text)),
                    TextPart::Reference(reference) => literal(reference),
                };
                match (fold_literals.last_mut(), text) {
                    (Some(TextPart::Literal(before)), Some(text)) => {
                        *before = format!("{before}{text}").into();
                    }
                    (_, Some(text)) => fold_literals.push(TextPart::Literal(text)),
                    (_, None) => fold_literals.push(part),
                }
            }
            match fold_literals.as_slice() {
                [TextPart::Literal(text)] => NodeKind::Literal(Value::Text(Arc::clone(text))),
                _ => NodeKind::Text(fold_literals),
            }
        }
        other @ (NodeKind::Literal(_)
        | NodeKind::Text(_)
        | NodeKind::List(_)
        | NodeKind::Object(_)) => other,
    }
}

fn is_literal_reference(part: &TextPart) -> bool {
    matches!(part, TextPart::Reference(reference) if literal(reference).is_some())
}

/// The text of a reference to a literal text.
fn literal(reference: &Reference) -> Option<Arc<str>> {
    match &reference.form {
        Form::First(alternatives) => match alternatives.as_slice() {
            [Alternative::Literal(Value::Text(text))] => Some(Arc::clone(text)),
            _ => None,
        },
        Form::All(_) => None,
    }
}

/// The reference `text`, which has `inside` between its braces.
fn read(
    text: Arc<str>,
    inside: &str,
    place: Place,
    item_name: Option<&str>,
    patterns: &mut PatternBudget,
) -> LowerResult<Reference> {
    match parse_form_in_loop(inside, item_name, patterns) {
        Ok(form) => Ok(Reference { text, place, form }),
        Err(error) => {
            let code = match error.kind {
                ExpressionErrorKind::Reference => Code::MalformedReference,
                ExpressionErrorKind::Expression => Code::InvalidExpression,
                ExpressionErrorKind::TooLarge => Code::ExpressionTooLong,
            };
            let message = format!("{} in {}", error.message, quote(&text));
            let diagnostic = Diagnostic::error(code, message);
            let help =
                foreign_braces(inside, &text).or_else(|| nested_calls::step_advice(inside.trim()));
            let help = help.or_else(|| error.help.as_deref().map(literal_help));
            Err(Box::new(match help {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            }))
        }
    }
}

/// The advice `help` as it can be copied: without the quotes that end a text of JSON, and with the word for both kinds of values
/// that have parts.
fn literal_help(help: &str) -> String {
    let is_form =
        help.starts_with("write `") && !help.contains(['\'', '\\']) && !help.contains("[\"");
    let help = if is_form {
        help.replace('"', "'")
    } else {
        help.to_owned()
    };
    match help
        .strip_suffix(")}`")
        .and_then(|form| form.rsplit_once(".slice("))
    {
        Some((_, bounds)) if bounds.split(", ").all(|bound| bound.parse::<u64>().is_ok()) => {
            format!("{help}; if it is text, `substring` in place of `slice`")
        }
        Some(_) | None => help,
    }
}

/// The advice for a quantifier over a comparison with all items of a list, `any(a[*].b > 3)`.
fn quantifier(inside: &str) -> Option<String> {
    let (word, rest) = inside.split_once('(')?;
    let name = match word.trim() {
        "any" | "some" | "exists" | "anyOf" => "exists",
        "all" | "every" | "allOf" => "all",
        _ => return None,
    };
    let (list, condition) = rest.strip_suffix(')')?.split_once("[*]")?;
    let end = condition.find(|sign: char| !(sign.is_alphanumeric() || "._".contains(sign)))?;
    let signs = ["==", "!=", ">", "<"];
    let is_comparison = signs
        .iter()
        .any(|sign| condition[end..].trim_start().starts_with(sign));
    let is_whole = !condition.contains(['(', ')', '&', '|']) && is_comparison;
    is_whole.then(|| format!("write `${{{list}.{name}(x, x{condition})}}`"))
}

/// The maximum number of items of a range that advice lists.
const MAX_SHOWN_ITEMS: i64 = 100;

/// The advice for `inside` of the marker `text`, if it is a range, `1..5`, or an expansion of a shell, `1:-.`.
fn foreign_braces(inside: &str, text: &str) -> Option<String> {
    let inside = inside.trim();
    let ranges = ["...", "..", ":"].iter().filter_map(|sign| {
        let (from, to) = inside.split_once(sign)?;
        let bound = |text: &str| text.trim().parse::<i64>().ok();
        let items = bound(from)?..=bound(to)?;
        (items.start() <= items.end() && items.end() - items.start() < MAX_SHOWN_ITEMS)
            .then_some(items)
    });
    if let Some(items) = ranges.into_iter().next() {
        let items: Vec<String> = items.map(|item| item.to_string()).collect();
        return Some(format!(
            "an expression has no ranges: write `${{[{}]}}`",
            items.join(", ")
        ));
    }
    if let Some(advice) = quantifier(inside) {
        return Some(advice);
    }
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || "_@*#!".contains(sign);
    let name = inside.find(|sign| !is_name(sign)).unwrap_or(inside.len());
    let signs = [":-", ":=", ":?", ":+", "##", "%%", "#", "//"];
    let expands = signs.iter().any(|sign| inside[name..].starts_with(sign));
    let is_special = inside.starts_with(['#', '!', '@', '*']) && name == inside.len();
    (is_special || (name > 0 && expands))
        .then(|| format!("for the text {} itself, write `${text}`", quote(text)))
}

/// Returns true if `text` is readable between braces within the budget `patterns`.
pub(super) fn is_readable(text: &str, patterns: &mut PatternBudget) -> bool {
    parse_form_within(text, patterns).is_ok()
}

/// Returns true if `text` is an expression that refers to something.
pub(super) fn is_expression(text: &str) -> bool {
    let form = parse_form_within(text, &mut PatternBudget::default());
    form.is_ok_and(|form| {
        let reference = Reference {
            text: text.into(),
            place: Place::NOWHERE,
            form,
        };
        !reference.reads().is_empty()
    })
}

/// Returns true if `text` is exactly one marker.
pub(super) fn is_reference(text: &str) -> bool {
    let whole = 0..text.len();
    matches!(template::split(text, QUOTES).as_slice(), [template::Piece::Marker(_, range)] if *range == whole)
}

/// The literal that `text` stands for, if it has no reference.
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

/// A writer of references.
#[derive(Clone, Copy, Default)]
pub(super) struct NativeWriter<'a> {
    /// The name of the item of the step's loop.
    pub(super) item_name: Option<&'a str>,
}

impl WriteReferences for NativeWriter<'_> {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        self.write_inside(reference, losses).into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        if let Some(text) = print_form_in_loop(&reference.form, self.item_name) {
            return format!("${{{text}}}");
        }
        let what = format!(
            "the reference {}: it is too long, or nested too deeply",
            quote(&reference.text)
        );
        losses.error_with_help(
            reference.place,
            &what,
            "split the expression over several steps",
        );
        String::new()
    }

    fn escape_text(&self, text: &str, before_marker: bool) -> String {
        template::escape(text, before_marker)
    }
}

/// The slot that `text` names. It may begin with `slots.`, as in references.
pub(super) fn read_slot(text: &str) -> Option<(SlotKind, Vec<Arc<str>>)> {
    let path = text.strip_prefix("slots.").unwrap_or(text);
    let form = parse_form_within(&format!("slots.{path}"), &mut PatternBudget::none());
    slot_of_form(form.ok()?)
}

/// The text that [`read_slot`] reads as the slot again; `None` if it would be too long.
pub(super) fn write_slot(path: &SlotPath) -> Option<String> {
    let keys: Vec<Segment> = path.keys.iter().cloned().map(Segment::Key).collect();
    let text = format!("{}{}", path.kind, print_path(&keys));
    read_slot(&text).map(|_| text)
}

/// The slot that a form names, if it has no other part.
fn slot_of_form(form: Form) -> Option<(SlotKind, Vec<Arc<str>>)> {
    let Form::First(alternatives) = form else {
        return None;
    };
    let [Alternative::Read(read)] = alternatives.as_slice() else {
        return None;
    };
    let Source::Slot(kind) = &read.source else {
        return None;
    };
    let keys: Option<Vec<Arc<str>>> = read
        .path
        .iter()
        .map(|segment| match segment {
            Segment::Key(key) => Some(Arc::clone(key)),
            Segment::Index(_) | Segment::Each => None,
        })
        .collect();
    (read.missing == Missing::Fail).then_some((*kind, keys?))
}

#[cfg(test)]
mod tests {
    use planwright_core::Place;
    use planwright_core::expression::MAX_EXPRESSION_CHARS;

    use super::*;

    /// Compares the text of the slot of `kind` with one key, and reads it again.
    #[track_caller]
    fn check(kind: SlotKind, key: &str, expected: Option<&str>) {
        let path = SlotPath {
            kind,
            keys: vec![key.into()],
            place: Place::NOWHERE,
        };
        let text = write_slot(&path);
        assert_eq!(text.as_deref(), expected);
        if let Some(text) = text {
            assert_eq!(read_slot(&text), Some((kind, path.keys)));
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        check(SlotKind::Vars, "user", Some("vars.user"));
        let written = r#"state["odd \"name\""]"#;
        check(SlotKind::State, "odd \"name\"", Some(written));
    }

    #[test]
    fn a_name_may_be_as_long_as_a_reference() {
        let max = "x".repeat(MAX_EXPRESSION_CHARS - "slots.vars.".len());
        check(SlotKind::Vars, &max, Some(&format!("vars.{max}")));
        check(SlotKind::Vars, &format!("{max}x"), None);
    }
}
