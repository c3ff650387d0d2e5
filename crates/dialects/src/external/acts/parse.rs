//! Recognises and lowers a plan of the Acts.

use std::sync::Arc;

use planwright_core::plan::{
    Action, Field, Mode, Name, Node, Output, PlanCall, PlanTarget, SlotKind, Step,
};
use planwright_core::{Code, Diagnostic, Diagnostics, Object, Place, Plan, Value};

use super::context::{CallsFrom, MessageContext, is_message, is_plan, mode};
use super::context::{Instances, StepIds, check_instance, kind_words, message_types, slot_kind_of};
use super::print;
use super::reference::{ActsReader, writes};
use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{DiagnosticSink, Document, Fields, Item, ItemEntry, nearest, quote};
use crate::foreign_references::ReferenceForm;
use crate::lowering::{lower, parse_document, text_or_number};

/// The dialect of the Acts of Emergence.
#[derive(Clone, Copy, Debug)]
pub struct Acts;

/// The form of the references, for the search for those of other systems.
pub(super) const REFERENCE_FORM: ReferenceForm = ReferenceForm {
    write: |path| {
        let path = path.replace("inputs.", "input.");
        Some(format!("†{}", path.replace('[', ".").replace(']', "")))
    },
    is_own: |text| text.starts_with('†'),
};

impl Dialect for Acts {
    fn name(&self) -> &'static str {
        "acts"
    }

    fn shape(&self) -> &'static str {
        "`{\"context\", \"calls\": [{\"_tool\", parameters…, \"_outputPath\"}], \"output\"}` with `†state.x`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let root = &document.root;
        let is_call = |item: &Item| item.has("_tool");
        if is_call(root) || document.any_item(&["calls", "plan"], is_call) {
            return MatchConfidence::Certain;
        }
        let messages = root.get("context").unwrap_or(root);
        match messages.as_list() {
            Some(messages) if messages.iter().any(is_plan) => MatchConfidence::Certain,
            Some([]) => MatchConfidence::No,
            Some(messages) if messages.iter().all(is_message) => MatchConfidence::Possible,
            _ => MatchConfidence::No,
        }
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(REFERENCE_FORM)
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}

/// The fields of a solution that do not affect the run; they are preserved for prompts.
pub(super) const PRESERVED_FIELDS: [&str; 3] = ["meta", "advisors", "schema"];

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    parse_document(document, |root, context| {
        let mut reader = ActsReader {
            source: context.source,
            sink: context.sink,
        };
        plan(root, &mut reader)
    })
}

