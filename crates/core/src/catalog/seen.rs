//! The structure of the answers that a tool gave so far, for tools that declare no output schema: names and types with counts, and no
//! values.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::schema::{Additional, ObjectType, Property, Type};
use crate::text::is_visible;
use crate::{Hashing, Object, Value};

/// The maximum number of fields of one object that are distinguished. An object with more is a table with keys that are data.
const MAX_FIELDS: usize = 48;

/// The maximum depth of the structure.
const MAX_DEPTH: usize = 8;

/// The maximum number of parts of the whole structure.
const MAX_PARTS: usize = 400;

/// The maximum number of values of one answer that are inspected.
const MAX_VALUES: usize = 20_000;

/// The maximum length of the name of a field, in bytes.
const MAX_NAME: usize = 64;

/// The maximum number of parts of a sample.
const MAX_SAMPLE_PARTS: usize = 60;

/// The answers that a tool gave so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenAnswers {
    /// The number of answers.
    pub calls: u64,
    /// Structure of the answers.
    pub shape: SeenShape,
    /// The latest answer with each value replaced by its type and length, such as `text(12)`.
    pub sample: Value,
}

/// The structure of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenShape {
    /// The number of values of each [kind](KINDS).
    kinds: [u64; KINDS.len()],
    fields: IndexMap<Arc<str>, SeenShape, Hashing>,
    items: Option<Box<SeenShape>>,
    /// True if there may be parts that are not listed.
    is_open: bool,
    /// True if the objects are tables: their keys are data.
    is_table: bool,
}

/// The kinds of values, as they are stored.
const KINDS: [&str; 7] = [
    "null", "boolean", "integer", "number", "text", "list", "object",
];

const NULL: usize = 0;
const LIST: usize = 5;
const OBJECT: usize = 6;

impl SeenAnswers {
    /// Adds one answer.
    pub fn add(&mut self, answer: &Value) {
        self.calls = self.calls.saturating_add(1);
        let mut budget = Budget {
            parts: MAX_PARTS.saturating_sub(self.shape.parts()),
            values: MAX_VALUES,
        };
        self.shape.add(answer, 0, &mut budget);
        let mut parts = MAX_SAMPLE_PARTS;
        self.sample = mask(answer, 0, &mut parts);
    }

    /// Adds the answers of `later`.
    pub fn merge(&mut self, later: &Self) {
        self.calls = self.calls.saturating_add(later.calls);
        let mut budget = Budget {
            parts: MAX_PARTS.saturating_sub(self.shape.parts()),
            values: usize::MAX,
        };
        self.shape.merge(&later.shape, &mut budget);
        if later.calls > 0 {
            self.sample = later.sample.clone();
        }
    }

    /// Returns the type of the answers. It lists the fields that occurred, and does not exclude others.
    pub fn answer_type(&self) -> Type {
        self.shape.value_type()
    }

    /// Returns a JSON Schema of the answers. A field is required if each answer had it.
    pub fn schema(&self) -> Value {
        self.shape.schema()
    }

    /// Returns each field of the answers with the number of answers that had it, if they are objects.
    pub fn fields(&self) -> impl Iterator<Item = (&Arc<str>, u64)> {
        let fields = self.shape.fields.iter();
        fields.map(|(name, shape)| (name, shape.count()))
    }

    /// Returns the answers as a value to store.
    pub fn to_value(&self) -> Value {
        Value::object([
            ("calls", number(self.calls)),
            ("shape", self.shape.to_value()),
            ("sample", self.sample.clone()),
        ])
    }

    /// Reads a value that [`to_value`](Self::to_value) returned; `None` if it is not one.
    pub fn from_value(value: &Value) -> Option<Self> {
        Some(Self {
            calls: count(value.get("calls")?)?,
            shape: SeenShape::from_value(value.get("shape")?, 0)?,
            sample: value.get("sample")?.clone(),
        })
    }
}

/// The remaining size of a structure, and the number of values that may still be inspected.
struct Budget {
    parts: usize,
    values: usize,
}

