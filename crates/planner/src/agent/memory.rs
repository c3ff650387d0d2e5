//! Working memory of a loop: the inputs, state and data that calls read and write; and the initial context, messages in
//! the form of the Acts.

use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::check::check_without_inputs;
use planwright_core::plan::{Mode, SlotKind};
use planwright_core::schema::fillable;
use planwright_core::{
    Catalog, CheckContext, Code, Diagnostic, Diagnostics, Lookup, Object, Plan, Schema, Value,
};
use planwright_dialects::acts::Acts;
use planwright_dialects::{ReadOptions, parse_as};
use planwright_engine::RunSummary;
use serde::{Deserialize, Serialize};

/// Inputs, state and data of one scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct MemoryScope {
    #[serde(default)]
    pub(super) input: Option<Value>,
    #[serde(default)]
    pub(super) state: Option<Value>,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

/// The values that calls can read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkingMemory {
    /// Values shared by all instances.
    #[serde(default)]
    pub(super) shared: MemoryScope,
    /// Values of single instances, which take precedence.
    #[serde(default)]
    pub(super) instances: IndexMap<Arc<str>, MemoryScope>,
    /// JSON Schemas by kind of data.
    #[serde(default)]
    pub(super) schemas: Vec<(MemoryKind, Value)>,
    /// True if solutions are shown instead of run.
    #[serde(default)]
    pub(super) is_lazy: bool,
}

/// A kind of data, named as in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MemoryKind {
    Input,
    State,
    Data,
}

impl MemoryKind {
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

impl MemoryScope {
    pub(super) fn get(&self, kind: MemoryKind) -> Option<&Value> {
        match kind {
            MemoryKind::Input => self.input.as_ref(),
            MemoryKind::State => self.state.as_ref(),
            MemoryKind::Data => self.data.as_ref(),
        }
    }

    fn slot(&mut self, kind: MemoryKind) -> &mut Option<Value> {
        match kind {
            MemoryKind::Input => &mut self.input,
            MemoryKind::State => &mut self.state,
            MemoryKind::Data => &mut self.data,
        }
    }

    fn remove(&mut self, kind: MemoryKind, name: &str) {
        if let Some(Value::Object(fields)) = self.slot(kind) {
            let others = fields.iter().filter(|(field, _)| &***field != name);
            let others: Object = others
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            *self.slot(kind) = Some(others.into());
        }
    }

    fn fill(&mut self, kind: MemoryKind, value: &Value) {
        let slot = self.slot(kind);
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

impl WorkingMemory {
    /// Collects the values in the messages around a plan.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut memory = Self {
            is_lazy: plan.mode == Mode::Show,
            ..Self::default()
        };
        // An instance without values exists, too: calls may write to it.
        for instance in &plan.instances {
            memory.instances.entry(Arc::clone(instance)).or_default();
        }
        for content in &plan.contents {
            let Some(kind) = MemoryKind::of(content.kind) else {
                continue;
            };
            let scope = match &content.instance {
                Some(instance) => memory.instances.entry(Arc::clone(instance)).or_default(),
                None => &mut memory.shared,
            };
            scope.fill(kind, &content.value);
        }
        for slot in &plan.slot_schemas {
            if let Some(kind) = MemoryKind::of(slot.kind) {
                memory.schemas.push((kind, slot.schema.clone()));
            }
        }
        memory
    }

