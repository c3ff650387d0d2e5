//! Texts that look like the output of a step: `"w.humidity"` in place of `"${w.humidity}"`, or `3` for the step `3`.

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::type_inference::TypeInference;
use crate::plan::{Node, NodeKind, Output, Segment};
use crate::schema::PathLookup;
use crate::{Code, Place, PointerSegment, Severity, Step, StepId, Value};

/// The maximum number of inspected values.
const MAX_VALUES: usize = 10_000;

/// The maximum length of such a text in bytes.
const MAX_LENGTH: usize = 200;

/// The pass about such texts, which looks at a limited number of values.
pub(in crate::check) struct PathTextPass<'a, 'p> {
    resolved: &'a ResolvedPlan<'p>,
    types: &'a TypeInference<'p>,
    left: usize,
}

impl<'a, 'p> PathTextPass<'a, 'p> {
    pub(in crate::check) fn new(
        resolved: &'a ResolvedPlan<'p>,
        types: &'a TypeInference<'p>,
    ) -> Self {
        let left = MAX_VALUES;
        Self {
            resolved,
            types,
            left,
        }
    }

    /// Checks the output of the plan.
    pub(in crate::check) fn check_output(&mut self, reporter: &mut Reporter<'_>) {
        if let Output::Value(node) = &self.resolved.plan.output {
            if let Some(Value::Number(number)) = node.as_literal() {
                self.number(
                    &Value::Number(number.clone()).to_json(),
                    node.place,
                    reporter,
                );
            }
            self.node(node, true, reporter);
        }
    }

    /// Checks the arguments of a step.
    pub(in crate::check) fn check_step(&mut self, step: &Step, reporter: &mut Reporter<'_>) {
        self.node(&step.args, false, reporter);
    }

    /// Warns of an output that is the number of a step.
    fn number(&self, written: &str, place: Place, reporter: &mut Reporter<'_>) {
        let by_id = Some(StepId::new(written)).filter(|id| self.resolved.ids.contains_key(id));
        let position = written.parse::<usize>().ok();
        let step = position.and_then(|position| self.resolved.plan.steps.get(position));
        let path = match (by_id, step) {
            (Some(id), _) => format!("steps['{id}']"),
            (None, Some(step)) => step.id.to_string(),
            (None, None) => return,
        };
        let message = format!("the output is the number {written}, and not that of a step");
        let diagnostic = reporter
            .warning(Code::MalformedReference, place, message)
            .help(format!("write `\"${{{path}}}\"`"));
        reporter.push(diagnostic);
    }

    fn node(&mut self, node: &Node, is_output: bool, reporter: &mut Reporter<'_>) {
        match &node.kind {
            NodeKind::Literal(value) => {
                self.value(value, node.place, &mut Vec::new(), is_output, reporter);
            }
            NodeKind::List(items) => {
                for item in items {
                    self.node(item, is_output, reporter);
                }
            }
            NodeKind::Object(fields) => {
                for field in fields {
                    self.node(&field.value, is_output, reporter);
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
        reporter: &mut Reporter<'_>,
    ) {
        let Some(left) = self.left.checked_sub(1) else {
            return;
        };
        self.left = left;
        match value {
            Value::Text(text) => {
                if self.is_output(text, is_output) && !reporter.count_if_full(Severity::Warning) {
                    let place = reporter.descend(place, path);
                    let message =
                        format!("`{text}` is only text here, and not the output of a step");
                    let diagnostic = reporter
                        .warning(Code::MalformedReference, place, message)
                        .help(format!("did you mean `${{{text}}}`?"));
                    reporter.push(diagnostic);
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(PointerSegment::Index(index));
                    self.value(item, place, path, is_output, reporter);
                    path.pop();
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields.iter() {
                    path.push(PointerSegment::Key(key.clone()));
                    self.value(field, place, path, is_output, reporter);
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
