//! Writes values with references, builds objects, and reports what a dialect cannot express.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::diagnostic::DiagnosticCounter;
use planwright_core::plan::{Node, NodeKind, Read, Reference, Source, Targets, TextPart};
use planwright_core::{Code, Diagnostic, Diagnostics, Object, Place, Plan, Sources, StepId, Value};

use crate::document::{ReadLimits, quote};
use crate::foreign_references::{ReferenceForm, find};

/// The way in which a dialect writes values with references.
pub(crate) trait WriteReferences {
    /// Writes a reference that is a whole value. Losses go to `losses`.
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value;

    /// Writes a reference inside of a text.
    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String;

    /// Inspects a text with references before it is written.
    fn inspect_text(&self, parts: &[TextPart], place: Place, losses: &mut LossReport<'_>) {
        let _ = (parts, place, losses);
    }

    /// Writes literal text; a marker follows it if `before_marker`.
    fn escape_text(&self, text: &str, before_marker: bool) -> String;

    /// Reports literal text, or a key, that the dialect would read as a reference and cannot escape.
    fn report_text(&self, text: &str, is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        let _ = (text, is_key, place, losses);
    }
}

/// Writes `node` in the dialect.
pub(crate) fn write_node(
    node: &Node,
    writer: &dyn WriteReferences,
    losses: &mut LossReport<'_>,
) -> Value {
    match &node.kind {
        NodeKind::Literal(value) => {
            report_texts(value, node.place, writer, losses);
            write_literal(value, writer)
        }
        NodeKind::Reference(reference) => writer.write_whole(reference, losses),
        NodeKind::Text(parts) => {
            writer.inspect_text(parts, node.place, losses);
            for part in parts {
                if let TextPart::Literal(literal) = part {
                    writer.report_text(literal, false, node.place, losses);
                }
            }
            write_text(parts, writer, losses).into()
        }
        NodeKind::List(items) => {
            Value::list(items.iter().map(|item| write_node(item, writer, losses)))
        }
        NodeKind::Object(fields) => Value::object(fields.iter().map(|field| {
            writer.report_text(&field.key, true, field.value.place, losses);
            let value = write_node(&field.value, writer, losses);
            (Arc::clone(&field.key), value)
        })),
    }
}

