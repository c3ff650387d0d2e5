//! Tools that do not state whether they destroy something.

use planwright_testkit::fake_server;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

const OLDER: &str = "2025-11-25";
const NEWEST: &str = "2026-07-28";

/// A server with tools that state this and that.
fn behind() -> Behind {
    let tool = |name: &str, annotations: Value| json!({"name": name, "annotations": annotations, "does": {"text": format!("{name} was called")}});
    let script = json!({"tools": [
        {"name": "bare", "does": {"text": "bare was called"}},
        tool("writes", json!({"readOnlyHint": false})),
        tool("adds", json!({"destructiveHint": false})),
        tool("reads", json!({"readOnlyHint": true})),
        tool("wipes", json!({"destructiveHint": true})),
    ]});
    Behind::new(&[("shop", fake_server::program(), &[&script.to_string()])])
}

/// Calls `tool`, by a plan or by itself, for a client that rejects each call, and returns the response.
fn answered(client: &mut WireClient, by: &str, tool: &str) -> String {
    let (name, arguments) = match by {
        "execute_plan" => (by, json!({"plan": {"steps": [{"id": "a", "tool": tool}]}})),
        "call_tool" => (by, json!({"tool": tool})),
        _ => (tool, json!({})),
    };
    let call = json!({"name": name, "arguments": arguments});
    client.request("tools/call", call).to_string()
}

/// Returns the tools that are called without an approval, for a client that rejects each request for one.
#[track_caller]
fn check(behind: &Behind, mode: &[&str], by: &str, called: &[&str]) {
    let rejects = json!({"action": "accept", "content": {"decision": "reject"}});
    let answers = [("elicitation/create", rejects)];
    let listening = behind.listening(mode);
    let clients = [
        behind.client(mode, OLDER, &answers),
        behind.client(mode, NEWEST, &answers),
        WireClient::reach(listening.url(), OLDER, &answers),
        WireClient::reach(listening.url(), NEWEST, &answers),
    ];
    for mut client in clients {
        for tool in ["bare", "writes", "adds", "reads", "wipes"] {
            let answer = answered(&mut client, by, tool);
            let is_called = answer.contains(&format!("{tool} was called"));
            assert_eq!(is_called, called.contains(&tool), "{tool}: {answer}");
            assert_eq!(answer.contains("reject"), !is_called, "{tool}: {answer}");
        }
    }
}

#[test]
fn they_ask_if_the_client_does_not_see_the_call() {
    let behind = behind();
    check(&behind, &[], "execute_plan", &["adds", "reads"]);
    check(
        &behind,
        &["--mode", "search"],
        "call_tool",
        &["adds", "reads"],
    );
    let both = ["--mode", "plain", "--with-plans"];
    check(&behind, &both, "execute_plan", &["adds", "reads"]);
}

#[test]
fn they_do_not_ask_if_the_client_sees_the_call() {
    let behind = behind();
    let called = ["bare", "writes", "adds", "reads"];
    check(&behind, &["--mode", "plain"], "", &called);
    check(&behind, &["--mode", "plain", "--with-plans"], "", &called);
    // A client without forms asks by itself, or not at all.
    let mut client = behind.client(&["--mode", "plain"], OLDER, &[]);
    let answer = answered(&mut client, "", "wipes");
    assert!(answer.contains("wipes was called"), "{answer}");
}

#[test]
fn the_user_says_what_holds() {
    let behind = behind();
    behind.set("[tools]\nunannotated = \"run\"\n");
    let called = ["bare", "writes", "adds", "reads"];
    check(&behind, &[], "execute_plan", &called);
    check(&behind, &["--mode", "search"], "call_tool", &called);
    behind.set("[tools]\nunannotated = \"ask\"\n");
    check(&behind, &["--mode", "plain"], "", &["adds", "reads"]);
    behind.set("[tools]\nno_ask = [\"shop.bare\"]\nread_only = [\"shop.wipes\"]\n");
    check(
        &behind,
        &[],
        "execute_plan",
        &["bare", "adds", "reads", "wipes"],
    );
    check(
        &behind,
        &["--mode", "plain"],
        "",
        &["bare", "writes", "adds", "reads", "wipes"],
    );
}

