//! The model that a command uses, its prompt, and the secrecy of its key.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use planwright_testkit::model_server::{ModelServer, ScriptedResponse};
use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

const TOOLS: &str = r#"{"tools": {"shop.orders": {"input_schema": {"type": "object", "properties": {}}, "returns": []}}}"#;
const PLAN: &str = r#"{"name": "orders", "steps": [{"id": "orders", "tool": "shop.orders"}]}"#;
const KEY: &str = "sk-0815-sesame";

/// A provider that answers with a plan.
fn server() -> ModelServer {
    let message = json!({"role": "assistant", "content": PLAN});
    let answer = json!({
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    });
    ModelServer::start(vec![ScriptedResponse::json(200, &answer)])
}

fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join(".config/planwright");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("planwright.toml"), config).unwrap();
    fs::write(settings.join("model.key"), format!("{KEY}\n")).unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    folder
}

fn create(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = planwright(folder);
    command
        .args([
            "create",
            "list the orders",
            "--simulate",
            "tools.json",
            "--no-store",
        ])
        .args(arguments);
    command
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(!out.contains(KEY) && !err.contains(KEY), "{out}\n{err}");
    output
}

/// Checks the request for the model: its name, and the credentials.
fn check(
    config: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    expected: (&str, Option<&str>),
) {
    let server = server();
    let folder = folder(&config.replace("URL", &format!("{}/v1", server.url())));
    let base = format!("{}/v1", server.url());
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| {
            if *argument == "URL" {
                base.as_str()
            } else {
                argument
            }
        })
        .collect();
    let mut command = create(folder.path(), &arguments);
    let output = run(command.envs(environment.iter().copied()));
    assert!(output.status.success(), "{config}: {}", stderr(&output));
    let plan: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(plan["steps"][0]["tool"], "shop.orders");
    let asked = server.asked().remove(0);
    let key = asked.headers.get("authorization").map(String::as_str);
    assert_eq!(
        (asked.body["model"].as_str().unwrap(), key),
        expected,
        "{config}"
    );
}

#[test]
fn the_nearest_word_counts() {
    let file = "[model]\nname = 'openai:filed'\nbase_url = 'URL'\nkey_file = 'model.key'\n";
    let bearer = format!("Bearer {KEY}");
    let variable = ("PLANWRIGHT_MODEL", "openai:variable");
    check(file, &[], &[], ("filed", Some(&bearer)));
    check(file, &[], &[variable], ("variable", Some(&bearer)));
    check(
        file,
        &["--model", "openai:said"],
        &[variable],
        ("said", Some(&bearer)),
    );
    let file = "[model]\nname = 'openai:filed'\nbase_url = 'URL'\nkey_variable = 'MINE'\n";
    check(
        file,
        &[],
        &[("MINE", KEY), ("OPENAI_API_KEY", "other")],
        ("filed", Some(&bearer)),
    );
    let here = ["--model", "openai:said", "--model-base-url", "URL"];
    check(
        "",
        &here,
        &[("OPENAI_API_KEY", KEY)],
        ("said", Some(&bearer)),
    );
}

#[test]
fn settings_of_one_provider_do_not_apply_to_another() {
    let file = "[model]\nname = 'openai:filed'\nbase_url = 'http://nowhere.example.com'\nkey_file = 'model.key'\n";
    let other = [
        "--model",
        "openai-compatible:other",
        "--model-base-url",
        "URL",
    ];
    check(file, &other, &[], ("other", None));
    let other = ["--model", "mistral:other", "--model-base-url", "URL"];
    check(
        file,
        &other,
        &[("MISTRAL_API_KEY", "theirs")],
        ("other", Some("Bearer theirs")),
    );
}

#[test]
fn tokens_have_a_price() {
    let server = server();
    let config = format!(
        "[model]\nname = 'openai:filed'\nbase_url = '{}/v1'\nkey_file = 'model.key'\nprices = {{ input = 2, output = 10 }}\n",
        server.url()
    );
    let folder = folder(&config);
    let output = run(&mut create(folder.path(), &[]));
    let log = stderr(&output);
    assert!(
        log.contains("1000 tokens read, 100 written, $0.0030"),
        "{log}"
    );
}

