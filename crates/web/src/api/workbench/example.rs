//! Values that fit a schema, as examples of calls and as the answers of simulated tools.

use planwright::core::{Schema, Value};

/// The deepest level of an example.
const MAX_DEPTH: usize = 6;
/// The maximum number of characters or items that an example has because its schema wants so many.
const MAX_LENGTH: usize = 100;

/// A value that fits `schema`: the example in the schema, else a plain value of its type. `None` if neither fits.
pub(crate) fn example(schema: &Schema) -> Option<Value> {
    let document = schema.as_value();
    let value = Examples { document }.of(document, MAX_DEPTH);
    schema.validate(&value).is_empty().then_some(value)
}

/// The examples of a schema document, which references lead into.
struct Examples<'a> {
    document: &'a Value,
}

impl<'a> Examples<'a> {
    fn of(&self, schema: &Value, depth: usize) -> Value {
        let first = |name: &str| schema.get(name)?.as_list()?.first();
        let suggested = schema
            .get("const")
            .or_else(|| first("examples"))
            .or_else(|| schema.get("default"))
            .or_else(|| first("enum"));
        if let Some(value) = suggested {
            return value.clone();
        }
        let inner = self.referenced(schema);
        let inner = inner.or_else(|| first("anyOf").or_else(|| first("oneOf")));
        if let (Some(inner), Some(depth)) = (inner, depth.checked_sub(1)) {
            return self.of(inner, depth);
        }
        let parts: Vec<&Value> = std::iter::once(schema)
            .chain(list(schema, "allOf").map(|part| self.referenced(part).unwrap_or(part)))
            .collect();
        let keyword = |name: &str| parts.iter().find_map(|part| part.get(name));
        let length = |name: &str| {
            let least = keyword(name).and_then(Value::as_u64).unwrap_or_default();
            usize::try_from(least).map_or(MAX_LENGTH, |least| least.min(MAX_LENGTH))
        };
        match parts.iter().find_map(|part| kind(part)).unwrap_or("string") {
            "object" => self.object(&parts, depth),
            "array" => match (keyword("items"), depth.checked_sub(1)) {
                (Some(items), Some(depth)) => {
                    let item = self.of(items, depth);
                    Value::list(vec![item; length("minItems").max(1)])
                }
                _ => Value::list([]),
            },
            "integer" | "number" => {
                let above = keyword("exclusiveMinimum").and_then(Value::as_u64);
                let most = keyword("maximum").filter(|most| most.as_f64() < Some(1.0));
                keyword("minimum")
                    .or_else(|| keyword("multipleOf").or(most))
                    .cloned()
                    .unwrap_or_else(|| Value::from(above.map_or(1, |above| above + 1)))
            }
            "boolean" => Value::from(true),
            "null" => Value::Null,
            _ => {
                let text = keyword("format")
                    .and_then(Value::as_text)
                    .map_or("text", formatted);
                let missing = length("minLength").saturating_sub(text.chars().count());
                Value::from(format!("{text}{}", "x".repeat(missing)))
            }
        }
    }

    fn object(&self, parts: &[&Value], depth: usize) -> Value {
        let Some(depth) = depth.checked_sub(1) else {
            return Value::empty_object();
        };
        let required: Vec<&str> = (parts.iter())
            .flat_map(|part| list(part, "required"))
            .filter_map(Value::as_text)
            .collect();
        let fields: Vec<(String, Value)> = (parts.iter())
            .filter_map(|part| part.get("properties")?.as_object())
            .flat_map(|properties| properties.iter())
            // Without required fields, the example has all fields.
            .filter(|(name, _)| required.is_empty() || required.contains(&&***name))
            .map(|(name, schema)| (name.to_string(), self.of(schema, depth)))
            .collect();
        Value::object(
            fields
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        )
    }

    /// The part of the document that the reference in `schema` leads to.
    fn referenced(&self, schema: &Value) -> Option<&'a Value> {
        let pointer = schema.get("$ref")?.as_text()?.strip_prefix("#/")?;
        let mut names = pointer.split('/');
        names.try_fold(self.document, |part, name| {
            part.get(&name.replace("~1", "/").replace("~0", "~"))
        })
    }
}

fn list<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = &'a Value> {
    let list = schema.get(keyword).and_then(Value::as_list);
    list.into_iter().flatten()
}

/// A text of a format of JSON Schema.
fn formatted(format: &str) -> &'static str {
    match format {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" => "ada@example.com",
        "hostname" => "example.com",
        "uri" | "uri-reference" => "https://example.com/",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        _ => "text",
    }
}

fn kind(schema: &Value) -> Option<&str> {
    let kind = schema.get("type");
    let named = kind.and_then(Value::as_text);
    let listed = || kind?.as_list()?.first()?.as_text();
    let implied = || schema.get("properties").map(|_| "object");
    named.or_else(listed).or_else(implied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema_of(text: &str) -> Schema {
        Schema::from_value(Value::from_json(text).unwrap())
    }

    fn check(schema: &str, expected: &str) {
        let value = example(&schema_of(schema)).unwrap();
        assert_eq!(value.to_json(), expected, "{schema}");
    }

    #[test]
    fn examples() {
        check("{}", r#""text""#);
        check(r#"{"type": "integer", "minimum": 3}"#, "3");
        check(r#"{"enum": ["a", "b"]}"#, r#""a""#);
        check(r#"{"type": ["null", "string"]}"#, "null");
        check(
            r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "items": {"type": "boolean"}}, "b": {}}}"#,
            r#"{"a":[true]}"#,
        );
        check(r#"{"properties": {"a": {"default": 1}}}"#, r#"{"a":1}"#);
        check(r#"{"anyOf": [{"type": "number"}, {}]}"#, "1");
        check(
            r##"{"properties": {"a": {"$ref": "#/$defs/z"}}, "required": ["a"], "$defs": {"z": {"type": "object", "properties": {"n": {"type": "integer"}}}}}"##,
            r#"{"a":{"n":1}}"#,
        );
        check(
            r#"{"allOf": [{"properties": {"a": {"minimum": 2, "type": "number"}}, "required": ["a"]}, {"properties": {"b": {"type": "boolean"}}, "required": ["b"]}]}"#,
            r#"{"a":2,"b":true}"#,
        );
        check(r#"{"type": "integer", "exclusiveMinimum": 7}"#, "8");
        check(r#"{"type": "number", "maximum": -3}"#, "-3");
        check(r#"{"type": "string", "minLength": 6}"#, r#""textxx""#);
        check(r#"{"type": "string", "format": "date"}"#, r#""2026-01-31""#);
        check(
            r#"{"type": "array", "minItems": 2, "items": {"type": "null"}}"#,
            "[null,null]",
        );
    }

    #[test]
    fn a_value_that_does_not_fit_is_no_example() {
        for schema in [
            r#"{"type": "string", "pattern": "^[0-9]{8}$"}"#,
            r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "null"}}"#,
            r#"{"default": 1, "type": "string"}"#,
            r##"{"$ref": "#/$defs/z", "$defs": {"z": {"type": "object", "required": ["z"], "properties": {"z": {"$ref": "#/$defs/z"}}}}}"##,
        ] {
            let read = schema_of(schema);
            assert_eq!(example(&read), None, "{schema}");
        }
    }
}
