//! External values: a server receives them, and they appear nowhere else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{approve, planwright, stderr, stdout};

const KEY: &str = "s3cr\"et/K+y é";
const TOKEN: &str = "tok-4711-sesame";

/// The secrets, as they are and encoded, beside other text and without: none of these may be seen.
const SPELLINGS: [&str; 13] = [
    KEY,
    TOKEN,
    "s3cr",
    "sesame",
    r#"s3cr\"et"#,
    "s3cr%22et%2FK%2By%20%C3%A9",
    "s3cr%22et%2fK%2by+%c3%a9",
    "746f6b2d343731312d736573616d65",
    "746F6B2D343731312D736573616D65",
    "dG9rLTQ3MTEtc2VzYW1l",
    // `u:TOKEN` and `me:TOKEN`, where they depend on the token alone.
    "b2stNDcxMS1zZXNhbW",
    "9rLTQ3MTEtc2VzYW1l",
    "czNjciJldC9LK3kgw6",
];

fn program(folder: &Path) -> Command {
    let mut command = planwright(folder);
    command.env("TOKEN", TOKEN).env("MINE", "0123456789");
    command
}

fn set_up(folder: &Path) {
    let tool = |name: &str, does: Value| json!({"name": name, "inputSchema": {"type": "object"}, "does": does});
    let text = "basic dTp0b2stNDcxMS1zZXNhbWU= and bWU6dG9rLTQ3MTEtc2VzYW1l, dG9rLTQ3MTEtc2VzYW1lOng, \
        746f6b2d343731312d736573616d65, 746F6B2D343731312D736573616D65, s3cr%22et%2fK%2by+%c3%a9, \
        s3cr%22et%2FK%2By%20%C3%A9, {\"k\": \"s3cr\\\"et/K+y é\"}, czNjciJldC9LK3kgw6k=";
    let script = json!({"tools": [
        tool("login", json!({"appends": folder.join("received")})),
        tool("encoded", json!({"text": text})),
        tool("refuse", json!({"error": {"code": -1, "message": format!("bad token `{TOKEN}`"), "data": {"header": text}}})),
        {"name": "narrow", "does": {}, "inputSchema": {"type": "object", "properties": {"key": {"maxLength": 3}}}},
    ]});
    let config = json!({"mcpServers": {"fake": {"command": fake_server::program(), "args": [script.to_string()]}}});
    fs::write(folder.join("servers.json"), config.to_string()).unwrap();
    let plan = json!({"name": "p", "steps": [
        {"id": "login", "tool": "fake.login", "args": {"key": "${secrets.KEY}", "header": ["Bearer ${env.TOKEN}!"]}},
        {"id": "echo", "tool": "fake.login", "args": {"again": "${login.key}", "all": "so: ${login}"}},
        {"id": "encoded", "tool": "fake.encoded", "args": {}},
        {"id": "refuse", "tool": "fake.refuse", "args": {"key": "${env.TOKEN}"}, "on_error": "continue"},
        {"id": "narrow", "tool": "fake.narrow", "args": {"key": "${secrets.KEY}"}, "on_error": "continue"},
        {"id": "pay", "approval": true, "tool": "fake.login", "args": {"key": "${secrets.KEY}"}, "after": ["login"]},
    ]});
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
    let settings = folder.join(".config/planwright");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("key"), format!("{KEY}\n")).unwrap();
    let own =
        "[env]\nTOKEN = [\"fake.*\"]\n\n[secrets.KEY]\nfile = \"key\"\ntools = [\"fake.*\"]\n";
    fs::write(settings.join("planwright.toml"), own).unwrap();
}

#[track_caller]
fn shows_nothing(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for spelling in SPELLINGS {
        assert!(
            !text.contains(spelling),
            "{what} shows `{spelling}`: {text}"
        );
    }
}

