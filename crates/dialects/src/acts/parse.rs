//! Lowers a plan of the Acts.

use planwright_core::plan::{Mode, Output};
use planwright_core::{Code, Diagnostic, Diagnostics, Object, Plan, Sources, Value};

use super::call::calls;
use super::context::{CallsFrom, Context, is_plan, mode};
use super::reference::Reading;
use crate::document::{Document, Fields, Findings, Item};
use crate::lowering::lower;

/// What a solution carries beside context, calls and output, for whoever asks a model.
pub(super) const KEPT: [&str; 3] = ["meta", "advisors", "schema"];

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let Document {
        root, mut source, ..
    } = document;
    let mut findings = Findings::new();
    let plan = plan(
        &root,
        &mut Reading {
            source: &mut source,
            findings: &mut findings,
        },
    );
    let diagnostics = findings.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

fn plan(root: &Item, reading: &mut Reading<'_>) -> Option<Plan> {
    let parts = Parts::of(root, reading.findings)?;
    let from = match parts.calls {
        Calls::Here(_) | Calls::Unreadable => CallsFrom::Plan,
        Calls::Nowhere => CallsFrom::Message,
    };
    let context = Context::read(parts.context, from, reading.findings);
    let output = output(parts.output, reading);
    let items = match parts.calls {
        Calls::Here(items) => items,
        Calls::Unreadable => return None,
        Calls::Nowhere => {
            if context.calls.is_none() && !parts.context.iter().any(is_plan) {
                report_no_calls(root, reading.findings);
            }
            context.calls?
        }
    };
    let steps = calls(items, &context.instances, reading);
    // Where no call at all could be read, the plan is not an empty one.
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
        metadata: metadata(parts.kept, context.kept),
        place: root.place,
        ..Plan::default()
    })
}

fn output(item: Option<&Item>, reading: &mut Reading<'_>) -> Output {
    item.map_or(Output::All, |item| Output::Value(lower(item, reading)))
}

fn metadata(mut kept: Object, messages: Vec<Value>) -> Value {
    if !messages.is_empty() {
        kept.insert("context".into(), messages.into());
    }
    if kept.is_empty() {
        Value::Null
    } else {
        kept.into()
    }
}

fn report_no_calls(root: &Item, findings: &mut Findings) {
    let finding = Diagnostic::error(Code::MissingField, "the plan has no `calls`");
    let help = "add `calls`, or a message `{\"type\": \"plan\", \"plan\": [calls]}` to the context";
    findings.push(root.place, finding.help(help));
}

/// What a text consists of.
struct Parts<'a> {
    context: &'a [Item],
    calls: Calls<'a>,
    output: Option<&'a Item>,
    mode: Option<Mode>,
    kept: Object,
}

/// Where the calls are.
#[derive(Clone, Copy)]
enum Calls<'a> {
    Here(&'a [Item]),
    Unreadable,
    Nowhere,
}

impl<'a> Parts<'a> {
    fn of(root: &'a Item, findings: &mut Findings) -> Option<Self> {
        if let Some(items) = root.as_list() {
            let is_message = |item: &Item| item.has("type") && !item.has("_tool");
            let are_messages = !items.is_empty() && items.iter().all(is_message);
            return Some(if are_messages {
                Self::of_messages(items)
            } else {
                Self::of_calls(items)
            });
        }
        if root.has("_tool") {
            return Some(Self::of_calls(std::slice::from_ref(root)));
        }
        if root.has("type") {
            return Some(Self::of_messages(std::slice::from_ref(root)));
        }
        let mut fields = Fields::of(root, "the plan", findings)?;
        let parts = Self::of_fields(&mut fields, root, findings);
        fields.finish(findings);
        Some(parts)
    }

    fn of_calls(calls: &'a [Item]) -> Self {
        Self {
            context: &[],
            calls: Calls::Here(calls),
            output: None,
            mode: None,
            kept: Object::default(),
        }
    }

    fn of_messages(context: &'a [Item]) -> Self {
        Self {
            context,
            calls: Calls::Nowhere,
            ..Self::of_calls(&[])
        }
    }

    fn of_fields(fields: &mut Fields<'a>, root: &'a Item, findings: &mut Findings) -> Self {
        let context = fields.list("context", findings);
        // `{"plan": […], "mode": …}` is a plan message without its type.
        let name = if root.has("plan") && !root.has("calls") {
            "plan"
        } else {
            "calls"
        };
        let calls = match fields.optional(name) {
            None => Calls::Nowhere,
            Some(_) => match fields.list(name, findings) {
                Some(items) => Calls::Here(items),
                None => Calls::Unreadable,
            },
        };
        let mut kept = Object::default();
        for name in KEPT {
            if let Some(item) = fields.optional(name) {
                kept.insert(name.into(), item.to_value());
            }
        }
        Self {
            context: context.unwrap_or_default(),
            calls,
            output: fields.optional("output"),
            mode: mode(fields, findings),
            kept,
        }
    }
}
