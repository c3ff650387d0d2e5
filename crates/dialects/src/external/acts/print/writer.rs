//! Writes references and slots.

use std::sync::Arc;

use planwright_core::plan::{
    Alternative, Form, Missing, Read, Reference, Segment, SlotKind, SlotPath, Source,
};
use planwright_core::{Place, Value};

use super::output_slots::OutputSlots;
use crate::document::quote;
use crate::external::acts::expression::{self, Expression, Operand, Operator};
use crate::external::acts::names::word_for;
use crate::printing::{LossReport, WriteReferences};

/// A writer of values with references.
pub(super) struct ActsWriter<'a> {
    pub(super) output_slots: &'a OutputSlots,
}

impl WriteReferences for ActsWriter<'_> {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        let (operator, reads): (Operator, Vec<Option<&Read>>) = match &reference.form {
            Form::All(reads) => (Operator::All, reads.iter().map(Some).collect()),
            Form::First(alternatives) => (
                Operator::First,
                alternatives.iter().map(plain_read).collect(),
            ),
        };
        // Only plain reads have a form in this dialect.
        if reads.contains(&None) || reads.is_empty() {
            let what = format!("the expression {}", quote(&reference.text));
            losses.error(reference.place, &what);
            return Value::Null;
        }
        let operands = reads
            .into_iter()
            .flatten()
            .filter_map(|read| self.operand(read, reference, losses))
            .collect();
        Expression { operator, operands }.to_string().into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        losses.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        expression::escape(text)
    }
}

impl ActsWriter<'_> {
    fn operand(
        &self,
        read: &Read,
        reference: &Reference,
        losses: &mut LossReport<'_>,
    ) -> Option<Operand> {
        // In this dialect, a step that reads a missing value is skipped.
        let to_step = matches!(read.source, Source::Step(_));
        match read.missing {
            _ if read.path.is_empty() => {}
            Missing::Fail if !to_step => {}
            Missing::Fail => losses.warning(reference.place, "that a missing value fails the step"),
            Missing::Null | Missing::NullInItems => {
                losses.warning(reference.place, "that a missing value gives `null`");
            }
        }
        let (kind, mut keys) = match &read.source {
            Source::Slot(kind) if word_for(*kind).is_some() => (*kind, Vec::new()),
            Source::Step(step) => self.output_slots.slot_of(step)?,
            _ => {
                let what = format!("what {} refers to", quote(&reference.text));
                losses.error(reference.place, &what);
                return None;
            }
        };
        for segment in &read.path {
            keys.push(key(segment, reference.place, losses)?);
        }
        Some(Operand { kind, keys })
    }
}

fn key(segment: &Segment, place: Place, losses: &mut LossReport<'_>) -> Option<Arc<str>> {
    match segment {
        Segment::Key(key) => Some(Arc::clone(key)),
        Segment::Index(index) => Some(index.to_string().into()),
        Segment::Each => {
            losses.error(place, "a path that maps over a list");
            None
        }
    }
}

fn plain_read(alternative: &Alternative) -> Option<&Read> {
    match alternative {
        Alternative::Read(read) => Some(read),
        Alternative::Literal(_) | Alternative::Expression(_) => None,
    }
}

/// The slot at `path` as an operand of an output path.
pub(super) fn slot_operand(path: &SlotPath, losses: &mut LossReport<'_>) -> Option<Operand> {
    if !matches!(path.kind, SlotKind::State | SlotKind::Data) {
        let what = format!("that a step writes {}", quote(&path.to_string()));
        losses.error(path.place, &what);
        return None;
    }
    Some(Operand {
        kind: path.kind,
        keys: path.keys.clone(),
    })
}
