//! Inputs, state and data: what calls read, and what is left of it for the next round.

use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::plan::{Mode, SlotKind};
use planwright_core::{Object, Plan, Value};
use planwright_engine::RunSummary;
use serde::{Deserialize, Serialize};

/// Inputs, state and data of one scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Scope {
    #[serde(default)]
    pub(super) input: Option<Value>,
    #[serde(default)]
    pub(super) state: Option<Value>,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

/// Everything that calls read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct World {
    /// What all see.
    #[serde(default)]
    pub(super) shared: Scope,
    /// What single instances see before it.
    #[serde(default)]
    pub(super) instances: IndexMap<Arc<str>, Scope>,
    /// What is meant to be there: a kind and a JSON Schema each.
    #[serde(default)]
    pub(super) schemas: Vec<(Word, Value)>,
    /// Whether solutions are shown and not run.
    #[serde(default)]
    pub(super) is_lazy: bool,
}

/// A kind of data, as messages are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Word {
    Input,
    State,
    Data,
}

impl Word {
    pub(super) const ALL: [Self; 3] = [Self::Input, Self::State, Self::Data];

    pub(super) fn of(kind: SlotKind) -> Option<Self> {
        match kind {
            SlotKind::Inputs => Some(Self::Input),
            SlotKind::State => Some(Self::State),
            SlotKind::Data => Some(Self::Data),
            SlotKind::Vars => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::State => "state",
            Self::Data => "data",
        }
    }
}

impl Scope {
    pub(super) fn get(&self, word: Word) -> Option<&Value> {
        match word {
            Word::Input => self.input.as_ref(),
            Word::State => self.state.as_ref(),
            Word::Data => self.data.as_ref(),
        }
    }

    fn slot(&mut self, word: Word) -> &mut Option<Value> {
        match word {
            Word::Input => &mut self.input,
            Word::State => &mut self.state,
            Word::Data => &mut self.data,
        }
    }

    fn fill(&mut self, word: Word, value: &Value) {
        let slot = self.slot(word);
        let mut fields = slot
            .as_ref()
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for (name, value) in value.as_object().into_iter().flatten() {
            fields.insert(Arc::clone(name), value.clone());
        }
        *slot = Some(fields.into());
    }
}

impl World {
    /// What the messages around a plan say.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut world = Self {
            is_lazy: plan.mode == Mode::Show,
            ..Self::default()
        };
        for instance in &plan.instances {
            world.instances.entry(Arc::clone(instance)).or_default();
        }
        for content in &plan.contents {
            let Some(word) = Word::of(content.kind) else {
                continue;
            };
            let scope = match &content.instance {
                Some(instance) => world.instances.entry(Arc::clone(instance)).or_default(),
                None => &mut world.shared,
            };
            scope.fill(word, &content.value);
        }
        for slot in &plan.slot_schemas {
            if let Some(word) = Word::of(slot.kind) {
                world.schemas.push((word, slot.schema.clone()));
            }
        }
        world
    }

    /// The schema of a kind, where there is one.
    pub(super) fn schema(&self, wanted: Word) -> Option<&Value> {
        let mut schemas = self.schemas.iter();
        schemas
            .find(|(word, _)| *word == wanted)
            .map(|(_, schema)| schema)
    }

    /// What is there, as messages.
    pub(super) fn messages(&self) -> Vec<Value> {
        let mut messages = Vec::new();
        for (word, schema) in &self.schemas {
            messages.push(Value::object([
                ("type", Value::from(word.as_str())),
                ("schema", schema.clone()),
            ]));
        }
        for word in Word::ALL {
            if let Some(value) = self.shared.get(word) {
                messages.push(message(word, None, value));
            }
            for (instance, scope) in &self.instances {
                let empty = Value::empty_object();
                // A message makes the instance, even where nothing is in it.
                let value = scope.get(word).or((word == Word::State).then_some(&empty));
                if let Some(value) = value {
                    messages.push(message(word, Some(instance), value));
                }
            }
        }
        messages
    }

    /// What is there after a run.
    pub(super) fn absorb(&mut self, summary: &RunSummary) {
        if self.instances.is_empty() {
            replace(&mut self.shared.state, &summary.state);
            replace(&mut self.shared.data, &summary.data);
            return;
        }
        for (name, instance) in &mut self.instances {
            if let Some(state) = summary.instances.get(name) {
                replace(&mut instance.state, state);
            }
            if let Some(data) = summary.instance_data.get(name) {
                replace(&mut instance.data, data);
            }
        }
    }

    /// What the calls of one instance read, or those of the only one there is.
    pub(super) fn seen(&self, instance: Option<&Arc<str>>, word: Word) -> Value {
        let own = instance.and_then(|name| self.instances.get(name));
        let mut fields = Object::default();
        for scope in [Some(&self.shared), own].into_iter().flatten() {
            for (name, value) in scope
                .get(word)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                fields.insert(Arc::clone(name), value.clone());
            }
        }
        fields.into()
    }
}

/// Nothing that was not there before is there because it is empty.
fn replace(slot: &mut Option<Value>, value: &Value) {
    let is_empty = value.as_object().is_none_or(Object::is_empty);
    if slot.is_some() || !is_empty {
        *slot = Some(value.clone());
    }
}

/// The fields stand beside `type` where none of them could be taken for something else.
fn message(word: Word, instance: Option<&Arc<str>>, value: &Value) -> Value {
    let mut message = Object::default();
    message.insert("type".into(), Value::from(word.as_str()));
    if let Some(instance) = instance {
        message.insert("_instance".into(), Value::Text(Arc::clone(instance)));
    }
    let no_fields = Object::default();
    let fields = value.as_object().unwrap_or(&no_fields);
    let is_other = |name: &Arc<str>| {
        name.starts_with('_') || [word.as_str(), "type", "schema", "kind"].contains(&&**name)
    };
    if fields.keys().any(is_other) {
        message.insert(word.as_str().into(), value.clone());
    } else {
        message.extend(
            fields
                .iter()
                .map(|(name, value)| (Arc::clone(name), value.clone())),
        );
    }
    message.into()
}
