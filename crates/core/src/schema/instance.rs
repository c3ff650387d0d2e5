//! The adapter between our values and the `jsonschema` crate. It avoids copies and stops when a budget is spent.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/schemas.md#validation-has-a-budget).

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};

use super::cost::SchemaCost;
use super::equality;
use crate::value::Number;
use crate::{Object as Fields, Value};

/// The number of visits allowed for any value, whatever its size.
const BASE_VISITS: u64 = 1_000_000;

/// Visits allowed for each part of a large value, and for each subschema that applies to a part.
const VISITS_PER_PART: u64 = 1_000;
const VISITS_PER_SUBSCHEMA: u64 = 2;

/// Maximum nesting of subschema evaluations, which bounds the stack.
const MAX_DEPTH: u32 = 2_048;

/// The number of subschemas that cost as much as one visit.
const SUBSCHEMAS_PER_VISIT: u64 = 64;

/// The representation of JSON values for the `jsonschema` crate.
#[derive(Debug)]
pub(super) struct ValueJson;

/// The remaining visits of a validation. Once it is spent, lists and objects appear as scalars, so that the validation
/// ends soon; its result is then meaningless.
#[derive(Debug)]
pub(super) struct ValidationBudget<'a> {
    left: Cell<u64>,
    /// The value, until its size is added to the budget.
    unmeasured: Cell<Option<&'a Value>>,
    is_spent: Cell<bool>,
    /// The cost of visiting a part of a value.
    part_cost: u64,
    /// The visits that each part of the value adds.
    visits_per_part: u64,
    /// Maximum nesting depth of the value.
    max_depth: u32,
}

impl<'a> ValidationBudget<'a> {
    /// Creates a budget for `value` and a schema with `cost`.
    pub(super) fn new(value: &'a Value, cost: SchemaCost) -> Self {
        Self {
            // The size of the value is measured only once the base visits are spent: most validations never need it.
            left: Cell::new(BASE_VISITS),
            unmeasured: Cell::new(Some(value)),
            ..Self::small(BASE_VISITS, cost)
        }
    }

    /// Creates a budget of `visits`, whatever the size of the value.
    pub(super) fn small(visits: u64, cost: SchemaCost) -> Self {
        Self {
            left: Cell::new(visits),
            unmeasured: Cell::new(None),
            is_spent: Cell::new(false),
            part_cost: 1 + cost.subschemas / SUBSCHEMAS_PER_VISIT,
            visits_per_part: VISITS_PER_PART + VISITS_PER_SUBSCHEMA * cost.subschemas,
            max_depth: MAX_DEPTH / cost.height.max(1),
        }
    }

    /// Returns true if the budget was exceeded.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    fn take(&self, visits: u64) -> bool {
        if self.is_spent.get() {
            return false;
        }
        if let Some(left) = self.left.get().checked_sub(visits) {
            self.left.set(left);
            return true;
        }
        // A large value gets visits in proportion to its size.
        if let Some(unmeasured) = self.unmeasured.take() {
            self.left
                .set(self.visits_per_part.saturating_mul(count_parts(unmeasured)));
            return self.take(visits);
        }
        self.is_spent.set(true);
        false
    }

    fn take_part(&self, depth: u32) -> bool {
        // The validator recurses; its stack is bounded by refusing deeper parts.
        if depth > self.max_depth {
            self.is_spent.set(true);
        }
        self.take(self.part_cost)
    }
}

/// Returns the number of values in `unmeasured`, itself included.
fn count_parts(unmeasured: &Value) -> u64 {
    let mut count = 0;
    let mut left = vec![unmeasured];
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

/// A value or a part of one, as the validator visits it.
#[derive(Debug)]
pub(super) struct InstanceNode<'a, T: ?Sized> {
    inner: &'a T,
    depth: u32,
    budget: &'a ValidationBudget<'a>,
}

impl<T: ?Sized> Clone for InstanceNode<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for InstanceNode<'_, T> {}

