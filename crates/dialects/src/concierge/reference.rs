//! `{"output_by_reference": {step: [path…]}}`: reading and writing it.

use std::sync::Arc;

use planwright_core::plan::{Missing, Node, Path, Read, Reference, Segment, Source};
use planwright_core::{Code, Diagnostic, Place, StepId, Value};

use crate::document::{Entry, Findings, Item, ItemKind, article, quote};
use crate::lowering::References;
use crate::printing::{Unsaid, WriteReferences};

/// The key that makes an object a reference.
pub(super) const KEY: &str = "output_by_reference";

const FORM: &str = "write `{\"output_by_reference\": {\"step\": [\"key\", 0]}}`, or \
                    `$output_by_reference` for the key as data";

/// Reads references.
pub(super) struct Marker<'a> {
    pub(super) findings: &'a mut Findings,
}

impl References for Marker<'_> {
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
            let finding = Diagnostic::error(Code::MalformedReference, message);
            self.findings.push(item.place, finding.help(FORM));
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

impl Marker<'_> {
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
        let finding = Diagnostic::error(Code::MalformedReference, message).help(FORM);
        self.findings.push(item.place, finding);
        None
    }
}

/// Writes references.
pub(super) struct Writer;

impl WriteReferences for Writer {
    fn whole(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> Value {
        let Some(read) = reference.as_read() else {
            unsaid.error(
                reference.place,
                "alternatives or expressions in a reference",
            );
            return Value::Null;
        };
        let Source::Step(step) = &read.source else {
            let what = format!("what {} refers to", quote(&reference.text));
            unsaid.error(reference.place, &what);
            return Value::Null;
        };
        if read.missing == Missing::Null && !read.path.is_empty() {
            unsaid.warning(reference.place, "that a missing value gives `null`");
        }
        let segments = read.path.iter().map(|segment| match segment {
            Segment::Key(key) => Value::Text(Arc::clone(key)),
            Segment::Index(index) => Value::from(*index),
            Segment::Each => {
                unsaid.error(reference.place, "a path that maps over a list");
                Value::Null
            }
        });
        let path = Value::list(segments);
        let payload = Value::object([(Arc::clone(step.text()), path)]);
        Value::object([(KEY, payload)])
    }

    fn inside(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> String {
        unsaid.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }

    fn report_text(&self, text: &str, is_key: bool, place: Place, unsaid: &mut Unsaid<'_>) {
        if is_key && text.trim_start_matches('$') == KEY {
            let what = format!("a literal key {}", quote(text));
            unsaid.error_with(place, &what, "Concierge has no escape for it");
        }
    }
}
