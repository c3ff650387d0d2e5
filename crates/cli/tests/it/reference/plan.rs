//! The JSON Schema of native plans as a file, and the page about their fields, made of it.

use std::fmt::Write;

use planwright::dialects::native::schema;
use planwright_testkit::generated;
use serde_json::Value;

const HEAD: &str = "\
# Fields of a plan

<!-- `cargo xtask generate` generates this page from the JSON Schema of native plans. -->

The fields of the [native](../dialects/native.md) dialect. Editors and models can use the JSON Schema:
[plan.schema.json](../schema/plan.schema.json).
";

/// The objects, in the order in which the page shows them.
const OBJECTS: &[(&str, &str)] = &[
    ("A plan", ""),
    ("A step", "/$defs/step"),
    ("`extract`", "/$defs/extract"),
    ("`repeat`", "/$defs/repeat"),
    ("`writes`", "/$defs/writes"),
    ("`retry`", "/$defs/retry"),
    ("`undo`", "/$defs/undo"),
];

#[test]
fn generated_schema_of_plans() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    generated::check("docs/schema/plan.schema.json", &text);
}

#[test]
fn generated_page_of_plans() {
    let schema = schema();
    let mut text = HEAD.to_owned();
    for (title, pointer) in OBJECTS {
        let object = schema.pointer(pointer).unwrap();
        write!(text, "\n## {title}\n\n").unwrap();
        if let Some(description) = object["description"].as_str() {
            write!(text, "{description}\n\n").unwrap();
        }
        let required = object["required"].as_array();
        for (name, field) in object["properties"].as_object().unwrap() {
            let needed = required.is_some_and(|names| names.contains(&Value::from(name.as_str())));
            let needed = if needed { " (required)" } else { "" };
            let description = field["description"].as_str().unwrap_or_default();
            writeln!(text, "- `{name}`{needed}: {description}{}", words(field)).unwrap();
        }
    }
    let definitions = schema["$defs"].as_object().unwrap().len();
    assert_eq!(definitions + 1, OBJECTS.len(), "an object has no paragraph");
    generated::check("docs/reference/plan.md", &text);
}

/// The words that a field takes, the usual one first.
fn words(field: &Value) -> String {
    let Some(words) = field["enum"].as_array() else {
        return String::new();
    };
    let words: Vec<String> = words
        .iter()
        .map(|word| format!("`{}`", word.as_str().unwrap()))
        .collect();
    format!(
        " One of {}; the first where it is left out.",
        words.join(", ")
    )
}
