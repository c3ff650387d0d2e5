//! `planwright servers` and `planwright doctor`, and the search for an `mcp.json`.

use std::fs;
use std::path::Path;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = planwright(folder).args(arguments).output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

fn fake() -> Value {
    let script = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "does": {"text": "hello"}}]});
    json!({"command": fake_server::program(), "args": [script.to_string()]})
}

fn write(folder: &Path, servers: &Value) {
    let text = json!({ "mcpServers": servers }).to_string();
    fs::write(folder.join("mcp.json"), text).unwrap();
}

#[test]
fn servers_are_listed_without_being_started() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (exit, data, messages) = run(path, &["servers"]);
    assert_eq!((exit, &*data), (Some(0), ""));
    assert!(messages.contains("planwright servers add"), "{messages}");
    write(
        path,
        &json!({
            "notes": {"command": "notes-server", "args": ["--all", "a b", "\u{1b}[31m"], "env": {"TOKEN": "s3cret"}},
            "web": {"type": "http", "url": "https://example.com/mcp"},
            "off": {"command": "x", "disabled": true},
            "odd": {"env": {}}
        }),
    );
    let (exit, data, messages) = run(path, &["servers"]);
    assert_eq!(exit, Some(0));
    insta::assert_snapshot!(data, @r"
    notes  notes-server --all 'a b' '\u{1b}[31m'
    web    https://example.com/mcp
    off    disabled
    odd    the server `odd` cannot be started: it has no `command`
    ");
    insta::assert_snapshot!(messages, @r"
    4 servers in `mcp.json`
      hint: it is not trusted: look at it, then run `planwright trust mcp.json`
    ");
    assert_eq!(run(path, &["servers", "list"]).1, data);
    let (_, text, _) = run(path, &["servers", "--format", "json"]);
    let listing: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(listing["schema"], "planwright.servers/1");
    assert_eq!(listing["trusted"], false);
    assert_eq!(listing["servers"][1]["address"], "https://example.com/mcp");
    assert!(!text.contains("s3cret"), "{text}");
}

#[test]
fn servers_are_tested_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(
        path,
        &json!({"good": fake(), "bad": {"command": "/none/such"}}),
    );
    let (exit, _, error) = run(path, &["servers", "test"]);
    assert_eq!(exit, Some(2));
    assert!(error.contains("planwright trust mcp.json"), "{error}");
    let (exit, data, error) = run(path, &["servers", "test", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(1));
    assert!(data.contains("✓ good  1 tool in "), "{data}");
    assert!(data.contains("✗ bad  does not start"), "{data}");
    assert!(error.contains("/none/such"), "{error}");
    assert!(error.contains("note: good: no description: `t`"), "{error}");
    let (exit, data, _) = run(path, &["servers", "test", "good", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(0));
    assert!(!data.contains("bad"), "{data}");
    let (exit, text, _) = run(
        path,
        &[
            "servers",
            "test",
            "--servers",
            "mcp.json",
            "--format",
            "json",
        ],
    );
    assert_eq!(exit, Some(1));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["tests"][0]["ok"], true);
    assert_eq!(report["tests"][0]["tools"], 1);
    assert_eq!(report["tests"][1]["ok"], false);
    let (exit, _, error) = run(path, &["servers", "test", "none", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(2));
    assert!(error.contains("it has `good`, `bad`"), "{error}");
}

#[test]
fn a_server_that_is_added_is_trusted_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let fake = fake();
    let command = [
        "servers",
        "add",
        "fake",
        "--env",
        "NOTE=one",
        "--",
        fake["command"].as_str().unwrap(),
        fake["args"][0].as_str().unwrap(),
    ];
    let (exit, _, error) = run(path, &["init"]);
    assert_eq!(exit, Some(0), "{error}");
    // The file without servers that `init` wrote asks nothing.
    let (exit, _, error) = run(path, &["tools"]);
    assert_eq!(exit, Some(0), "{error}");
    let (exit, _, error) = run(path, &command);
    assert_eq!(exit, Some(0), "{error}");
    let (exit, tools, error) = run(path, &["tools"]);
    assert_eq!(exit, Some(0), "{error}");
    assert!(tools.starts_with("fake:\n"), "{tools}");
    let (exit, _, error) = run(path, &command);
    assert_eq!(exit, Some(2));
    assert!(error.contains("it already has a server `fake`"), "{error}");
    let (exit, ..) = run(
        path,
        &[
            "servers",
            "add",
            "web",
            "--url",
            "https://example.com/mcp",
            "--header",
            "X-Key=${KEY}",
        ],
    );
    assert_eq!(exit, Some(0));
    let text = fs::read_to_string(path.join("mcp.json")).unwrap();
    assert!(text.contains("// The MCP servers of this folder"), "{text}");
    assert!(
        text.contains("\"headers\": {\"X-Key\":\"${KEY}\"}"),
        "{text}"
    );
}

#[test]
fn an_api_is_added_by_its_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir(path.join("inner")).unwrap();
    let document = "openapi: 3.0.3\ninfo: {title: Shop, version: 1.0.0}\nservers: [{url: https://shop.example}]\npaths:\n  \
                    /orders:\n    get: {operationId: listOrders, responses: {200: {description: All.}}}\n";
    fs::write(path.join("inner/shop.yaml"), document).unwrap();
    let inner = path.join("inner");
    let added = |more: &[&str]| {
        let named = ["servers", "add", "shop", "--servers", "../mcp.json"];
        run(&inner, &[&named, more].concat())
    };
    let (exit, _, error) = added(&["--openapi", "none.yaml"]);
    assert_eq!(exit, Some(2));
    assert!(error.contains("cannot read `none.yaml`"), "{error}");
    let (exit, _, error) = added(&["--openapi", "shop.yaml", "--", "true"]);
    assert_eq!(exit, Some(2), "{error}");
    let header = ["--header", "Authorization=Bearer ${SHOP_TOKEN:-none}"];
    let address = ["--base-url", "https://shop.example/v1"];
    let (exit, _, error) = added(&[&["--openapi", "shop.yaml"], &header[..], &address].concat());
    assert_eq!(exit, Some(0), "{error}");
    let text = fs::read_to_string(path.join("mcp.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "openapi": "inner/shop.yaml",
        "baseUrl": "https://shop.example/v1",
        "headers": {"Authorization": "Bearer ${SHOP_TOKEN:-none}"}
    });
    assert_eq!(file["mcpServers"]["shop"], expected);
    let (exit, tools, error) = run(path, &["tools", "--servers", "mcp.json"]);
    assert_eq!(exit, Some(0), "{error}");
    assert!(tools.contains("listOrders"), "{tools}");
    let (exit, _, error) = run(
        path,
        &[
            "servers",
            "add",
            "far",
            "--openapi",
            "https://far.example/openapi.json",
        ],
    );
    assert_eq!(exit, Some(0), "{error}");
}

