//! Gemini's `generateContent` API.

use planwright_planner::model::Delivery;
use planwright_testkit::model_server::ScriptedResponse;
use serde_json::{Value, json};

use super::protocol::{Protocol, ScriptedReply, add, events, schema};

pub(super) const GEMINI: Protocol = Protocol {
    model: "gemini:gemini-2.5-flash",
    path: "/v1beta/",
    line: |delivery| match delivery {
        Delivery::Whole => "POST /v1beta/models/gemini-2.5-flash:generateContent",
        Delivery::Live => "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    },
    key: Some(("x-goog-api-key", "sk-secret")),
    whole,
    live,
    garbled: ("text/event-stream", "data: {\"candidates\": \n\n"),
    failure,
    question,
};

/// Parts of a reply; the last one has the finish reason and the usage.
fn part(said: &ScriptedReply, parts: &[Value], is_last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    let mut usage =
        json!({"promptTokenCount": 20, "cachedContentTokenCount": 4, "totalTokenCount": 20});
    if is_last {
        candidate["finishReason"] = if said.is_cut_off {
            "MAX_TOKENS"
        } else {
            "STOP"
        }
        .into();
        usage["candidatesTokenCount"] = 7.into();
        usage["totalTokenCount"] = 27.into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r1",
    })
}

fn calls(said: &ScriptedReply) -> impl Iterator<Item = Value> {
    said.calls.iter().map(|call| {
        let call = json!({"id": call.id, "name": call.name, "args": call.arguments()});
        json!({"functionCall": call})
    })
}

fn whole(said: &ScriptedReply) -> ScriptedResponse {
    let words = (!said.words.is_empty()).then(|| json!({"text": said.text()}));
    let parts: Vec<Value> = words.into_iter().chain(calls(said)).collect();
    ScriptedResponse::json(200, &part(said, &parts, true))
}

fn live(said: &ScriptedReply) -> ScriptedResponse {
    let words = said.words.iter().map(|words| json!({"text": words}));
    // Calls are never split.
    let parts: Vec<Value> = words.chain(calls(said)).collect();
    let last = parts.len() - 1;
    let all = parts.iter().enumerate().map(|(index, one)| {
        let one = part(said, std::slice::from_ref(one), index == last);
        format!("data: {one}\r\n\r\n")
    });
    events(all)
}

fn failure(words: &str) -> Value {
    json!({"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}})
}

fn question() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "add", "description": "Adds.", "parametersJsonSchema": add()},
        ]}],
        "contents": [
            {"role": "user", "parts": [{"text": "What is 1 + 2?"}]},
            {"role": "model", "parts": [
                {"functionCall": {"id": "call_1", "name": "add", "args": {"a": 1, "b": 2}}},
            ]},
            {"role": "user", "parts": [{"functionResponse": {
                "id": "call_1", "name": "add", "response": {"name": "add", "content": "3"},
            }}]},
        ],
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": schema(),
            "temperature": 0.1,
            "maxOutputTokens": 500,
        },
    })
}
