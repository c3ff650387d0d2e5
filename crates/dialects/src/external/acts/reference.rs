//! Reads references in the values of a call, and the slots that its output goes to.

use std::sync::Arc;

use planwright_core::plan::{
    Alternative, Form, Method, NodeKind, Read, Reference, Segment, SlotKind, SlotPath, Source,
    Targets, Writes,
};
use planwright_core::{Code, Diagnostic, Place, SourceText};

use super::expression::{self, ActsExpression, ExpressionFault, Operand, Operator};
use crate::document::{DiagnosticSink, Fields, Item, Offsets, nearest, quote};
use crate::lowering::ReferenceSyntax;

/// The state of reading the values of a call.
pub(super) struct ActsReader<'a> {
    pub(super) source: &'a mut SourceText,
    pub(super) sink: &'a mut DiagnosticSink,
}

impl ActsReader<'_> {
    /// Reports the faults of the text at `place`.
    pub(super) fn report(&mut self, place: Place, faults: Vec<ExpressionFault>) {
        let offsets = Offsets::of(self.source, place);
        for fault in faults {
            let mut diagnostic = Diagnostic::error(fault.code, fault.message).help(fault.help);
            if let Some(fix) = fault.fix {
                diagnostic = diagnostic.fix(fix);
            }
            let spot = offsets.place(self.source, place, fault.range);
            self.sink.push(spot, diagnostic);
        }
    }
}

impl ReferenceSyntax for ActsReader<'_> {
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

fn inside_of_text(range: std::ops::Range<usize>) -> ExpressionFault {
    ExpressionFault {
        range,
        code: Code::MalformedReference,
        message: "a reference must be the whole text".to_owned(),
        help: "give it to a parameter of its own, or write `††` for a literal `†`".to_owned(),
        fix: None,
    }
}

fn reference(expression: &ActsExpression, text: &str, place: Place) -> Reference {
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
    Read::part(Source::Slot(operand.kind), path.collect())
}

/// The output methods by name.
pub(super) const METHODS: [(&str, Method); 5] = [
    ("set", Method::Set),
    ("merge", Method::Merge),
    ("assign", Method::Assign),
    ("push", Method::Push),
    ("concat", Method::Concat),
];

/// Reads the slots that the call with `fields` writes.
pub(super) fn writes(fields: &mut Fields<'_>, reader: &mut ActsReader<'_>) -> Option<Writes> {
    let path = fields.optional("_outputPath");
    let method = fields.optional("_outputMethod");
    if let (None, Some(item)) = (path, method) {
        let message = "`_outputMethod` says nothing without `_outputPath`";
        let diagnostic = Diagnostic::warning(Code::ConflictingFields, message);
        let help = "add `_outputPath`, such as `†state.result`";
        reader.sink.push(item.place, diagnostic.help(help));
    }
    let method = method.map_or(Some(Method::Set), |item| method_called(item, reader));
    let item = path?;
    let targets = targets(item, reader);
    Some(Writes {
        targets: targets?,
        method: method?,
        place: item.place,
    })
}

fn method_called(item: &Item, reader: &mut ActsReader<'_>) -> Option<Method> {
    let Some(word) = item.as_text() else {
        reader.sink.push_wrong_type(item, "_outputMethod", "text");
        return None;
    };
    let known = METHODS.iter().find(|(name, _)| *name == &**word);
    if let Some((_, method)) = known {
        return Some(*method);
    }
    let message = format!("{} is no output method", quote(word));
    let names = METHODS.iter().map(|(name, _)| *name);
    let help = match nearest(word, names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "there are `set`, `merge`, `assign`, `push` and `concat`".to_owned(),
    };
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message).help(help);
    reader.sink.push(item.place, diagnostic);
    None
}

fn targets(item: &Item, reader: &mut ActsReader<'_>) -> Option<Targets> {
    let Some(text) = item.as_text() else {
        reader.sink.push_wrong_type(item, "_outputPath", "text");
        return None;
    };
    let expression = match expression::read(text) {
        Ok(expression) => expression,
        Err(faults) => {
            reader.report(item.place, faults);
            return None;
        }
    };
    let inputs = expression
        .operands
        .iter()
        .filter(|operand| operand.kind == SlotKind::Inputs);
    let faults: Vec<ExpressionFault> = inputs
        .map(|operand| ExpressionFault {
            range: 0..text.len(),
            code: Code::InvalidFieldValue,
            message: format!(
                "{} is an input, which no call writes",
                quote(&operand.to_string())
            ),
            help: "write to `†state…` or `†data…`".to_owned(),
            fix: None,
        })
        .collect();
    if !faults.is_empty() {
        reader.report(item.place, faults);
        return None;
    }
    let paths: Vec<SlotPath> = expression
        .operands
        .into_iter()
        .map(|operand| SlotPath {
            kind: operand.kind,
            keys: operand.keys,
            place: item.place,
        })
        .collect();
    Some(match expression.operator {
        Operator::First if paths.len() > 1 => Targets::OneOf(paths),
        _ => Targets::All(paths),
    })
}
