//! Texts that look like the output of a step: `"w.humidity"` in place of `"${w.humidity}"`, or `3` for the step `3`.

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::type_inference::TypeInference;
use crate::plan::{Node, NodeKind, Output, Segment};
use crate::schema::PathLookup;
use crate::{Code, Place, PointerSegment, Severity, StepId, Value};

/// The maximum number of inspected values.
const MAX_VALUES: usize = 10_000;

/// The maximum length of such a text in bytes.
const MAX_LENGTH: usize = 200;

pub(in crate::check) fn check<'p>(
    resolved: &ResolvedPlan<'p>,
    types: &TypeInference<'p>,
    reporter: &mut Reporter<'_>,
) {
    let mut pass = PathTextPass {
        resolved,
        types,
        reporter,
        left: MAX_VALUES,
    };
    if let Output::Value(node) = &resolved.plan.output {
        if let Some(Value::Number(number)) = node.as_literal() {
            pass.number(&Value::Number(number.clone()).to_json(), node.place);
        }
        pass.node(node, true);
    }
    for (_, step) in resolved.steps() {
        pass.node(&step.args, false);
    }
}

struct PathTextPass<'a, 'p, 'r> {
    resolved: &'a ResolvedPlan<'p>,
    types: &'a TypeInference<'p>,
    reporter: &'a mut Reporter<'r>,
    left: usize,
}

impl PathTextPass<'_, '_, '_> {
    /// Warns of an output that is the number of a step.
    fn number(&mut self, written: &str, place: Place) {
        let by_id = Some(StepId::new(written)).filter(|id| self.resolved.ids.contains_key(id));
        let position = written.parse::<usize>().ok();
        let step = position.and_then(|position| self.resolved.plan.steps.get(position));
        let path = match (by_id, step) {
            (Some(id), _) => format!("steps['{id}']"),
            (None, Some(step)) => step.id.to_string(),
            (None, None) => return,
        };
        let message = format!("the output is the number {written}, and not that of a step");
        let diagnostic = self
            .reporter
            .warning(Code::MalformedReference, place, message)
            .help(format!("write `\"${{{path}}}\"`"));
        self.reporter.push(diagnostic);
    }

    fn node(&mut self, node: &Node, is_output: bool) {
        match &node.kind {
            NodeKind::Literal(value) => self.value(value, node.place, &mut Vec::new(), is_output),
            NodeKind::List(items) => items.iter().for_each(|item| self.node(item, is_output)),
            NodeKind::Object(fields) => {
                for field in fields {
                    self.node(&field.value, is_output);
                }
            }
            NodeKind::Reference(_) | NodeKind::Text(_) => {}
        }
    }

    fn value(
        &mut self,
        value: &Value,
        place: Place,
        path: &mut Vec<PointerSegment>,
        is_output: bool,
    ) {
        let Some(left) = self.left.checked_sub(1) else {
            return;
        };
        self.left = left;
        match value {
            Value::Text(text) => {
                if self.is_output(text, is_output)
                    && !self.reporter.count_if_full(Severity::Warning)
                {
                    let place = self.reporter.descend(place, path);
                    let message =
                        format!("`{text}` is only text here, and not the output of a step");
                    let diagnostic = self
                        .reporter
                        .warning(Code::MalformedReference, place, message)
                        .help(format!("did you mean `${{{text}}}`?"));
                    self.reporter.push(diagnostic);
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(PointerSegment::Index(index));
                    self.value(item, place, path, is_output);
                    path.pop();
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields.iter() {
                    path.push(PointerSegment::Key(key.clone()));
                    self.value(field, place, path, is_output);
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns true if `text` is the id of a step and a path that its output has. In an output, such a path may also be unknown.
    fn is_output(&self, text: &str, is_in_output: bool) -> bool {
        if text.len() > MAX_LENGTH {
            return false;
        }
        let Some((id, rest)) = text.split_once('.') else {
            return false;
        };
        let is_name = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !rest.split('.').all(is_name) {
            return false;
        }
        let Some(index) = self.resolved.ids.get(&StepId::new(id)) else {
            return false;
        };
        let path: Vec<Segment> = rest
            .split('.')
            .map(|part| Segment::Key(part.into()))
            .collect();
        match self.types.output_type(*index).at(&path) {
            PathLookup::Found(_) => true,
            // `notes.txt` is a file.
            PathLookup::Unknown | PathLookup::Unlisted { .. } => {
                is_in_output && !FILE_ENDINGS.contains(&rest)
            }
            PathLookup::Impossible { .. } => false,
        }
    }
}

/// Endings of the names of files.
const FILE_ENDINGS: [&str; 16] = [
    "txt", "md", "json", "jsonl", "csv", "html", "xml", "yaml", "yml", "pdf", "py", "js", "rs",
    "log", "png", "toml",
];
