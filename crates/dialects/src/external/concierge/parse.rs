//! Lowers a Concierge plan.

use std::sync::Arc;

use planwright_core::plan::{
    Node, OnFailure, Ordering, Path, Read, Reference, Segment, Sharing, Source, Step,
};
use planwright_core::{Code, Diagnostic, Diagnostics, Plan, Sources, StepId, Value};

use crate::document::{DiagnosticSink, Document, Entry, Fields, Item, ItemKind, article, quote};
use crate::lowering::{ReferenceSyntax, lower_fields, text_or_number, tool_action};

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let steps = steps(&document.root, &mut sink);
    let plan = steps.map(|steps| Plan {
        steps,
        ordering: Ordering::Listed,
        on_failure: OnFailure::Stop,
        sharing: Sharing::MarkedOnly,
        place: document.root.place,
        ..Plan::default()
    });
    let diagnostics = sink.finish(&document.source);
    let sources = Sources::one(document.source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

fn steps(root: &Item, sink: &mut DiagnosticSink) -> Option<Vec<Step>> {
    let mut fields = Fields::of(root, "the plan", sink)?;
    let items = fields.required_list("steps", sink);
    fields.finish(sink);
    let items = items?;
    let steps: Vec<Step> = items.iter().filter_map(|item| step(item, sink)).collect();
    // If no step could be read, an empty plan would hide that.
    (!steps.is_empty() || items.is_empty()).then_some(steps)
}

fn step(item: &Item, sink: &mut DiagnosticSink) -> Option<Step> {
    let mut fields = Fields::of(item, "the step", sink)?;
    let id = fields
        .required("id", sink)
        .and_then(|id| text_or_number(id, "id", sink));
    let action = tool_action(&mut fields, sink);
    let args = match fields.entry("args") {
        Some(entry) => args(&entry.item, sink),
        None => Node::literal(Value::empty_object(), item.place),
    };
    fields.finish(sink);
    let mut step = Step::new(StepId::new(id?.text), action, args);
    step.place = item.place;
    Some(step)
}

fn args(item: &Item, sink: &mut DiagnosticSink) -> Node {
    let Some(entries) = item.as_object() else {
        let found = article(item.kind_word());
        let message = format!("expected an object in `args`, found {found}");
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
        let help = "leave `args` out where the tool takes no arguments";
        sink.push(item.place, diagnostic.help(help));
        return Node::literal(Value::empty_object(), item.place);
    };
    if item.has(KEY) {
        let message = "the arguments as a whole cannot be a reference";
        let diagnostic = Diagnostic::error(Code::MalformedReference, message);
        let help = "put the reference into the argument that takes it";
        sink.push(item.place, diagnostic.help(help));
        return Node::literal(Value::empty_object(), item.place);
    }
    lower_fields(item.place, entries, &mut ReferenceObjects { sink })
}

/// The key of an object that is a reference.
pub(super) const KEY: &str = "output_by_reference";

const FORM: &str = "write `{\"output_by_reference\": {\"step\": [\"key\", 0]}}`, or \
                    `$output_by_reference` for the key as data";

/// The reference syntax.
pub(super) struct ReferenceObjects<'a> {
    pub(super) sink: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for ReferenceObjects<'_> {
    fn object(&mut self, item: &Item, entries: &[Entry]) -> Option<Node> {
        let marker = entries.iter().rfind(|entry| &*entry.key == KEY)?;
        if entries.len() > 1 {
            let others = entries.iter().filter(|entry| &*entry.key != KEY);
            let names: Vec<String> = others.map(|entry| quote(&entry.key)).collect();
            let message = if names.is_empty() {
                "a reference stands twice".to_owned()
            } else {
                format!("a reference has {} beside it", names.join(", "))
            };
            let diagnostic = Diagnostic::error(Code::MalformedReference, message);
            self.sink.push(item.place, diagnostic.help(FORM));
            return Some(Node::literal(item.to_value(), item.place));
        }
        let node = match self.read(&marker.item) {
            Some(read) => {
                Node::reference(Reference::read(read, item.to_value().to_json(), item.place))
            }
            None => Node::literal(item.to_value(), item.place),
        };
        Some(node)
    }

    fn key(&mut self, key: &Arc<str>) -> Arc<str> {
        match key.strip_prefix('$') {
            Some(rest) if rest.trim_start_matches('$') == KEY => rest.into(),
            _ => Arc::clone(key),
        }
    }
}

impl ReferenceObjects<'_> {
    fn read(&mut self, payload: &Item) -> Option<Read> {
        let Some(entries) = payload.as_object() else {
            let found = article(payload.kind_word());
            return self.malformed(
                payload,
                format!("a reference holds {found} instead of an object"),
            );
        };
        let [entry] = entries else {
            let message = format!("a reference names {} steps instead of one", entries.len());
            return self.malformed(payload, message);
        };
        let Some(items) = entry.item.as_list() else {
            let found = article(entry.item.kind_word());
            let step = quote(&entry.key);
            return self.malformed(
                &entry.item,
                format!("the path into step {step} is {found} instead of a list"),
            );
        };
        let segments: Vec<Option<Segment>> = items.iter().map(|item| self.segment(item)).collect();
        let path: Option<Path> = segments.into_iter().collect();
        let step = StepId::new(Arc::clone(&entry.key));
        Some(Read::part(Source::Step(step), path?))
    }

    fn segment(&mut self, item: &Item) -> Option<Segment> {
        match &item.kind {
            ItemKind::Text(text) => Some(Segment::Key(Arc::clone(text))),
            ItemKind::Number(number) if !number.is_f64() => Some(Segment::key(number.to_string())),
            _ => {
                let written = item.to_value().to_json();
                let message = format!(
                    "a path is made of texts and whole numbers, found {}",
                    quote(&written)
                );
                self.malformed(item, message)
            }
        }
    }

    fn malformed<T>(&mut self, item: &Item, message: String) -> Option<T> {
        let diagnostic = Diagnostic::error(Code::MalformedReference, message).help(FORM);
        self.sink.push(item.place, diagnostic);
        None
    }
}
