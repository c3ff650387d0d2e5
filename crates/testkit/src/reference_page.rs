//! Reference pages, made of JSON Schemas.

use std::fmt::Write;

use serde_json::Value;

/// A Markdown page about every part of a JSON Schema, below `head`. Each of `constants` is a link to a constant as doc comments write it, with
/// the value that the page shows in its place.
///
/// # Panics
///
/// If a part of the schema has no description.
pub fn page(schema: &Value, head: &str, constants: &[(&str, &str)]) -> String {
    let mut text = head.to_owned();
    describe("The whole", schema, constants, &mut text);
    for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
        describe(&heading(name), part, constants, &mut text);
    }
    text
}

/// The heading of a part on the page.
fn heading(name: &str) -> String {
    let name = name.trim_end_matches("V1").trim_start_matches("Report");
    format!("`{}`", name.to_lowercase())
}

fn describe(title: &str, part: &Value, constants: &[(&str, &str)], text: &mut String) {
    write!(text, "\n## {title}\n").unwrap();
    if let Some(description) = part["description"].as_str() {
        write!(text, "\n{description}\n").unwrap();
    }
    text.push('\n');
    let required = part["required"].as_array();
    for (name, field) in part["properties"].as_object().into_iter().flatten() {
        let is_required = required.is_some_and(|all| all.contains(&Value::from(name.as_str())));
        let optional = if is_required { "" } else { ", *optional*" };
        let (kind, description) = (kind(field), described(field, constants));
        writeln!(text, "- `{name}` ({kind}{optional}): {description}").unwrap();
    }
    for word in part["oneOf"].as_array().into_iter().flatten() {
        let name = word["const"].as_str().unwrap();
        writeln!(text, "- `{name}`: {}", described(word, constants)).unwrap();
    }
}

/// The description of a part, with the values of constants in place of links to them.
fn described(part: &Value, constants: &[(&str, &str)]) -> String {
    let text = part["description"].as_str().unwrap();
    constants
        .iter()
        .fold(text.to_owned(), |text, (name, schema)| {
            text.replace(name, &format!("`{schema}`"))
        })
}

/// The kind of value that a field holds, in a word or two, with a link if the page has a section about it.
fn kind(field: &Value) -> String {
    if let Some(name) = field["$ref"].as_str() {
        let heading = heading(name.trim_start_matches("#/$defs/"));
        return format!("[{heading}](#{})", heading.trim_matches('`'));
    }
    if let Some(parts) = field["anyOf"].as_array().or(field["allOf"].as_array()) {
        let kinds: Vec<String> = parts.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    if let Some(kinds) = field["type"].as_array() {
        let kinds: Vec<&str> = kinds
            .iter()
            .map(|kind| word(kind.as_str().unwrap()))
            .collect();
        return kinds.join(" or ");
    }
    match field["type"].as_str() {
        Some("array") => match &field["items"] {
            items if items["$ref"].is_string() => format!("list of {}", kind(items)),
            items if items["type"].is_string() => format!("list of {}s", kind(items)),
            _ => "list".to_owned(),
        },
        Some(name) => word(name).to_owned(),
        None => "anything".to_owned(),
    }
}

fn word(kind: &str) -> &str {
    match kind {
        "string" => "text",
        "integer" => "whole number",
        "boolean" => "true or false",
        other => other,
    }
}