impl SeenShape {
    fn count(&self) -> u64 {
        self.kinds
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    fn parts(&self) -> usize {
        let items = self.items.as_deref().into_iter();
        1 + self
            .fields
            .values()
            .chain(items)
            .map(Self::parts)
            .sum::<usize>()
    }

    fn add(&mut self, value: &Value, depth: usize, budget: &mut Budget) {
        budget.values = budget.values.saturating_sub(1);
        let kind = match value {
            Value::Null => NULL,
            Value::Bool(_) => 1,
            Value::Number(number) if is_integer(number) => 2,
            Value::Number(_) => 3,
            Value::Text(_) => 4,
            Value::List(_) => LIST,
            Value::Object(_) => OBJECT,
        };
        if let Some(count) = self.kinds.get_mut(kind) {
            *count = count.saturating_add(1);
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
            Value::List(items) => {
                for item in items.iter() {
                    if budget.values == 0 {
                        self.is_open = true;
                        break;
                    }
                    match self.items_mut(depth, budget) {
                        Some(shape) => shape.add(item, depth + 1, budget),
                        None => break,
                    }
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields.iter() {
                    if budget.values == 0 {
                        self.is_open = true;
                        break;
                    }
                    if let Some(shape) = self.field_mut(name, depth, budget) {
                        shape.add(field, depth + 1, budget);
                    }
                }
            }
        }
    }

    fn merge(&mut self, later: &Self, budget: &mut Budget) {
        self.merge_at(later, 0, budget);
    }

    fn merge_at(&mut self, later: &Self, depth: usize, budget: &mut Budget) {
        for (count, more) in self.kinds.iter_mut().zip(later.kinds) {
            *count = count.saturating_add(more);
        }
        self.is_open |= later.is_open;
        if later.is_table {
            self.set_table();
        }
        if let Some(items) = &later.items
            && let Some(shape) = self.items_mut(depth, budget)
        {
            shape.merge_at(items, depth + 1, budget);
        }
        for (name, field) in &later.fields {
            if let Some(shape) = self.field_mut(name, depth, budget) {
                shape.merge_at(field, depth + 1, budget);
            }
        }
    }

    /// Removes the keys, which are data.
    fn set_table(&mut self) {
        self.fields.clear();
        self.is_table = true;
        self.is_open = true;
    }

    /// Returns the structure of the items, unless it would be too large.
    fn items_mut(&mut self, depth: usize, budget: &mut Budget) -> Option<&mut Self> {
        if self.items.is_none() {
            if depth >= MAX_DEPTH || budget.parts == 0 {
                self.is_open = true;
                return None;
            }
            budget.parts -= 1;
        }
        Some(self.items.get_or_insert_default())
    }

    /// Returns the structure of a field, unless it would be too large, or the name looks like data.
    fn field_mut(
        &mut self,
        name: &Arc<str>,
        depth: usize,
        budget: &mut Budget,
    ) -> Option<&mut Self> {
        if !self.fields.contains_key(name) {
            if self.fields.len() >= MAX_FIELDS {
                self.set_table();
            }
            if self.is_table || depth >= MAX_DEPTH || budget.parts == 0 || !is_name(name) {
                self.is_open = true;
                return None;
            }
            budget.parts -= 1;
        }
        Some(self.fields.entry(Arc::clone(name)).or_default())
    }

    fn value_type(&self) -> Type {
        let [_, booleans, integers, numbers, texts, lists, objects] = self.kinds;
        let mut members = Vec::new();
        let mut add = |count: u64, shape: fn() -> Type| {
            if count > 0 {
                members.push(shape());
            }
        };
        add(booleans, || Type::Boolean);
        add(integers, || Type::Integer);
        add(numbers, || Type::Number);
        add(texts, || Type::Text);
        if lists > 0 {
            // Items that were not inspected may have any type.
            let items = self.items.as_ref().filter(|_| !self.is_open);
            members.push(Type::list_of(
                items.map_or(Type::Any, |items| items.value_type()),
            ));
        }
        if objects > 0 {
            members.push(Type::Object(Arc::new(ObjectType {
                properties: self
                    .fields
                    .iter()
                    .map(|(name, field)| {
                        let property = Property {
                            shape: field.value_type(),
                            required: field.count() >= objects,
                        };
                        (Arc::clone(name), property)
                    })
                    .collect(),
                additional: if self.is_open {
                    Additional::Open(Type::Any)
                } else {
                    Additional::Unspecified
                },
            })));
        }
        if members.is_empty() {
            // If only `null` occurred, later values may have any type.
            Type::Any
        } else {
            Type::union(members)
        }
    }

    fn schema(&self) -> Value {
        let names = KINDS.iter().zip(self.kinds).filter(|(_, count)| *count > 0);
        let names = names.map(|(kind, _)| {
            Value::from(match *kind {
                "text" => "string",
                "list" => "array",
                other => other,
            })
        });
        let mut names: Vec<Value> = names.collect();
        let mut schema = Object::default();
        match names.len() {
            0 => {}
            1 => {
                schema.insert("type".into(), names.remove(0));
            }
            _ => {
                schema.insert("type".into(), Value::list(names));
            }
        }
        if let Some(items) = &self.items {
            schema.insert("items".into(), items.schema());
        }
        if !self.fields.is_empty() {
            let fields = self.fields.iter();
            let properties: Object = fields
                .map(|(name, field)| (Arc::clone(name), field.schema()))
                .collect();
            schema.insert("properties".into(), properties.into());
            let [.., objects] = self.kinds;
            let required = self
                .fields
                .iter()
                .filter(|(_, field)| field.count() >= objects);
            let required = required.map(|(name, _)| Value::Text(Arc::clone(name)));
            schema.insert("required".into(), Value::list(required));
        }
        schema.into()
    }

    fn to_value(&self) -> Value {
        let mut stored = Object::default();
        for (kind, count) in KINDS.iter().zip(self.kinds) {
            if count > 0 {
                stored.insert((*kind).into(), number(count));
            }
        }
        if !self.fields.is_empty() {
            let fields = self.fields.iter();
            let fields: Object = fields
                .map(|(name, field)| (Arc::clone(name), field.to_value()))
                .collect();
            stored.insert("fields".into(), fields.into());
        }
        if let Some(items) = &self.items {
            stored.insert("items".into(), items.to_value());
        }
        if self.is_open {
            stored.insert("open".into(), Value::from(true));
        }
        if self.is_table {
            stored.insert("table".into(), Value::from(true));
        }
        stored.into()
    }

    fn from_value(value: &Value, depth: usize) -> Option<Self> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut shape = Self::default();
        for (kind, slot) in KINDS.iter().zip(&mut shape.kinds) {
            if let Some(stored) = value.get(kind) {
                *slot = count(stored)?;
            }
        }
        if let Some(fields) = value.get("fields") {
            for (name, field) in fields.as_object()? {
                let field = Self::from_value(field, depth + 1)?;
                shape.fields.insert(Arc::clone(name), field);
            }
        }
        if let Some(items) = value.get("items") {
            shape.items = Some(Box::new(Self::from_value(items, depth + 1)?));
        }
        shape.is_open = value.get("open").is_some();
        shape.is_table = value.get("table").is_some();
        Some(shape)
    }
}

/// Returns true if a key of an object is the name of a field and no data, such as the number of an order or an address.
fn is_name(key: &str) -> bool {
    let is_sign = |character: char| character.is_alphanumeric() || "_-.$@:".contains(character);
    let mut characters = key.chars();
    let first = characters.next();
    key.len() <= MAX_NAME
        && first.is_some_and(|first| first.is_alphabetic() || "_$@".contains(first))
        && characters.all(|character| is_sign(character) && character != '@')
        && is_visible(key)
}

fn is_integer(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64()
}

fn number(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

fn count(value: &Value) -> Option<u64> {
    value.as_u64()
}

/// Returns `value` with each part that is data replaced by its type and length, for at most `parts` parts.
fn mask(value: &Value, depth: usize, parts: &mut usize) -> Value {
    let word = |kind: &str, length: usize| Value::from(format!("{kind}({length})"));
    *parts = parts.saturating_sub(1);
    let is_full = depth >= MAX_DEPTH || *parts == 0;
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => Value::from("boolean"),
        Value::Number(number) if is_integer(number) => Value::from("integer"),
        Value::Number(_) => Value::from("number"),
        Value::Text(text) => word("text", text.chars().count()),
        Value::List(items) if is_full => word("list", items.len()),
        Value::Object(fields) if is_full => word("object", fields.len()),
        Value::List(items) => {
            let first = items.iter().take(1);
            let mut shown: Vec<Value> = first.map(|item| mask(item, depth + 1, parts)).collect();
            if items.len() > 1 {
                shown.push(Value::from(format!("{} items", items.len())));
            }
            Value::list(shown)
        }
        Value::Object(fields) => {
            let is_table = fields.len() > MAX_FIELDS;
            let mut shown = Object::default();
            for (name, field) in fields.iter().filter(|_| !is_table) {
                if *parts > 0 && is_name(name) {
                    shown.insert(Arc::clone(name), mask(field, depth + 1, parts));
                }
            }
            let more = fields.len() - shown.len();
            if more > 0 {
                shown.insert("…".into(), Value::from(format!("{more} fields")));
            }
            shown.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Segment;
    use crate::schema::PathLookup;

    fn value(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn seen(answers: &[&str]) -> SeenAnswers {
        let mut seen = SeenAnswers::default();
        for answer in answers {
            seen.add(&value(answer));
        }
        seen
    }

    fn look_up(seen: &SeenAnswers, path: &[&str]) -> &'static str {
        let path: Vec<Segment> = path
            .iter()
            .map(|part| match *part {
                "*" => Segment::Each,
                key => Segment::Key(key.into()),
            })
            .collect();
        match seen.answer_type().at(&path) {
            PathLookup::Found(_) => "found",
            PathLookup::Impossible { .. } => "impossible",
            PathLookup::Unlisted { .. } => "unlisted",
            PathLookup::Unknown => "unknown",
        }
    }

    #[test]
    fn fields_are_counted_without_values() {
        let seen = seen(&[
            r#"{"id": 7, "who": "Ann", "tags": [{"a": 1}, {"b": "x"}]}"#,
            r#"{"id": 8, "who": null, "note": 1.5}"#,
        ]);
        assert_eq!(seen.calls, 2);
        let fields: Vec<(&str, u64)> = seen
            .fields()
            .map(|(name, count)| (&**name, count))
            .collect();
        assert_eq!(fields, [("id", 2), ("who", 2), ("tags", 1), ("note", 1)]);
        assert_eq!(
            seen.schema().to_json(),
            r#"{"type":"object","properties":{"id":{"type":"integer"},"who":{"type":["null","string"]},"tags":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":[]}},"note":{"type":"number"}},"required":["id","who"]}"#
        );
        assert_eq!(
            seen.sample.to_json(),
            r#"{"id":"integer","who":null,"note":"number"}"#
        );
        let stored = seen.to_value().to_json();
        for data in ["Ann", "7", "8", "1.5"] {
            assert!(!stored.contains(data), "{stored}");
        }
        assert_eq!(SeenAnswers::from_value(&value(&stored)), Some(seen));
    }

    #[test]
    fn only_fields_of_no_answer_are_unlisted() {
        let seen = seen(&[r#"{"rows": [{"a": {"b": 1}}, {"c": null}], "text": "x", "none": []}"#]);
        let cases: [(&[&str], &str); 9] = [
            (&["rows"], "found"),
            (&["rows", "*", "a", "b"], "found"),
            (&["rows", "*", "d"], "unlisted"),
            (&["rows", "0", "d"], "unlisted"),
            (&["rows", "*", "a", "x"], "unlisted"),
            (&["text", "x"], "impossible"),
            (&["other"], "unlisted"),
            // Nothing but `null` and an empty list was seen there.
            (&["rows", "*", "c", "x"], "unknown"),
            (&["none", "*", "x"], "unknown"),
        ];
        for (path, expected) in cases {
            assert_eq!(look_up(&seen, path), expected, "{path:?}");
        }
    }

    #[test]
    fn keys_that_are_data_are_not_stored() {
        let table: Object = (0..60)
            .map(|index| (Arc::from(format!("user{index}")), Value::from(index)))
            .collect();
        let mut many = SeenAnswers::default();
        many.add(&Value::from(table));
        assert_eq!(many.fields().count(), 0);
        assert_eq!(look_up(&many, &["user1"]), "found");
        let odd = seen(&[
            r#"{"ann@example.com": 1, "4711": 2, "a key with blanks": 3, "a\u200bb": 4, "name": 5}"#,
        ]);
        let fields: Vec<&str> = odd.fields().map(|(name, _)| &**name).collect();
        assert_eq!(fields, ["name"]);
        assert_eq!(look_up(&odd, &["other"]), "found");
        assert_eq!(odd.sample.to_json(), r#"{"name":"integer","…":"4 fields"}"#);
    }

    #[test]
    fn the_structure_is_bounded() {
        let mut deep = Value::from(1);
        for _ in 0..50 {
            deep = Value::object([("x", deep)]);
        }
        let mut seen = SeenAnswers::default();
        seen.add(&deep);
        for index in 0..100 {
            let wide: Object = (0..40)
                .map(|field| (Arc::from(format!("f{index}_{field}")), Value::from(1)))
                .collect();
            seen.add(&Value::list([Value::from(wide)]));
        }
        let parts = seen.shape.parts();
        assert!(parts <= MAX_PARTS + 1, "{parts}");
        let other = seen.clone();
        seen.merge(&other);
        assert_eq!(seen.calls, 202);
        assert!(seen.shape.parts() <= MAX_PARTS + 1);
        let long = Value::list((0..30_000).map(Value::from));
        let mut seen = SeenAnswers::default();
        seen.add(&long);
        // Parts that were not inspected may have any type.
        assert_eq!(look_up(&seen, &["*", "x"]), "unknown");
    }

    #[test]
    fn merged_answers_are_those_of_both() {
        let (first, second) = (r#"{"a": 1}"#, r#"{"a": "x", "b": [true]}"#);
        let mut merged = seen(&[first]);
        merged.merge(&seen(&[second]));
        assert_eq!(merged, seen(&[first, second]));
        merged.merge(&SeenAnswers::default());
        assert_eq!(merged, seen(&[first, second]));
    }
}
