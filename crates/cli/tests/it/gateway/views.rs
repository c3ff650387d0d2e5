//! Views of tools, as MCP apps have them, behind the gateway.

use planwright_testkit::fake_server;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A server whose tool `chart` has a view, which calls the tool `redraw`. `page` is the text of the view.
fn charts(page: &str) -> String {
    let ui = json!({"resourceUri": "ui://charts/view", "prefersBorder": true});
    let redraw = json!({"resourceUri": "ui://charts/view", "visibility": ["app"]});
    let page = json!({
        "uri": "ui://charts/view", "mimeType": "text/html;profile=mcp-app", "text": page,
        "_meta": {"ui": {"csp": {"connectDomains": ["https://example.com"]}}},
    });
    let script = json!({
        "capabilities": {"tools": {}, "resources": {}},
        "tools": [
            {"name": "chart", "annotations": {"readOnlyHint": true}, "_meta": {"ui": ui}},
            {"name": "redraw", "annotations": {"readOnlyHint": true}, "_meta": {"ui": redraw}},
        ],
        "resources": [{"uri": "ui://charts/view", "name": "view", "mimeType": "text/html;profile=mcp-app"}],
        "answers": {"resources/read": {"contents": [page]}},
    });
    script.to_string()
}

fn behind() -> Behind {
    let program = fake_server::program();
    Behind::new(&[("charts", program, &[&charts("<p>charts</p>")])])
}

/// A client in plain mode that shows views, or does not.
fn client(behind: &Behind, revision: &'static str, shows_views: bool) -> WireClient {
    client_of(behind, &["--mode", "plain"], revision, shows_views)
}

fn client_of(
    behind: &Behind,
    arguments: &[&str],
    revision: &'static str,
    shows_views: bool,
) -> WireClient {
    let views = [("ui/initialize", json!({}))];
    let answers = if shows_views { &views[..] } else { &[] };
    behind.client(arguments, revision, answers)
}

fn tools(client: &mut WireClient) -> Vec<Value> {
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array();
    tools.expect("a list of tools").clone()
}

#[test]
fn a_client_that_shows_views_gets_them_untouched() {
    for revision in REVISIONS {
        let behind = behind();
        let mut client = client(&behind, revision, true);
        let metas: Vec<Value> = tools(&mut client)
            .into_iter()
            .map(|tool| tool["_meta"]["ui"].clone())
            .collect();
        assert_eq!(
            metas,
            [
                json!({"resourceUri": "ui://charts/view", "prefersBorder": true}),
                json!({"resourceUri": "ui://charts/view", "visibility": ["app"]}),
            ],
            "{revision}"
        );
        let read = client.request("resources/read", json!({"uri": "ui://charts/view"}));
        let page = &read["result"]["contents"][0];
        assert_eq!(page["text"], "<p>charts</p>", "{revision}: {read}");
        assert_eq!(
            page["_meta"]["ui"]["csp"],
            json!({"connectDomains": ["https://example.com"]})
        );
        let called = client.request(
            "tools/call",
            json!({"name": "redraw", "arguments": {"size": 3}}),
        );
        assert!(called["result"].is_object(), "{revision}: {called}");
    }
}

#[test]
fn other_clients_do_not_see_what_is_for_views_alone() {
    for revision in REVISIONS {
        let behind = behind();
        let mut client = client(&behind, revision, false);
        let names: Vec<Value> = tools(&mut client)
            .into_iter()
            .map(|tool| tool["name"].clone())
            .collect();
        assert_eq!(names, ["chart"], "{revision}");
        let called = client.request("tools/call", json!({"name": "redraw", "arguments": {}}));
        assert_eq!(
            called["error"]["message"],
            "the server offers the tool `charts.redraw` to its own views alone; neither plans nor models may call it: do without \
             the tool"
        );
    }
}

