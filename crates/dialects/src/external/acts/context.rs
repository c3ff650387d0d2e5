//! Lowers the messages around a plan; and the names of the dialect: step ids, instances, kinds of data, types of messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexSet;
use planwright_core::plan::{InitialValues, Mode, Name, SlotKind, SlotSchema};
use planwright_core::{Code, Diagnostic, Object, StepId, Value};

use crate::document::{DiagnosticSink, Fields, Item, ItemEntry, nearest, quote};
use crate::lowering::text_or_number;

/// The content of the messages.
#[derive(Debug, Default)]
pub(super) struct MessageContext<'a> {
    pub(super) contents: Vec<InitialValues>,
    pub(super) schemas: Vec<SlotSchema>,
    pub(super) instances: Instances,
    /// The mode in the last plan message.
    pub(super) mode: Option<Mode>,
    /// The calls of the last plan message, if they are the plan.
    pub(super) calls: Option<&'a [Item]>,
    /// The messages that do not affect the run, unchanged.
    pub(super) preserved: Vec<Value>,
    targets: Vec<Name>,
}

/// The source of a plan's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallsFrom {
    /// The plan itself: plan messages are earlier plans.
    Plan,
    /// The last plan message.
    Message,
}

impl<'a> MessageContext<'a> {
    /// Reads `messages`.
    pub(super) fn read(messages: &'a [Item], from: CallsFrom, sink: &mut DiagnosticSink) -> Self {
        let mut context = Self::default();
        let last_plan = match from {
            CallsFrom::Plan => None,
            CallsFrom::Message => messages.iter().rposition(is_plan),
        };
        for (position, message) in messages.iter().enumerate() {
            if Some(position) == last_plan {
                context.read_plan(message, sink);
            } else {
                context.read_message(message, from, sink);
            }
        }
        // Data may precede the message that creates its instance, so the instances are checked at the end.
        for name in &context.targets {
            check_instance(name, &context.instances, sink);
        }
        context
    }

    fn read_plan(&mut self, message: &'a Item, sink: &mut DiagnosticSink) {
        let Some(mut fields) = Fields::of(message, "the plan message", sink) else {
            return;
        };
        fields.text("type", sink);
        self.calls = fields.required_list("plan", sink);
        self.mode = mode(&mut fields, sink);
        fields.finish(sink);
    }

    fn read_message(&mut self, message: &Item, from: CallsFrom, sink: &mut DiagnosticSink) {
        // Errors go back to the model as `{call, error}`, and chat messages may have a role only.
        let is_untyped = message.has("role") || (message.has("call") && message.has("error"));
        if is_untyped && !message.has("type") {
            self.preserved.push(message.to_value());
            return;
        }
        let Some(mut fields) = Fields::of(message, "the message", sink) else {
            return;
        };
        let Some((word, place)) = fields.required_text("type", sink) else {
            return;
        };
        match (&**word, slot_kind_of(word)) {
            (_, Some(kind)) => self.read_slots(message, word, kind, sink),
            ("plan", _) => {
                if from == CallsFrom::Message {
                    let text = "a later plan message replaces this one";
                    let diagnostic = Diagnostic::warning(Code::ConflictingFields, text);
                    sink.push(message.place, diagnostic.help("leave one of them out"));
                }
                self.mode = mode(&mut fields, sink);
                self.preserved.push(message.to_value());
            }
            (word, _) => {
                if !is_preserved(word) {
                    sink.push(place, unknown_type(word));
                }
                self.preserved.push(message.to_value());
            }
        }
    }

    fn read_slots(
        &mut self,
        message: &Item,
        word: &str,
        kind: SlotKind,
        sink: &mut DiagnosticSink,
    ) {
        let Some(parts) = SlotMessage::of(message, word, kind, sink) else {
            return;
        };
        if let Some(instance) = &parts.instance {
            if parts.kind == SlotKind::Data {
                self.targets.push(instance.clone());
            } else {
                self.instances.insert(Arc::clone(&instance.text));
            }
        }
        if let Some(schema) = parts.schema {
            self.schemas.push(SlotSchema {
                kind: parts.kind,
                schema: schema.to_value(),
                place: schema.place,
            });
        }
        // A schema alone declares data without providing any, and an instance alone only creates the instance.
        let declares = parts.schema.is_some() || parts.instance.is_some();
        if parts.is_nested || !declares || !parts.value.is_empty() {
            self.contents.push(InitialValues {
                kind: parts.kind,
                instance: parts.instance.map(|name| name.text),
                value: parts.value.into(),
                place: message.place,
            });
        }
    }
}

