//! Lowers a plan of the Acts.

use planwright_core::plan::{Mode, Output};
use planwright_core::{Code, Diagnostic, Diagnostics, Object, Plan, Sources, Value};

use super::call::calls;
use super::context::{CallsFrom, MessageContext, is_plan, mode};
use super::reference::ActsReader;
use crate::document::{DiagnosticSink, Document, Fields, Item};
use crate::lowering::lower;

/// The fields of a solution that do not affect the run; they are preserved for prompts.
pub(super) const PRESERVED_FIELDS: [&str; 3] = ["meta", "advisors", "schema"];

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let Document {
        root, mut source, ..
    } = document;
    let mut sink = DiagnosticSink::new();
    let plan = plan(
        &root,
        &mut ActsReader {
            source: &mut source,
            sink: &mut sink,
        },
    );
    let diagnostics = sink.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

fn plan(root: &Item, reader: &mut ActsReader<'_>) -> Option<Plan> {
    let parts = PlanParts::of(root, reader.sink)?;
    let from = match parts.calls {
        CallList::Given(_) | CallList::Unreadable => CallsFrom::Plan,
        CallList::Absent => CallsFrom::Message,
    };
    let context = MessageContext::read(parts.context, from, reader.sink);
    let output = output(parts.output, reader);
    let items = match parts.calls {
        CallList::Given(items) => items,
        CallList::Unreadable => return None,
        CallList::Absent => {
            if context.calls.is_none() && !parts.context.iter().any(is_plan) {
                report_no_calls(root, reader.sink);
            }
            context.calls?
        }
    };
    let steps = calls(items, &context.instances, reader);
    // If no call could be read, an empty plan would hide that.
    if steps.is_empty() && !items.is_empty() {
        return None;
    }
    Some(Plan {
        contents: context.contents,
        slot_schemas: context.schemas,
        instances: context.instances.into_iter().collect(),
        steps,
        output,
        mode: parts.mode.or(context.mode).unwrap_or_default(),
        metadata: metadata(parts.preserved, context.preserved),
        place: root.place,
        ..Plan::default()
    })
}

fn output(item: Option<&Item>, reader: &mut ActsReader<'_>) -> Output {
    item.map_or(Output::All, |item| Output::Value(lower(item, reader)))
}

fn metadata(mut preserved: Object, messages: Vec<Value>) -> Value {
    if !messages.is_empty() {
        preserved.insert("context".into(), messages.into());
    }
    if preserved.is_empty() {
        Value::Null
    } else {
        preserved.into()
    }
}

fn report_no_calls(root: &Item, sink: &mut DiagnosticSink) {
    let diagnostic = Diagnostic::error(Code::MissingField, "the plan has no `calls`");
    let help = "add `calls`, or a message `{\"type\": \"plan\", \"plan\": [calls]}` to the context";
    sink.push(root.place, diagnostic.help(help));
}

/// The parts of a text.
struct PlanParts<'a> {
    context: &'a [Item],
    calls: CallList<'a>,
    output: Option<&'a Item>,
    mode: Option<Mode>,
    preserved: Object,
}

/// The calls of a text, if it has any outside of messages.
#[derive(Clone, Copy)]
enum CallList<'a> {
    Given(&'a [Item]),
    Unreadable,
    Absent,
}

impl<'a> PlanParts<'a> {
    fn of(root: &'a Item, sink: &mut DiagnosticSink) -> Option<Self> {
        if let Some(items) = root.as_list() {
            let is_message = |item: &Item| item.has("type") && !item.has("_tool");
            // An empty list is a plan without calls.
            let are_messages = !items.is_empty() && items.iter().all(is_message);
            return Some(if are_messages {
                Self::of_messages(items)
            } else {
                Self::parse_calls(items)
            });
        }
        if root.has("_tool") {
            return Some(Self::parse_calls(std::slice::from_ref(root)));
        }
        if root.has("type") {
            return Some(Self::of_messages(std::slice::from_ref(root)));
        }
        let mut fields = Fields::of(root, "the plan", sink)?;
        let parts = Self::of_fields(&mut fields, root, sink);
        fields.finish(sink);
        Some(parts)
    }

    fn parse_calls(calls: &'a [Item]) -> Self {
        Self {
            context: &[],
            calls: CallList::Given(calls),
            output: None,
            mode: None,
            preserved: Object::default(),
        }
    }

    fn of_messages(context: &'a [Item]) -> Self {
        Self {
            context,
            calls: CallList::Absent,
            ..Self::parse_calls(&[])
        }
    }

    fn of_fields(fields: &mut Fields<'a>, root: &'a Item, sink: &mut DiagnosticSink) -> Self {
        let context = fields.list("context", sink);
        // `{"plan": […], "mode": …}` is a plan message without its type.
        let name = if root.has("plan") && !root.has("calls") {
            "plan"
        } else {
            "calls"
        };
        let calls = match fields.optional(name) {
            None => CallList::Absent,
            Some(_) => match fields.list(name, sink) {
                Some(items) => CallList::Given(items),
                None => CallList::Unreadable,
            },
        };
        let mut preserved = Object::default();
        for name in PRESERVED_FIELDS {
            if let Some(item) = fields.optional(name) {
                preserved.insert(name.into(), item.to_value());
            }
        }
        Self {
            context: context.unwrap_or_default(),
            calls,
            output: fields.optional("output"),
            mode: mode(fields, sink),
            preserved,
        }
    }
}
