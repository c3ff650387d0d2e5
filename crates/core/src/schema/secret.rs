//! Secret parts of values, which schemas declare by `writeOnly` or the format `password`.

use std::collections::HashSet;
use std::ptr;

use regex::Regex;

use super::type_reader::resolve_pointer;
use crate::{Hashing, Object, PointerSegment, Value};

/// The path to a part of a value.
pub type PartPath = Vec<PointerSegment>;

/// Keywords whose schemas apply to the same value.
const SAME_VALUE_KEYWORDS: &[&str] = &["allOf", "anyOf", "oneOf", "if", "then", "else", "not"];

/// Keywords whose schema may apply to any item. A secret must not be missed, so items with a positional schema count, too.
const ITEM_KEYWORDS: &[&str] = &["items", "additionalItems", "unevaluatedItems", "contains"];

/// Keywords whose schema applies to fields without a named schema.
const FIELD_KEYWORDS: &[&str] = &["additionalProperties", "unevaluatedProperties"];

/// Returns true if the root of `schema` declares the whole value secret.
pub fn is_secret(schema: &Value) -> bool {
    schema.get("writeOnly").and_then(Value::as_bool) == Some(true)
        || schema.get("format").and_then(Value::as_text) == Some("password")
}

/// Returns true if any part of `schema` declares a secret.
pub fn declares_secrets(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => is_secret(schema) || fields.values().any(declares_secrets),
        Value::List(items) => items.iter().any(declares_secrets),
        _ => false,
    }
}

/// Returns the outermost parts of `value` that `schema` declares secret. All alternatives count, since a secret remains
/// secret even if the value fits none of them.
pub fn secret_parts(schema: &Value, value: &Value) -> Vec<PartPath> {
    // Most schemas declare no secrets, and the search would visit the whole value.
    if !declares_secrets(schema) {
        return Vec::new();
    }
    let mut search = SecretSearch {
        document: schema,
        seen: HashSet::default(),
        path: Vec::new(),
        found: Vec::new(),
    };
    search.visit(schema, value);
    outermost(search.found)
}

/// Returns `value` with `replacement` in place of the parts at `paths`.
#[must_use]
pub fn replace_parts(value: &Value, paths: &[PartPath], replacement: &Value) -> Value {
    let paths: Vec<&[PointerSegment]> = paths.iter().map(Vec::as_slice).collect();
    replace_below(value, &paths, replacement)
}

/// Returns the part of `value` at `path`.
pub fn part_at<'v>(value: &'v Value, path: &[PointerSegment]) -> Option<&'v Value> {
    path.iter().try_fold(value, |part, segment| match segment {
        PointerSegment::Root => Some(part),
        PointerSegment::Key(key) => part.get(key),
        PointerSegment::Index(index) => part.as_list()?.get(*index),
    })
}

fn replace_below(value: &Value, paths: &[&[PointerSegment]], replacement: &Value) -> Value {
    if paths.is_empty() {
        return value.clone();
    }
    if paths.iter().any(|path| path.is_empty()) {
        return replacement.clone();
    }
    let child = |segment: &PointerSegment| -> Vec<&[PointerSegment]> {
        let inner = paths.iter().filter_map(|path| path.split_first());
        inner
            .filter(|(first, _)| *first == segment)
            .map(|(_, rest)| rest)
            .collect()
    };
    match value {
        Value::List(items) => Value::list(items.iter().enumerate().map(|(index, item)| {
            replace_below(item, &child(&PointerSegment::Index(index)), replacement)
        })),
        Value::Object(fields) => Value::object(fields.iter().map(|(key, field)| {
            let child = child(&PointerSegment::Key(key.clone()));
            (key.clone(), replace_below(field, &child, replacement))
        })),
        scalar => scalar.clone(),
    }
}

/// Returns the paths that have no prefix among the others.
fn outermost(mut paths: Vec<PartPath>) -> Vec<PartPath> {
    // A prefix is shorter, so it comes before the paths that it covers.
    paths.sort_by_key(Vec::len);
    let mut outer_paths: Vec<PartPath> = Vec::new();
    for path in paths {
        if !outer_paths.iter().any(|outer| path.starts_with(outer)) {
            outer_paths.push(path);
        }
    }
    outer_paths
}

/// The secret parts of a value, which messages must not quote.
#[derive(Debug)]
pub(super) struct SecretParts(Vec<PartPath>);

impl SecretParts {
    /// Finds the parts that `schema` declares secret.
    pub(super) fn of(schema: &Value, value: &Value) -> Self {
        Self(secret_parts(schema, value))
    }