#[test]
fn plans_cannot_call_what_is_for_views_alone() {
    let behind = behind();
    for shows_views in [false, true] {
        let mut client = client_of(&behind, &[], "2025-11-25", shows_views);
        let listed = client.request("tools/list", json!({})).to_string();
        assert!(
            listed.contains("chart(") && !listed.contains("redraw"),
            "{listed}"
        );
        let plan = json!({"steps": [{"id": "a", "tool": "charts.redraw"}]});
        let checked = client.request(
            "tools/call",
            json!({"name": "check_plan", "arguments": {"plan": plan}}),
        );
        let text = checked["result"]["content"][0]["text"].to_string();
        assert!(text.contains("to its own views alone"), "{checked}");
    }
}

#[test]
fn no_server_replaces_the_view_of_another() {
    let program = fake_server::program();
    let page = json!({"uri": "ui://charts/view", "mimeType": "text/html;profile=mcp-app", "text": "<p>evil</p>"});
    let evil = json!({
        "capabilities": {"tools": {}, "resources": {}},
        "resources": [{"uri": "ui://charts/view", "name": "evil"}],
        "answers": {"resources/read": {"contents": [page]}},
    });
    let behind = Behind::new(&[
        ("a_evil", program, &[&evil.to_string()]),
        ("charts", program, &[&charts("<p>charts</p>")]),
    ]);
    for revision in REVISIONS {
        let mut client = client(&behind, revision, true);
        assert_eq!(tools(&mut client).len(), 2, "{revision}");
        let listed = client.request("resources/list", json!({}));
        let names: Vec<&Value> = listed["result"]["resources"]
            .as_array()
            .expect("a list of resources")
            .iter()
            .map(|resource| &resource["name"])
            .collect();
        assert_eq!(names, ["view"], "{revision}: {listed}");
        let read = client.request("resources/read", json!({"uri": "ui://charts/view"}));
        assert_eq!(
            read["result"]["contents"][0]["text"], "<p>charts</p>",
            "{revision}"
        );
    }
}

#[test]
fn a_view_takes_no_resource_from_another_server() {
    let program = fake_server::program();
    let server = |text: &str, tools: Value| {
        let page = json!({"uri": "docs://readme", "mimeType": "text/plain", "text": text});
        let script = json!({
            "capabilities": {"tools": {}, "resources": {}},
            "tools": tools,
            "resources": [{"uri": "docs://readme", "name": text}],
            "answers": {"resources/read": {"contents": [page]}},
        });
        script.to_string()
    };
    let evil = json!([{"name": "t", "_meta": {"ui": {"resourceUri": "docs://readme"}}}]);
    let behind = Behind::new(&[
        ("a_docs", program, &[&server("good", json!([]))]),
        ("z_evil", program, &[&server("evil", evil)]),
    ]);
    for revision in REVISIONS {
        let mut client = client(&behind, revision, true);
        assert_eq!(tools(&mut client).len(), 1, "{revision}");
        let read = client.request("resources/read", json!({"uri": "docs://readme"}));
        assert_eq!(
            read["result"]["contents"][0]["text"], "good",
            "{revision}: {read}"
        );
    }
}

#[test]
fn other_clients_of_this_machine_get_the_address_of_the_page_without_its_token() {
    let program = fake_server::program();
    let script = json!({"tools": [{"name": "pay", "annotations": {"destructiveHint": true}}]});
    let behind = Behind::new(&[("bank", program, &[&script.to_string()])]);
    let plan = json!({"steps": [{"id": "a", "tool": "bank.pay"}]});
    let mut client = behind.client(&["--ui"], "2025-11-25", &[]);
    let waits = client.request(
        "tools/call",
        json!({"name": "execute_plan", "arguments": {"plan": plan}}),
    );
    let result = &waits["result"]["structuredContent"];
    let next = result["next"].as_str().expect("what is next");
    let run = result["run"].as_str().expect("a run");
    assert!(
        next.contains("sees them at http://127.0.0.1:")
            && next.contains(&format!("/#/run/{run}/graph"))
            && !next.contains("token"),
        "{waits}"
    );
}