#[test]
fn a_server_that_is_added_does_not_make_an_untrusted_file_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, &json!({"theirs": fake()}));
    let (exit, _, error) = run(path, &["servers", "add", "mine", "--", "true"]);
    assert_eq!(exit, Some(0));
    assert!(error.contains("the file is not trusted"), "{error}");
    assert_eq!(run(path, &["tools"]).0, Some(2));
    let (exit, _, error) = run(path, &["servers", "add", "none"]);
    assert_eq!(exit, Some(2));
    assert!(error.contains("--url URL"), "{error}");
}

#[test]
fn the_nearest_file_upwards_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let inner = path.join("project/a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir(path.join("project/.git")).unwrap();
    write(path, &json!({"outside": fake()}));
    // The folder of the repository is the last one that is looked at.
    assert!(run(&inner, &["servers"]).2.contains("no servers"));
    write(&path.join("project"), &json!({"project": fake()}));
    let (exit, data, _) = run(&inner, &["servers"]);
    assert_eq!(exit, Some(0));
    assert!(data.starts_with("project"), "{data}");
    let home = |arguments: &[&str]| {
        let output = planwright(&inner)
            .env("HOME", path)
            .args(arguments)
            .output();
        output.unwrap()
    };
    let refused = home(&["tools"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(home(&["trust", "../../mcp.json"]).status.code(), Some(0));
    let tools = home(&["tools"]);
    assert!(
        stdout(&tools).starts_with("project:\n"),
        "{}",
        stderr(&tools)
    );
}

#[test]
fn a_trusted_file_that_has_changed_says_what_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(
        path,
        &json!({"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}}),
    );
    assert_eq!(run(path, &["trust", "mcp.json", "--no-store"]).0, Some(0));
    write(
        path,
        &json!({"a": {"command": "a"}, "b": {"command": "evil"}, "d": {"command": "d"}}),
    );
    let (exit, _, error) = run(path, &["tools"]);
    assert_eq!(exit, Some(2));
    insta::assert_snapshot!(error, @r"
    error: `mcp.json` has changed since you trusted it, so its servers are not started
      hint: changed: `b`; new: `d`; gone: `c`
      hint: look at it, then run `planwright trust mcp.json`
      hint: or name it: `--servers mcp.json`
    ");
    write(
        path,
        &json!({"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}}),
    );
    let text = fs::read_to_string(path.join("mcp.json")).unwrap();
    fs::write(path.join("mcp.json"), text + "\n").unwrap();
    let (exit, _, error) = run(path, &["tools"]);
    assert_eq!(exit, Some(2));
    assert!(
        error.contains("its servers are the same, only other text has changed"),
        "{error}"
    );
}

#[test]
fn doctor_names_what_does_not_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (exit, data, _) = run(path, &["doctor"]);
    assert_eq!(exit, Some(0), "{data}");
    for absent in [
        "no planwright.toml",
        "no run is stored yet",
        "no `mcp.json`",
        "no model is named",
    ] {
        assert!(data.contains(absent), "{data}");
    }
    write(
        path,
        &json!({"good": fake(), "bad": {"command": "/none/such"}}),
    );
    fs::write(path.join("planwright.toml"), "[limits]\nnone = 1\n").unwrap();
    let (exit, data, _) = run(path, &["doctor"]);
    assert_eq!(exit, Some(1));
    assert!(
        data.contains("is not trusted") && data.contains("`planwright.toml` cannot be used"),
        "{data}"
    );
    let (exit, text, _) = run(
        path,
        &["doctor", "--servers", "mcp.json", "--format", "json"],
    );
    assert_eq!(exit, Some(1));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["ok"], false);
    let servers = report["checks"][3]["message"].as_str().unwrap();
    assert!(
        servers.ends_with("with 1 tool; 1 without a description: `good.t`"),
        "{servers}"
    );
    let states: Vec<(&str, &str)> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| {
            (
                check["part"].as_str().unwrap(),
                check["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("program", "good"),
            ("configuration", "bad"),
            ("store", "absent"),
            ("servers", "good"),
            ("servers", "bad"),
            ("model", "absent")
        ]
    );
}
