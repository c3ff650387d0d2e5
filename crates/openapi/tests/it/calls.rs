//! Calls as requests, and responses as results.

use planwright_openapi::{Api, ApiOptions, HttpResponse, Operation, call_result};
use serde_json::{Value, json};

fn operation(document: &str, name: &str) -> Operation {
    let api = Api::read(document, &ApiOptions::default()).unwrap();
    let mut operations = api.operations.into_iter();
    operations
        .find(|operation| operation.name() == name)
        .unwrap()
}

fn shop(name: &str) -> Operation {
    operation(include_str!("documents/shop-3.0.yaml"), name)
}

fn notes(name: &str) -> Operation {
    operation(include_str!("documents/notes-3.1.json"), name)
}

/// Returns the request of a call on one line each for its head, headers and body.
fn request(operation: &Operation, arguments: Value) -> String {
    let request = match operation.request(arguments.as_object().unwrap()) {
        Ok(request) => request,
        Err(error) => return format!("error: {error}"),
    };
    let mut lines = vec![format!(
        "{} {} ?{}",
        request.method, request.path, request.query
    )];
    lines.extend(
        request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    lines.extend(request.body.map(|body| String::from_utf8(body).unwrap()));
    lines.join("\n")
}

#[test]
fn arguments_go_where_the_document_puts_them() {
    let list = json!({"X-Tenant": "ada", "status": ["open", "paid"], "filter_since": "2026-01-01", "session": "s1"});
    let note =
        json!({"id": "a/b", "rev": 3, "id_query": 1, "where": {"x": [1]}, "page": {"size": 5}});
    let requests = [
        request(&shop("orders_list"), list),
        request(
            &shop("createOrder"),
            json!({"X-Tenant": "ada", "item": "tea", "note": null}),
        ),
        request(&shop("createOrder_2"), json!({"id": 7, "body": {"id": 7}})),
        request(&shop("createOrder_2"), json!({"id": 7})),
        request(&shop("deleteOrder"), json!({"id": 7})),
        request(
            &shop("login"),
            json!({"user": "a b", "scopes": ["x", "y&z"], "device": {"name": "a", "keys": [{"id": 1}, {"id": 2}]}}),
        ),
        request(&notes("get_note_by_revision"), note),
        request(
            &notes("patch_notes_id_rev"),
            json!({"id": "n", "rev": 1, "body": {"text": "x"}}),
        ),
        request(&notes("addNote"), json!({"text": "x", "tags": ["red"]})),
        request(&notes("put_raw"), json!({"body": "some text"})),
    ];
    insta::assert_snapshot!(requests.join("\n\n"));
}

#[test]
fn no_argument_leads_to_another_path_or_header() {
    let patch = notes("patch_notes_id_rev");
    let with_id = |id: Value| request(&patch, json!({"id": id, "rev": 1, "body": null}));
    let requests = [
        with_id(json!("..")),
        with_id(json!(".")),
        with_id(json!("")),
        with_id(json!(null)),
        with_id(json!("../../users")),
        with_id(json!("%2e%2e")),
        with_id(json!("{rev}")),
        request(&patch, json!({"rev": 1})),
        request(&patch, json!({"id": "n", "rev": 1, "idd": 1})),
        request(&shop("orders_list"), json!({"X-Tenant": "a\r\nHost: evil"})),
        request(
            &shop("orders_list"),
            json!({"X-Tenant": "a", "session": "a; admin=1"}),
        ),
    ];
    insta::assert_snapshot!(requests.join("\n"));
}

#[test]
fn responses_become_results() {
    let response = |status: u16, kind: &str, body: &[u8]| HttpResponse {
        status,
        status_text: format!("{status} Status"),
        content_type: (!kind.is_empty()).then(|| kind.to_owned()),
        location: None,
        body: body.to_vec(),
    };
    let list = shop("orders_list");
    let get = shop("get_orders_id");
    let remove = shop("deleteOrder");
    let redirect = HttpResponse {
        location: Some("https://other.example/".to_owned()),
        ..response(302, "", b"")
    };
    let results = [
        call_result(
            &list,
            &response(
                200,
                "application/json",
                br#"[{"id": 12345678901234567890123}]"#,
            ),
        ),
        call_result(
            &get,
            &response(200, "application/json; charset=utf-8", br#"{"id": 1.10}"#),
        ),
        call_result(&get, &response(200, "application/json", b"[1]")),
        call_result(&get, &response(200, "text/html", b"<p>")),
        call_result(&remove, &response(204, "", b"")),
        call_result(&remove, &response(200, "", br#"{"gone": true}"#)),
        call_result(&remove, &response(200, "image/png", b"\x89PNG")),
        call_result(&remove, &response(200, "application/pdf", b"\xff\xfe")),
        call_result(
            &get,
            &response(404, "application/problem+json", br#"{"title": "none"}"#),
        ),
        call_result(&get, &response(500, "text/plain", b"broken\n")),
        call_result(&get, &response(503, "", b"")),
        call_result(&get, &redirect),
    ];
    for result in &results {
        serde_json::from_str::<Value>(result).expect("a result is JSON");
    }
    insta::assert_snapshot!(results.join("\n"));
}