#[test]
fn descriptions_say_that_a_tool_asks() {
    let behind = behind();
    let mut client = behind.client(&[], OLDER, &[]);
    let mut call = |name: &str, arguments: Value| {
        let call = json!({"name": name, "arguments": arguments});
        client.request("tools/call", call)["result"]["content"][0]["text"].to_string()
    };
    let described = call("describe_tools", json!({"tools": ["bare", "adds"]}));
    assert_eq!(described.matches("asks first").count(), 1, "{described}");
    let found = call("search_tools", json!({"query": "bare"}));
    assert!(found.contains("[asks first]"), "{found}");
    let plan = json!({"steps": [{"id": "a", "tool": "bare"}]});
    let checked = call("check_plan", json!({"plan": plan}));
    assert!(checked.contains(r#"\"approval\":true"#), "{checked}");
    let listed = client.request("tools/list", json!({})).to_string();
    assert!(listed.contains("shop.bare() [asks first]"), "{listed}");
}

/// The run in an answer.
fn run_of(answer: &Value) -> String {
    let run = &answer["result"]["structuredContent"]["run"];
    run.as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

#[test]
fn a_call_waits_if_the_client_cannot_ask() {
    let behind = behind();
    for revision in [OLDER, NEWEST] {
        let mut client = behind.client(&["--mode", "search"], revision, &[]);
        let listed = client.request("tools/list", json!({})).to_string();
        assert!(listed.contains("resume_plan"), "{listed}");
        let arguments = json!({"text": "${runs.x.y} $${z}"});
        let call =
            json!({"name": "call_tool", "arguments": {"tool": "bare", "arguments": arguments}});
        let asked = client.request("tools/call", call);
        let text = asked.to_string();
        assert_eq!(
            asked["result"]["structuredContent"]["status"], "waiting",
            "{text}"
        );
        assert!(text.contains("a person has to decide"), "{text}");
        assert!(text.contains("resume_plan"), "{text}");
        assert!(
            !text.contains("was called") && !text.contains("planwright approve"),
            "{text}"
        );
        let run = run_of(&asked);
        let waiting = behind.run(&["runs", "--status", "waiting"]);
        assert!(
            waiting.contains(&run[..8]) && waiting.contains("shop.bare"),
            "{waiting}"
        );
        assert!(waiting.contains("${runs.x.y} $${z}"), "{waiting}");
        let shown = behind.run(&["approve", &run, "call_bare", "--show"]);
        let digest = shown.lines().find_map(|line| line.strip_prefix("digest: "));
        let digest = digest.unwrap_or_else(|| panic!("{shown}"));
        assert!(!text.contains(digest), "{text}");
        let resume = json!({"name": "resume_plan", "arguments": {"run": run}});
        let early = client.request("tools/call", resume.clone());
        assert_eq!(
            early["result"]["structuredContent"]["status"], "waiting",
            "{early}"
        );
        behind.run(&["approve", &run, "call_bare", "--digest", digest]);
        let done = client.request("tools/call", resume);
        let structured = &done["result"]["structuredContent"];
        assert_eq!(structured["status"], "succeeded", "{done}");
        assert_eq!(
            structured["output"]["call_bare"], "bare was called",
            "{done}"
        );
    }
    let mut client = behind.client(&["--mode", "search", "--no-store"], OLDER, &[]);
    let refused = answered(&mut client, "call_tool", "bare");
    assert!(refused.contains("not stored"), "{refused}");
    assert!(!refused.contains("was called"), "{refused}");
}

#[test]
fn a_tool_that_asks_at_the_gateway_asks_on_the_command_line() {
    let behind = behind();
    let mut client = behind.client(&[], OLDER, &[]);
    let plan = json!({"steps": [{"id": "a", "tool": "bare"}]});
    let call = json!({"name": "execute_plan", "arguments": {"plan": plan}});
    let run = run_of(&client.request("tools/call", call));
    let servers = behind.folder().join("mcp.json").display().to_string();
    let resumed = behind
        .command_of(&["resume", &run, "--servers", &servers])
        .output()
        .expect("the program can be started");
    assert_eq!(resumed.status.code(), Some(4), "{resumed:?}");
    // A plan of one's own is run as it always was.
    std::fs::write(behind.folder().join("plan.json"), plan_text()).expect("it can be written");
    let ran = behind.run(&["run", "plan.json", "--servers", &servers]);
    assert!(ran.contains("bare was called"), "{ran}");
}

fn plan_text() -> &'static str {
    r#"{"steps": [{"id": "a", "tool": "bare"}]}"#
}
