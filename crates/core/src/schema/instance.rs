//! How the `jsonschema` crate reads our values: in place, without a copy, and not for longer than anybody has time for.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};

use super::cost::Unfolding;
use super::equality;
use crate::value::Number;
use crate::{Object as Fields, Value};

/// How often a value is looked at before its size counts.
const LOOKS: u64 = 1_000_000;

/// How often each of its parts may be looked at besides, and how often for each subschema that has to be looked at there.
const LOOKS_AT_PART: u64 = 1_000;
const LOOKS_FOR_SUBSCHEMA: u64 = 2;

/// How many subschemas may be looked at inside of one another: more would not fit on the stack.
const DEEPEST: u32 = 2_048;

/// So many subschemas for one value cost as much as a look at it.
const SUBSCHEMAS_PER_LOOK: u64 = 64;

/// Our own representation of JSON.
#[derive(Debug)]
pub(super) struct ValueJson;

/// How much may still be looked at. Once nothing may, lists and objects look as if they were none: nothing goes deeper then, and
/// it ends. What was found until then says nothing.
#[derive(Debug)]
pub(super) struct Budget<'a> {
    left: Cell<u64>,
    /// The value, while its size does not count yet.
    whole: Cell<Option<&'a Value>>,
    is_spent: Cell<bool>,
    /// What it takes to go on with a part of a value.
    for_part: u64,
    /// What there is besides for each part.
    besides: u64,
    /// How deep a value may be.
    deepest: u32,
}

impl<'a> Budget<'a> {
    /// For `value` and a schema that takes that much.
    pub(super) fn new(value: &'a Value, unfolding: Unfolding) -> Self {
        Self {
            left: Cell::new(LOOKS),
            whole: Cell::new(Some(value)),
            ..Self::small(LOOKS, unfolding)
        }
    }

    /// For so many looks, however large the value is.
    pub(super) fn small(looks: u64, unfolding: Unfolding) -> Self {
        Self {
            left: Cell::new(looks),
            whole: Cell::new(None),
            is_spent: Cell::new(false),
            for_part: 1 + unfolding.subschemas / SUBSCHEMAS_PER_LOOK,
            besides: LOOKS_AT_PART + LOOKS_FOR_SUBSCHEMA * unfolding.subschemas,
            deepest: DEEPEST / unfolding.height.max(1),
        }
    }

    /// Whether it was not enough.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    fn take(&self, looks: u64) -> bool {
        if self.is_spent.get() {
            return false;
        }
        if let Some(left) = self.left.get().checked_sub(looks) {
            self.left.set(left);
            return true;
        }
        if let Some(whole) = self.whole.take() {
            self.left.set(self.besides.saturating_mul(parts_of(whole)));
            return self.take(looks);
        }
        self.is_spent.set(true);
        false
    }

    fn take_part(&self, depth: u32) -> bool {
        if depth > self.deepest {
            self.is_spent.set(true);
        }
        self.take(self.for_part)
    }
}

/// How many values there are in `whole`, itself included.
fn parts_of(whole: &Value) -> u64 {
    let mut count = 0;
    let mut left = vec![whole];
    while let Some(value) = left.pop() {
        count += 1;
        match value {
            Value::List(items) => left.extend(items.iter()),
            Value::Object(fields) => left.extend(fields.values()),
            _ => {}
        }
    }
    count
}

/// A value, or a part of one, that is looked at.
#[derive(Debug)]
pub(super) struct Looked<'a, T: ?Sized> {
    it: &'a T,
    depth: u32,
    budget: &'a Budget<'a>,
}

impl<T: ?Sized> Clone for Looked<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Looked<'_, T> {}

impl<'a> Looked<'a, Value> {
    /// The whole value.
    pub(super) fn at(value: &'a Value, budget: &'a Budget<'a>) -> Self {
        Self {
            it: value,
            depth: 1,
            budget,
        }
    }
}

impl<'a, T: ?Sized> Looked<'a, T> {
    /// `part` of it, as far as there is time for that.
    fn part(self, part: &'a Value) -> Option<Looked<'a, Value>> {
        let depth = self.depth + 1;
        self.budget.take_part(depth).then_some(Looked {
            it: part,
            depth,
            budget: self.budget,
        })
    }

    fn with<U: ?Sized>(self, it: &'a U) -> Looked<'a, U> {
        Looked {
            it,
            depth: self.depth,
            budget: self.budget,
        }
    }
}

impl Json for ValueJson {
    type Node<'a> = Looked<'a, Value>;
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
        // Nothing is inside of a name.
        let budget = Budget::small(LOOKS, Unfolding::LEAF);
        f(Looked::at(buffer, &budget))
    }
}

impl<'a> Node<'a, ValueJson> for Looked<'a, Value> {
    type Object = Looked<'a, Fields>;
    type Array = Looked<'a, [Value]>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Self::Object> {
        let fields = Value::as_object(self.it)?;
        self.budget.take(1).then_some(self.with(fields))
    }

    fn as_array(&self) -> Option<Self::Array> {
        let items = Value::as_list(self.it)?;
        self.budget.take(1).then_some(self.with(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        Value::as_text(self.it).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Self::Number> {
        match self.it {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        Value::as_bool(self.it)
    }

    fn is_null(&self) -> bool {
        Value::is_null(self.it)
    }

    fn json_type(&self) -> JsonType {
        match self.it {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::Text(_) => JsonType::String,
            Value::List(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &serde_json::Value) -> bool {
        equality::to_serde(self.it, expected)
    }

    /// The crate asks for this only to put it into its errors, which we never show: we look the
    /// part up in our own value. So lists and objects, which may be large, stand there as `null`.
    fn to_value(&self) -> Cow<'a, serde_json::Value> {
        Cow::Owned(match self.it {
            Value::List(_) | Value::Object(_) => serde_json::Value::Null,
            scalar => serde_json::Value::from(scalar),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(
            std::ptr::from_ref::<Value>(self.it).addr(),
        ))
    }
}

impl<'a> Object<'a, ValueJson> for Looked<'a, Fields> {
    type Node = Looked<'a, Value>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Fields::len(self.it)
    }

    fn get(&self, key: &String) -> Option<Looked<'a, Value>> {
        self.part(Fields::get(self.it, key.as_str())?)
    }

    fn members(&self) -> Members<'a> {
        Members {
            fields: *self,
            left: self.it.iter(),
        }
    }
}

impl<'a> Array<'a, ValueJson> for Looked<'a, [Value]> {
    type Node = Looked<'a, Value>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        <[Value]>::len(self.it)
    }

    fn elements(&self) -> Elements<'a> {
        Elements {
            list: *self,
            left: self.it.iter(),
        }
    }

    fn is_unique(&self) -> bool {
        equality::all_distinct(self.it)
    }
}

/// The fields of an object, one after the other.
pub(super) struct Members<'a> {
    fields: Looked<'a, Fields>,
    left: indexmap::map::Iter<'a, Arc<str>, Value>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Looked<'a, Value>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.left.next()?;
        Some((&**key, self.fields.part(value)?))
    }
}

/// The items of a list, one after the other.
pub(super) struct Elements<'a> {
    list: Looked<'a, [Value]>,
    left: std::slice::Iter<'a, Value>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Looked<'a, Value>;

    fn next(&mut self) -> Option<Self::Item> {
        self.list.part(self.left.next()?)
    }
}
