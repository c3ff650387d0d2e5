//! References in the forms that a learned plan uses.

use planwright_core::expression::{parse_form, print_form};
use planwright_core::plan::{Alternative, Form, Node, Read, Reference, Source};
use planwright_core::{Place, StepId};

use super::known::PlaceInAnswer;

/// Returns the reference that is one read.
pub(super) fn of_read(read: Read) -> Reference {
    let text = format!("${{{}}}", text_of(&read));
    Reference::read(read, text, Place::NOWHERE)
}

/// Returns a read as it is written between `${` and `}`.
pub(super) fn text_of(read: &Read) -> String {
    let form = Form::First(vec![Alternative::Read(read.clone())]);
    print_form(&form).unwrap_or_default()
}

/// Returns the reference with the text `inside` between its braces; `None` if it is no expression.
pub(super) fn of_expression(inside: &str) -> Option<Reference> {
    Some(Reference {
        text: format!("${{{inside}}}").into(),
        place: Place::NOWHERE,
        form: parse_form(inside).ok()?,
    })
}

/// Returns the reference to a place in the answer of the step `id`. The only item of a list is read only if the list has one item, so
/// that the plan fails rather than choose among several.
pub(super) fn of_place(id: &StepId, place: &PlaceInAnswer) -> Option<Reference> {
    let read = |path: &[_]| Read::part(Source::Step(id.clone()), path.to_vec());
    let Some(at) = place.only else {
        return Some(of_read(read(&place.path)));
    };
    let list = text_of(&read(place.path.get(..at)?));
    let rest = planwright_core::expression::print_path(place.path.get(at + 1..)?);
    of_expression(&format!("{list}.filter(each, size({list}) == 1)[0]{rest}"))
}

/// Returns the text of a reference between its braces.
pub(super) fn inside(reference: &Reference) -> Option<&str> {
    reference.text.strip_prefix("${")?.strip_suffix('}')
}

/// Returns the reference to the value that several expressions have in common. The plan fails if they differ, rather than choose one.
pub(super) fn of_agreeing(texts: &[String]) -> Option<Reference> {
    let (first, others) = texts.split_first()?;
    if others.is_empty() {
        return of_expression(first);
    }
    let same: Vec<String> = others
        .iter()
        .map(|other| format!("{first} == {other}"))
        .collect();
    of_expression(&format!("[{first}].filter(same, {})[0]", same.join(" && ")))
}

/// Returns the node of a reference.
pub(super) fn node(reference: Reference) -> Node {
    Node::reference(reference)
}
