//! `planwright serve --explain`: the rules for a client of the gateway.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{run_program, stderr, stdout};

const OWN: &str = r#"[tools]
deny = ["mail.purge"]

[budgets]
calls = 100

[serve.oauth]
issuer = "https://id.example.com"
resource = "https://plans.example.com/mcp"
groups_claim = "realm_access.roles"

[clients.analysts]
who = ["group:analysts"]
allow = ["db.*", "mail.*"]
deny = ["db.drop"]
ask = ["db.query"]
max_plans = 4
[clients.analysts.budgets]
calls = 20

[clients.help]
who = ["token:help"]
runs_of = ["*"]
"#;

const PROJECT: &str = "[clients.all]\nwho = ['*']\nask = ['mail.send']\n";

const TOOLS: &str = r#"{"tools": {
    "db.query": {"approval": false, "returns": 1},
    "db.read": {"approval": false, "returns": 1},
    "db.drop": {"returns": 1},
    "mail.send": {"approval": false, "returns": 1},
    "mail.purge": {"returns": 1},
    "files.read": {"approval": false, "returns": 1}
}}"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(".config/planwright/planwright.toml", OWN);
    write("planwright.toml", PROJECT);
    write("tools.json", TOOLS);
    folder
}

fn explained(folder: &Path, client: &str, more: &[&str]) -> String {
    let arguments = ["serve", "--simulate", "tools.json", "--explain", client];
    let output = run_program(folder, &[&arguments[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // The folder has another name each time.
    stdout(&output).replace(&format!("{}/", folder.display()), "")
}

#[test]
fn a_client_with_groups() {
    let folder = folder();
    let claims = r#"{"sub": "ada", "realm_access": {"roles": ["staff", "analysts"]}}"#;
    insta::assert_snapshot!(explained(folder.path(), claims, &[]));
    let json: Value =
        serde_json::from_str(&explained(folder.path(), claims, &["--format", "json"])).unwrap();
    assert_eq!(json["client"], "subject:ada");
    assert_eq!(json["groups"], serde_json::json!(["staff", "analysts"]));
    let access = |name: &str| {
        let mut tools = json["tools"].as_array().unwrap().iter();
        let tool = tools.find(|tool| tool["tool"] == name).unwrap();
        (
            tool["access"].as_str().unwrap().to_owned(),
            tool["rule"].is_string(),
        )
    };
    assert_eq!(access("db.read"), ("allowed".to_owned(), false));
    for (tool, expected) in [
        ("db.query", "asked"),
        ("mail.send", "asked"),
        ("db.drop", "denied"),
        ("mail.purge", "denied"),
        ("files.read", "denied"),
    ] {
        assert_eq!(access(tool), (expected.to_owned(), true), "{tool}");
    }
    assert_eq!(json["bounds"][0]["value"], 20);
    assert_eq!(json["max_plans"], 4);
}

#[test]
fn a_client_with_a_token() {
    let folder = folder();
    insta::assert_snapshot!(explained(folder.path(), "token:help", &[]));
}

#[test]
fn what_is_no_client() {
    let folder = folder();
    for (client, message) in [
        ("ada", "`ada` is no client"),
        ("group:analysts", "`group:analysts` is no client"),
        ("{", "the claims are not JSON"),
        (
            "{}",
            "a token with these claims is refused: it names no client",
        ),
        (
            r#"{"sub": "ada", "realm_access": {"roles": 1}}"#,
            "a token with these claims is refused: its groups are no texts",
        ),
    ] {
        let output = run_program(
            folder.path(),
            &["serve", "--simulate", "tools.json", "--explain", client],
        );
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    fs::remove_file(folder.path().join(".config/planwright/planwright.toml")).unwrap();
    let output = run_program(
        folder.path(),
        &[
            "serve",
            "--simulate",
            "tools.json",
            "--explain",
            r#"{"sub": "ada"}"#,
        ],
    );
    assert!(
        stderr(&output).contains("no issuer of access tokens is set"),
        "{}",
        stderr(&output)
    );
}
