//! HTTP APIs with an OpenAPI document as servers of an `mcp.json`.

use std::fs;
use std::path::Path;

use planwright_testkit::model_server::{ModelServer, RecordedRequest, ScriptedResponse};
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

/// The document of an API with orders.
const DOCUMENT: &str = r"
openapi: 3.0.3
info: {title: Shop, version: 1.0.0}
servers: [{url: SERVER}]
paths:
  /orders:
    get:
      operationId: listOrders
      summary: List the orders
      parameters: [{name: status, in: query, schema: {type: array, items: {type: string}}}]
      responses:
        200: {description: All., content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Order'}}}}}
    post:
      operationId: createOrder
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
      responses:
        201: {description: It., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
  /orders/{id}:
    get:
      operationId: getOrder
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        200: {description: It., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
    delete:
      operationId: deleteOrder
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {204: {description: Gone.}}
  /files:
    post:
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
      responses: {200: {description: Done.}}
components:
  schemas:
    Order: {type: object, required: [item], properties: {id: {type: string, readOnly: true}, item: {type: string}}}
";

/// Starts the API, whose order `o/3` does not exist.
fn api() -> ModelServer {
    ModelServer::answering(|request: &RecordedRequest| {
        let order = |id: &str| json!({"id": id, "item": format!("item of {id}")});
        Some(match &*request.line {
            "GET /v1/orders?status=open&status=new%20one" => {
                ScriptedResponse::json(200, &json!([order("o1"), order("o/2"), order("o/3")]))
            }
            "GET /v1/orders/o1" => ScriptedResponse::json(200, &order("o1")),
            "GET /v1/orders/o%2F2" => ScriptedResponse::json(200, &order("o/2")),
            "POST /v1/orders" => ScriptedResponse::json(201, &request.body),
            "DELETE /v1/orders/o1" => ScriptedResponse::new(204, "text/plain", Vec::new()),
            _ => ScriptedResponse::json(404, &json!({"reason": "no such order"})),
        })
    })
}

/// Writes the document and an `mcp.json` with this entry.
fn write(folder: &Path, document: &str, entry: &Value) {
    fs::write(folder.join("shop.yaml"), document).unwrap();
    let servers = json!({ "mcpServers": { "shop": entry } });
    fs::write(folder.join("mcp.json"), servers.to_string()).unwrap();
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = planwright(folder);
    let output = command
        .env("SHOP_KEY", "s3cret-key")
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn a_plan_calls_the_operations() {
    let folder = tempfile::tempdir().unwrap();
    let api = api();
    let base = format!("{}/v1", api.url());
    let entry =
        json!({"openapi": "shop.yaml", "baseUrl": base, "headers": {"X-Api-Key": "${SHOP_KEY}"}});
    write(folder.path(), DOCUMENT, &entry);
    let plan = json!({"name": "orders", "steps": [
        {"id": "open", "tool": "listOrders", "args": {"status": ["open", "new one"]}},
        {"id": "each", "for_each": "${open.result}", "tool": "getOrder", "args": {"id": "${item.id}"}, "on_error": "continue"},
        {"id": "made", "tool": "createOrder", "args": {"item": "${open.result[0].item}"}}
    ], "output": ["each", "made"]});
    fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    // A working folder elsewhere: the document is beside the file that names it.
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let arguments = [
        "run",
        "../plan.json",
        "--servers",
        "../mcp.json",
        "--format",
        "json",
    ];
    let (exit, report, messages) = run(&below, &arguments);
    let report: Value =
        serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}: {messages}"));
    assert_eq!(exit, Some(0), "{report:#}");
    assert_eq!(report["output"]["made"], json!({"item": "item of o1"}));
    let each = report["output"]["each"].to_string();
    assert!(each.contains("item of o/2"), "{each}");
    let whole = report.to_string();
    assert!(
        whole.contains("HTTP 404 Not Found: {\\\"reason\\\":\\\"no such order\\\"}"),
        "{report:#}"
    );
    assert!(!whole.contains("s3cret-key") && !messages.contains("s3cret-key"));

    let mut asked = api.asked();
    assert!(
        asked
            .iter()
            .all(|request| request.headers["x-api-key"] == "s3cret-key")
    );
    asked.sort_by(|one, other| one.line.cmp(&other.line));
    let lines: Vec<&str> = asked.iter().map(|request| &*request.line).collect();
    assert_eq!(
        lines,
        [
            "GET /v1/orders/o%2F2",
            "GET /v1/orders/o%2F3",
            "GET /v1/orders/o1",
            "GET /v1/orders?status=open&status=new%20one",
            "POST /v1/orders",
        ]
    );
    let post = &asked[4];
    assert_eq!(post.body, json!({"item": "item of o1"}));
    assert_eq!(post.headers["content-type"], "application/json");
    assert!(
        post.headers["user-agent"].starts_with("planwright/"),
        "{post:?}"
    );
}

#[test]
fn a_deletion_asks_and_wrong_arguments_are_found_before() {
    let folder = tempfile::tempdir().unwrap();
    let api = api();
    let entry = json!({"openapi": "shop.yaml"});
    let document = DOCUMENT.replace("SERVER", &format!("{}/v1", api.url()));
    write(folder.path(), &document, &entry);
    let file = folder.path().join("plan.json");
    let plan = |step: Value| {
        let plan = json!({"name": "one", "steps": [step]});
        fs::write(&file, plan.to_string()).unwrap();
        run(
            folder.path(),
            &["run", "plan.json", "--servers", "mcp.json"],
        )
    };
    let (exit, _, messages) = plan(json!({"id": "a", "tool": "getOrder", "args": {"idd": "o1"}}));
    assert_eq!(exit, Some(3), "{messages}");
    let (exit, _, messages) = plan(json!({"id": "a", "tool": "deleteOrder", "args": {"id": "o1"}}));
    assert_eq!(exit, Some(4), "{messages}");
    assert_eq!(api.asked(), []);
    let (exit, _, messages) = run(
        folder.path(),
        &["resume", "--approve", "all", "--servers", "mcp.json"],
    );
    assert_eq!(exit, Some(0), "{messages}");
    let lines: Vec<String> = api
        .asked()
        .into_iter()
        .map(|request| request.line)
        .collect();
    assert_eq!(lines, ["DELETE /v1/orders/o1"]);
}

#[test]
fn it_is_listed_tested_and_shown_like_other_servers() {
    let folder = tempfile::tempdir().unwrap();
    let entry = json!({
        "openapi": "shop.yaml", "baseUrl": "http://127.0.0.1:9/v1", "headers": {"X-Api-Key": "${SHOP_KEY}"}
    });
    write(folder.path(), DOCUMENT, &entry);
    let (exit, data, _) = run(folder.path(), &["servers"]);
    assert_eq!(
        (exit, &*data),
        (Some(0), "shop  shop.yaml at http://127.0.0.1:9/v1\n")
    );
    let (exit, data, messages) = run(folder.path(), &["servers", "test", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(0), "{messages}");
    assert!(data.starts_with("✓ shop  4 tools in "), "{data}");
    let note = "warning: the server `shop` has no tool for `POST /files` (its body is `multipart/form-data`, which cannot be sent)";
    assert!(messages.contains(note), "{messages}");
    let (exit, data, messages) = run(folder.path(), &["tools", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(0), "{messages}");
    for name in ["listOrders", "createOrder", "getOrder", "deleteOrder"] {
        assert!(data.contains(name), "{data}");
    }
    let (exit, _, messages) = run(folder.path(), &["login", "shop", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(2));
    assert!(
        messages.contains("for which there is no login"),
        "{messages}"
    );

    // `trust` shows the document, the address and the names of the headers.
    let (exit, _, messages) = run(folder.path(), &["tools"]);
    assert_eq!(exit, Some(2), "{messages}");
    let (exit, data, messages) = run(folder.path(), &["trust", "mcp.json"]);
    assert_eq!(exit, Some(0), "{messages}");
    let shown = format!("{data}{messages}");
    assert!(
        shown.contains(
            "  shop: call the API of shop.yaml at http://127.0.0.1:9/v1\n    with X-Api-Key: ${SHOP_KEY}\n"
        ),
        "{shown}"
    );
    assert_eq!(run(folder.path(), &["tools"]).0, Some(0));
    let moved = json!({"openapi": "shop.yaml", "baseUrl": "http://127.0.0.1:8/v1"});
    write(folder.path(), DOCUMENT, &moved);
    let (exit, _, messages) = run(folder.path(), &["tools"]);
    assert_eq!(exit, Some(2), "{messages}");
    assert!(messages.contains("changed: `shop`"), "{messages}");
}

#[test]
fn a_fetched_document_gives_tools_and_no_other_host_gets_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let document = DOCUMENT.replace("SERVER", "/v1");
    let api = ModelServer::answering(move |request| {
        Some(match &*request.line {
            "GET /openapi.yaml" => ScriptedResponse::new(200, "text/yaml", vec![document.clone()]),
            "GET /other.yaml" => {
                let other = document.replace("url: /v1", "url: 'https://other.example/v1'");
                ScriptedResponse::new(200, "text/yaml", vec![other])
            }
            "GET /v1/orders/moved" => ScriptedResponse::new(307, "text/plain", Vec::new())
                .header("location", "http://127.0.0.1:9/elsewhere"),
            _ => ScriptedResponse::json(200, &json!({"item": "tea"})),
        })
    });
    let entry = |path: &str| json!({"openapi": format!("{}{path}", api.url()), "headers": {"X-Api-Key": "${SHOP_KEY}"}});
    write(folder.path(), "", &entry("/openapi.yaml"));
    let call = |id: &str| {
        let id = format!("id={id}");
        run(
            folder.path(),
            &["call", "shop.getOrder", &id, "--servers", "mcp.json"],
        )
    };
    let (exit, data, messages) = call("o1");
    assert_eq!(exit, Some(0), "{messages}");
    assert!(data.contains("tea"), "{data}");
    let (exit, data, messages) = call("moved");
    assert_eq!(exit, Some(1), "{messages}");
    let message = "HTTP 307 Temporary Redirect, which redirects to `http://127.0.0.1:9/elsewhere`";
    assert!(
        format!("{data}{messages}").contains(message),
        "{data}{messages}"
    );

    write(folder.path(), "", &entry("/other.yaml"));
    let (exit, _, messages) = run(folder.path(), &["servers", "test", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(1));
    assert!(
        messages.contains("names the address `https://other.example/v1` on another host"),
        "{messages}"
    );
}

#[test]
fn three_hundred_operations_run_in_one_plan() {
    const COUNT: usize = 300;
    let folder = tempfile::tempdir().unwrap();
    let api = ModelServer::answering(|request: &RecordedRequest| {
        Some(ScriptedResponse::json(200, &json!({"line": request.line})))
    });
    let paths = (0..COUNT).map(|number| {
        let (method, path) = match number % 2 {
            0 => ("get", format!("/things{number}/{{id}}")),
            _ => ("put", format!("/things{number}/{{id}}/state")),
        };
        let schema = json!({"$ref": "#/components/schemas/Answer"});
        let operation = json!({
            "operationId": format!("thing{number}"),
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
            "responses": {"200": {"description": "It.", "content": {"application/json": {"schema": schema}}}}
        });
        (path, json!({ method: operation }))
    });
    let paths: serde_json::Map<String, Value> = paths.collect();
    let answer =
        json!({"type": "object", "required": ["line"], "properties": {"line": {"type": "string"}}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "Things", "version": "1"}, "paths": paths,
        "components": {"schemas": {"Answer": answer}}
    });
    let entry = json!({"openapi": "shop.yaml", "baseUrl": api.url()});
    write(folder.path(), &document.to_string(), &entry);
    let steps = (0..COUNT).map(|number| {
        let tool = format!("thing{number}");
        json!({"id": format!("s{number}"), "tool": tool, "args": {"id": number}})
    });
    let plan = json!({"name": "things", "steps": steps.collect::<Vec<_>>(), "output": ["s299"]});
    fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    let arguments = [
        "run",
        "plan.json",
        "--servers",
        "mcp.json",
        "--format",
        "json",
    ];
    let (exit, report, messages) = run(folder.path(), &arguments);
    assert_eq!(exit, Some(0), "{messages}");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["output"]["s299"]["line"], "PUT /things299/299/state");
    let mut lines: Vec<String> = api
        .asked()
        .into_iter()
        .map(|request| request.line)
        .collect();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), COUNT);
}
