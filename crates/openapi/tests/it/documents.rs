//! Documents and their tools, as golden files.

use planwright_openapi::{Api, ApiOptions};
use serde_json::{Value, json};

const SHOP: &str = include_str!("documents/shop-3.0.yaml");
const NOTES: &str = include_str!("documents/notes-3.1.json");

/// Returns everything that comes of a document.
fn read(text: &str, headers: &[&str]) -> Value {
    let options = ApiOptions {
        headers: headers.iter().map(|name| (*name).to_owned()).collect(),
    };
    let api = Api::read(text, &options).unwrap();
    let left_out = api.left_out.iter();
    let left_out = left_out.map(|left| format!("{}: {}", left.operation, left.reason));
    json!({
        "title": api.title,
        "version": api.version,
        "description": api.description,
        "server": api.server,
        "tools": api.operations.iter().map(planwright_openapi::Operation::tool).collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
    })
}

#[test]
fn a_document_of_3_0() {
    insta::assert_json_snapshot!(read(SHOP, &[]));
}

#[test]
fn a_document_of_3_1() {
    insta::assert_json_snapshot!(read(NOTES, &[]));
}

#[test]
fn headers_of_the_entry_are_no_parameters() {
    let api = read(SHOP, &["x-tenant", "Cookie"]);
    let tools = api["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"me"), "{names:?}");
    let properties = tools[0]["inputSchema"]["properties"].as_object().unwrap();
    let properties: Vec<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(properties, ["status", "filter_since", "limit"]);
}

#[test]
fn other_texts_are_refused() {
    let refusal = |text: &str| {
        Api::read(text, &ApiOptions::default())
            .unwrap_err()
            .to_string()
    };
    let refusals = [
        refusal(""),
        refusal("{\"openapi\": "),
        refusal("a: [1"),
        refusal("swagger: '2.0'"),
        refusal("openapi: 4.0.0"),
        refusal("title: x"),
        refusal("<html></html>"),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

/// A document of `count` operations in groups of 30, whose schemas refer to the three before them in the group.
fn generated(count: usize) -> String {
    let mut paths = serde_json::Map::new();
    let mut schemas = serde_json::Map::new();
    for number in 0..count {
        let before = number.saturating_sub(3).max(number - number % 30)..number;
        let mut properties: serde_json::Map<String, Value> = before
            .map(|other| {
                (
                    format!("part{other}"),
                    json!({"$ref": format!("#/components/schemas/S{other}")}),
                )
            })
            .collect();
        properties.insert("id".to_owned(), json!({"type": "integer"}));
        schemas.insert(
            format!("S{number}"),
            json!({"type": "object", "properties": properties}),
        );
        let schema = json!({"$ref": format!("#/components/schemas/S{number}")});
        paths.insert(
            format!("/things{number}/{{id}}"),
            json!({"put": {
                "operationId": format!("putThing{number}"),
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
                "requestBody": {"content": {"application/json": {"schema": schema}}},
                "responses": {"200": {"description": "It.", "content": {"application/json": {"schema": schema}}}},
            }}),
        );
    }
    json!({"openapi": "3.1.0", "info": {}, "paths": paths, "components": {"schemas": schemas}})
        .to_string()
}

#[test]
fn three_hundred_operations_are_three_hundred_tools_of_bounded_size() {
    let api = read(&generated(300), &[]);
    let tools = api["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 300);
    assert_eq!(api["left_out"], json!([]));
    // Replaced without a limit, the references of the last tool would stand for more values than fit into memory.
    let longest = tools
        .iter()
        .map(|tool| tool.to_string().len())
        .max()
        .unwrap();
    assert!(longest < 200_000, "{longest}");
}
