//! Ollama's chat API.

use planwright_testkit::model_server::ScriptedResponse;
use serde_json::{Value, json};

use super::protocol::{Protocol, ScriptedReply, add};

pub(super) const OLLAMA: Protocol = Protocol {
    model: "ollama:llama3.2:3b",
    path: "",
    line: |_| "POST /api/chat",
    key: None,
    whole,
    live,
    garbled: ("application/x-ndjson", "{\"message\": \n"),
    failure,
    question,
};

fn end(said: &ScriptedReply, content: &str, calls: &[Value]) -> Value {
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "model": "llama3.2:3b",
        "created_at": "2026-11-22T00:00:00Z",
        "message": message,
        "done": true,
        "done_reason": if said.is_cut_off { "length" } else { "stop" },
        "prompt_eval_count": 20,
        "prompt_eval_cached_count": 4,
        "eval_count": 7,
    })
}

fn calls(said: &ScriptedReply) -> Vec<Value> {
    let calls = said.calls.iter();
    calls
        .map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments()});
            json!({"id": call.id, "function": function})
        })
        .collect()
}

fn whole(said: &ScriptedReply) -> ScriptedResponse {
    ScriptedResponse::json(200, &end(said, &said.text(), &calls(said)))
}

fn live(said: &ScriptedReply) -> ScriptedResponse {
    let line = |message: Value| {
        let line = json!({
            "model": "llama3.2:3b",
            "created_at": "2026-11-22T00:00:00Z",
            "message": message,
            "done": false,
        });
        format!("{line}\n")
    };
    let words = said.words.iter();
    let mut all: Vec<String> = words
        .map(|words| line(json!({"role": "assistant", "content": words})))
        .collect();
    // Calls are never split.
    all.extend(
        calls(said)
            .into_iter()
            .map(|call| line(json!({"role": "assistant", "content": "", "tool_calls": [call]}))),
    );
    all.push(format!("{}\n", end(said, "", &[])));
    ScriptedResponse::new(200, "application/x-ndjson", all)
}

fn failure(words: &str) -> Value {
    json!({ "error": words })
}

fn question() -> Value {
    let function = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    json!({
        "model": "llama3.2:3b",
        "options": {"temperature": 0.1, "num_predict": 500},
        "tools": [{
            "type": "function",
            "function": {"name": "add", "description": "Adds.", "parameters": add()},
        }],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 1 + 2?"},
            {"role": "assistant", "tool_calls": [{"function": function}]},
            {"role": "tool", "content": "3"},
        ],
        "format": "json",
    })
}
