//! JSON values that are cheap to share: cloning one copies a pointer, never its content.

use std::fmt;
use std::sync::Arc;

use super::{Number, number, unique_keys};
use indexmap::IndexMap;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The fields of an object, in source order.
pub type Object = IndexMap<Arc<str>, Value, Hashing>;

/// The hasher for keys of objects, ids of steps and other names: fast, and seeded so that outsiders cannot predict
/// collisions.
pub type Hashing = foldhash::fast::RandomState;

/// A JSON value whose text, lists and objects are shared between its clones.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`, which is a value and not an absence.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, stored exactly if 64 bits can represent it.
    Number(Number),
    /// Text.
    Text(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// An object.
    Object(Arc<Object>),
}

impl Value {
    /// Creates a text value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a list of `items`.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// Creates an object with `fields`, in their order; the last of several fields with the same name wins.
    pub fn object<K: Into<Arc<str>>>(fields: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Object(Arc::new(
            fields
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        ))
    }

    /// Creates an object without fields.
    pub fn empty_object() -> Self {
        Self::Object(Arc::new(Object::default()))
    }

    /// Returns the word that messages use for this kind of value.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "text",
            Self::List(_) => "list",
            Self::Object(_) => "object",
        }
    }

    /// Returns the text if this is a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the number if this is a non-negative integer.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns the number if this is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// Returns the items if this is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the fields if this is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// Returns the field `key` if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object().and_then(|fields| fields.get(key))
    }

    /// Returns true if lists and objects are nested deeper than `levels`, or if all texts and names, plus 64 bytes for
    /// each part, take more than `bytes`. Shared parts count in every place. The traversal stops at the limits.
    pub fn exceeds(&self, levels: usize, bytes: usize) -> bool {
        let mut left = bytes;
        !self.fits(levels, &mut left)
    }

    fn fits(&self, levels: usize, left: &mut usize) -> bool {
        let mut take = |bytes: usize| {
            let rest = left.checked_sub(bytes + 64);
            *left = rest.unwrap_or(0);
            rest.is_some()
        };
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => take(0),
            Self::Text(text) => take(text.len()),
            // The depth is tested before the parts, so the recursion is never deeper than the limit.
            Self::List(items) => {
                take(0) && levels > 0 && items.iter().all(|item| item.fits(levels - 1, left))
            }
            Self::Object(fields) => {
                let names = fields.keys().map(|key| key.len()).sum();
                take(names)
                    && levels > 0
                    && fields.values().all(|value| value.fits(levels - 1, left))
            }
        }
    }

    /// Returns true if this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the value as compact JSON.
    pub fn to_json(&self) -> String {
        // Writing to a `String` cannot fail, and keys are always text.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the value as inserted into a text: text as it is, any other value as compact JSON.
    pub fn to_inserted_text(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            other => other.to_json(),
        }
    }

    /// Parses one JSON value.
    ///
    /// # Errors
    ///
    /// Returns the parser's error if `text` is not JSON, and an error that names a number beyond 64 bits, which would
    /// otherwise be rounded.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let value = Self::from_tool_json(text)?;
        if let Some(number) = number::first_inexact_number(text) {
            let reason = format!("the number `{number}` does not fit into 64 bits");
            return Err(serde::de::Error::custom(reason));
        }
        Ok(value)
    }

    /// Parses one JSON value that a person has written.
    ///
    /// # Errors
    ///
    /// Those of [`from_json`](Self::from_json), and an error that names a key which an object has twice: it is unknown which of the
    /// two values is meant.
    pub fn from_written_json(text: &str) -> Result<Self, serde_json::Error> {
        let value = Self::from_json(text)?;
        unique_keys::check(text)?;
        Ok(value)
    }

    /// Parses one JSON value of another program. A decimal with more digits than a double has becomes the nearest double,
    /// since many programs write such digits.
    ///
    /// # Errors
    ///
    /// Returns the parser's error if `text` is not JSON, and an error that names an integer beyond 64 bits, which would
    /// otherwise be rounded.
    pub fn from_tool_json(text: &str) -> Result<Self, serde_json::Error> {
        // The parser would turn the integer into a double without an error.
        if let Some(number) = number::oversized_integer(text.as_bytes()) {
            let reason = format!("the number `{number}` does not fit into 64 bits");
            return Err(serde::de::Error::custom(reason));
        }
        serde_json::from_str(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::text(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::text(value)
    }
}

impl From<Arc<str>> for Value {
    fn from(value: Arc<str>) -> Self {
        Self::Text(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Number(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<f64> for Value {
    /// Converts to `null` if the number is not finite, as `serde_json` does.
    fn from(value: f64) -> Self {
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(Arc::new(items))
    }
}

impl From<Object> for Value {
    fn from(fields: Object) -> Self {
        Self::Object(Arc::new(fields))
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => Self::Number(number),
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(items) => Self::list(items.into_iter().map(Value::from)),
            serde_json::Value::Object(fields) => Self::object(
                fields
                    .into_iter()
                    .map(|(key, value)| (key, Value::from(value))),
            ),
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::Text(text) => Self::String(text.to_string()),
            Value::List(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(fields) => Self::Object(
                fields
                    .iter()
                    .map(|(key, value)| (key.to_string(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

impl From<Value> for serde_json::Value {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items.iter()),
            Self::Object(fields) => serializer.collect_map(fields.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        // The hint comes from the input, which must not choose the allocation.
        let mut items = Vec::with_capacity(access.size_hint().unwrap_or(0).min(1024));
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Object::default();
        while let Some((key, value)) = access.next_entry::<String, Value>()? {
            fields.insert(key.into(), value);
        }
        Ok(fields.into())
    }
}
