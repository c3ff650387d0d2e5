//! Tool arguments that are repeated in headers, so that proxies need not read messages.

use std::collections::BTreeSet;

use planwright_core::Value;

/// The schema field with the name of the header.
const FIELD: &str = "x-mcp-header";

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderPosition {
    Root,
    /// An argument, or a field of one.
    Argument,
    /// Any other position, which may describe no value or many.
    Other,
}

/// Returns the first fault in the headers that the schema of a tool declares. Such a tool must not be called over HTTP.
pub(crate) fn argument_fault(schema: &Value) -> Option<String> {
    find_fault(schema, HeaderPosition::Root, &mut BTreeSet::new())
}

fn find_fault(
    schema: &Value,
    position: HeaderPosition,
    seen: &mut BTreeSet<String>,
) -> Option<String> {
    if let Some(items) = schema.as_list() {
        let mut items = items.iter();
        return items.find_map(|item| find_fault(item, HeaderPosition::Other, seen));
    }
    let inner = match position {
        HeaderPosition::Root | HeaderPosition::Argument => HeaderPosition::Argument,
        HeaderPosition::Other => HeaderPosition::Other,
    };
    let all = |schemas: &Value, position: HeaderPosition, seen: &mut BTreeSet<String>| {
        let mut schemas = schemas.as_object()?.values();
        schemas.find_map(|schema| find_fault(schema, position, seen))
    };
    schema
        .as_object()?
        .iter()
        .find_map(|(key, value)| match &**key {
            FIELD if position == HeaderPosition::Argument => {
                header_fault(value, schema.get("type"), seen)
            }
            FIELD => Some("a header stands where it belongs to no argument".to_owned()),
            "properties" => all(value, inner, seen),
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                all(value, HeaderPosition::Other, seen)
            }
            // The values of these fields are data, not schemas.
            "default" | "const" | "enum" | "examples" => None,
            _ => find_fault(value, HeaderPosition::Other, seen),
        })
}

fn header_fault(
    header: &Value,
    kind: Option<&Value>,
    seen: &mut BTreeSet<String>,
) -> Option<String> {
    let Some(name) = header.as_text() else {
        return Some("the name of a header is no text".to_owned());
    };
    if name.is_empty() || !name.bytes().all(is_token) {
        return Some(format!("`{}` is no name of a header", name.escape_debug()));
    }
    if !seen.insert(name.to_ascii_lowercase()) {
        return Some(format!("the header `{name}` stands twice"));
    }
    match kind.and_then(Value::as_text) {
        Some("string" | "integer" | "boolean") => None,
        _ => Some(format!(
            "the header `{name}` is of an argument that is no simple value"
        )),
    }
}

/// Returns true for the bytes of a header name according to RFC 9110.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    /// Returns the fault of a schema with these `properties`.
    fn check(properties: &str) -> String {
        let schema = format!(r#"{{"type": "object", "properties": {properties}}}"#);
        let schema = Value::from_json(&schema).unwrap();
        super::argument_fault(&schema).unwrap_or_else(|| "sound".to_owned())
    }

    #[test]
    fn finds_invalid_headers() {
        let cases = [
            r#"{"a": {"type": "string"}}"#,
            r#"{"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"properties": {"c": {"type": "integer", "x-mcp-header": "C"}}}}"#,
            r#"{"a": {"const": {"x-mcp-header": 1}}, "x-mcp-header": {"type": "string"}}"#,
            r#"{"a": {"type": "string", "x-mcp-header": ""}}"#,
            r#"{"a": {"type": "string", "x-mcp-header": "My Region"}}"#,
            r#"{"a": {"type": "string", "x-mcp-header": "Re\tgion"}}"#,
            r#"{"a": {"type": "string", "x-mcp-header": "Région"}}"#,
            r#"{"a": {"type": "string", "x-mcp-header": 7}}"#,
            r#"{"a": {"type": "number", "x-mcp-header": "A"}}"#,
            r#"{"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}"#,
            r#"{"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}"#,
            r#"{"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}}"#,
        ];
        insta::assert_snapshot!(cases.map(check).join("\n"), @r#"
    sound
    sound
    sound
    `` is no name of a header
    `My Region` is no name of a header
    `Re\tgion` is no name of a header
    `Région` is no name of a header
    the name of a header is no text
    the header `A` is of an argument that is no simple value
    the header `a` stands twice
    a header stands where it belongs to no argument
    a header stands where it belongs to no argument
    "#);
        let root = Value::from_json(r#"{"x-mcp-header": "A", "type": "object"}"#).unwrap();
        assert!(super::argument_fault(&root).is_some());
    }
}
