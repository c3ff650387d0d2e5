//! `planwright chat`, with models that answer from scripts.

mod acts;
mod bounds;
mod half;
#[cfg(target_os = "linux")]
mod person;
mod plans;
mod streamed;
mod tools;

use std::fs;

use serde_json::{Value, json};

use crate::planner::ChatContext;
use crate::program::{stderr, stdout};

/// Tools that a conversation can be about.
fn desk() -> ChatContext {
    ChatContext::new(&json!({
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

/// Holds a conversation; what is answered, and how it ends.
fn chat(desk: &ChatContext, answers: &Value, arguments: &[&str], exit: i32) -> (String, String) {
    desk.write("answers.json", answers);
    let output = desk.run(&[&["chat"], arguments].concat());
    let talk = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{talk}");
    (stdout(&output), talk)
}

/// The conversation that was kept last.
fn kept(desk: &ChatContext) -> Value {
    let folder = desk.path().join(".local/share/planwright/chats");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort_by_key(|file| fs::metadata(file).unwrap().modified().unwrap());
    serde_json::from_str(&fs::read_to_string(files.last().unwrap()).unwrap()).unwrap()
}

/// The results that the model received for its calls, in order.
fn told(desk: &ChatContext) -> Vec<String> {
    let chat = kept(desk);
    let messages = chat["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["text"].as_str().unwrap().to_owned())
        .collect()
}