fn output(folder: &Path, arguments: &[&str], status: i32) -> Output {
    let output = program(folder).args(arguments).output().unwrap();
    let what = arguments.join(" ");
    shows_nothing(&what, &output.stdout);
    shows_nothing(&what, &output.stderr);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{what}: {}",
        stderr(&output)
    );
    output
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn only_the_server_gets_what_is_secret() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    set_up(folder);
    let with_servers = ["plan.json", "--servers", "servers.json"];
    let run = |more: &[&str], status| {
        let arguments: Vec<&str> = ["run"]
            .iter()
            .chain(&with_servers)
            .chain(more)
            .copied()
            .collect();
        output(folder, &arguments, status)
    };
    let dry = stdout(&run(&["--dry-run"], 0));
    assert!(dry.contains("${secrets.KEY}"), "{dry}");
    run(&["--format", "text"], 4);
    let events = stdout(&run(&["--format", "events"], 4));
    assert!(events.contains("Bearer [redacted]!"), "{events}");
    let report: Value = serde_json::from_str(&stdout(&run(&["--format", "json"], 4))).unwrap();
    let id = report["run"].as_str().unwrap();
    let logs = stdout(&output(folder, &["logs", id], 0));
    assert!(logs.contains("[redacted]"), "{logs}");
    output(folder, &["logs", id, "--format", "json"], 0);
    output(folder, &["show", id], 0);
    output(folder, &["runs", "--format", "json"], 0);
    output(folder, &["replay", id], 0);
    assert!(approve(folder, id, "pay", &[]).status.success());
    output(folder, &["resume", id, "--format", "json"], 0);
    output(folder, &["replay", id], 0);
    output(folder, &["config"], 0);
    for file in files_below(&folder.join(".local")) {
        shows_nothing(&file.display().to_string(), &fs::read(&file).unwrap());
    }
    // The server, and the step that was handed its answer, had the true values.
    let received = fs::read_to_string(folder.join("received")).unwrap();
    let calls: Vec<Value> = received
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["arguments"].clone())
        .collect();
    let login = json!({"key": KEY, "header": [format!("Bearer {TOKEN}!")]});
    assert_eq!(
        calls.iter().filter(|call| **call == login).count(),
        3,
        "{calls:?}"
    );
    assert_eq!(
        calls.iter().filter(|call| call["again"] == KEY).count(),
        3,
        "{calls:?}"
    );
    assert_eq!(calls.last(), Some(&json!({"key": KEY})));
}

#[test]
fn missing_secrets_are_reported_before_any_call() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    set_up(folder);
    fs::write(folder.join(".config/planwright/key"), "abc\n").unwrap();
    let output = planwright(folder)
        .args(["run", "plan.json", "--servers", "servers.json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let key = folder.join(".config/planwright/key");
    assert_eq!(
        stderr(&output),
        format!(
            "error: external values of the plan are missing\n  hint: `env.TOKEN`: the variable `TOKEN` is not \
             set to text\n  hint: `secrets.KEY`: the file `{}` holds fewer than 4 bytes, too few to be \
             distinguished from other text and redacted\n",
            key.display()
        )
    );
    assert!(!folder.join("received").exists());
}

#[test]
fn a_project_cannot_give_out_what_its_user_did_not() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    set_up(folder);
    let project = folder.join("project");
    fs::create_dir(&project).unwrap();
    let plan =
        json!({"steps": [{"id": "a", "tool": "fake.login", "args": {"key": "${env.MINE}"}}]});
    fs::write(project.join("plan.json"), plan.to_string()).unwrap();
    for (own, message) in [
        (
            "[env]\nMINE = [\"fake.*\"]\n",
            "may not be given `env.MINE`",
        ),
        (
            "[secrets.MINE]\nenv = \"MINE\"\ntools = [\"fake.*\"]\n",
            "a project cannot define the source of the secret `MINE`",
        ),
    ] {
        fs::write(project.join("planwright.toml"), own).unwrap();
        let output = program(folder)
            .current_dir(&project)
            .args(["run", "plan.json", "--servers", "../servers.json"])
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        assert!(!folder.join("received").exists());
    }
}

