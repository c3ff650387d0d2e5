//! The definition of a tool: everything that its server states about it, in one canonical form with a digest.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::{Hints, Tool};
use crate::{Object, Value};

impl Tool {
    /// Everything that the server states about the tool, with the identity of the server. Object keys are sorted, so that two
    /// lists that differ in the order of keys give the same definition. What the configuration adds is not part of it.
    pub fn definition(&self) -> Value {
        let text =
            |text: &Option<std::sync::Arc<str>>| text.clone().map_or(Value::Null, Value::Text);
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
    use crate::Schema;

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