/// Returns true if `item` is a plan message.
pub(super) fn is_plan(item: &Item) -> bool {
    item.get("type")
        .and_then(Item::as_text)
        .is_some_and(|word| &**word == "plan")
}

/// The mode in the field `mode`.
pub(super) fn mode(fields: &mut Fields<'_>, sink: &mut DiagnosticSink) -> Option<Mode> {
    let item = fields.optional("mode")?;
    let word = fields.text("mode", sink)?;
    match &**word {
        "eager" => Some(Mode::Run),
        "lazy" => Some(Mode::Show),
        other => {
            let message = format!("{} is not a mode", quote(other));
            let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
            let help = "`eager` runs the plan, `lazy` checks and shows it";
            sink.push(item.place, diagnostic.help(help));
            None
        }
    }
}

fn unknown_type(word: &str) -> Diagnostic {
    let message = format!("messages of the type {} are not known", quote(word));
    let known: Vec<String> = message_types().map(|known| format!("`{known}`")).collect();
    let help = match nearest(word, message_types()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "it is preserved, but has no effect; there are {}",
            known.join(", ")
        ),
    };
    Diagnostic::warning(Code::UnknownField, message).help(help)
}

/// The parts of an `input`, `state` or `data` message.
struct SlotMessage<'a> {
    kind: SlotKind,
    instance: Option<Name>,
    schema: Option<&'a Item>,
    value: Object,
    /// True if the values of the message are in a separate field.
    is_nested: bool,
}

impl<'a> SlotMessage<'a> {
    /// Reads a message whose fields stand beside `type`, or in an object with the name `word` of the type. Only an
    /// object can be that, and only an object a schema; any other value of such a name is an ordinary field.
    fn of(
        message: &'a Item,
        word: &str,
        kind: SlotKind,
        sink: &mut DiagnosticSink,
    ) -> Option<Self> {
        let object = |name: &str| message.get(name).filter(|item| item.as_object().is_some());
        let inside = object(word);
        let mut parts = Self {
            kind,
            instance: None,
            schema: object("schema"),
            value: Object::default(),
            is_nested: inside.is_some(),
        };
        let mut beside = Vec::new();
        for entry in message.as_object()? {
            match &*entry.key {
                "type" => {}
                "_instance" if entry.item.is_null() => {}
                "_instance" => {
                    parts.instance = text_or_number(&entry.item, "_instance", sink);
                }
                "schema" if parts.schema.is_some() => {}
                "kind" if kind == SlotKind::Data && inside.is_some() => {
                    parts.kind = kind_in(&entry.item, sink).unwrap_or(kind);
                }
                key if key == word && inside.is_some() => {}
                key if key.starts_with('_') => sink.push_at_key(entry, unknown_field(key, word)),
                _ => beside.push(entry),
            }
        }
        if let (Some(_), Some(first)) = (inside, beside.first()) {
            sink.push_at_key(first, in_two_places(word));
        }
        let within = inside.and_then(Item::as_object).unwrap_or_default();
        let fields = within.iter().chain(beside);
        parts.value = fields.map(field).collect();
        Some(parts)
    }
}

fn field(entry: &ItemEntry) -> (Arc<str>, Value) {
    (Arc::clone(&entry.key), entry.item.to_value())
}

fn kind_in(item: &Item, sink: &mut DiagnosticSink) -> Option<SlotKind> {
    let Some(word) = item.as_text() else {
        sink.push_wrong_type(item, "kind", "text");
        return None;
    };
    let kind = slot_kind_of(word);
    if kind.is_none() {
        let message = format!("{} is a kind of data that nothing refers to", quote(word));
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        let help = match nearest(word, kind_words()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "there are `input`, `state` and `data`".to_owned(),
        };
        sink.push(item.place, diagnostic.help(help));
    }
    kind
}

fn unknown_field(key: &str, word: &str) -> Diagnostic {
    let message = format!("the message has an unknown field {}", quote(key));
    let help = match nearest(key, ["_instance"]) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write a name that begins with `_` in the object `{word}`"),
    };
    Diagnostic::error(Code::UnknownField, message).help(help)
}

