//! Texts that look like the output of a step: `"w.humidity"` in place of `"${w.humidity}"`, or `3` for the step `3`.

mod line_breaks;

use super::seen;
use crate::catalog::{Catalog, Lookup};
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::type_inference::TypeInference;
use crate::plan::{Action, Node, NodeKind, Output, Segment};
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
    catalog: &'a Catalog,
    left: usize,
}

impl<'a, 'p> PathTextPass<'a, 'p> {
    pub(in crate::check) fn new(
        resolved: &'a ResolvedPlan<'p>,
        types: &'a TypeInference<'p>,
        catalog: &'a Catalog,
    ) -> Self {
        let left = MAX_VALUES;
        Self {
            resolved,
            types,
            catalog,
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
        line_breaks::check(&step.args, &mut self.left, reporter);
        if let Action::Value(node) = &step.action {
            line_breaks::check(node, &mut self.left, reporter);
        }
        for text in step.title.iter().chain(&step.note) {
            self.inserted(text, step, reporter);
        }
    }

    /// Warns of references in a text for people.
    fn inserted(&self, text: &str, step: &Step, reporter: &mut Reporter<'_>) {
        let mut ids: Vec<&str> = Vec::new();
        for part in text.split("${").skip(1) {
            let end = part.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
            let id = &part[..end.unwrap_or(part.len())];
            if self.resolved.ids.contains_key(&StepId::new(id)) && !ids.contains(&id) {
                ids.push(id);
            }
        }
        // A step that waits for the output shows it elsewhere.
        ids.retain(|id| !step.after.iter().any(|after| *after.text == **id));
        if ids.is_empty() {
            return;
        }
        step.each_node(&mut |node, _| {
            node.each_reference(&mut |reference| {
                let reads = |id: &str| {
                    let start = format!("${{{id}");
                    let rest = reference.text.strip_prefix(&*start);
                    rest.is_some_and(|rest| {
                        !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_')
                    })
                };
                ids.retain(|id| !reads(id));
            });
        });
        if ids.is_empty() || reporter.count_if_full(Severity::Warning) {
            return;
        }
        let message = format!(
            "`${{{}}}` stays text in the words for people of `{}`, which do not make it wait either",
            ids.join("}`, `${"),
            step.id
        );
        let help = format!(
            "write `\"after\": [\"{}\"]`, so that the output is there before the step begins",
            ids.join("\", \"")
        );
        let diagnostic = reporter.warning(Code::MalformedReference, step.place, message);
        reporter.push(diagnostic.help(help));
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
            Value::Text(text) => self.text(text, place, path, is_output, reporter),
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

    /// Reports a text that is the id of a step and a path: an error in the output, or if the step's output has the path.
    fn text(
        &self,
        text: &str,
        place: Place,
        path: &[PointerSegment],
        is_in_output: bool,
        reporter: &mut Reporter<'_>,
    ) {
        let Some((index, segments)) = self.path_in(text) else {
            self.call(text, place, path, reporter);
            return;
        };
        let declared = self.types.output_type(index).at(&segments);
        let is_found = matches!(declared, PathLookup::Found(_));
        let lookup = match declared {
            PathLookup::Unknown | PathLookup::Unlisted { .. } => {
                // `notes.txt` is a file.
                if FILE_ENDINGS
                    .iter()
                    .any(|ending| text.ends_with(&format!(".{ending}")))
                {
                    return;
                }
                seen::answer_type(self.resolved, index, false)
                    .map_or(PathLookup::Unknown, |(_, answer)| answer.at(&segments))
            }
            other => other,
        };
        let severity = if is_found || is_in_output {
            Severity::Error
        } else {
            Severity::Warning
        };
        let id = text.split(['.', '[']).next().unwrap_or_default();
        let help = match lookup {
            PathLookup::Found(_) => format!("write `${{{text}}}`"),
            PathLookup::Unknown => format!(
                "write `${{{text}}}`; the fields of `{id}` are not checked, since its tool declares no output schema"
            ),
            PathLookup::Impossible { known, matched } | PathLookup::Unlisted { known, matched } => {
                let Some(Segment::Key(written)) = segments.get(matched) else {
                    return;
                };
                let names = || known.names().map(|name| &**name);
                match reporter.nearest(written, names()) {
                    Some(near) if !text.contains('[') => {
                        let mut parts: Vec<&str> = text.split('.').collect();
                        if let Some(part) = parts.get_mut(matched + 1) {
                            *part = near;
                        }
                        format!("write `${{{}}}`", parts.join("."))
                    }
                    Some(_) | None if is_in_output => reporter
                        .advice(written, "fields", names())
                        .unwrap_or_else(|| format!("write `${{{text}}}`")),
                    Some(_) | None => return,
                }
            }
        };
        if reporter.count_if_full(severity) {
            return;
        }
        let place = reporter.descend(place, path);
        let message = format!("`{text}` is only text here, and not the output of a step");
        let diagnostic = reporter
            .with_severity(severity, Code::MalformedReference, place, message)
            .help(format!("{help}; for the text itself, `${{\"{text}\"}}`"));
        reporter.push(diagnostic);
    }

    /// Reports a text that is a call of a tool, `get-sum(a=1, b=2)`.
    fn call(&self, text: &str, place: Place, path: &[PointerSegment], reporter: &mut Reporter<'_>) {
        let call = Some(text).filter(|text| text.len() <= MAX_LENGTH && text.ends_with(')'));
        let Some((tool, arguments)) = call.and_then(|call| call.split_once('(')) else {
            return;
        };
        let is_named = |part: &str| {
            let name = part.split(['=', ':']).next().unwrap_or_default();
            let name = name.trim();
            !name.is_empty()
                && name != part.trim()
                && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        let first = arguments.split(',').next().unwrap_or_default();
        let is_call = !tool.contains(' ') && (arguments == ")" || is_named(first));
        if !is_call
            || !matches!(self.catalog.find(tool), Lookup::Found(_))
            || reporter.count_if_full(Severity::Error)
        {
            return;
        }
        let id = tool.replace(|sign: char| !sign.is_alphanumeric(), "_");
        let message = format!("`{text}` is only text here: a text makes no calls");
        let help = format!(
            "write the call as a step of its own before this one, `{{\"id\": \"{id}\", \"tool\": \"{tool}\", \"args\": {{…}}}}`, and `${{{id}}}` here, or a field of it; for the text itself, `${{\"…\"}}`"
        );
        let place = reporter.descend(place, path);
        let diagnostic = reporter.error(Code::MalformedReference, place, message);
        reporter.push(diagnostic.help(help));
    }

    /// The step and the path that `text` names: `w.humidity`, `w.rows[0].name`.
    fn path_in(&self, text: &str) -> Option<(u32, Vec<Segment>)> {
        let end = text.find(['.', '[']).filter(|_| text.len() <= MAX_LENGTH)?;
        let (id, rest) = text.split_at(end);
        let is_name = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let mut segments = Vec::new();
        // A list such as `w[0]` alone is also the name of something else.
        rest.contains('.').then_some(())?;
        for part in rest.strip_prefix('.').unwrap_or(rest).split('.') {
            let mut places = part.split('[');
            let name = places.next()?;
            let is_first = segments.is_empty() && rest.starts_with('[');
            if is_name(name) {
                segments.push(Segment::Key(name.into()));
            } else if !(is_first && name.is_empty()) {
                return None;
            }
            for place in places {
                segments.push(match place.strip_suffix(']')? {
                    "*" => Segment::Each,
                    number => Segment::Index(number.parse::<u32>().ok()?.into()),
                });
            }
        }
        let index = self.resolved.ids.get(&StepId::new(id))?;
        Some((*index, segments))
    }
}

/// Endings of the names of files.
const FILE_ENDINGS: [&str; 16] = [
    "txt", "md", "json", "jsonl", "csv", "html", "xml", "yaml", "yml", "pdf", "py", "js", "rs",
    "log", "png", "toml",
];
