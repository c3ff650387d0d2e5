//! Anthropic's messages API.

use planwright_testkit::model_server::ScriptedResponse;
use serde_json::{Value, json};

use super::protocol::{Protocol, ScriptedReply, add, events, schema};

pub(super) const ANTHROPIC: Protocol = Protocol {
    model: "anthropic:claude-sonnet-4-5",
    path: "/v1/",
    line: |_| "POST /v1/messages",
    key: Some(("x-api-key", "sk-secret")),
    whole,
    live,
    garbled: (
        "text/event-stream",
        "event: content_block_delta\ndata: {\"type\": \n\n",
    ),
    failure,
    question,
};

fn stop(said: &ScriptedReply) -> &'static str {
    match said {
        said if said.is_cut_off => "max_tokens",
        said if said.calls.is_empty() => "end_turn",
        _ => "tool_use",
    }
}

fn usage(output: u64) -> Value {
    json!({
        "input_tokens": 16,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 4,
        "output_tokens": output,
    })
}

fn whole(said: &ScriptedReply) -> ScriptedResponse {
    let text = said.text();
    let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let calls = said.calls.iter().map(|call| {
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments()})
    });
    ScriptedResponse::json(
        200,
        &json!({
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": words.into_iter().chain(calls).collect::<Vec<_>>(),
            "stop_reason": stop(said),
            "stop_sequence": null,
            "usage": usage(7),
        }),
    )
}

fn event(mut body: Value, kind: &str) -> String {
    body["type"] = kind.into();
    format!("event: {kind}\ndata: {body}\n\n")
}

fn block(index: usize, begin: &Value, deltas: Vec<Value>) -> Vec<String> {
    let start = json!({"index": index, "content_block": begin});
    let mut all = vec![event(start, "content_block_start")];
    all.extend(deltas.into_iter().map(|delta| {
        event(
            json!({"index": index, "delta": delta}),
            "content_block_delta",
        )
    }));
    all.push(event(json!({"index": index}), "content_block_stop"));
    all
}

fn live(said: &ScriptedReply) -> ScriptedResponse {
    let message = json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(1),
    });
    let mut all = vec![
        event(json!({ "message": message }), "message_start"),
        event(json!({}), "ping"),
    ];
    let words: Vec<Value> = said
        .words
        .iter()
        .map(|words| json!({"type": "text_delta", "text": words}))
        .collect();
    let first_call = usize::from(!words.is_empty());
    if !words.is_empty() {
        all.extend(block(0, &json!({"type": "text", "text": ""}), words));
    }
    for (index, call) in said.calls.iter().enumerate() {
        let parts = call.arguments.iter();
        let parts = parts.map(|part| json!({"type": "input_json_delta", "partial_json": part}));
        let begin = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        all.extend(block(first_call + index, &begin, parts.collect()));
    }
    let delta = json!({"stop_reason": stop(said), "stop_sequence": null});
    all.push(event(
        json!({"delta": delta, "usage": {"output_tokens": 7}}),
        "message_delta",
    ));
    all.push(event(json!({}), "message_stop"));
    events(all)
}

fn failure(words: &str) -> Value {
    json!({"type": "error", "error": {"type": "some_error", "message": words}})
}

fn question() -> Value {
    let input = json!({"a": 1, "b": 2});
    json!({
        "model": "claude-sonnet-4-5",
        "system": "Be brief.",
        "tools": [{"name": "add", "description": "Adds.", "input_schema": add()}],
        "messages": [
            {"role": "user", "content": "What is 1 + 2?"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "call_1", "name": "add", "input": input}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "content": "3", "tool_use_id": "call_1"}],
            },
        ],
        "output_config": {"format": {"type": "json_schema", "schema": schema()}},
        "temperature": 0.1,
        "max_tokens": 500,
    })
}
