//! The definition of a tool: everything that its server states about it, in one canonical form with a digest.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::server_names::for_models;
use crate::{Object, Schema, Value};

/// One tool of one server.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The server that offers it.
    pub server: Arc<str>,
    /// The identity of that server: how it is reached, as one line. Empty for tools that live in this process.
    pub origin: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// A line for people.
    pub title: Option<Arc<str>>,
    /// What it does, in its server's words.
    pub description: Option<Arc<str>>,
    /// What it takes.
    pub input: Schema,
    /// What it gives; [`Schema::any`] where it does not say.
    pub output: Schema,
    /// What it says about its effects, and what the configuration says in its place.
    pub annotations: Annotations,
    /// The hints that its server states, before any configuration is applied.
    pub hints: Hints,
    /// Whether a person must agree before each call, whatever the annotations say. It is so for a tool of which its server says that it is
    /// destructive, and for a function that was built so.
    pub approval: bool,
    /// Why a person must agree, as one clause, if that is known.
    pub approval_reason: Option<Arc<str>>,
}

/// The annotations that a server states about a tool (`ToolAnnotations` of MCP); `None` for those that it leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

impl Hints {
    /// Whether the server leaves open whether the tool destroys something. MCP takes such a tool for one that may.
    pub fn leave_destruction_open(&self) -> bool {
        self.destructive.is_none() && self.read_only != Some(true)
    }

    /// Whether the server states that the tool may destroy something.
    pub fn states_destructive(&self) -> bool {
        self.destructive == Some(true) && self.read_only != Some(true)
    }

    /// The annotations that follow from the hints, with the defaults of MCP for those that are left out.
    pub fn annotations(&self, trusted: bool) -> Annotations {
        let default = Annotations::default();
        Annotations {
            read_only: self.read_only.unwrap_or(default.read_only),
            destructive: self.destructive.unwrap_or(default.destructive),
            idempotent: self.idempotent.unwrap_or(default.idempotent),
            open_world: self.open_world.unwrap_or(default.open_world),
            trusted,
        }
    }
}

/// What a tool says about its effects, with the defaults of MCP 2026-07-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// A second call with the same arguments does no further harm.
    pub idempotent: bool,
    /// It reaches beyond a closed domain.
    pub open_world: bool,
    /// Whether the server is trusted to say so. Nothing is made easier on the word of one that is not.
    pub trusted: bool,
}

impl Default for Annotations {
    fn default() -> Self {
        Self {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
            trusted: false,
        }
    }
}

impl Tool {
    /// A tool about which nothing but its name is known.
    pub fn new(server: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            server: server.into(),
            origin: Arc::from(""),
            name: name.into(),
            title: None,
            description: None,
            input: Schema::any(),
            output: Schema::any(),
            annotations: Annotations::default(),
            hints: Hints::default(),
            approval: false,
            approval_reason: None,
        }
    }

    /// `server.tool`.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// `server__tool`, of the letters, digits, `_` and `-` that the APIs of models allow in names.
    pub fn model_name(&self) -> String {
        format!("{}__{}", for_models(&self.server), for_models(&self.name))
    }

    /// Whether a second call with the same arguments does no further harm, as far as one may believe it.
    pub fn is_repeatable(&self) -> bool {
        self.annotations.trusted && (self.annotations.read_only || self.annotations.idempotent)
    }

    /// Whether a person must agree before each call: [`approval`](Self::approval).
    pub fn needs_approval(&self) -> bool {
        self.approval
    }
}

impl Tool {
    /// Everything that the server states about the tool, with the identity of the server. Object keys are sorted, so that two
    /// lists that differ in the order of keys give the same definition. What the configuration adds is not part of it.
    pub fn definition(&self) -> Value {
        let text = |text: &Option<Arc<str>>| text.clone().map_or(Value::Null, Value::Text);
        let fields = [
            ("server", Value::Text(self.server.clone())),
            ("origin", Value::Text(self.origin.clone())),
            ("name", Value::Text(self.name.clone())),
            ("title", text(&self.title)),
            ("description", text(&self.description)),
            ("input_schema", sorted(self.input.as_value())),
            ("output_schema", sorted(self.output.as_value())),
            ("annotations", stated(self.hints)),
        ];
        Value::object(fields)
    }

    /// The SHA-256 of the JSON of [`definition`](Self::definition), in hexadecimal digits.
    pub fn definition_digest(&self) -> String {
        hex(&Sha256::digest(self.definition().to_json()))
    }
}

/// The hints that a server states, by their names in MCP.
fn stated(hints: Hints) -> Value {
    let hints = [
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
        ("readOnlyHint", hints.read_only),
    ];
    let stated = hints.into_iter();
    Value::object(stated.filter_map(|(name, hint)| Some((name, Value::Bool(hint?)))))
}

/// `value` with the keys of all its objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::list(items.iter().map(sorted)),
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let sorted: Object = entries
                .into_iter()
                .map(|(key, field)| (key.clone(), sorted(field)))
                .collect();
            Value::from(sorted)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => value.clone(),
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        let schema = r#"{"type": "object", "properties": {"b": {"type": "string"}, "a": {}}}"#;
        Tool {
            origin: "node server.js".into(),
            description: Some("Pays.".into()),
            input: Schema::from_value(Value::from_json(schema).unwrap()),
            hints: Hints {
                destructive: Some(true),
                ..Hints::default()
            },
            ..Tool::new("bank", "pay")
        }
    }

    #[test]
    fn a_definition_has_all_that_the_server_states() {
        assert_eq!(
            tool().definition().to_json(),
            r#"{"server":"bank","origin":"node server.js","name":"pay","title":null,"description":"Pays.","input_schema":{"properties":{"a":{},"b":{"type":"string"}},"type":"object"},"output_schema":{},"annotations":{"destructiveHint":true}}"#
        );
    }

    #[test]
    fn every_part_of_a_definition_changes_its_digest() {
        let schema = |text: &str| Schema::from_value(Value::from_json(text).unwrap());
        let changes: [fn(&mut Tool); 8] = [
            |tool| tool.server = "b".into(),
            |tool| tool.origin = "b".into(),
            |tool| tool.name = "b".into(),
            |tool| tool.title = Some("b".into()),
            |tool| tool.description = None,
            |tool| tool.hints.destructive = None,
            |tool| tool.hints.destructive = Some(false),
            |tool| tool.hints.read_only = Some(true),
        ];
        let mut digests = vec![tool().definition_digest()];
        for change in changes {
            let mut changed = tool();
            change(&mut changed);
            digests.push(changed.definition_digest());
        }
        for text in [r#"{"type": "object"}"#, r#"{"type": "array"}"#] {
            let mut changed = tool();
            changed.input = schema(text);
            digests.push(changed.definition_digest());
            changed.output = schema(text);
            digests.push(changed.definition_digest());
        }
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }

    #[test]
    fn the_order_of_keys_and_the_configuration_do_not_count() {
        let schema = r#"{"properties": {"a": {}, "b": {"type": "string"}}, "type": "object"}"#;
        let mut other = tool();
        other.input = Schema::from_value(Value::from_json(schema).unwrap());
        other.approval = true;
        other.annotations.trusted = true;
        assert_eq!(other.definition_digest(), tool().definition_digest());
    }
}