fn plan(root: &Item, reader: &mut ActsReader<'_>) -> Option<Plan> {
    let parts = PlanParts::of(root, reader.sink)?;
    let from = match parts.calls {
        CallList::Listed(_) | CallList::Unreadable => CallsFrom::Plan,
        CallList::Absent => CallsFrom::Message,
    };
    let context = MessageContext::read(parts.context, from, reader.sink);
    let output = output(parts.output, reader);
    let items = match parts.calls {
        CallList::Listed(items) => items,
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
    Listed(&'a [Item]),
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
            calls: CallList::Listed(calls),
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
                Some(items) => CallList::Listed(items),
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

/// The `_delegate` that stands for the tool itself.
pub(super) const ANONYMOUS: &str = "anonymous";

/// The fields of a call that are not parameters.
const META_FIELDS: [&str; 9] = [
    "_tool",
    "_outputPath",
    "_outputMethod",
    "_instance",
    "_delegate",
    "_scopes",
    "_activity",
    "_output",
    "_reasoningForCall",
];

/// Lowers the calls `items` to steps. Calls without a tool are left out.
pub(super) fn calls(
    items: &[Item],
    instances: &Instances,
    reader: &mut ActsReader<'_>,
) -> Vec<Step> {
    let mut ids = StepIds::default();
    items
        .iter()
        .filter_map(|item| call(item, &mut ids, instances, reader))
        .collect()
}

fn call(
    item: &Item,
    ids: &mut StepIds,
    instances: &Instances,
    reader: &mut ActsReader<'_>,
) -> Option<Step> {
    let mut fields = Fields::of(item, "the call", reader.sink)?;
    let entries = item.as_object()?;
    let tool = fields.required_text("_tool", reader.sink).map(to_name);
    let action = action(&mut fields, tool.as_ref(), reader);
    let args = args(item.place, entries, reader);
    let writes = writes(&mut fields, reader);
    let instance = instance(&mut fields, instances, reader);
    let note = fields.text("_reasoningForCall", reader.sink).cloned();
    report_unknown(entries, reader.sink);
    // A missing tool ends the call only here, so that the problems of all fields are reported.
    let mut step = Step::new(ids.next(&tool?.text), action, args);
    step.place = item.place;
    step.writes = writes;
    step.instance = instance;
    step.note = note;
    Some(step)
}

fn to_name((text, place): (&Arc<str>, Place)) -> Name {
    Name {
        text: Arc::clone(text),
        place,
    }
}

/// The action of a call: `_output`, `_delegate` and `_activity` exclude each other.
fn action(fields: &mut Fields<'_>, tool: Option<&Name>, reader: &mut ActsReader<'_>) -> Action {
    let output = fields.optional("_output");
    let activity = fields.optional("_activity");
    let delegate = fields.optional("_delegate");
    let scopes = fields.optional("_scopes");
    let is_anonymous = |item: &&Item| item.as_text().is_some_and(|name| &**name == ANONYMOUS);
    let plan = delegate.filter(|item| !is_anonymous(item));
    let actions = [
        ("_output", output),
        ("_activity", activity),
        ("_delegate", plan),
    ];
    let actions: Vec<(&str, &Item)> = actions
        .into_iter()
        .filter_map(|(name, item)| Some((name, item?)))
        .collect();
    if let [(first, _), others @ ..] = actions.as_slice() {
        for (other, item) in others {
            let message = format!("the call has both `{first}` and `{other}`");
            let diagnostic = Diagnostic::error(Code::ConflictingFields, message);
            let help = "`_output` is a result, `_activity` calls a tool, `_delegate` runs a plan: keep one of them";
            reader.sink.push(item.place, diagnostic.help(help));
        }
    }
    let kinds = scopes.map_or_else(Vec::new, |item| kinds_in(item, reader.sink));
    if let (Some(item), None) = (scopes, plan) {
        let message = "`_scopes` has no effect without a plan in `_delegate`";
        let diagnostic = Diagnostic::warning(Code::ConflictingFields, message);
        let help = "a tool receives only its parameters";
        reader.sink.push(item.place, diagnostic.help(help));
    }
    if let Some(item) = output {
        return Action::Value(lower(item, reader));
    }
    if let Some(item) = plan {
        let target = fields.text("_delegate", reader.sink);
        return target.map_or_else(no_action, |text| {
            Action::Plan(PlanCall {
                target: PlanTarget::Named(to_name((text, item.place))),
                scopes: kinds,
            })
        });
    }
    let activity = activity.map(|item| (fields.text("_activity", reader.sink), item.place));
    match activity {
        Some((text, place)) => {
            text.map_or_else(no_action, |text| Action::Tool(to_name((text, place))))
        }
        None => tool.cloned().map_or_else(no_action, Action::Tool),
    }
}

/// The placeholder for an unreadable action, so that the rest of the plan can still be checked.
fn no_action() -> Action {
    Action::Value(Node::default())
}

fn kinds_in(item: &Item, sink: &mut DiagnosticSink) -> Vec<SlotKind> {
    let Some(items) = item.as_list() else {
        sink.push_wrong_type(item, "_scopes", "a list");
        return Vec::new();
    };
    let mut kinds = Vec::new();
    for item in items {
        let Some(word) = item.as_text() else {
            sink.push_wrong_type(item, "_scopes", "a list of texts");
            continue;
        };
        match slot_kind_of(word) {
            Some(kind) if kinds.contains(&kind) => {}
            Some(kind) => kinds.push(kind),
            None => sink.push(item.place, unknown_scope(word)),
        }
    }
    kinds
}

fn unknown_scope(word: &str) -> Diagnostic {
    if message_types().any(|known| known == word) {
        let message = format!(
            "a plan reads nothing from messages of the type {}",
            quote(word)
        );
        return Diagnostic::warning(Code::InvalidFieldValue, message)
            .help("`input`, `state` and `data` do");
    }
    let message = format!("{} is not a kind of data", quote(word));
    let help = match nearest(word, kind_words()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "there are `input`, `state` and `data`".to_owned(),
    };
    Diagnostic::error(Code::InvalidFieldValue, message).help(help)
}

fn instance(
    fields: &mut Fields<'_>,
    instances: &Instances,
    reader: &mut ActsReader<'_>,
) -> Option<Arc<str>> {
    let item = fields.optional("_instance")?;
    let name = text_or_number(item, "_instance", reader.sink)?;
    check_instance(&name, instances, reader.sink).then_some(name.text)
}

/// The parameters: the fields whose names do not begin with `_`, or begin with two of them.
fn args(place: Place, entries: &[ItemEntry], reader: &mut ActsReader<'_>) -> Node {
    let fields = entries
        .iter()
        .filter(|entry| !is_meta(&entry.key))
        .map(|entry| Field {
            // Fields with one `_` are filtered out, so a leading `_` is the escape `__`.
            key: match entry.key.strip_prefix('_') {
                Some(key) => key.into(),
                None => Arc::clone(&entry.key),
            },
            value: lower(&entry.item, reader),
        })
        .collect();
    Node::object(fields, place)
}

fn is_meta(key: &str) -> bool {
    key.starts_with('_') && !key.starts_with("__")
}

fn report_unknown(entries: &[ItemEntry], sink: &mut DiagnosticSink) {
    let unknown = |entry: &&ItemEntry| is_meta(&entry.key) && !META_FIELDS.contains(&&*entry.key);
    for entry in entries.iter().filter(unknown) {
        let message = format!("the call has an unknown field {}", quote(&entry.key));
        let help = match nearest(&entry.key, META_FIELDS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "a parameter of that name is written {}",
                quote(&format!("_{}", entry.key))
            ),
        };
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        sink.push_at_key(entry, diagnostic.help(help));
    }
}
