//! `_outputPath` and `_outputMethod`: where the output of a call goes.

use planwright_core::plan::{Method, SlotKind, SlotPath, Targets, Writes};
use planwright_core::{Code, Diagnostic};

use super::expression::{self, Fault, Operator};
use super::reference::Reading;
use crate::document::{Fields, Item, nearest, quote};

/// The methods by name.
pub(super) const METHODS: [(&str, Method); 5] = [
    ("set", Method::Set),
    ("merge", Method::Merge),
    ("assign", Method::Assign),
    ("push", Method::Push),
    ("concat", Method::Concat),
];

/// What the call with `fields` writes.
pub(super) fn writes(fields: &mut Fields<'_>, reading: &mut Reading<'_>) -> Option<Writes> {
    let path = fields.optional("_outputPath");
    let method = fields.optional("_outputMethod");
    if let (None, Some(item)) = (path, method) {
        let message = "`_outputMethod` says nothing without `_outputPath`";
        let finding = Diagnostic::warning(Code::ConflictingFields, message);
        let help = "add `_outputPath`, such as `†state.result`";
        reading.findings.push(item.place, finding.help(help));
    }
    let method = method.map_or(Some(Method::Set), |item| method_called(item, reading));
    let item = path?;
    let targets = targets(item, reading);
    Some(Writes {
        targets: targets?,
        method: method?,
        place: item.place,
    })
}

fn method_called(item: &Item, reading: &mut Reading<'_>) -> Option<Method> {
    let Some(word) = item.as_text() else {
        reading.findings.wrong_type(item, "_outputMethod", "text");
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
    let finding = Diagnostic::error(Code::InvalidFieldValue, message).help(help);
    reading.findings.push(item.place, finding);
    None
}

fn targets(item: &Item, reading: &mut Reading<'_>) -> Option<Targets> {
    let Some(text) = item.as_text() else {
        reading.findings.wrong_type(item, "_outputPath", "text");
        return None;
    };
    let expression = match expression::read(text) {
        Ok(expression) => expression,
        Err(faults) => {
            reading.report(item.place, faults);
            return None;
        }
    };
    let inputs = expression
        .operands
        .iter()
        .filter(|operand| operand.kind == SlotKind::Inputs);
    let faults: Vec<Fault> = inputs
        .map(|operand| Fault {
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
        reading.report(item.place, faults);
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
