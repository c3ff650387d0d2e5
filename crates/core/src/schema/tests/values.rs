//! Validation and inference of single schemas.

use crate::Value;
use crate::plan::Segment;
use crate::schema::{Compatibility, KnownFields, PathLookup, Schema};

fn json(text: &str) -> Value {
    Value::from_json(text).expect("a test's JSON")
}

fn schema(text: &str) -> Schema {
    Schema::from_value(json(text))
}

/// Returns `inner` inside `count` objects.
fn nested(count: usize, inner: &str) -> Value {
    (0..count).fold(json(inner), |value, _| Value::object([("n", value)]))
}

#[test]
fn validation_stays_within_its_budget() {
    fn check(text: &str, value: &Value, expected: Option<bool>) {
        let schema = schema(text);
        assert_eq!(schema.malformed(), None, "{text}");
        let violations = schema.validate(value);
        assert_eq!(schema.is_valid(value), expected == Some(true), "{text}");
        assert_eq!(violations.is_empty(), expected == Some(true), "{text}");
        let is_too_long = |violation: &crate::schema::SchemaViolation| {
            violation.message.starts_with("it takes too long")
        };
        assert_eq!(
            violations.iter().any(is_too_long),
            expected.is_none(),
            "{text}: {violations:?}"
        );
    }

    let twice = |keyword: &str| {
        let one = r##"{"properties": {"n": {"$ref": "#"}, "x": {"type": "integer"}}}"##;
        format!(r#"{{"{keyword}": [{one}, {one}]}}"#)
    };
    let (matched, bad) = (nested(60, r#"{"x": 1}"#), nested(60, r#"{"x": "a"}"#));
    check(&twice("allOf"), &matched, Some(true));
    check(&twice("allOf"), &bad, Some(false));
    check(&twice("anyOf"), &matched, Some(true));
    check(&twice("anyOf"), &bad, None);
    // Many paths lead to the same part, and none of them through a cached one.
    let steps: Vec<String> = (1..60)
        .map(|n| {
            let inner = format!(
                r##"{{"properties": {{"n": {{"$ref": "#/$defs/d{}"}}}}}}"##,
                n - 1
            );
            format!(r#""d{n}": {{"allOf": [{inner}, {inner}]}}"#)
        })
        .collect();
    let steps = format!(
        r##"{{"$defs": {{"d0": {{"minProperties": 1, "maxProperties": 5}}, {}}}, "$ref": "#/$defs/d59"}}"##,
        steps.join(",")
    );
    check(&steps, &nested(10, r#"{"x": 1}"#), Some(true));
    check(&steps, &matched, None);
    // More levels than the stack has room for, unless each takes little.
    let chain: Vec<String> = (1..60)
        .map(|n| {
            format!(
                r##""d{n}": {{"allOf": [{{"$ref": "#/$defs/d{}"}}]}}"##,
                n - 1
            )
        })
        .collect();
    let last = r##"{"properties": {"n": {"$ref": "#/$defs/d59"}, "x": {"type": "integer"}}}"##;
    let chain = format!(
        r##"{{"$defs": {{"d0": {last}, {}}}, "$ref": "#/$defs/d59"}}"##,
        chain.join(",")
    );
    check(&chain, &nested(10, r#"{"x": 1}"#), Some(true));
    check(&chain, &nested(10, r#"{"x": "a"}"#), Some(false));
    check(&chain, &nested(100, r#"{"x": 1}"#), None);
    let plain = r##"{"properties": {"n": {"$ref": "#"}, "x": {"type": "integer"}}}"##;
    check(plain, &nested(500, r#"{"x": 1}"#), Some(true));
    check(plain, &nested(500, r#"{"x": "a"}"#), Some(false));
}

#[test]
fn large_values_are_looked_at_to_their_end() {
    let items = |last: &str| {
        json(&format!(
            "[{}{last}]",
            r#"{"a": 1, "b": "x"}, "#.repeat(50_000)
        ))
    };
    let variant = |name: &str| {
        format!(r#"{{"properties": {{"{name}": {{"type": "integer"}}}}, "required": ["{name}"]}}"#)
    };
    let variants: Vec<String> = (0..30).map(|n| variant(&format!("v{n}"))).collect();
    let list = format!(
        r#"{{"items": {{"anyOf": [{}, {}]}}}}"#,
        variants.join(","),
        variant("a")
    );
    let unions = schema(&list);
    assert!(unions.is_valid(&items(r#"{"a": 2}"#)));
    let violations = unions.validate(&items(r#"{"c": 2}"#));
    let paths: Vec<usize> = violations
        .iter()
        .map(|violation| violation.path.len())
        .collect();
    assert_eq!(paths, [1], "{violations:?}");

    // Each pattern is matched against each field.
    let patterns: Vec<String> = (0..300)
        .map(|n| format!(r#""^p{n}_": {{"type": "integer"}}"#))
        .collect();
    let patterns = schema(&format!(
        r#"{{"patternProperties": {{{}}}}}"#,
        patterns.join(",")
    ));
    let fields = |last: i64| {
        let fields = (0..10_000).map(|n| (format!("p7_{n}").into(), Value::from(1)));
        let last = (
            "p8_".into(),
            if last == 1 {
                Value::from(1)
            } else {
                Value::text("a")
            },
        );
        fields
            .chain([last])
            .collect::<Vec<(std::sync::Arc<str>, Value)>>()
    };
    assert!(patterns.is_valid(&Value::object(fields(1))));
    let violations = patterns.validate(&Value::object(fields(0)));
    assert_eq!(violations.len(), 1, "{violations:?}");
}

#[test]
fn validation_speaks_our_words() {
    fn check(text: &str, value: &str, expected: &[&str]) {
        let schema = schema(text);
        assert_eq!(schema.malformed(), None, "{text}");
        let violations: Vec<String> = schema
            .validate(&json(value))
            .into_iter()
            .map(|violation| {
                let mut pointer = String::new();
                for segment in &violation.path {
                    crate::place::push_pointer_segment(&mut pointer, segment);
                }
                format!("{pointer}: {}", violation.message)
            })
            .collect();
        assert_eq!(violations, expected, "{text} against {value}");
        assert_eq!(schema.is_valid(&json(value)), expected.is_empty());
    }

    check("{}", "1", &[]);
    check("true", "1", &[]);
    check(
        r#"{"type": "number"}"#,
        r#""1""#,
        &[r#": `"1"` is text, not a number"#],
    );
    check(r#"{"type": "integer"}"#, "1.0", &[]);
    check(
        r#"{"type": ["string", "null"]}"#,
        "[]",
        &[": `[]` is a list, not null or text"],
    );
    check(
        r#"{"properties": {"s": {"enum": ["a", "b"]}, "n": {"maximum": 10}}}"#,
        r#"{"s": "c", "n": 11}"#,
        &[
            r#"/s: `"c"` is none of `"a"`, `"b"`"#,
            "/n: `11` is more than `10`",
        ],
    );
    check(
        r#"{"required": ["a", "b"], "properties": {"a": {}, "b": {}}, "additionalProperties": false}"#,
        r#"{"c": 1, "d": 2}"#,
        &[
            ": the field `a` is missing",
            ": the field `b` is missing",
            ": the field `c` is not known",
            ": the field `d` is not known",
        ],
    );
    check(
        r#"{"properties": {"o": {"additionalProperties": false}}}"#,
        r#"{"o": {"a": 1, "b": 2}}"#,
        &[
            "/o: the field `a` is not known",
            "/o: the field `b` is not known",
        ],
    );
    check(
        r#"{"items": {"properties": {"0": {"type": "null"}}}}"#,
        r#"[{}, {"0": 1}]"#,
        &["/1/0: `1` is a number, not null"],
    );
    check(
        r#"{"uniqueItems": true}"#,
        "[1, 1.0]",
        &[": the list holds an item twice"],
    );
    check(
        r#"{"uniqueItems": true}"#,
        r#"[{"a": 1, "b": [0.0]}, {"b": [-0.0], "a": 1.0}]"#,
        &[": the list holds an item twice"],
    );
    check(
        r#"{"uniqueItems": true}"#,
        r#"[1, "1", true, null, [1], {"1": 1}]"#,
        &[],
    );
    check(r#"{"const": {"a": [1, 2]}}"#, r#"{"a": [1.0, 2]}"#, &[]);
    check(
        r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#,
        "5",
        &[": `5` is a number, not text or null"],
    );
    check(
        r#"{"anyOf": [{"type": "object", "required": ["a"]}, {"type": "null"}]}"#,
        "{}",
        &[": the field `a` is missing"],
    );
    check(
        r#"{"oneOf": [{"minimum": 3}, {"multipleOf": 2}]}"#,
        "4",
        &[": `4` fits more than one of the alternatives"],
    );
    check(
        r##"{"$defs": {"t": {"items": {"$ref": "#/$defs/t"}, "type": "array"}}, "$ref": "#/$defs/t"}"##,
        "[[], [[]], [1]]",
        &["/2/0: `1` is a number, not a list"],
    );
    check(
        r#"{"pattern": "^(?!x)"}"#,
        r#""xy""#,
        &[r#": `"xy"` does not match the pattern `^(?!x)`"#],
    );
    check(
        r#"{"pattern": "^(a+)+$"}"#,
        r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!""#,
        &[
            r#": `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…` does not match the pattern `^(a+)+$`"#,
        ],
    );
}

#[test]
fn malformed_schemas_are_reported_and_accept_anything() {
    fn check(text: &str, expected: &str) {
        let schema = schema(text);
        assert_eq!(schema.malformed(), Some(expected), "{text}");
        assert_eq!(schema.validate(&json("1")), []);
        assert!(schema.is_valid(&json("1")));
    }

    // Each of these would take minutes or much memory.
    let sets = r"\\p{Any}".repeat(2_000);
    let too_many = "a pattern in it ignores case and has more than 24 sets of characters";
    check(
        &format!(r#"{{"items": {{"pattern": "(?i){sets}"}}}}"#),
        too_many,
    );
    check(
        &format!(r#"{{"patternProperties": {{"(?i){sets}": {{}}}}}}"#),
        too_many,
    );
    check(
        &format!(r#"{{"pattern": "{}"}}"#, r"\\pL".repeat(100_000)),
        "a pattern in it has more than 16384 bytes",
    );
    check(
        r#"{"$ref": "https://example.com/s.json"}"#,
        "a `$ref` leads outside the schema, or to a part that does not exist",
    );
    check(
        r#"{"$ref": "file:///etc/hosts"}"#,
        "a `$ref` leads outside the schema, or to a part that does not exist",
    );
    check(
        r##"{"$ref": "#/$defs/none"}"##,
        "a `$ref` leads outside the schema, or to a part that does not exist",
    );
    check(
        r#"{"type": "strin"}"#,
        "`\"strin\"` is not allowed at `/type`",
    );
    check("7", "`7` is not a schema");
}

#[test]
fn a_large_value_is_validated_in_place() {
    let schema = schema(r#"{"items": {"type": "integer"}, "maxItems": 3}"#);
    let value = Value::list((0..200_000_i64).map(Value::from));
    let violations = schema.validate(&value);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].message, "the list has more than 3 items");
}

#[test]
fn types_are_read_from_schemas() {
    fn check(text: &str, expected: &str) {
        assert_eq!(schema(text).structure().to_string(), expected, "{text}");
    }

    check("{}", "anything");
    check("false", "nothing");
    check(r#"{"type": "string"}"#, "text");
    check(r#"{"type": ["integer", "null"]}"#, "an integer or null");
    check(
        r#"{"type": "array", "items": {"type": "number"}}"#,
        "a list of numbers",
    );
    check(r#"{"enum": ["a", 1]}"#, r#"`"a"` or `1`"#);
    check(r#"{"type": "string", "enum": ["a", 1]}"#, r#"`"a"`"#);
    check(
        r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#,
        "text or null",
    );
    check(
        r#"{"allOf": [{"type": "number"}, {"type": "integer"}]}"#,
        "an integer",
    );
    check(
        r#"{"allOf": [{"type": "string"}, {"type": "integer"}]}"#,
        "nothing",
    );
    check(r#"{"type": "string", "nullable": true}"#, "text or null");
    check(
        r##"{"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "null"}}}"##,
        "null",
    );
    check(r#"{"$ref": "other.json"}"#, "anything");
    check(r##"{"$ref": "#"}"##, "anything");
    check(
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "type": "null", "definitions": {"a": {"type": "string"}}}"##,
        "text",
    );
    check(r#"{"not": {"type": "string"}}"#, "anything");
    check(r#"{"type": "tuple"}"#, "anything");
}

#[test]
fn hostile_schemas_are_read_in_bounded_time() {
    let definitions: Vec<String> = (0..60)
        .map(|level| {
            let next = level + 1;
            format!(
                r##""d{level}": {{"type": "object", "required": ["a", "b"], "properties": {{"a": {{"$ref": "#/$defs/d{next}"}}, "b": {{"$ref": "#/$defs/d{next}"}}}}}},"##
            )
        })
        .collect();
    let definitions = definitions.concat();
    let text = format!(
        r##"{{"$ref": "#/$defs/d0", "$defs": {{{definitions} "d60": {{"type": "null"}}}}}}"##
    );
    let (one, other) = (schema(&text), schema(&text));
    assert_ne!(
        one.structure().accepts(other.structure()),
        Compatibility::No
    );
}

#[test]
fn paths_are_followed_through_types() {
    fn path(text: &str) -> Vec<Segment> {
        text.split('.')
            .filter(|part| !part.is_empty())
            .map(|part| match part {
                "*" => Segment::Each,
                other => match other.strip_prefix('#') {
                    Some(index) => Segment::Index(index.parse().expect("an index")),
                    None => Segment::key(other),
                },
            })
            .collect()
    }
    fn check(text: &str, steps: &str, expected: &str) {
        let named = |known: &KnownFields| {
            let names: Vec<&str> = known.names().map(|name| &**name).collect();
            names.join(",")
        };
        let reached = match schema(text).structure().at(&path(steps)) {
            PathLookup::Found(found) => found.to_string(),
            PathLookup::Impossible { known, matched } => {
                format!("impossible after {matched}: {}", named(&known))
            }
            PathLookup::Unlisted { known, matched } => {
                format!("unlisted after {matched}: {}", named(&known))
            }
            PathLookup::Unknown => "unknown".to_owned(),
        };
        assert_eq!(reached, expected, "{steps} in {text}");
    }

    let rows = r#"{"type": "object", "additionalProperties": false, "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {
            "id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}}},
        "total": {"type": "integer"}}}"#;
    check(rows, "", "an object");
    check(rows, "total", "an integer");
    check(rows, "totl", "impossible after 0: rows,total");
    check(rows, "total.x", "impossible after 1: ");
    check(rows, "rows", "a list of objects");
    check(rows, "rows.0.id", "an integer");
    check(rows, "rows.-1.id", "an integer");
    check(rows, "rows.#0.id", "an integer");
    check(rows, "rows.length", "impossible after 1: ");
    check(rows, "rows.0.nope", "unlisted after 2: id,tags");
    check(rows, "rows.*", "a list of objects");
    check(rows, "rows.*.id", "a list of integers");
    check(rows, "rows.*.tags", "a list of lists");
    check(rows, "rows.*.tags.*", "a list of texts");
    check(rows, "total.*", "impossible after 1: ");
    check(rows, "#0", "impossible after 0: ");
    check("{}", "a.b", "unknown");
    check(r#"{"type": "object"}"#, "a", "unknown");
    check(
        r#"{"type": "object", "additionalProperties": {"type": "null"}}"#,
        "a",
        "null",
    );
    check(
        r#"{"type": ["object", "null"], "properties": {"a": {"type": "null"}}}"#,
        "a",
        "null",
    );
    check(r#"{"properties": {"a": {"type": "null"}}}"#, "a", "null");
    check(
        r#"{"type": "array", "prefixItems": [{"type": "null"}], "items": false}"#,
        "1",
        "impossible after 0: ",
    );
    check(r#"{"const": {"a": [1, {"b": 2}]}}"#, "a.1.b", "`2`");
    check(
        r#"{"const": {"a": [1, {"b": 2}]}}"#,
        "a.2",
        "impossible after 1: ",
    );
    check(r#"{"const": {"a": [1, {"b": 2}]}}"#, "a.-2", "`1`");
}

#[test]
fn only_a_certain_no_is_no() {
    fn check(wanted: &str, found: &str, expected: Compatibility) {
        let (wanted, found) = (schema(wanted), schema(found));
        assert_eq!(
            wanted.structure().accepts(found.structure()),
            expected,
            "{wanted:?} {found:?}"
        );
    }

    check(
        r#"{"type": "number"}"#,
        r#"{"type": "integer"}"#,
        Compatibility::Yes,
    );
    check(
        r#"{"type": "integer"}"#,
        r#"{"type": "number"}"#,
        Compatibility::Unknown,
    );
    check(
        r#"{"type": "string"}"#,
        r#"{"type": "integer"}"#,
        Compatibility::No,
    );
    check(r#"{"type": "string"}"#, "{}", Compatibility::Unknown);
    check("{}", r#"{"type": "string"}"#, Compatibility::Yes);
    check(
        r#"{"type": "boolean"}"#,
        r#"{"type": "array"}"#,
        Compatibility::No,
    );
    check(
        r#"{"enum": ["a", "b"]}"#,
        r#"{"type": "string"}"#,
        Compatibility::Unknown,
    );
    check(
        r#"{"enum": ["a", "b"]}"#,
        r#"{"const": "b"}"#,
        Compatibility::Yes,
    );
    check(
        r#"{"enum": ["a", "b"]}"#,
        r#"{"const": "c"}"#,
        Compatibility::No,
    );
    check(
        r#"{"type": ["string", "null"]}"#,
        r#"{"type": ["null", "integer"]}"#,
        Compatibility::Unknown,
    );
    check(
        r#"{"type": "array", "items": {"type": "string"}}"#,
        r#"{"type": "array", "items": {"type": "integer"}}"#,
        Compatibility::Unknown,
    );
    check(
        r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}"#,
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#,
        Compatibility::No,
    );
    check(
        r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}"#,
        r#"{"type": "object", "properties": {"b": {}}, "additionalProperties": false}"#,
        Compatibility::No,
    );
    check(
        r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#,
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#,
        Compatibility::Unknown,
    );
}

#[test]
fn parameters_know_whether_they_take_text() {
    let tool = schema(
        r#"{"type": "object", "properties": {"t": {"type": "string"}, "n": {"type": ["string", "null"]}, "e": {"enum": ["a"]}}}"#,
    );
    let takes_text = |name| tool.property(name).is_some_and(|found| found.takes_text());
    assert!(takes_text("t") && takes_text("n") && takes_text("e"));
    assert!(!schema(r#"{"type": "integer"}"#).structure().takes_text());
    assert_eq!(
        Schema::from_value(json(r#"{"type": "object", "additionalProperties": false}"#))
            .property("x"),
        None
    );
}