/// Runs `plan` with `input` as the input `key`, and gives its answer in each format. No answer and no file has `secrets`.
#[track_caller]
fn never_shown(plan: &Value, input: &str, secrets: &[&str], status: i32) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
    let tools = json!({"tools": {
        "echo": {"echo": true},
        "ask": {"approval": true, "echo": true},
        "halves": {"returns": {"content": [{"type": "text", "text": "hun"}, {"type": "text", "text": "ter2-S3CRET"}]}},
        "cut": {"fails": {"code": "no", "message": "no such key: hunter2-S…"}},
    }});
    fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
    let mut outputs = Vec::new();
    for format in ["text", "json", "events"] {
        let output = planwright(folder)
            .args(["run", "plan.json", "--simulate", "tools.json"])
            .args(["--format", format, "--var", &format!("key={input}")])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        outputs.push(stdout(&output) + &stderr(&output));
    }
    let stored = folder.join(".local");
    // A plan that was rejected is not stored.
    let stored = stored.exists().then(|| files_below(&stored));
    let stored = stored.into_iter().flatten();
    let stored = stored.map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    for text in outputs.iter().cloned().chain(stored) {
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    outputs
}

fn echo_of(schema: &Value, tool: &str) -> Value {
    json!({"inputs": {"key": schema}, "steps": [{"id": "a", "tool": tool, "args": {"key": "${inputs.key}"}}]})
}

#[test]
fn a_secret_input_that_does_not_fit_is_not_quoted() {
    let secret = "hunter2-S3CRET";
    let text = |rule: Value| {
        let mut schema = json!({"type": "string", "writeOnly": true});
        let fields = rule.as_object().unwrap().clone();
        schema.as_object_mut().unwrap().extend(fields);
        schema
    };
    for schema in [
        text(json!({"minLength": 40})),
        text(json!({"maxLength": 4})),
        text(json!({"pattern": "^[0-9]+$"})),
        text(json!({"enum": ["a", "b"]})),
        text(json!({"const": "a"})),
        json!({"type": "integer", "format": "password"}),
    ] {
        let outputs = never_shown(&echo_of(&schema, "echo"), secret, &["hunter2", "S3CRET"], 3);
        for output in &outputs[..2] {
            assert!(output.contains("PW0506"), "{output}");
            assert!(output.contains("which is secret and not shown"), "{output}");
        }
    }
    let nested = json!({"type": "object", "properties": {
        "user": {"type": "string"},
        "keys": {"type": "array", "items": {"type": "string", "writeOnly": true, "minLength": 40}},
    }});
    let input = format!(r#"{{"user": "ada", "keys": ["{secret}"]}}"#);
    never_shown(&echo_of(&nested, "echo"), &input, &["hunter2"], 3);
}

#[test]
fn a_secret_within_an_input_is_masked() {
    let schema = json!({"type": "object", "properties": {
        "user": {"type": "string"},
        "auth": {"type": "object", "properties": {"token": {"type": "string", "writeOnly": true}}},
    }});
    let input = r#"{"user": "ada", "auth": {"token": "hunter2-S3CRET"}}"#;
    let outputs = never_shown(&echo_of(&schema, "echo"), input, &["hunter2", "S3CRET"], 0);
    assert!(outputs[1].contains("ada"), "{}", outputs[1]);
    assert!(outputs[1].contains("[redacted]"), "{}", outputs[1]);
    // The question of a waiting run does not show the secret, and the run resumes only with it.
    never_shown(&echo_of(&schema, "ask"), input, &["hunter2", "S3CRET"], 4);
}

#[test]
fn a_secret_in_parts_is_masked() {
    let schema = json!({"type": "string", "writeOnly": true});
    let parts = ["hun\"", "ter2-S3CRET", "hunter2-S"];
    never_shown(&echo_of(&schema, "halves"), "hunter2-S3CRET", &parts, 0);
    never_shown(&echo_of(&schema, "cut"), "hunter2-S3CRET", &["hunter2"], 1);
}
