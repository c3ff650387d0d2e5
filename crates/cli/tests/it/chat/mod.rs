//! `planwright chat`, with models that answer from scripts.

mod acts;
mod bounds;
mod half;
#[cfg(target_os = "linux")]
mod interrupts;
#[cfg(target_os = "linux")]
mod person;
mod plans;
mod streamed;
mod tools;

use std::fs;

use serde_json::{Value, json};

use crate::planner::ModelFixture;
use crate::program::{stderr, stdout};

/// Tools that a conversation can be about.
fn fixture() -> ModelFixture {
    ModelFixture::new(&json!({
        "list_dogs": {"annotations": {"readOnlyHint": true}, "returns": ["Rex", "Ada"]},
        "greet": {
            "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false},
            "echo": true
        },
        "pay": {"approval": true, "returns": "paid"},
        "broken": {"fails": {"code": "full", "message": "the disk is full"}},
        "never": {"sleep_ms": 600_000}
    }))
}

/// An answer that calls tools.
fn calls(calls: &[(&str, Value)]) -> Value {
    let calls = calls
        .iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments}));
    json!({"calls": calls.collect::<Vec<_>>()})
}

/// Holds a conversation, which must end with `exit`. Returns its standard output and standard error.
fn chat(
    fixture: &ModelFixture,
    answers: &Value,
    arguments: &[&str],
    exit: i32,
) -> (String, String) {
    fixture.write("answers.json", answers);
    let output = fixture.run(&[&["chat"], arguments].concat());
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{log}");
    (stdout(&output), log)
}

/// Returns the conversation that was stored last.
fn stored_chat(fixture: &ModelFixture) -> Value {
    let folder = fixture.path().join(".local/share/planwright/chats");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort_by_key(|file| fs::metadata(file).unwrap().modified().unwrap());
    serde_json::from_str(&fs::read_to_string(files.last().unwrap()).unwrap()).unwrap()
}

/// The results that the model received for its calls, in order.
fn tool_results(fixture: &ModelFixture) -> Vec<String> {
    let chat = stored_chat(fixture);
    let messages = chat["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["text"].as_str().unwrap().to_owned())
        .collect()
}