/// Reports the texts and keys in `value` that the dialect cannot write.
fn report_texts(
    value: &Value,
    place: Place,
    writer: &dyn WriteReferences,
    losses: &mut LossReport<'_>,
) {
    match value {
        Value::Text(text) => writer.report_text(text, false, place, losses),
        Value::List(items) => {
            for item in items.iter() {
                report_texts(item, place, writer, losses);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter() {
                writer.report_text(key, true, place, losses);
                report_texts(field, place, writer, losses);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reports references inside of lists and objects, for systems that resolve only whole arguments.
pub(crate) fn report_nested(args: &Node, losses: &mut LossReport<'_>) {
    let NodeKind::Object(fields) = &args.kind else {
        return;
    };
    for field in fields {
        if matches!(field.value.kind, NodeKind::List(_) | NodeKind::Object(_)) {
            field.value.each_reference(&mut |reference| {
                let what = "a reference inside of a list or an object";
                losses.error_with_help(
                    reference.place,
                    what,
                    "make the reference the whole argument",
                );
            });
        }
    }
}

fn write_text(
    parts: &[TextPart],
    writer: &dyn WriteReferences,
    losses: &mut LossReport<'_>,
) -> String {
    let mut text = String::new();
    let mut parts = parts.iter().peekable();
    while let Some(part) = parts.next() {
        match part {
            TextPart::Literal(literal) => {
                let before_marker = matches!(parts.peek(), Some(TextPart::Reference(_)));
                text.push_str(&writer.escape_text(literal, before_marker));
            }
            TextPart::Reference(reference) => {
                text.push_str(&writer.write_inside(reference, losses));
            }
        }
    }
    text
}

fn write_literal(value: &Value, writer: &dyn WriteReferences) -> Value {
    match value {
        Value::Text(text) => {
            let written = writer.escape_text(text, false);
            // Text without escapes is shared with the plan instead of copied.
            if *written == **text {
                Value::Text(Arc::clone(text))
            } else {
                written.into()
            }
        }
        Value::List(items) => Value::list(items.iter().map(|item| write_literal(item, writer))),
        Value::Object(fields) => Value::object(
            fields
                .iter()
                .map(|(key, value)| (Arc::clone(key), write_literal(value, writer))),
        ),
        other => other.clone(),
    }
}

/// A builder of an object, field by field.
#[derive(Debug, Default)]
pub(crate) struct ObjectBuilder(Object);

impl ObjectBuilder {
    pub(crate) fn field(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Adds the field `key` if there is a value.
    pub(crate) fn optional(&mut self, key: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.field(key, value);
        }
        self
    }

    pub(crate) fn build(self) -> Value {
        self.0.into()
    }
}

/// The losses of printing one plan in a dialect: what the dialect cannot express.
#[derive(Debug)]
pub(crate) struct LossReport<'a> {
    dialect: &'static str,
    plan: Place,
    sources: &'a Sources,
    diagnostics: Diagnostics,
    tally: DiagnosticCounter,
    /// The differences that were reported.
    differences: Vec<&'static str>,
}

impl<'a> LossReport<'a> {
    /// An empty report.
    pub(crate) fn new(dialect: &'static str, plan: &'a Plan) -> Self {
        Self {
            dialect,
            plan: plan.place,
            sources: &plan.sources,
            diagnostics: Diagnostics::new(),
            tally: DiagnosticCounter::default(),
            differences: Vec::new(),
        }
    }

    /// Reports that the dialect cannot express `what` at `place`, which would change what the plan does.
    pub(crate) fn error(&mut self, place: Place, what: &str) {
        let message = format!("the {} dialect cannot express {what}", self.dialect);
        self.push(place, Diagnostic::error(Code::Unprintable, message));
    }

    /// Reports the same with an advice.
    pub(crate) fn error_with_help(&mut self, place: Place, what: &str, help: &str) {
        let message = format!("the {} dialect cannot express {what}", self.dialect);
        let diagnostic = Diagnostic::error(Code::Unprintable, message);
        self.push(place, diagnostic.help(help));
    }

    /// The step whose output `reference` reads, and how; anything else is reported as an error.
    pub(crate) fn step_read<'r>(
        &mut self,
        reference: &'r Reference,
    ) -> Option<(&'r StepId, &'r Read)> {
        let Some(read) = reference.as_read() else {
            self.error(
                reference.place,
                "alternatives or expressions in a reference",
            );
            return None;
        };
        let Source::Step(step) = &read.source else {
            let what = format!("the reference {}", quote(&reference.text));
            self.error(reference.place, &what);
            return None;
        };
        Some((step, read))
    }

    /// Warns, once per plan, that the system of the dialect behaves differently in `what`; `difference` says how.
    pub(crate) fn difference(&mut self, place: Place, what: &'static str, difference: &str) {
        // Every reference could repeat the warning, so it is given once per plan.
        if !self.differences.contains(&what) {
            self.differences.push(what);
            let message = format!("the {} dialect cannot express {what}", self.dialect);
            self.push(
                place,
                Diagnostic::warning(Code::Unprintable, message).help(difference),
            );
        }
    }

    /// Reports that the dialect cannot express `what` at `place`, without which the plan does almost the same.
    pub(crate) fn warning(&mut self, place: Place, what: &str) {
        let message = format!("the {} dialect cannot express {what}", self.dialect);
        self.push(place, Diagnostic::warning(Code::Unprintable, message));
    }

    /// Reports that `time` at `place` is longer than any reader accepts.
    pub(crate) fn duration_too_long(&mut self, place: Place, time: Duration) {
        let what = format!("a time of {} s", time.as_secs());
        self.error_with_help(place, &what, "omit the limit if there is to be none");
    }

    /// Reports `targets` at `place` if they are a choice among less than two slots.
    pub(crate) fn report_single_choice(&mut self, targets: &Targets, place: Place) {
        if let Targets::OneOf(slots) = targets
            && slots.len() < 2
        {
            let help = "give one slot for success and one for failure";
            self.error_with_help(place, "a choice among less than two slots", help);
        }
    }

    /// Warns about each text of `plan` that is literal in the system of the dialect, but that the reader of the dialect
    /// reports as a reference of another system. `form` is the form of the dialect's own references.
    pub(crate) fn report_foreign_references(&mut self, plan: &Plan, form: ReferenceForm) {
        for found in find(plan, form).iter().filter(|found| found.is_certain) {
            let what = format!("that the text `{}` is not a reference", found.written);
            self.warning(found.place, &what);
        }
    }

    fn push(&mut self, place: Place, diagnostic: Diagnostic) {
        if self.tally.count(diagnostic.severity) {
            self.diagnostics.push(diagnostic.at(place, self.sources));
        }
    }

    /// The diagnostics; the last one states how many were left out.
    fn into_diagnostics(mut self) -> Diagnostics {
        self.tally.note_rest_omitted(&mut self.diagnostics);
        self.diagnostics
    }

    /// The JSON text of `plan`, unless the dialect would lose an essential part, and the diagnostics.
    pub(crate) fn finish(self, plan: &Value) -> (Option<String>, Diagnostics) {
        self.finish_text(plan, |plan| {
            serde_json::to_string_pretty(plan).unwrap_or_else(|_| plan.to_json()) + "\n"
        })
    }

    /// The text that `write` makes of `plan`, unless the dialect would lose an essential part, and the diagnostics.
    pub(crate) fn finish_text(
        mut self,
        plan: &Value,
        write: impl FnOnce(&Value) -> String,
    ) -> (Option<String>, Diagnostics) {
        if self.tally.has_errors() {
            return (None, self.into_diagnostics());
        }
        self.report_oversize(self.plan, plan);
        if self.tally.has_errors() {
            return (None, self.into_diagnostics());
        }
        let text = write(plan);
        if let Some(oversize) = text_oversize(&text, &ReadLimits::default()) {
            self.push(self.plan, oversize);
        }
        (Some(text), self.into_diagnostics())
    }

    /// Reports `written`, a JSON text at `place`, if it exceeds what readers accept by default.
    pub(crate) fn report_oversize(&mut self, place: Place, written: &Value) {
        let extent = WrittenSize::of(written);
        // Beyond this depth, no setting lets a reader accept the text. Anything less is only a warning, see
        // `docs/design/printing.md`.
        if extent.depth > ReadLimits::MAX_DEPTH {
            let what = format!("a plan that is nested {} levels deep", extent.depth);
            let help = "pass the deeper parts as an input of the run, or let a step compute them";
            self.error_with_help(place, &what, help);
            return;
        }
        for diagnostic in extent.oversize(&ReadLimits::default()) {
            self.push(place, diagnostic);
        }
    }
}

const HELP: &str = "raise the limit of the reader, pass large parts as an input of the run, or let a step compute them";

/// The nesting of lists and objects, and the number of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WrittenSize {
    depth: usize,
    values: usize,
}

impl WrittenSize {
    /// The size of `written` as one JSON text.
    fn of(written: &Value) -> Self {
        let mut extent = Self::default();
        // A worklist instead of recursion: this measures plans of any depth.
        let mut waiting = vec![(written, 0)];
        while let Some((value, around)) = waiting.pop() {
            extent.values += 1;
            let depth = around + usize::from(matches!(value, Value::List(_) | Value::Object(_)));
            extent.depth = extent.depth.max(depth);
            match value {
                Value::List(items) => waiting.extend(items.iter().map(|item| (item, depth))),
                Value::Object(fields) => waiting.extend(fields.values().map(|it| (it, depth))),
                _ => {}
            }
        }
        extent
    }

    /// A warning for each of the `limits` that is exceeded.
    fn oversize(self, limits: &ReadLimits) -> Vec<Diagnostic> {
        let Self { depth, values } = self;
        let mut diagnostics = Vec::new();
        if depth > limits.effective_depth() {
            let max = limits.effective_depth();
            let message =
                format!("the written plan is nested {depth} levels deep, and readers accept {max}");
            diagnostics.push(Diagnostic::warning(Code::TooDeep, message).help(HELP));
        }
        if values > limits.values {
            let max = limits.values;
            diagnostics.push(too_large(&format!(
                "{values} values, and readers accept {max}"
            )));
        }
        diagnostics
    }
}

/// A warning if `text` is longer than `limits` allow.
fn text_oversize(text: &str, limits: &ReadLimits) -> Option<Diagnostic> {
    let (bytes, max) = (text.len(), limits.bytes);
    (bytes > max).then(|| too_large(&format!("{bytes} bytes, and readers accept {max}")))
}

fn too_large(what: &str) -> Diagnostic {
    let message = format!("the written plan has {what}");
    Diagnostic::warning(Code::TooLarge, message).help(HELP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::read;

    /// Compares the warnings about `json` under limits of 30 bytes, 3 levels and 5 values with those of the reader.
    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let limits = ReadLimits {
            bytes: 30,
            depth: 3,
            values: 5,
            ..ReadLimits::default()
        };
        let value = Value::from_json(json).expect("JSON");
        let mut found = WrittenSize::of(&value).oversize(&limits);
        found.extend(text_oversize(json, &limits));
        let messages: Vec<&str> = found
            .iter()
            .map(|diagnostic| &*diagnostic.message)
            .collect();
        assert_eq!(messages, Vec::from_iter(expected));
        let (_, diagnostics) = read(json.as_bytes(), "test", 0, &limits);
        let codes = |code: &Diagnostic| code.code;
        assert_eq!(
            diagnostics.iter().map(codes).collect::<Vec<_>>(),
            found.iter().map(codes).collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        check(r#"{"a": [{}]}"#, None);
        check(
            r#"{"a": [{"b": []}]}"#,
            Some("the written plan is nested 4 levels deep, and readers accept 3"),
        );
        check("[[[1, 2]]]", None);
        check(
            "[[[1, 2, 3]]]",
            Some("the written plan has 6 values, and readers accept 5"),
        );
        check(
            r#""123456789012345678901234567 8""#.trim(),
            Some("the written plan has 31 bytes, and readers accept 30"),
        );
        check(r#""12345678901234567890123456 8""#, None);
    }
}
