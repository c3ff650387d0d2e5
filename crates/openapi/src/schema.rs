//! Schemas of a document as JSON Schema 2020-12: references are replaced by what they refer to, and recursive ones, or those
//! of a schema that would become too large, refer to `$defs`.

use std::collections::{BTreeMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::document::SpecVersion;
use super::name::valid_name;
use super::reference;

/// Maximum number of schemas that replace references; further references become definitions.
const MAX_INLINE: usize = 500;

/// Maximum depth at which a schema replaces a reference.
const MAX_DEPTH: usize = 64;

/// The direction of a value, which decides whether its read-only or its write-only fields exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Input,
    Output,
}

/// Keywords whose value is a schema.
const SCHEMA: [&str; 11] = [
    "items",
    "additionalProperties",
    "not",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value has a schema in each field.
const TABLE: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// Keywords that mean nothing outside of the document.
const DROPPED: [&str; 9] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "discriminator",
    "xml",
    "externalDocs",
    "readOnly",
    "writeOnly",
];

/// Keywords that describe a value and accept all.
const ANNOTATIONS: [&str; 7] = [
    "title",
    "description",
    "default",
    "deprecated",
    "example",
    "examples",
    "$comment",
];

/// A converter of the schemas of one tool, which share their `$defs`.
pub(crate) struct SchemaReader<'d> {
    document: &'d Value,
    version: SpecVersion,
    direction: Direction,
    /// The references that are being replaced, outermost first.
    stack: Vec<&'d str>,
    depth: usize,
    /// The number of schemas so far.
    count: usize,
    /// The names in `$defs` of references that are not replaced.
    names: BTreeMap<&'d str, String>,
    taken: HashSet<String>,
    waiting: VecDeque<&'d str>,
}