    /// Returns the schema of a kind of data, if there is one.
    pub(super) fn schema(&self, wanted: MemoryKind) -> Option<&Value> {
        let mut schemas = self.schemas.iter();
        schemas
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, schema)| schema)
    }

    /// Returns the values as messages.
    pub(super) fn messages(&self) -> Vec<Value> {
        let mut messages = Vec::new();
        for (kind, schema) in &self.schemas {
            messages.push(Value::object([
                ("type", Value::from(kind.as_str())),
                ("schema", schema.clone()),
            ]));
        }
        for kind in MemoryKind::ALL {
            if let Some(value) = self.shared.get(kind) {
                messages.push(message(kind, None, value));
            }
            for (instance, scope) in &self.instances {
                let empty = Value::empty_object();
                // An empty state message still declares the instance.
                let value = scope
                    .get(kind)
                    .or((kind == MemoryKind::State).then_some(&empty));
                if let Some(value) = value {
                    messages.push(message(kind, Some(instance), value));
                }
            }
        }
        messages
    }

    /// Applies the values of a finished run.
    pub(super) fn apply(&mut self, summary: &RunSummary) {
        if self.instances.is_empty() {
            replace(&mut self.shared.state, &summary.state);
            replace(&mut self.shared.data, &summary.data);
            return;
        }
        // With instances, each call writes to the values of its instance.
        for (name, instance) in &mut self.instances {
            if let Some(state) = summary.instances.get(name) {
                replace(&mut instance.state, state);
            }
            if let Some(data) = summary.instance_data.get(name) {
                replace(&mut instance.data, data);
            }
        }
    }

    /// Removes the values that have changed since `before` and violate the schema of their slot. Returns the slot and the violation of
    /// each.
    pub(super) fn remove_invalid_values(&mut self, before: &Self) -> Vec<(String, String)> {
        let schemas = self.schemas.clone();
        let mut schema_violations = Vec::new();
        for (kind, schema) in &schemas {
            let slots = schema.get("properties").and_then(Value::as_object);
            for (name, slot) in slots.into_iter().flatten() {
                let fits = Schema::from_value(fillable(slot, schema));
                let scopes = std::iter::once((None, &mut self.shared));
                let instances = self.instances.iter_mut();
                let instances = instances.map(|(name, scope)| (Some(Arc::clone(name)), scope));
                for (instance, scope) in scopes.chain(instances) {
                    let earlier = match &instance {
                        Some(instance) => before.instances.get(instance),
                        None => Some(&before.shared),
                    };
                    let earlier = earlier.and_then(|scope| scope.get(*kind)?.get(name));
                    let Some(value) = scope.get(*kind).and_then(|all| all.get(name)) else {
                        continue;
                    };
                    // A misfit that was there before is not a fault of this run.
                    if earlier == Some(value) {
                        continue;
                    }
                    let Some(violation) = fits.validate(value).into_iter().next() else {
                        continue;
                    };
                    schema_violations
                        .push((format!("†{}.{name}", kind.as_str()), violation.message));
                    scope.remove(*kind, name);
                }
            }
        }
        schema_violations
    }

    /// Returns the values of a kind as seen by an instance, or by calls without one.
    pub(super) fn view(&self, instance: Option<&Arc<str>>, kind: MemoryKind) -> Value {
        let own = instance.and_then(|name| self.instances.get(name));
        let mut fields = Object::default();
        // Values of the instance come last, so that they override shared ones.
        for scope in [Some(&self.shared), own].into_iter().flatten() {
            for (name, value) in scope
                .get(kind)
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

/// Replaces a value, unless that would create an empty one.
fn replace(slot: &mut Option<Value>, value: &Value) {
    let is_empty = value.as_object().is_none_or(Object::is_empty);
    if slot.is_some() || !is_empty {
        *slot = Some(value.clone());
    }
}

/// Builds a message. The fields stand beside `type` unless one of them has a reserved name.
fn message(kind: MemoryKind, instance: Option<&Arc<str>>, value: &Value) -> Value {
    let mut message = Object::default();
    message.insert("type".into(), Value::from(kind.as_str()));
    if let Some(instance) = instance {
        message.insert("_instance".into(), Value::Text(Arc::clone(instance)));
    }
    let no_fields = Object::default();
    let fields = value.as_object().unwrap_or(&no_fields);
    let is_other = |name: &Arc<str>| {
        name.starts_with('_') || [kind.as_str(), "type", "schema", "kind"].contains(&&**name)
    };
    if fields.keys().any(is_other) {
        message.insert(kind.as_str().into(), value.clone());
    } else {
        message.extend(
            fields
                .iter()
                .map(|(name, value)| (Arc::clone(name), value.clone())),
        );
    }
    message.into()
}

/// The initial context of a loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentContext {
    pub(super) memory: WorkingMemory,
    /// Tools named by messages; `None` stands for all tools.
    pub(super) tools: Option<Vec<Arc<str>>>,
    /// Messages that no call reads: texts and whatever else the model should see.
    pub(super) texts: Vec<Value>,
    /// Calls of an existing plan.
    pub(super) plan: Vec<Value>,
}

/// The errors of an invalid context.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the context cannot be used: {0}")]
pub struct ContextError(pub Diagnostics);

impl AgentContext {
    /// Parses messages. Messages of type `tool` select tools of `catalog`; without any, all tools are available.
    ///
    /// # Errors
    ///
    /// All diagnostics of the messages.
    pub fn read(messages: &[Value], catalog: &Catalog) -> Result<Self, ContextError> {
        // A plan without calls serves as an envelope, so that the dialect of the Acts checks the messages.
        let text = Value::object([
            ("context", Value::from(messages.to_vec())),
            ("calls", Value::list([])),
        ]);
        let options = ReadOptions::new("context");
        let result = parse_as(&Acts, text.to_json().as_bytes(), &options);
        let mut diagnostics = result.diagnostics;
        let plan = result.plan.unwrap_or_default();
        let mut context = Self {
            memory: WorkingMemory::of(&plan),
            ..Self::default()
        };
        // The check of each solution would report the same values again, and the model cannot change them.
        let found = check_without_inputs(plan, &CheckContext::new(catalog));
        // The envelope has no steps on purpose.
        let found = found
            .into_iter()
            .filter(|found| found.code != Code::EmptyPlan);
        diagnostics.extend(found.collect());
        for (index, message) in messages.iter().enumerate() {
            if let Err(mut diagnostic) = context.add(message, catalog) {
                diagnostic.pointer = format!("/context/{index}");
                diagnostics.push(*diagnostic);
            }
        }
        if diagnostics.has_errors() {
            return Err(ContextError(diagnostics));
        }
        Ok(context)
    }

    fn add(&mut self, message: &Value, catalog: &Catalog) -> Result<(), Box<Diagnostic>> {
        match message.get("type").and_then(Value::as_text) {
            // The memory has these already.
            Some("input" | "state" | "data") => {}
            Some("plan") => {
                let calls = message.get("plan").and_then(Value::as_list);
                self.plan = calls.unwrap_or_default().to_vec();
            }
            Some("tool") => {
                let name = tool_name(message);
                let tool = name.map(|name| catalog.find(name));
                let Some(Lookup::Found(tool)) = tool else {
                    let message = match name {
                        Some(name) => format!("there is no tool `{name}`"),
                        None => "the message names no tool".to_owned(),
                    };
                    let diagnostic = Diagnostic::error(Code::UnknownTool, message);
                    return Err(Box::new(
                        diagnostic.help("write it as {\"type\": \"tool\", \"tool\": \"name\"}"),
                    ));
                };
                let tools = self.tools.get_or_insert_default();
                tools.push(tool.qualified_name().into());
            }
            _ => self.texts.push(message.clone()),
        }
        Ok(())
    }
}

/// Returns the tool name in a message, without the `Tool.` prefix of the Acts' examples.
fn tool_name(message: &Value) -> Option<&str> {
    let tool = message.get("tool").or_else(|| message.get("_tool"))?;
    let name = tool.as_text().or_else(|| {
        let name = tool.get("_tool").or_else(|| tool.get("name"))?;
        name.as_text()
    })?;
    Some(name.strip_prefix("Tool.").unwrap_or(name))
}
