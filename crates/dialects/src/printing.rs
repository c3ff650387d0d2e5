//! What all printers share: values with references, and what a plan uses that a dialect cannot say.

mod extent;
mod features;
mod order;

use std::sync::Arc;
use std::time::Duration;

use planwright_core::diagnostic::Tally;
use planwright_core::plan::{Node, NodeKind, Reference, Targets, TextPart};
use planwright_core::{Code, Diagnostic, Diagnostics, Object, Place, Plan, Sources, Value};

use crate::document::Limits;
use crate::registry;
use extent::Extent;

pub(crate) use features::{Feature, report_unsaid, result_variable};
pub(crate) use order::{comes_only_after, dependencies, report_chain, report_order};

/// What a dialect cannot say of one plan.
#[derive(Debug)]
pub(crate) struct Unsaid<'a> {
    dialect: &'static str,
    plan: Place,
    sources: &'a Sources,
    diagnostics: Diagnostics,
    tally: Tally,
    /// Differences already reported.
    differences: Vec<&'static str>,
}

impl<'a> Unsaid<'a> {
    /// Nothing so far.
    pub(crate) fn new(dialect: &'static str, plan: &'a Plan) -> Self {
        Self {
            dialect,
            plan: plan.place,
            sources: &plan.sources,
            diagnostics: Diagnostics::new(),
            tally: Tally::default(),
            differences: Vec::new(),
        }
    }

    /// The loss of `what` at `place` would change what the plan does.
    pub(crate) fn error(&mut self, place: Place, what: &str) {
        let message = format!("the {} dialect cannot say {what}", self.dialect);
        self.push(place, Diagnostic::error(Code::Unprintable, message));
    }

    /// The same, with a way out.
    pub(crate) fn error_with(&mut self, place: Place, what: &str, way_out: &str) {
        let message = format!("the {} dialect cannot say {what}", self.dialect);
        let finding = Diagnostic::error(Code::Unprintable, message);
        self.push(place, finding.help(way_out));
    }

    /// Warns once per plan that the system that a plan is written for differs in `what`, with the difference.
    pub(crate) fn difference(&mut self, place: Place, what: &'static str, difference: &str) {
        if !self.differences.contains(&what) {
            self.differences.push(what);
            let message = format!("the {} dialect cannot say {what}", self.dialect);
            self.push(
                place,
                Diagnostic::warning(Code::Unprintable, message).help(difference),
            );
        }
    }

    /// The loss of `what` at `place` leaves a plan that does much the same.
    pub(crate) fn warning(&mut self, place: Place, what: &str) {
        let message = format!("the {} dialect cannot say {what}", self.dialect);
        self.push(place, Diagnostic::warning(Code::Unprintable, message));
    }

    /// A `time` at `place` that is longer than what is read.
    pub(crate) fn time_too_long(&mut self, place: Place, time: Duration) {
        let what = format!("a time of {} s", time.as_secs());
        self.error_with(place, &what, "leave a limit out where there is to be none");
    }

    /// Says where `targets` at `place` are a choice among less than two slots, which is no choice.
    pub(crate) fn report_no_choice(&mut self, targets: &Targets, place: Place) {
        if let Targets::OneOf(slots) = targets
            && slots.len() < 2
        {
            let way_out = "give one slot for success and one for failure";
            self.error_with(place, "a choice among less than two slots", way_out);
        }
    }

    /// Adds a finding.
    fn push(&mut self, place: Place, diagnostic: Diagnostic) {
        if self.tally.count(diagnostic.severity) {
            self.diagnostics.push(diagnostic.at(place, self.sources));
        }
    }

    /// The findings; the last one says how many more there are.
    fn findings(mut self) -> Diagnostics {
        self.tally.tell_rest(&mut self.diagnostics);
        self.diagnostics
    }

    /// The text for `plan` in JSON, unless something was lost that matters, and the findings.
    pub(crate) fn finish(self, plan: &Value) -> (Option<String>, Diagnostics) {
        self.finish_text(plan, |plan| {
            serde_json::to_string_pretty(plan).unwrap_or_else(|_| plan.to_json()) + "\n"
        })
    }

    /// What `write` makes of `plan`, unless something was lost that matters, and the findings.
    pub(crate) fn finish_text(
        mut self,
        plan: &Value,
        write: impl FnOnce(&Value) -> String,
    ) -> (Option<String>, Diagnostics) {
        if self.tally.has_errors() {
            return (None, self.findings());
        }
        self.report_excess(self.plan, plan);
        if self.tally.has_errors() {
            return (None, self.findings());
        }
        let text = write(plan);
        if let Some(excess) = extent::excess_of_text(&text, &Limits::default()) {
            self.push(self.plan, excess);
        }
        (Some(text), self.findings())
    }

