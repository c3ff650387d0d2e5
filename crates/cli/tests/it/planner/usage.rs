//! The cost of all model calls of a command, and the time in prompts.

use planwright_testkit::model_server::{ModelServer, ScriptedResponse};
use serde_json::{Value, json};

use super::ModelFixture;
use crate::program::{planwright, stderr, stdout};

fn fixture() -> ModelFixture {
    ModelFixture::new(&json!({
        "list_dogs": {"annotations": {"readOnlyHint": true}, "returns": ["Rex"]},
        "weather": {"fails": {"code": "bad", "message": "no such city"}}
    }))
}

/// An answer that costs a thousand tokens and a hundred.
fn answer(words: &Value) -> ScriptedResponse {
    let text = words
        .as_str()
        .map_or_else(|| words.to_string(), str::to_owned);
    let message = json!({"role": "assistant", "content": text});
    ScriptedResponse::json(
        200,
        &json!({
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        }),
    )
}

/// The same answer piece by piece.
fn live(words: &str) -> ScriptedResponse {
    let frames = [
        json!({"choices": [{"delta": {"content": words}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}}),
    ];
    let frames = frames.iter().map(|frame| format!("data: {frame}\n\n"));
    let frames = frames.chain(["data: [DONE]\n\n".to_owned()]).collect();
    ScriptedResponse::new(200, "text/event-stream", frames)
}

/// Runs a command with a provider whose prices are known. Returns the outputs and the provider's requests.
fn run(
    fixture: &ModelFixture,
    script: Vec<ScriptedResponse>,
    arguments: &[&str],
    exit: i32,
) -> (String, String, Vec<Value>) {
    let server = ModelServer::start(script);
    let settings = fixture.path().join(".config/planwright");
    std::fs::create_dir_all(&settings).unwrap();
    let config = format!(
        "[model]\nname = 'openai:m'\nbase_url = '{}/v1'\nprices = {{ input = 10, output = 100 }}\n",
        server.url()
    );
    std::fs::write(settings.join("planwright.toml"), config).unwrap();
    let mut command = planwright(fixture.path());
    let output = command
        .args(arguments)
        .args(["--simulate", "tools.json"])
        .env("OPENAI_API_KEY", "sk-0815")
        .env("TZ", "Europe/Vienna")
        .output()
        .unwrap();
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{log}");
    let asked = server.asked().into_iter().map(|asked| asked.body).collect();
    (stdout(&output), log, asked)
}

fn failing() -> Value {
    json!({"steps": [{"id": "sky", "tool": "weather", "args": {"city": "Gras"}}]})
}

fn other() -> Value {
    json!({"steps": [{"id": "dogs", "tool": "list_dogs"}], "output": ["dogs"]})
}

/// The words of a question, its instructions first.
fn words(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap().iter();
    let texts = messages.map(|message| message["content"].as_str().unwrap_or_default());
    texts.collect::<Vec<_>>().join("\n")
}

const COST: &str = "tokens read, ";

#[test]
fn everything_that_was_asked_counts() {
    let fixture = fixture();
    let script = || {
        vec![
            answer(&failing()),
            answer(&json!({"args": null})),
            answer(&other()),
            live("Rex [dogs]."),
        ]
    };
    let ask = [
        "ask",
        "which dogs were here last week?",
        "--now",
        "2025-10-12T09:00:00Z",
        "--no-stream",
        "--repair",
        "--no-store",
    ];
    let (data, log, asked) = run(&fixture, script(), &ask, 0);
    assert_eq!(data, "Rex [dogs].\n", "{log}");
    assert!(
        log.ends_with("4000 tokens read, 400 written, $0.0800\n"),
        "{log}"
    );
    assert_eq!(log.matches(COST).count(), 1, "{log}");
    // Each prompt contains the day and the meaning of the phrase.
    for body in &asked {
        let words = words(body);
        let today = "Today is 2025-10-12 (Sunday), Europe/Vienna.";
        assert!(words.contains(today), "{words}");
        assert!(
            words.contains("- \"last week\": from 2025-10-05 to 2025-10-12"),
            "{words}"
        );
    }
    let (data, ..) = run(
        &fixture,
        script(),
        &[&ask[..], &["--format", "json"]].concat(),
        0,
    );
    let report: Value = serde_json::from_str(&data).unwrap();
    let usage = |requests: u32| {
        json!({
            "requests": requests, "input_tokens": requests * 1000, "cached_tokens": 0,
            "output_tokens": requests * 100, "cost": 0.02 * f64::from(requests),
        })
    };
    assert_eq!(report["usage"], usage(4));
    assert_eq!(report["run"]["usage"], usage(2));
    assert_eq!(
        report["created"]["plan"]["metadata"]["timestamp"],
        "2025-10-12T09:00:00.000Z"
    );
}

#[test]
fn other_plans_of_a_run_count() {
    let fixture = fixture();
    let mut plan = failing();
    plan["metadata"] =
        json!({"query": "who was here last week?", "timestamp": "2025-10-12T09:00:00Z"});
    fixture.write("plan.json", &plan);
    let run_plan = ["run", "plan.json", "--replan", "1", "--no-store"];
    let (_, log, asked) = run(&fixture, vec![answer(&other())], &run_plan, 0);
    assert!(
        log.contains("1000 tokens read, 100 written, $0.0200\n"),
        "{log}"
    );
    let words = words(&asked[0]);
    // A date phrase keeps the meaning that it had when the plan was requested.
    assert!(
        words.contains("- \"last week\": from 2025-10-05 to 2025-10-12"),
        "{words}"
    );
    assert!(words.contains("), Europe/Vienna.\n"), "{words}");
    let json = [&run_plan[..], &["--format", "json"]].concat();
    let (data, ..) = run(&fixture, vec![answer(&other())], &json, 0);
    let report: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(report["usage"]["cost"], 0.02);
    assert_eq!(report["usage"]["requests"], 1);
}

#[test]
fn a_conversation_counts_and_knows_the_day() {
    let fixture = fixture();
    let chat = [
        "chat",
        "Who was here last week?",
        "--now",
        "2025-10-12T09:00:00Z",
        "--tz",
        "UTC",
        "--no-store",
    ];
    let (data, log, asked) = run(&fixture, vec![answer(&json!("Rex."))], &chat, 0);
    assert_eq!(data, "Rex.\n");
    assert!(
        log.contains("1000 tokens read, 100 written, $0.0200\n"),
        "{log}"
    );
    let words = words(&asked[0]);
    assert!(
        words.contains("Today is 2025-10-12 (Sunday), UTC."),
        "{words}"
    );
    assert!(
        words.contains("- \"last week\": from 2025-10-05 to 2025-10-12"),
        "{words}"
    );
    let json = [&chat[..], &["--format", "json"]].concat();
    let (data, ..) = run(&fixture, vec![answer(&json!("Rex."))], &json, 0);
    let report: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(report["usage"]["cost"], 0.02);
    let solution = answer(&json!({"calls": [], "output": "Rex."}));
    let acts = [&chat[..], &["--protocol", "acts"]].concat();
    let (.., asked) = run(&fixture, vec![solution], &acts, 0);
    let other = self::words(&asked[0]);
    for line in words.lines().filter(|line| line.contains("2025-10-12")) {
        assert!(other.contains(line), "{line}: {other}");
    }
}

#[test]
fn no_hint_names_a_run_that_is_not_stored() {
    let fixture = ModelFixture::new(&json!({"pay": {"approval": true, "returns": "paid"}}));
    let call = json!({"id": "c1", "type": "function", "function": {
        "name": "plan_create_and_execute", "arguments": "{\"goal\": \"pay\"}",
    }});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let change =
        json!({"model": "m", "choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let plan = json!({"steps": [{"id": "pay", "tool": "pay"}]});
    for (arguments, is_stored) in [
        (vec!["chat", "Pay."], true),
        (vec!["chat", "Pay.", "--no-store"], false),
    ] {
        let script = vec![
            ScriptedResponse::json(200, &change),
            answer(&plan),
            answer(&json!("It waits.")),
        ];
        let (data, _, asked) = run(
            &fixture,
            script,
            &[&arguments[..], &["--no-stream"]].concat(),
            0,
        );
        assert_eq!(data, "It waits.\n");
        let request = words(&asked[2]);
        assert!(request.contains("\"status\":\"waiting\""), "{request}");
        assert_eq!(
            request.contains("planwright approve"),
            is_stored,
            "{request}"
        );
    }
}
