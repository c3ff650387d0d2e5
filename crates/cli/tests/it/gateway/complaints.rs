//! Defects that users report of other gateways, tested on this one.

use planwright_testkit::wire_client::WireClient;
use planwright_testkit::{conformance_server, fake_server};
use serde_json::{Value, json};

use super::serve::Behind;

const SCHEMA: &str = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}"#;

/// A client of the gateway before a fake server with these tools.
fn before(tools: &Value, arguments: &[&str]) -> (Behind, WireClient) {
    let script = json!({"tools": tools}).to_string();
    let behind = Behind::new(&[("fake", fake_server::program(), &[&script])]);
    let client = behind.client(arguments, "2025-11-25", &[]);
    (behind, client)
}

fn call(client: &mut WireClient, tool: &str, arguments: Value) -> Value {
    client.request("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Passes a result on, of a tool that says what it gives, and compares.
fn check_result(result: &Value) {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let tools = json!([{"name": "count", "outputSchema": schema, "does": {"result": result}}]);
    let plain = ["--mode", "plain"];
    let (behind, mut client) = before(&tools, &plain);
    let answer = call(&mut client, "count", json!({}));
    assert_eq!(answer, json!({"result": result}));
    let listening = behind.listening(&plain);
    for revision in ["2025-11-25", "2026-07-28"] {
        let mut client = WireClient::reach(listening.url(), revision, &[]);
        let mut answer = call(&mut client, "count", json!({}));
        if revision == "2026-07-28" {
            let fields = answer["result"].as_object_mut().expect("it is one");
            assert_eq!(fields.remove("resultType"), Some(json!("complete")));
        }
        assert_eq!(answer, json!({"result": result}), "{revision}");
    }
}

#[test]
fn the_description_of_a_tool_stays_whole() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let tool = json!({
        "name": "count",
        "title": "Count",
        "description": "Counts.",
        "inputSchema": {"type": "object", "properties": {}, "$defs": {"unused": {"type": "null"}}},
        "outputSchema": schema,
        "annotations": {"readOnlyHint": true, "x-own": 1},
        "icons": [{"src": "data:image/png;base64,AA==", "mimeType": "image/png"}],
        "_meta": {"org.example/cost": 0.5},
        "x-own": {"deep": [1, 2.5, null]},
    });
    let (_behind, mut client) = before(&json!([tool]), &["--mode", "plain"]);
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"], json!([tool]));
}

#[test]
fn structured_content_without_a_text_arrives() {
    check_result(&json!({"content": [], "structuredContent": {"n": 1}}));
}

#[test]
fn an_error_owes_no_structured_content() {
    let text = json!([{"type": "text", "text": "the counter is broken"}]);
    check_result(&json!({"content": text, "isError": true}));
    check_result(&json!({"content": text, "isError": true, "structuredContent": {"why": "x"}}));
}

#[test]
fn unknown_fields_are_forwarded() {
    check_result(&json!({
        "content": [{"type": "text", "text": "1", "x-own": true, "annotations": {"priority": 0.1}}],
        "structuredContent": {"n": 1},
        "_meta": {"org.example/took": 3},
        "x-own": [null],
    }));
}

#[test]
fn a_plan_notices_that_structured_content_is_missing() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let text = json!({"text": "one"});
    let reads = json!({"readOnlyHint": true});
    let tools = json!([
        {"name": "count", "annotations": reads, "outputSchema": schema, "does": text},
        {"name": "echo", "annotations": reads},
    ]);
    let (_behind, mut client) = before(&tools, &[]);
    let steps = json!([
        {"id": "a", "tool": "count", "args": {}},
        {"id": "b", "tool": "echo", "args": {"n": "${a.n}"}},
    ]);
    let answer = call(
        &mut client,
        "execute_plan",
        json!({"plan": {"steps": steps}}),
    );
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{answer:#}");
    assert_eq!(
        result["structuredContent"]["status"], "failed",
        "{answer:#}"
    );
    assert!(!answer.to_string().contains(r#""n":"#), "{answer:#}");
}

#[test]
fn a_client_hears_that_tools_have_changed() {
    let behind = Behind::new(&[("conformance", conformance_server::program(), &[])]);
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut client = behind.client(&["--mode", "plain"], revision, &[]);
        for (tool, list) in [
            (
                "test_trigger_tool_change",
                "notifications/tools/list_changed",
            ),
            (
                "test_trigger_prompt_change",
                "notifications/prompts/list_changed",
            ),
        ] {
            client.notifications.clear();
            call(&mut client, tool, json!({}));
            client.notification(list);
        }
    }
}

#[test]
fn one_dead_server_among_many_holds_up_none() {
    let dead = json!({"hang": true}).to_string();
    let scripts: Vec<String> = (0..20)
        .map(|number| json!({"tools": [{"name": format!("tool{number}")}]}).to_string())
        .collect();
    let names: Vec<String> = (0..20).map(|number| format!("server{number}")).collect();
    let dead = [dead.as_str()];
    let arguments: Vec<[&str; 1]> = scripts.iter().map(|script| [script.as_str()]).collect();
    let mut servers: Vec<(&str, &std::path::Path, &[&str])> =
        vec![("dead", fake_server::program(), &dead)];
    for (name, arguments) in names.iter().zip(&arguments) {
        servers.push((name, fake_server::program(), arguments));
    }
    let behind = Behind::new(&servers);
    let mut client = behind.client(&["--mode", "plain"], "2025-11-25", &[]);
    for number in 0..20 {
        let answer = call(&mut client, &format!("tool{number}"), json!({"n": number}));
        assert_eq!(answer["result"]["structuredContent"], json!({"n": number}));
    }
}

#[test]
fn a_call_that_waits_for_a_person_says_so() {
    let tools = json!([{"name": "pay"}]);
    let (_behind, mut client) = before(&tools, &[]);
    let steps = json!([{"id": "a", "tool": "pay", "approval": true, "args": {}}]);
    let answer = call(
        &mut client,
        "execute_plan",
        json!({"plan": {"steps": steps}}),
    );
    let status = &answer["result"]["structuredContent"];
    assert_eq!(status["status"], "waiting", "{answer:#}");
    let next = status["next"].as_str().unwrap_or_default();
    assert!(next.contains("a person has to decide"), "{answer:#}");
    assert!(next.contains("resume_plan"), "{answer:#}");
}

#[test]
fn a_secret_input_is_not_repeated() {
    let tools = json!([{"name": "look", "inputSchema": {"type": "object"}, "does": {"text": "key hun\nter2-S3CRET, hunter2-S…"}}]);
    let (_behind, mut client) = before(&tools, &[]);
    let token = |rule: Value| {
        let mut schema = json!({"type": "string", "writeOnly": true});
        let fields = rule.as_object().expect("an object").clone();
        schema.as_object_mut().expect("an object").extend(fields);
        json!({"type": "object", "properties": {"token": schema}})
    };
    for (rule, expected) in [
        (json!({"minLength": 40}), "PW0506"),
        (json!({}), "[redacted]"),
    ] {
        let plan = json!({
            "inputs": {"auth": token(rule)},
            "steps": [{"id": "a", "tool": "fake.look", "args": {"key": "${inputs.auth.token}"}}],
        });
        let inputs = json!({"auth": {"token": "hunter2-S3CRET"}});
        let answer = call(
            &mut client,
            "execute_plan",
            json!({"plan": plan, "inputs": inputs}),
        );
        let answer = answer.to_string();
        assert!(answer.contains(expected), "{answer}");
        for part in ["hunter2", "S3CRET", "ter2"] {
            assert!(!answer.contains(part), "{answer}");
        }
    }
}
