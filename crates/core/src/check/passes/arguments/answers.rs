//! Kinds of values that references had so far, if the tool declares no output schema, and the fields beside a reference.

use super::ArgumentPass;
use crate::check::passes::positional::{ArgumentReceiver, fitting_names};
use crate::check::passes::seen;
use crate::check::reporter::Reporter;
use crate::plan::{Alternative, Form, NodeKind, Read, Reference, Source};
use crate::schema::{Compatibility, PathLookup, Type};
use crate::{Code, PointerSegment, Severity};

impl ArgumentPass<'_> {
    /// The fields that would fit and stand beside the one that `reference` reads.
    pub(super) fn sibling_fields(&self, wanted: &Type, reference: &Reference) -> Option<String> {
        let (read, id) = step_read(reference)?;
        let (_, parent) = read.path.split_last()?;
        let index = self.resolved.ids.get(id)?;
        let around = match self.types.output_type(*index).at(parent) {
            PathLookup::Found(around) => around,
            PathLookup::Unknown | PathLookup::Unlisted { .. } | PathLookup::Impossible { .. } => {
                return None;
            }
        };
        let what = if parent.is_empty() {
            format!("`{id}`")
        } else {
            "the same object".to_owned()
        };
        match fitting_names(wanted, &around).as_slice() {
            [] => None,
            [one] => Some(format!("the field `{one}` of {what} fits")),
            several => Some(format!(
                "the fields `{}` of {what} fit",
                several.join("`, `")
            )),
        }
    }

    /// The advice about a list of outputs, one for each round of a loop over the list that this step loops over as well.
    pub(super) fn same_round(&self, reference: &Reference, found: &Type) -> Option<String> {
        let (_, id) = step_read(reference).filter(|(read, _)| read.path.is_empty())?;
        let other = self.resolved.step(*self.resolved.ids.get(id)?)?;
        let (own, other) = (self.step.for_each.as_ref()?, other.for_each.as_ref()?);
        let is_same = match (&own.over.kind, &other.over.kind) {
            (NodeKind::Reference(own), NodeKind::Reference(other)) => own.text == other.text,
            (own, other) => own == other,
        };
        let is_list = matches!(found, Type::List(_));
        let inside = reference.text.strip_prefix("${")?.strip_suffix('}')?;
        (is_same && is_list).then(|| {
            format!(
                "write `${{{inside}[index]}}` for the output of the same round, or `${{string({inside})}}` for all of them"
            )
        })
    }

    /// Warns of a reference whose value had another kind in all answers of its tool so far.
    pub(super) fn check_answers(
        &self,
        receiver: &ArgumentReceiver<'_>,
        wanted: &Type,
        reference: &Reference,
        path: &[PointerSegment],
        reporter: &mut Reporter<'_>,
    ) {
        let Some((read, id)) = step_read(reference) else {
            return;
        };
        let Some((answers, found)) = self
            .resolved
            .ids
            .get(id)
            .and_then(|index| seen::answer_type(self.resolved, *index, self.index == *index))
        else {
            return;
        };
        let PathLookup::Found(found) = found.at(&read.path) else {
            return;
        };
        if wanted.accepts(&found) != Compatibility::No || reporter.count_if_full(Severity::Warning)
        {
            return;
        }
        let answers = match answers {
            1 => "the only answer".to_owned(),
            answers => format!("all {answers} answers"),
        };
        let message = format!(
            "the argument {} of {} takes {wanted}, but `{}` was {found} in {answers} of its tool so far",
            receiver.named(path),
            receiver.name,
            reference.shown()
        );
        let diagnostic = reporter.warning(Code::WrongReferenceType, reference.place, message);
        reporter.push(diagnostic);
    }
}

/// The only read of `reference`, if that is of the output of a step.
fn step_read(reference: &Reference) -> Option<(&Read, &crate::StepId)> {
    let Form::First(alternatives) = &reference.form else {
        return None;
    };
    let [Alternative::Read(read)] = alternatives.as_slice() else {
        return None;
    };
    match &read.source {
        Source::Step(id) => Some((read, id)),
        Source::Slot(_)
        | Source::Result(_)
        | Source::Item
        | Source::Index
        | Source::Last
        | Source::ExternalValue(..) => None,
    }
}