impl<'a> InstanceNode<'a, Value> {
    /// Creates the node of the whole value.
    pub(super) fn at(value: &'a Value, budget: &'a ValidationBudget<'a>) -> Self {
        Self {
            inner: value,
            depth: 1,
            budget,
        }
    }
}

impl<'a, T: ?Sized> InstanceNode<'a, T> {
    /// Returns the node of `part`, or `None` if the budget is spent.
    fn part(self, part: &'a Value) -> Option<InstanceNode<'a, Value>> {
        let depth = self.depth + 1;
        self.budget.take_part(depth).then_some(InstanceNode {
            inner: part,
            depth,
            budget: self.budget,
        })
    }

    fn with<U: ?Sized>(self, inner: &'a U) -> InstanceNode<'a, U> {
        InstanceNode {
            inner,
            depth: self.depth,
            budget: self.budget,
        }
    }
}

impl Json for ValueJson {
    type Node<'a> = InstanceNode<'a, Value>;
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
        // A field name has no parts.
        let budget = ValidationBudget::small(BASE_VISITS, SchemaCost::LEAF);
        f(InstanceNode::at(buffer, &budget))
    }
}

impl<'a> Node<'a, ValueJson> for InstanceNode<'a, Value> {
    type Object = InstanceNode<'a, Fields>;
    type Array = InstanceNode<'a, [Value]>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Self::Object> {
        let fields = Value::as_object(self.inner)?;
        // A spent budget shows no object, so the validator finds nothing to descend into.
        self.budget.take(1).then_some(self.with(fields))
    }

    fn as_array(&self) -> Option<Self::Array> {
        let items = Value::as_list(self.inner)?;
        self.budget.take(1).then_some(self.with(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        Value::as_text(self.inner).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Self::Number> {
        match self.inner {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        Value::as_bool(self.inner)
    }

    fn is_null(&self) -> bool {
        Value::is_null(self.inner)
    }

    fn json_type(&self) -> JsonType {
        match self.inner {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::Text(_) => JsonType::String,
            Value::List(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &serde_json::Value) -> bool {
        equality::to_serde(self.inner, expected)
    }

    /// Converts for errors of the crate, which are never shown: messages quote our own value. Lists and objects, which
    /// may be large, become `null`.
    fn to_value(&self) -> Cow<'a, serde_json::Value> {
        Cow::Owned(match self.inner {
            Value::List(_) | Value::Object(_) => serde_json::Value::Null,
            scalar => serde_json::Value::from(scalar),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        // The address distinguishes parts, since the value does not move during validation.
        Some(NodeIdentity::new(
            std::ptr::from_ref::<Value>(self.inner).addr(),
        ))
    }
}

impl<'a> Object<'a, ValueJson> for InstanceNode<'a, Fields> {
    type Node = InstanceNode<'a, Value>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Fields::len(self.inner)
    }

    fn get(&self, key: &String) -> Option<InstanceNode<'a, Value>> {
        self.part(Fields::get(self.inner, key.as_str())?)
    }

    fn members(&self) -> Members<'a> {
        Members {
            fields: *self,
            left: self.inner.iter(),
        }
    }
}

impl<'a> Array<'a, ValueJson> for InstanceNode<'a, [Value]> {
    type Node = InstanceNode<'a, Value>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        <[Value]>::len(self.inner)
    }

    fn elements(&self) -> Elements<'a> {
        Elements {
            list: *self,
            left: self.inner.iter(),
        }
    }

    fn is_unique(&self) -> bool {
        equality::all_distinct(self.inner)
    }
}

/// An iterator over the fields of an object.
pub(super) struct Members<'a> {
    fields: InstanceNode<'a, Fields>,
    left: indexmap::map::Iter<'a, Arc<str>, Value>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, InstanceNode<'a, Value>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.left.next()?;
        Some((&**key, self.fields.part(value)?))
    }
}

/// An iterator over the items of a list.
pub(super) struct Elements<'a> {
    list: InstanceNode<'a, [Value]>,
    left: std::slice::Iter<'a, Value>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = InstanceNode<'a, Value>;

    fn next(&mut self) -> Option<Self::Item> {
        self.list.part(self.left.next()?)
    }
}
