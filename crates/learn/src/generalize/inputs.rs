//! The inputs of a learned plan.

use std::sync::Arc;

use planwright_core::plan::{Input, InputKind, Read, Reference, Segment, SlotKind, Source};
use planwright_core::{Object, Place, Value};
use planwright_engine::run::contains_mask;

use super::references;

/// An input of a learned plan.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedInput {
    /// The name.
    pub name: Arc<str>,
    /// The value in each trace; `None` if a trace does not use it.
    pub values: Vec<Option<Value>>,
}

impl LearnedInput {
    /// Returns the declaration. The value of a single trace is the default, and an input that not all traces use is optional.
    pub(super) fn declaration(&self) -> Input {
        let is_redacted = self.is_redacted();
        let default = match self.values.as_slice() {
            [Some(only)] if !is_redacted => Some(only.clone()),
            values if values.iter().any(Option::is_none) => Some(Value::Null),
            _ => None,
        };
        let used: Vec<&Value> = self.values.iter().flatten().chain(default.iter()).collect();
        let mut schema = schema_of(&used);
        if is_redacted {
            // The value was a secret, and the type of the mask may be another one.
            schema = Value::object([("writeOnly", Value::from(true))]);
        }
        Input {
            name: Arc::clone(&self.name),
            kind: InputKind::Input,
            schema,
            default,
            place: Place::NOWHERE,
        }
    }

    /// Returns true if a value was redacted in its trace.
    pub(super) fn is_redacted(&self) -> bool {
        self.values.iter().flatten().any(contains_mask)
    }

    pub(super) fn reference(&self) -> Reference {
        let path = vec![Segment::Key(Arc::clone(&self.name))];
        references::of_read(Read::part(Source::Slot(SlotKind::Inputs), path))
    }
}

/// Returns the JSON Schema that all values fit: their types, and those of items that all agree on.
fn schema_of(values: &[&Value]) -> Value {
    let mut types: Vec<&str> = Vec::new();
    for value in values {
        let name = type_of(value);
        if !types.contains(&name) {
            types.push(name);
        }
    }
    if types.contains(&"number") {
        types.retain(|name| *name != "integer");
    }
    let mut schema = Object::default();
    match types.as_slice() {
        [only] => schema.insert("type".into(), (*only).into()),
        several => {
            let names = several.iter().map(|name| Value::from(*name));
            schema.insert("type".into(), Value::list(names))
        }
    };
    let items: Vec<&Value> = values
        .iter()
        .filter_map(|value| value.as_list())
        .flatten()
        .collect();
    if types == ["array"] && !items.is_empty() {
        schema.insert("items".into(), schema_of(&items));
    }
    schema.into()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::Text(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the first of `name`, `name_2`, `name_3` and so on that is not taken.
pub(super) fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(name) {
        return name.to_owned();
    }
    let mut number = 2_usize;
    loop {
        let numbered = format!("{name}_{number}");
        if !is_taken(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

/// Returns a text as a name: letters, digits and `_`, beginning with a letter.
pub(super) fn identifier(text: &str) -> String {
    let mut name: String = text
        .chars()
        .map(|sign| {
            if sign.is_ascii_alphanumeric() {
                sign
            } else {
                '_'
            }
        })
        .collect();
    if !name.starts_with(|sign: char| sign.is_ascii_alphabetic()) {
        name.insert_str(0, "value_");
    }
    name
}
