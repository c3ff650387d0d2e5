//! The names of the dialect: step ids, instances, kinds of data, types of messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexSet;
use planwright_core::plan::{Name, SlotKind};
use planwright_core::{Code, Diagnostic, StepId};

use crate::document::{DiagnosticSink, Item, nearest, quote};

/// The instances in the order in which they appear.
pub(super) type Instances = IndexSet<Arc<str>>;

/// The number of instances that are compared with a misspelt one: comparing all would cost their number times the
/// number of faults.
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
        "`_instance` on `state` and `input` messages makes instances, and there is none".to_owned()
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
pub(super) const KINDS: [(&str, SlotKind); 3] = [
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

/// The name of `kind`, if the dialect has it.
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
pub(super) fn is_preserved(word: &str) -> bool {
    OTHER_MESSAGE_TYPES.contains(&word)
}

/// Returns true if `item` is a message of a known type.
pub(super) fn is_message(item: &Item) -> bool {
    item.get("type")
        .and_then(Item::as_text)
        .is_some_and(|word| message_types().any(|known| known == &**word))
}
