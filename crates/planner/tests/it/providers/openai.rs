//! OpenAI's chat completions API.

use planwright_testkit::model_server::ScriptedResponse;
use serde_json::{Value, json};

use super::protocol::{Protocol, ScriptedReply, add, events, schema};

pub(super) const OPENAI: Protocol = Protocol {
    model: "openai:gpt-4o",
    path: "/v1",
    line: |_| "POST /v1/chat/completions",
    key: Some(("authorization", "Bearer sk-secret")),
    whole,
    live,
    garbled: ("text/event-stream", "data: {\"choices\": \n\n"),
    failure,
    question,
};

fn finish(said: &ScriptedReply) -> &'static str {
    match said {
        said if said.is_cut_off => "length",
        said if said.calls.is_empty() => "stop",
        _ => "tool_calls",
    }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "total_tokens": 27,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
    })
}

fn whole(said: &ScriptedReply) -> ScriptedResponse {
    let calls: Vec<Value> = said
        .calls
        .iter()
        .map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments.concat()});
            json!({"id": call.id, "type": "function", "function": function})
        })
        .collect();
    let text = Some(said.text()).filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": text, "refusal": null});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    ScriptedResponse::json(
        200,
        &json!({
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": "gpt-4o-2024-08-06",
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish(said)}],
            "usage": usage(),
        }),
    )
}

fn live(said: &ScriptedReply) -> ScriptedResponse {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_790_000_000,
            "model": "gpt-4o-2024-08-06",
            "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": null}]),
            Value::Null,
        )
    };
    let mut all = vec![delta(json!({"role": "assistant", "content": ""}))];
    all.extend(
        said.words
            .iter()
            .map(|words| delta(json!({"content": words}))),
    );
    for (index, call) in said.calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let begin =
            json!({"index": index, "id": call.id, "type": "function", "function": function});
        all.push(delta(json!({"tool_calls": [begin]})));
        all.extend(call.arguments.iter().map(|part| {
            let next = json!({"index": index, "function": {"arguments": part}});
            delta(json!({"tool_calls": [next]}))
        }));
    }
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish(said)}]);
    all.push(chunk(end, Value::Null));
    all.push(chunk(json!([]), usage()));
    all.push("data: [DONE]\n\n".to_owned());
    events(all)
}

fn failure(words: &str) -> Value {
    json!({"error": {"message": words, "type": "some_error", "param": null, "code": null}})
}

fn question() -> Value {
    let call = json!({"name": "add", "arguments": "{\"a\":1,\"b\":2}"});
    json!({
        "model": "gpt-4o",
        "tools": [{
            "type": "function",
            "function": {"name": "add", "description": "Adds.", "parameters": add(), "strict": false},
        }],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 1 + 2?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"type": "function", "id": "call_1", "function": call}],
            },
            {"role": "tool", "content": "3", "tool_call_id": "call_1"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema(), "strict": true},
        },
        "temperature": 0.1,
        "max_tokens": 500,
    })
}
