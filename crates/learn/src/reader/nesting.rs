//! The nesting of spans: several instrumentations write a span for one call, one within the other.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::otel::{TracedSpan, tool_of, trace_id};

/// Maximum number of spans above a span that are followed.
const MAX_PARENTS: usize = 100;

/// The names of the id of a span, and of that of its parent.
const SPAN_IDS: [&str; 2] = ["spanId", "span_id"];
const PARENT_IDS: [&str; 4] = ["parentSpanId", "parent_span_id", "parentId", "parent_id"];

/// A span in its trace.
type SpanKey = (Arc<str>, Arc<str>);

/// The parents of all spans, also of those that are no call.
#[derive(Debug, Default)]
pub(super) struct SpanParents {
    parents: HashMap<SpanKey, SpanKey>,
    /// The positions of the spans that are calls.
    calls: HashMap<SpanKey, usize>,
    /// The keys of these spans.
    keys: HashMap<usize, SpanKey>,
}

impl SpanParents {
    /// Reads the parents in `documents`. `spans` are those with attributes of generative AI.
    pub(super) fn new(documents: &[Value], spans: &[TracedSpan<'_>]) -> Self {
        let mut found = Self::default();
        for document in documents {
            found.add(document);
        }
        for (position, span) in spans.iter().enumerate() {
            if tool_of(span).is_some()
                && let Some(key) = key_of(span.value)
            {
                // Of spans with the same id, the first one is meant.
                found.calls.entry(key.clone()).or_insert(position);
                found.keys.insert(position, key);
            }
        }
        found
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::List(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => {
                for name in ["resourceSpans", "scopeSpans", "spans"] {
                    if let Some(inner) = fields.get(name) {
                        self.add(inner);
                    }
                }
                if let Some(key) = key_of(value)
                    && let Some(parent) = parent_of(value)
                {
                    let trace = Arc::clone(&key.0);
                    self.parents.insert(key, (trace, parent));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }

    /// Returns true if an earlier span has the same id: the log has the span twice.
    pub(super) fn is_repeated(&self, position: usize) -> bool {
        let first = self.keys.get(&position).and_then(|key| self.calls.get(key));
        first.is_some_and(|first| *first != position)
    }

    /// Returns the position of the outermost call above the span at `position`.
    pub(super) fn tool_above(&self, position: usize) -> Option<usize> {
        let own = self.keys.get(&position)?;
        let mut found = None;
        let mut key = own;
        for _ in 0..MAX_PARENTS {
            key = match self.parents.get(key) {
                Some(parent) if parent != own => parent,
                Some(_) | None => break,
            };
            found = self.calls.get(key).copied().or(found);
        }
        found
    }
}

/// Returns true if two names are those of the same tool: one of them may have its server in front.
pub(super) fn is_same_tool(one: &str, other: &str) -> bool {
    let bare = |name: &str| -> String {
        let name = name.rsplit(['.', '/']).next().unwrap_or(name);
        name.rsplit("__").next().unwrap_or(name).to_owned()
    };
    bare(one) == bare(other)
}

fn key_of(span: &Value) -> Option<SpanKey> {
    let context = span.get("context").unwrap_or(span);
    let id = text(context, &SPAN_IDS)?;
    Some((trace_id(span), id))
}

fn parent_of(span: &Value) -> Option<Arc<str>> {
    text(span, &PARENT_IDS).or_else(|| text(span.get("parent")?, &SPAN_IDS))
}

fn text(value: &Value, names: &[&str]) -> Option<Arc<str>> {
    let found = names.iter().find_map(|name| value.get(name)?.as_text());
    found.filter(|found| !found.is_empty()).map(Into::into)
}