    /// Returns the path of the secret that contains the part at `path`.
    pub(super) fn containing(&self, path: &[PointerSegment]) -> Option<&[PointerSegment]> {
        let mut parts = self.0.iter();
        parts.find(|part| path.starts_with(part)).map(Vec::as_slice)
    }

    /// Returns true if the part at `path` is secret or contains a secret.
    pub(super) fn overlaps(&self, path: &[PointerSegment]) -> bool {
        let mut parts = self.0.iter();
        parts.any(|part| path.starts_with(part) || part.starts_with(path))
    }
}

/// A traversal of a value along its schema.
struct SecretSearch<'s> {
    document: &'s Value,
    /// The schemas already applied to each part, by address, since references may form cycles.
    seen: HashSet<(usize, PartPath), Hashing>,
    path: PartPath,
    found: Vec<PartPath>,
}

impl<'s> SecretSearch<'s> {
    fn visit(&mut self, schema: &'s Value, value: &Value) {
        let Some(keywords) = schema.as_object() else {
            return;
        };
        // Each schema applies to a part once; a cycle of references ends here.
        if !self
            .seen
            .insert((ptr::from_ref(schema).addr(), self.path.clone()))
        {
            return;
        }
        if is_secret(schema) {
            // Everything below a secret is secret, so the search ends here.
            self.found.push(self.path.clone());
            return;
        }
        for keyword in SAME_VALUE_KEYWORDS {
            match keywords.get(*keyword) {
                Some(Value::List(schemas)) => {
                    for schema in schemas.iter() {
                        self.visit(schema, value);
                    }
                }
                Some(schema) => self.visit(schema, value),
                None => {}
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let schemas = keywords.get(keyword).and_then(Value::as_object);
            for schema in schemas.into_iter().flat_map(Object::values) {
                self.visit(schema, value);
            }
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let reference = keywords.get(keyword).and_then(Value::as_text);
            if let Some(schema) = reference.and_then(|to| resolve_reference(self.document, to)) {
                self.visit(schema, value);
            }
        }
        match value {
            Value::List(items) => self.items(keywords, items),
            Value::Object(fields) => self.fields(keywords, fields),
            _ => {}
        }
    }

    fn items(&mut self, keywords: &'s Object, items: &[Value]) {
        for keyword in ["prefixItems", "items"] {
            let schemas = keywords.get(keyword).and_then(Value::as_list);
            let pairs = schemas.unwrap_or_default().iter().zip(items);
            for (index, (schema, item)) in pairs.enumerate() {
                self.child(PointerSegment::Index(index), schema, item);
            }
        }
        for schema in ITEM_KEYWORDS
            .iter()
            .filter_map(|keyword| keywords.get(*keyword))
        {
            for (index, item) in items.iter().enumerate() {
                self.child(PointerSegment::Index(index), schema, item);
            }
        }
    }

    fn fields(&mut self, keywords: &'s Object, fields: &Object) {
        let by_name = keywords.get("properties").and_then(Value::as_object);
        let by_pattern = keywords.get("patternProperties").and_then(Value::as_object);
        // A pattern that cannot be compiled here counts as matching, so that no secret is missed.
        let patterns: Vec<(Option<Regex>, &'s Value)> = by_pattern
            .into_iter()
            .flatten()
            .map(|(pattern, schema)| (Regex::new(pattern).ok(), schema))
            .collect();
        for (name, field) in fields {
            let segment = || PointerSegment::Key(name.clone());
            let mut is_described = false;
            if let Some(schema) = by_name.and_then(|schemas| schemas.get(name)) {
                is_described = true;
                self.child(segment(), schema, field);
            }
            for (pattern, schema) in &patterns {
                if pattern
                    .as_ref()
                    .is_none_or(|pattern| pattern.is_match(name))
                {
                    is_described = true;
                    self.child(segment(), schema, field);
                }
            }
            // `additionalProperties` applies to fields that neither a name nor a pattern describes.
            if is_described {
                continue;
            }
            for keyword in FIELD_KEYWORDS {
                if let Some(schema) = keywords.get(*keyword) {
                    self.child(segment(), schema, field);
                }
            }
        }
    }

    fn child(&mut self, segment: PointerSegment, schema: &'s Value, value: &Value) {
        self.path.push(segment);
        self.visit(schema, value);
        self.path.pop();
    }
}

/// Resolves a reference inside `document`.
fn resolve_reference<'s>(document: &'s Value, reference: &str) -> Option<&'s Value> {
    let (id, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let schema = if id.is_empty() {
        document
    } else {
        find_identified(document, "$id", id)?
    };
    if fragment.is_empty() || fragment.starts_with('/') {
        return resolve_pointer(schema, fragment);
    }
    find_identified(schema, "$anchor", fragment)
        .or_else(|| find_identified(schema, "$dynamicAnchor", fragment))
}

/// Finds the schema in `part` with the given identifier.
fn find_identified<'s>(part: &'s Value, keyword: &str, name: &str) -> Option<&'s Value> {
    match part {
        Value::Object(fields) => {
            // Identifiers are unique in a schema; the first match is the target.
            let is_named = part.get(keyword).and_then(Value::as_text) == Some(name);
            let mut inner = fields.values();
            is_named
                .then_some(part)
                .or_else(|| inner.find_map(|field| find_identified(field, keyword, name)))
        }
        Value::List(items) => items
            .iter()
            .find_map(|item| find_identified(item, keyword, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::push_pointer_segment;

    #[track_caller]
    fn check(schema: &str, value: &str, expected: &[&str]) {
        let schema = Value::from_json(schema).unwrap();
        let value = Value::from_json(value).unwrap();
        let parts = secret_parts(&schema, &value);
        let pointers: Vec<String> = parts
            .iter()
            .map(|path| {
                let mut pointer = String::new();
                for segment in path {
                    push_pointer_segment(&mut pointer, segment);
                }
                pointer
            })
            .collect();
        assert_eq!(pointers, expected, "{}", schema.to_json());
    }

    #[test]
    fn secrets_are_found_at_any_depth() {
        check(r#"{"writeOnly": true}"#, r#"{"a": 1}"#, &[""]);
        check(r#"{"writeOnly": false}"#, "1", &[]);
        check(
            r#"{"properties": {"user": {}, "key": {"format": "password"}}}"#,
            r#"{"user": "ada", "key": "x"}"#,
            &["/key"],
        );
        check(
            r#"{"items": {"properties": {"key": {"writeOnly": true}}}}"#,
            r#"[{"key": 1}, {"name": 2}, {"key": 3}]"#,
            &["/0/key", "/2/key"],
        );
        check(
            r#"{"prefixItems": [{}, {"writeOnly": true}]}"#,
            "[1, 2, 3]",
            &["/1"],
        );
        check(
            r#"{"anyOf": [{"type": "null"}, {"properties": {"key": {"writeOnly": true}}}]}"#,
            r#"{"key": 1}"#,
            &["/key"],
        );
        check(
            r#"{"properties": {"a": {}}, "patternProperties": {"^x-": {"writeOnly": true}}, "additionalProperties": {"properties": {"s": {"writeOnly": true}}}}"#,
            r#"{"a": {"s": 1}, "x-key": 2, "b": {"s": 3}}"#,
            &["/x-key", "/b/s"],
        );
    }

    #[test]
    fn references_are_followed_and_cycles_end() {
        check(
            r##"{"$ref": "#/$defs/tree", "$defs": {"tree": {"allOf": [{"$ref": "#/$defs/tree"}], "properties": {"key": {"$ref": "#k"}, "in": {"$ref": "#/$defs/tree"}}}, "s": {"$anchor": "k", "writeOnly": true}}}"##,
            r#"{"key": 1, "in": {"key": 2, "in": {"x": 3}}}"#,
            &["/key", "/in/key"],
        );
    }

    #[test]
    fn references_are_uris() {
        check(
            r##"{"properties": {"key": {"$ref": "#/$defs/my%20key~1x"}}, "$defs": {"my key/x": {"writeOnly": true}}}"##,
            r#"{"key": 1}"#,
            &["/key"],
        );
        check(
            r#"{"properties": {"a": {"$ref": "other#/$defs/k"}, "b": {"$ref": "other#key"}, "c": {"$ref": "other"}}, "$defs": {"other": {"$id": "other", "properties": {"d": {"writeOnly": true}}, "$defs": {"k": {"$anchor": "key", "writeOnly": true}}}}}"#,
            r#"{"a": 1, "b": 2, "c": {"d": 3}}"#,
            &["/a", "/b", "/c/d"],
        );
    }

    #[test]
    fn parts_are_replaced() {
        let value = Value::from_json(r#"{"a": [1, {"k": 2}], "b": 3}"#).unwrap();
        let key = |name: &str| PointerSegment::Key(name.into());
        let paths = [
            vec![key("a"), PointerSegment::Index(1), key("k")],
            vec![key("b"), key("nothing")],
        ];
        let replaced = replace_parts(&value, &paths, &Value::from("x"));
        assert_eq!(replaced.to_json(), r#"{"a":[1,{"k":"x"}],"b":3}"#);
        assert_eq!(part_at(&replaced, &paths[0]), Some(&Value::from("x")));
    }
}
