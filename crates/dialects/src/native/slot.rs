//! A slot that a step writes, such as `state.user` or `vars["odd name"]`.

use std::sync::Arc;

use planwright_core::expression::{PatternBudget, parse_form_within, print_path};
use planwright_core::plan::{Alternative, Form, Missing, Segment, SlotKind, SlotPath, Source};

/// What `text` names, where that is a slot. It may begin with `slots.`, as in references.
pub(super) fn read(text: &str) -> Option<(SlotKind, Vec<Arc<str>>)> {
    let path = text.strip_prefix("slots.").unwrap_or(text);
    let form = parse_form_within(&format!("slots.{path}"), &mut PatternBudget::none());
    named(form.ok()?)
}

/// What [`read`] reads as the slot again. Nothing where that would be too long.
pub(super) fn write(path: &SlotPath) -> Option<String> {
    let keys: Vec<Segment> = path.keys.iter().cloned().map(Segment::Key).collect();
    let text = format!("{}{}", path.kind, print_path(&keys));
    read(&text).map(|_| text)
}

/// The slot that a form names, where it names nothing else.
fn named(form: Form) -> Option<(SlotKind, Vec<Arc<str>>)> {
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
    use planwright_core::expression::LONGEST_TEXT;

    use super::*;

    /// Compares how the slot of `kind` with one key is written, and reads it again.
    #[track_caller]
    fn check(kind: SlotKind, key: &str, expected: Option<&str>) {
        let path = SlotPath {
            kind,
            keys: vec![key.into()],
            place: Place::NOWHERE,
        };
        let text = write(&path);
        assert_eq!(text.as_deref(), expected);
        if let Some(text) = text {
            assert_eq!(read(&text), Some((kind, path.keys)));
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        check(SlotKind::Vars, "user", Some("vars.user"));
        check(
            SlotKind::State,
            "odd \"name\"",
            Some(r#"state["odd \"name\""]"#),
        );
    }

    #[test]
    fn a_name_may_be_as_long_as_a_reference() {
        let most = "x".repeat(LONGEST_TEXT - "slots.vars.".len());
        check(SlotKind::Vars, &most, Some(&format!("vars.{most}")));
        check(SlotKind::Vars, &format!("{most}x"), None);
    }
}
