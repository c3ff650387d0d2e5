//! References in the values of a call: reading them.

use std::sync::Arc;

use planwright_core::plan::{
    Alternative, Form, NodeKind, Read, Reference, Segment, Source as From,
};
use planwright_core::{Code, Diagnostic, Place, Source};

use super::expression::{self, Expression, Fault, Operand, Operator};
use crate::document::{Findings, Offsets};
use crate::lowering::References;

/// What reading a text needs: where things stand, and where findings go.
pub(super) struct Reading<'a> {
    pub(super) source: &'a mut Source,
    pub(super) findings: &'a mut Findings,
}

impl Reading<'_> {
    /// Adds the faults of the text at `place`.
    pub(super) fn report(&mut self, place: Place, faults: Vec<Fault>) {
        let offsets = Offsets::of(self.source, place);
        for fault in faults {
            let mut finding = Diagnostic::error(fault.code, fault.message).help(fault.help);
            if let Some(fix) = fault.fix {
                finding = finding.fix(fix);
            }
            let spot = offsets.place(self.source, place, fault.range);
            self.findings.push(spot, finding);
        }
    }
}

impl References for Reading<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        if !text.contains(expression::SIGN) {
            return NodeKind::Literal(Arc::clone(text).into());
        }
        let faults = if expression::is_meant(text) {
            match expression::read(text) {
                Ok(expression) => {
                    return NodeKind::Reference(reference(&expression, text.trim(), place));
                }
                Err(faults) => faults,
            }
        } else {
            match expression::unescape(text) {
                Ok(literal) => return NodeKind::Literal(literal.into()),
                Err(range) => vec![inside_of_text(range)],
            }
        };
        self.report(place, faults);
        NodeKind::Literal(Arc::clone(text).into())
    }
}

fn inside_of_text(range: std::ops::Range<usize>) -> Fault {
    Fault {
        range,
        code: Code::MalformedReference,
        message: "a reference must be the whole text".to_owned(),
        help: "give it to a parameter of its own, or write `††` for a literal `†`".to_owned(),
        fix: None,
    }
}

fn reference(expression: &Expression, text: &str, place: Place) -> Reference {
    let reads = expression.operands.iter().map(read);
    Reference {
        text: text.into(),
        place,
        form: match expression.operator {
            Operator::First => Form::First(reads.map(Alternative::Read).collect()),
            Operator::All => Form::All(reads.collect()),
        },
    }
}

fn read(operand: &Operand) -> Read {
    let path = operand.keys.iter().map(|key| Segment::key(Arc::clone(key)));
    Read::part(From::Slot(operand.kind), path.collect())
}
