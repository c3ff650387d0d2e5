//! How the `jsonschema` crate reads our values: in place, without a copy.

use std::borrow::Cow;
use std::sync::Arc;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};

use super::equal;
use crate::value::Number;
use crate::{Object as Fields, Value};

/// Our own representation of JSON.
#[derive(Debug)]
pub(super) struct ValueJson;

impl Json for ValueJson {
    type Node<'a> = &'a Value;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Value,
        string: &str,
        f: impl FnOnce(Self::Node<'_>) -> T,
    ) -> T {
        *buffer = Value::text(string);
        f(buffer)
    }
}

impl<'a> Node<'a, ValueJson> for &'a Value {
    type Object = &'a Fields;
    type Array = &'a [Value];
    type Number = &'a Number;

    fn as_object(&self) -> Option<Self::Object> {
        Value::as_object(self)
    }

    fn as_array(&self) -> Option<Self::Array> {
        Value::as_list(self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        Value::as_text(self).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Self::Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        Value::as_bool(self)
    }

    fn is_null(&self) -> bool {
        Value::is_null(self)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::Text(_) => JsonType::String,
            Value::List(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &serde_json::Value) -> bool {
        equal::to_serde(self, expected)
    }

    /// The crate asks for this only to put it into its errors, which we never show: we look the
    /// part up in our own value. So lists and objects, which may be large, stand there as `null`.
    fn to_value(&self) -> Cow<'a, serde_json::Value> {
        Cow::Owned(match self {
            Value::List(_) | Value::Object(_) => serde_json::Value::Null,
            scalar => serde_json::Value::from(*scalar),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self).addr()))
    }
}

impl<'a> Object<'a, ValueJson> for &'a Fields {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Fields::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Value> {
        Fields::get(self, key.as_str())
    }

    fn members(&self) -> Members<'a> {
        Members(self.iter())
    }
}

impl<'a> Array<'a, ValueJson> for &'a [Value] {
    type Node = &'a Value;
    type ElementsIter = std::slice::Iter<'a, Value>;

    fn len(&self) -> usize {
        <[Value]>::len(self)
    }

    fn elements(&self) -> Self::ElementsIter {
        self.iter()
    }

    fn is_unique(&self) -> bool {
        equal::all_distinct(self)
    }
}

/// The fields of an object, one after the other.
pub(super) struct Members<'a>(indexmap::map::Iter<'a, Arc<str>, Value>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&**key, value))
    }
}