    /// Says where `written`, which is to stand at `place` as one text in JSON, is more than is read where nobody allows more.
    pub(crate) fn report_excess(&mut self, place: Place, written: &Value) {
        let extent = Extent::of(written);
        if extent.depth > Limits::DEEPEST {
            let what = format!("a plan that is nested {} levels deep", extent.depth);
            let way_out = "let what lies deeper be an input of the run, or come from a step";
            self.error_with(place, &what, way_out);
            return;
        }
        for finding in extent.excess(&Limits::default()) {
            self.push(place, finding);
        }
    }
}

/// Says that plans are not written in `dialect`, only read.
pub(crate) fn read_only(dialect: &str, plan: &Plan) -> (Option<String>, Diagnostics) {
    let message = format!("the {dialect} dialect is only read, not written");
    let help = format!("plans can be written in {}", registry::writable_names());
    let finding = Diagnostic::error(Code::Unprintable, message).help(help);
    let finding = finding.at(plan.place, &plan.sources);
    (None, [finding].into_iter().collect())
}

/// How a dialect writes what stands in arguments.
pub(crate) trait WriteReferences {
    /// A reference that is a whole value. What cannot be said goes to `unsaid`.
    fn whole(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> Value;

    /// A reference inside of a text.
    fn inside(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> String;

    /// Looks at a text with references inside before it is written.
    fn mixed(&self, parts: &[TextPart], place: Place, unsaid: &mut Unsaid<'_>) {
        let _ = (parts, place, unsaid);
    }

    /// Literal text; a marker follows it if `before_marker`.
    fn text(&self, text: &str, before_marker: bool) -> String;

    /// Reports literal text, or a key, that the dialect would read as a reference and cannot escape.
    fn report_text(&self, text: &str, is_key: bool, place: Place, unsaid: &mut Unsaid<'_>) {
        let _ = (text, is_key, place, unsaid);
    }
}

/// `node` as the dialect writes it.
pub(crate) fn write_node(
    node: &Node,
    writer: &dyn WriteReferences,
    unsaid: &mut Unsaid<'_>,
) -> Value {
    match &node.kind {
        NodeKind::Literal(value) => {
            report_texts(value, node.place, writer, unsaid);
            write_literal(value, writer)
        }
        NodeKind::Reference(reference) => writer.whole(reference, unsaid),
        NodeKind::Text(parts) => {
            writer.mixed(parts, node.place, unsaid);
            for part in parts {
                if let TextPart::Literal(literal) = part {
                    writer.report_text(literal, false, node.place, unsaid);
                }
            }
            write_text(parts, writer, unsaid).into()
        }
        NodeKind::List(items) => {
            Value::list(items.iter().map(|item| write_node(item, writer, unsaid)))
        }
        NodeKind::Object(fields) => Value::object(fields.iter().map(|field| {
            writer.report_text(&field.key, true, field.value.place, unsaid);
            let value = write_node(&field.value, writer, unsaid);
            (Arc::clone(&field.key), value)
        })),
    }
}

/// Reports the texts and keys in `value` that the dialect cannot write.
fn report_texts(
    value: &Value,
    place: Place,
    writer: &dyn WriteReferences,
    unsaid: &mut Unsaid<'_>,
) {
    match value {
        Value::Text(text) => writer.report_text(text, false, place, unsaid),
        Value::List(items) => {
            for item in items.iter() {
                report_texts(item, place, writer, unsaid);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter() {
                writer.report_text(key, true, place, unsaid);
                report_texts(field, place, writer, unsaid);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reports references inside of lists and objects, for systems that resolve only whole arguments.
pub(crate) fn report_nested(args: &Node, unsaid: &mut Unsaid<'_>) {
    let NodeKind::Object(fields) = &args.kind else {
        return;
    };
    for field in fields {
        if matches!(field.value.kind, NodeKind::List(_) | NodeKind::Object(_)) {
            field.value.each_reference(&mut |reference| {
                let what = "a reference inside of a list or an object";
                unsaid.error_with(
                    reference.place,
                    what,
                    "let the whole argument be the reference",
                );
            });
        }
    }
}

fn write_text(parts: &[TextPart], writer: &dyn WriteReferences, unsaid: &mut Unsaid<'_>) -> String {
    let mut text = String::new();
    let mut parts = parts.iter().peekable();
    while let Some(part) = parts.next() {
        match part {
            TextPart::Literal(literal) => {
                let before_marker = matches!(parts.peek(), Some(TextPart::Reference(_)));
                text.push_str(&writer.text(literal, before_marker));
            }
            TextPart::Reference(reference) => text.push_str(&writer.inside(reference, unsaid)),
        }
    }
    text
}

fn write_literal(value: &Value, writer: &dyn WriteReferences) -> Value {
    match value {
        Value::Text(text) => {
            let written = writer.text(text, false);
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

/// Builds an object field by field.
#[derive(Debug, Default)]
pub(crate) struct ObjectBuilder(Object);

impl ObjectBuilder {
    /// Adds the field `key`.
    pub(crate) fn field(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Adds the field `key` where there is a value for it.
    pub(crate) fn optional(&mut self, key: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.field(key, value);
        }
        self
    }

    /// The object.
    pub(crate) fn build(self) -> Value {
        self.0.into()
    }
}
