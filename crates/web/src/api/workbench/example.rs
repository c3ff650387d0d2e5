//! Values that fit a schema, as examples of calls and as the answers of simulated tools.

use planwright::core::Value;

/// The deepest level of an example.
const MAX_DEPTH: usize = 6;

/// A value that fits `schema` in the usual cases: the example in the schema, else a plain value of its type.
pub(crate) fn example(schema: &Value) -> Value {
    of(schema, MAX_DEPTH)
}

fn of(schema: &Value, depth: usize) -> Value {
    let first = |name: &str| schema.get(name)?.as_list()?.first().cloned();
    let suggested = schema
        .get("const")
        .cloned()
        .or_else(|| first("examples"))
        .or_else(|| schema.get("default").cloned())
        .or_else(|| first("enum"));
    if let Some(value) = suggested {
        return value;
    }
    for union in ["anyOf", "oneOf", "allOf"] {
        if let (Some(inner), Some(depth)) = (first(union), depth.checked_sub(1)) {
            return of(&inner, depth);
        }
    }
    match kind(schema) {
        "object" => object(schema, depth),
        "array" => match (schema.get("items"), depth.checked_sub(1)) {
            (Some(items), Some(depth)) => Value::list([of(items, depth)]),
            _ => Value::list([]),
        },
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(Value::from(1)),
        "boolean" => Value::from(true),
        "null" => Value::Null,
        _ => Value::from("text"),
    }
}

fn object(schema: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::empty_object();
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_list)
        .into_iter()
        .flatten()
        .filter_map(Value::as_text)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties
        .into_iter()
        .flat_map(|properties| properties.iter());
    let fields: Vec<(String, Value)> = properties
        // Without required fields, the example has all fields.
        .filter(|(name, _)| required.is_empty() || required.contains(&&***name))
        .map(|(name, schema)| (name.to_string(), of(schema, depth)))
        .collect();
    Value::object(
        fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone())),
    )
}

fn kind(schema: &Value) -> &str {
    let kind = schema.get("type");
    let named = kind.and_then(Value::as_text);
    let listed = || kind?.as_list()?.first()?.as_text();
    match named.or_else(listed) {
        Some(kind) => kind,
        None if schema.get("properties").is_some() => "object",
        None => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, expected: &str) {
        let schema = Value::from_json(schema).unwrap();
        assert_eq!(example(&schema).to_json(), expected, "{}", schema.to_json());
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
    }
}
