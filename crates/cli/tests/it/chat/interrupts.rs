//! Ctrl-C in a conversation at a terminal: it ends one turn, and the next one begins anew.

use serde_json::json;

use super::{calls, fixture, stored_chat};
use crate::prompts::screen;

const CHAT: &str = "chat 'Wait.' --approve all --format events --drain 0s --simulate tools.json --model replay:answers.json";

#[test]
fn a_turn_and_a_plan_after_an_interrupted_turn_run_to_their_ends() {
    let fixture = fixture();
    let greets = json!({"steps": [{"id": "hello", "tool": "greet", "args": {"name": "Rex"}}], "output": ["hello"]});
    fixture.write(
        "answers.json",
        &json!([
            calls(&[("simulated__never", json!({}))]),
            greets.to_string(),
            calls(&[("simulated__greet", json!({"name": "Ada"}))]),
            "Well."
        ]),
    );
    let exchange = [
        ("attempt_started", "\u{3}"),
        ("\"end\":\"interrupted\"", "/plan create greet Rex\n"),
        ("1. hello [greet]", "/plan run 1\n"),
        ("\"name\": \"Rex\"", "Greet Ada.\n"),
        ("Well.", "\u{4}"),
    ];
    screen(fixture.path(), CHAT, &exchange);
    let chat = stored_chat(&fixture);
    assert_eq!(chat["messages"].as_array().unwrap().len(), 7, "{chat}");
}

#[test]
fn an_interrupted_plan_of_a_person_drains() {
    let fixture = fixture();
    let slow = json!({"steps": [{"id": "wait", "tool": "never"}]});
    fixture.write("answers.json", &json!([slow.to_string()]));
    let chat = CHAT
        .replace("'Wait.'", "'/plan create wait'")
        .replace("0s", "10m");
    let exchange = [
        ("1. wait [never]", "/plan run plan-1\n"),
        ("attempt_started", "\u{3}"),
        ("press Ctrl-C again to cancel them", "\u{3}"),
        ("> ", "\u{4}"),
    ];
    screen(fixture.path(), &chat, &exchange);
}