impl<'d> SchemaReader<'d> {
    pub(crate) fn new(document: &'d Value, version: SpecVersion, direction: Direction) -> Self {
        Self {
            document,
            version,
            direction,
            stack: Vec::new(),
            depth: 0,
            count: 0,
            names: BTreeMap::new(),
            taken: HashSet::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Converts a schema.
    ///
    /// # Errors
    ///
    /// The reason, as one clause, why a reference leads to nothing.
    pub(crate) fn read(&mut self, schema: &'d Value) -> Result<Value, String> {
        self.count += 1;
        self.depth += 1;
        let read = match schema {
            Value::Object(fields) => match fields.get("$ref").and_then(Value::as_str) {
                Some(reference) => self.replace(reference, fields),
                None => self.read_fields(fields),
            },
            Value::Bool(_) => Ok(schema.clone()),
            // Anything else is no schema, and accepts everything.
            _ => Ok(json!({})),
        };
        self.depth -= 1;
        read
    }

    /// Returns the definitions that the schemas so far refer to.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub(crate) fn definitions(&mut self) -> Result<Map<String, Value>, String> {
        let mut definitions = Map::new();
        while let Some(reference) = self.waiting.pop_front() {
            let target = reference::find(self.document, reference)?;
            self.stack = vec![reference];
            let schema = self.read(target)?;
            self.stack.clear();
            definitions.insert(self.names[reference].clone(), schema);
        }
        Ok(definitions)
    }

    fn replace(
        &mut self,
        reference: &'d str,
        fields: &'d Map<String, Value>,
    ) -> Result<Value, String> {
        let target = reference::find(self.document, reference)?;
        let is_large = self.count > MAX_INLINE || self.depth > MAX_DEPTH;
        let replaced = if self.stack.contains(&reference) || is_large {
            let name = self.definition(reference);
            json!({ "$ref": format!("#/$defs/{name}") })
        } else {
            self.stack.push(reference);
            let read = self.read(target);
            self.stack.pop();
            read?
        };
        let mut beside = fields.clone();
        beside.shift_remove("$ref");
        let is_nullable = self.take_nullable(&mut beside);
        let only_describes = beside
            .keys()
            .all(|key| ANNOTATIONS.contains(&&**key) || is_dropped(key));
        let schema = if only_describes {
            let mut replaced = replaced;
            if let Value::Object(target) = &mut replaced {
                for (key, value) in beside {
                    add_annotation(target, key, value);
                }
            }
            replaced
        } else {
            // The fields beside a reference are of the document as well, but this copy is not.
            let Value::Object(mut own) = self.read_owned(fields, &beside)? else {
                return Ok(replaced);
            };
            let all = own.shift_remove("allOf");
            let mut all = match all {
                Some(Value::Array(all)) => all,
                _ => Vec::new(),
            };
            all.insert(0, replaced);
            own.insert("allOf".to_owned(), Value::Array(all));
            Value::Object(own)
        };
        Ok(if is_nullable { or_null(schema) } else { schema })
    }

    /// Converts those fields of `fields` that are in `kept`.
    fn read_owned(
        &mut self,
        fields: &'d Map<String, Value>,
        kept: &Map<String, Value>,
    ) -> Result<Value, String> {
        let mut read = Map::new();
        for (key, value) in fields.iter().filter(|(key, _)| kept.contains_key(*key)) {
            self.read_keyword(key, value, &mut read)?;
        }
        self.finish(fields, &mut read);
        Ok(Value::Object(read))
    }

    fn definition(&mut self, reference: &'d str) -> String {
        if let Some(name) = self.names.get(reference) {
            return name.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or_default();
        let name = super::name::distinct_name(valid_name(last), &mut self.taken);
        self.names.insert(reference, name.clone());
        self.waiting.push_back(reference);
        name
    }

    fn read_fields(&mut self, fields: &'d Map<String, Value>) -> Result<Value, String> {
        let mut read = Map::new();
        for (key, value) in fields {
            self.read_keyword(key, value, &mut read)?;
        }
        self.finish(fields, &mut read);
        let is_nullable =
            self.version == SpecVersion::V3_0 && fields.get("nullable") == Some(&Value::Bool(true));
        let read = Value::Object(read);
        Ok(if is_nullable { or_null(read) } else { read })
    }

    fn read_keyword(
        &mut self,
        key: &'d str,
        value: &'d Value,
        read: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let converted = match value {
            _ if is_dropped(key) || (key == "nullable" && self.version == SpecVersion::V3_0) => {
                return Ok(());
            }
            // A parameter's `required` sometimes strays into its schema.
            value if key == "required" && !value.is_array() => return Ok(()),
            value if ANNOTATIONS.contains(&key) => {
                add_annotation(read, key.to_owned(), value.clone());
                return Ok(());
            }
            Value::Array(items) if key == "items" || LIST.contains(&key) => {
                let items: Result<Vec<Value>, String> =
                    items.iter().map(|item| self.read(item)).collect();
                Value::Array(items?)
            }
            value if SCHEMA.contains(&key) => self.read(value)?,
            Value::Object(table) if TABLE.contains(&key) => {
                let mut converted = Map::new();
                for (name, schema) in table {
                    if !(key == "properties" && self.is_hidden(schema)) {
                        converted.insert(name.clone(), self.read(schema)?);
                    }
                }
                Value::Object(converted)
            }
            value => value.clone(),
        };
        read.insert(key.to_owned(), converted);
        Ok(())
    }

    /// Returns true if a field does not exist in this direction.
    pub(crate) fn is_hidden(&self, schema: &Value) -> bool {
        let keyword = match self.direction {
            Direction::Input => "readOnly",
            Direction::Output => "writeOnly",
        };
        let is_set = |schema: &Value| schema.get(keyword) == Some(&Value::Bool(true));
        is_set(schema) || reference::resolve(self.document, schema).is_ok_and(is_set)
    }

    /// Makes the keywords of one schema agree with each other.
    fn finish(&self, fields: &Map<String, Value>, read: &mut Map<String, Value>) {
        if self.version == SpecVersion::V3_0 {
            for (exclusive, limit) in [
                ("exclusiveMinimum", "minimum"),
                ("exclusiveMaximum", "maximum"),
            ] {
                // In 3.0 this is a boolean beside the limit.
                let Some(Value::Bool(is_exclusive)) = read.get(exclusive).cloned() else {
                    continue;
                };
                read.shift_remove(exclusive);
                if is_exclusive && let Some(limit) = read.shift_remove(limit) {
                    read.insert(exclusive.to_owned(), limit);
                }
            }
        }
        // A hidden field cannot be required.
        if let (Some(all), Some(Value::Object(visible)), Some(Value::Array(required))) = (
            fields.get("properties"),
            read.get("properties").cloned(),
            read.get_mut("required"),
        ) {
            required.retain(|name| {
                let name = name.as_str().unwrap_or_default();
                visible.contains_key(name) || all.get(name).is_none()
            });
        }
    }

    /// Removes `nullable` from the fields beside a reference.
    fn take_nullable(&self, fields: &mut Map<String, Value>) -> bool {
        self.version == SpecVersion::V3_0
            && fields.shift_remove("nullable") == Some(Value::Bool(true))
    }
}

fn is_dropped(key: &str) -> bool {
    DROPPED.contains(&key) || key.starts_with("x-")
}

/// Adds an annotation; the `example` of OpenAPI is one of the `examples` of JSON Schema.
fn add_annotation(schema: &mut Map<String, Value>, key: String, value: Value) {
    match (&*key, value) {
        ("example", value) => {
            schema
                .entry("examples")
                .or_insert_with(|| Value::Array(vec![value]));
        }
        // Elsewhere in OpenAPI, examples are a table.
        ("examples", value) if !value.is_array() => {}
        (_, value) => {
            schema.insert(key, value);
        }
    }
}

/// Returns a schema that accepts `null` as well.
fn or_null(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else {
        return schema;
    };
    let is_plain = !LIST.iter().any(|keyword| fields.contains_key(*keyword));
    match fields.get("type").cloned() {
        Some(Value::String(kind)) if is_plain => {
            fields.insert("type".to_owned(), json!([kind, "null"]));
            if let Some(Value::Array(values)) = fields.get_mut("enum")
                && !values.contains(&Value::Null)
            {
                values.push(Value::Null);
            }
            Value::Object(fields)
        }
        _ if is_plain && !fields.contains_key("$ref") && !fields.contains_key("enum") => {
            Value::Object(fields)
        }
        _ => json!({ "anyOf": [Value::Object(fields), { "type": "null" }] }),
    }
}