fn in_two_places(word: &str) -> Diagnostic {
    let message = format!("the message has fields both in `{word}` and beside it");
    Diagnostic::error(Code::ConflictingFields, message).help(format!(
        "put all of them into `{word}`, or all beside `type`"
    ))
}

/// The instances in the order in which they appear.
pub(super) type Instances = IndexSet<Arc<str>>;

/// Maximum number of instances that are compared with a misspelt one: comparing all would cost their number times the
/// number of problems.
const MAX_CANDIDATES: usize = 100;

/// The ids of calls: the name of the tool; repeated names become `name#2`, `name#3`.
#[derive(Debug, Default)]
pub(super) struct StepIds {
    counts: HashMap<Arc<str>, usize>,
    used: HashSet<Arc<str>>,
}

impl StepIds {
    /// Takes the id of the next call, whose `_tool` is `name`.
    pub(super) fn next(&mut self, name: &Arc<str>) -> StepId {
        let (id, count) = self.free(name);
        self.counts.insert(Arc::clone(name), count);
        self.used.insert(Arc::clone(&id));
        StepId::new(id)
    }

    /// The `_tool` that gives the next call the id `id`, if there is one.
    pub(super) fn name_for(&self, id: &Arc<str>) -> Option<Arc<str>> {
        // `a#2` may be the second call of `a`, or the name of a tool.
        let stem = id.rsplit_once('#').map(|(stem, _)| Arc::from(stem));
        let names = [stem, Some(Arc::clone(id))];
        let mut fitting = names.into_iter().flatten();
        fitting.find(|name| *self.free(name).0 == **id)
    }

    fn free(&self, name: &Arc<str>) -> (Arc<str>, usize) {
        let mut count = self.counts.get(name).copied().unwrap_or(0);
        loop {
            count += 1;
            let id = if count == 1 {
                Arc::clone(name)
            } else {
                format!("{name}#{count}").into()
            };
            if !self.used.contains(&id) {
                return (id, count);
            }
        }
    }
}

/// Returns true if `instances` contains `name`, and reports it otherwise.
pub(super) fn check_instance(
    name: &Name,
    instances: &Instances,
    sink: &mut DiagnosticSink,
) -> bool {
    if instances.contains(&name.text) {
        return true;
    }
    let message = format!("no instance is called {}", quote(&name.text));
    let known = instances
        .iter()
        .take(MAX_CANDIDATES)
        .map(|instance| &**instance);
    let help = if instances.is_empty() {
        "there are no instances; `_instance` of `state` and `input` messages creates them"
            .to_owned()
    } else if let Some(near) = nearest(&name.text, known) {
        format!("did you mean `{near}`?")
    } else {
        let shown = instances.iter().take(20).map(|instance| quote(instance));
        format!("there are {}", shown.collect::<Vec<_>>().join(", "))
    };
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
    sink.push(name.place, diagnostic.help(help));
    false
}

/// The kinds of data in references.
const KINDS: [(&str, SlotKind); 3] = [
    ("input", SlotKind::Inputs),
    ("state", SlotKind::State),
    ("data", SlotKind::Data),
];

/// The types of messages that do not affect the run; they are preserved for prompts.
const OTHER_MESSAGE_TYPES: [&str; 9] = [
    "tool",
    "text",
    "system",
    "user",
    "assistant",
    "meta",
    "advisor",
    "error",
    "preset",
];

/// The kind with the name `word`.
pub(super) fn slot_kind_of(word: &str) -> Option<SlotKind> {
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == word)?;
    Some(*kind)
}

/// The name of `kind` in the dialect, if it has one.
pub(super) fn word_for(kind: SlotKind) -> Option<&'static str> {
    let (word, _) = KINDS.iter().find(|(_, known)| *known == kind)?;
    Some(word)
}

/// The names of all kinds.
pub(super) fn kind_words() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(word, _)| *word)
}

/// The names of all types of messages.
pub(super) fn message_types() -> impl Iterator<Item = &'static str> {
    kind_words().chain(["plan"]).chain(OTHER_MESSAGE_TYPES)
}

/// Returns true if messages of the type `word` are only preserved.
fn is_preserved(word: &str) -> bool {
    OTHER_MESSAGE_TYPES.contains(&word)
}

/// Returns true if `item` is a message of a known type.
pub(super) fn is_message(item: &Item) -> bool {
    item.get("type")
        .and_then(Item::as_text)
        .is_some_and(|word| message_types().any(|known| known == &**word))
}