#[test]
fn answers_are_recorded_and_heard_again() {
    let server = server();
    let folder = folder("");
    let base = format!("{}/v1", server.url());
    let model = [
        "--model",
        "openai:said",
        "--model-base-url",
        &base,
        "--record",
        "script.json",
    ];
    let first = run(create(folder.path(), &model).env("OPENAI_API_KEY", KEY));
    let script = fs::read_to_string(folder.path().join("script.json")).unwrap();
    assert!(
        script.contains("shop.orders") && !script.contains(KEY),
        "{script}"
    );
    let again = run(&mut create(
        folder.path(),
        &["--model", "replay:script.json"],
    ));
    let plan =
        |output: &Output| serde_json::from_str::<Value>(&stdout(output)).unwrap()["steps"].clone();
    assert_eq!(plan(&again), plan(&first));
    assert_eq!(server.asked().len(), 1);
    // A recording does not overwrite an existing one.
    let output = run(create(folder.path(), &model).env("OPENAI_API_KEY", KEY));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: `script.json` already exists\n"));
    assert_eq!(server.asked().len(), 1);
}

fn check_refused(config: &str, arguments: &[&str], expected: &[&str]) {
    let folder = folder(config);
    let output = run(&mut create(folder.path(), arguments));
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{log}");
    for part in expected {
        assert!(log.contains(part), "no {part} in {log}");
    }
}

#[test]
fn missing_settings_are_reported() {
    check_refused(
        "",
        &[],
        &[
            "error: no model is named",
            "--model PROVIDER:NAME",
            "PLANWRIGHT_MODEL",
            "`[model]`",
        ],
    );
    check_refused(
        "",
        &["--model", "gpt"],
        &["`gpt` does not name a provider and a model"],
    );
    check_refused(
        "",
        &["--model", "opnai:a"],
        &["there is no provider `opnai`", "did you mean `openai`?"],
    );
    check_refused(
        "",
        &["--model", "openai:a"],
        &[
            "there is no key for `openai`",
            "`OPENAI_API_KEY`",
            "`model.key_variable`",
        ],
    );
    check_refused(
        "",
        &["--model", "openai-compatible:a"],
        &["needs a base URL"],
    );
    check_refused(
        "",
        &["--model", "replay:none.json"],
        &["cannot read `none.json`"],
    );
    check_refused(
        "[model]\nname = 'openai:a'\nkey_variable = 'MINE'\n",
        &[],
        &[
            "there is no key for `openai:a`: the variable `MINE` is not set to text",
            "`[model]`",
        ],
    );
    check_refused(
        "",
        &["--model", "ollama:a", "--record", "no/such/folder.json"],
        &["cannot write `no/such/folder.json`"],
    );
}

#[test]
fn failures_of_a_provider_are_reported() {
    let refusal = ScriptedResponse::json(
        401,
        &json!({"error": {"message": format!("no such key: {KEY}")}}),
    );
    let server = ModelServer::start(vec![refusal]);
    let base = format!("{}/v1", server.url());
    let folder = folder("");
    let model = ["--model", "openai:said", "--model-base-url", &base];
    let output = run(create(folder.path(), &model).env("OPENAI_API_KEY", KEY));
    let log = stderr(&output);
    assert!(!output.status.success(), "{log}");
    assert!(
        log.contains("`openai:said` refuses the key: no such key: [redacted]"),
        "{log}"
    );
    assert!(
        log.contains("hint: check the key in `OPENAI_API_KEY`"),
        "{log}"
    );
}

#[test]
fn a_gateway_starts_without_an_optional_model() {
    let folder = folder("[model]\nname = 'openai:a'\n");
    let mut command = planwright(folder.path());
    command
        .args(["serve", "--no-store"])
        .stdin(std::process::Stdio::null());
    let output = run(&mut command);
    let log = stderr(&output);
    assert!(output.status.success(), "{log}");
    assert!(
        log.contains("plan creation is disabled: there is no key for `openai`"),
        "{log}"
    );
    let output = run(command.args(["--model", "openai:a"]));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
