//! Replies that end abnormally: refused, filtered, empty, too long, or with malformed calls.

use planwright_core::Value;
use planwright_planner::model::providers;
use planwright_planner::model::{Delivery, FinishReason, Model, ModelErrorKind, Reply};
use planwright_testkit::model_server::{ModelServer, ResponseEnd, ScriptedResponse};
use serde_json::{Value as Json, json};

use super::protocol::{Protocol, events};
use super::{ANTHROPIC, GEMINI, OLLAMA, OPENAI, ask, request, settings};

/// OpenAI's responses API, which has the fields that `genai` drops in other places.
const RESPONSES: Protocol = Protocol {
    model: "openai_resp:gpt-5",
    ..OPENAI
};

const NO: &str = "I can't help with that.";

fn filter(reason: &str) -> FinishReason {
    FinishReason::Filter(reason.to_owned())
}

/// Checks the reply that a response yields, after a single request.
async fn check(protocol: &Protocol, answer: ScriptedResponse, expected: (&str, FinishReason)) {
    let is_live = answer
        .headers
        .iter()
        .any(|(_, kind)| kind.contains("stream"));
    let is_lines = answer
        .headers
        .iter()
        .any(|(_, kind)| kind.contains("ndjson"));
    let delivery = if is_live || is_lines {
        Delivery::Live
    } else {
        Delivery::Whole
    };
    let reply = whole(protocol, answer, delivery).await;
    let (text, finish) = expected;
    assert_eq!(
        (reply.text.as_str(), &reply.finish),
        (text, &finish),
        "{}",
        protocol.model
    );
}

async fn whole(protocol: &Protocol, answer: ScriptedResponse, delivery: Delivery) -> Reply {
    let server = ModelServer::start(vec![answer]);
    let provider = providers::open(settings(protocol, &server)).unwrap();
    let (outcome, _) = ask(&provider, request(delivery)).await;
    assert_eq!(server.asked().len(), 1, "{}: {outcome:?}", protocol.model);
    outcome.unwrap_or_else(|error| panic!("{}: {error:?}", protocol.model))
}

fn sent(body: &Json) -> ScriptedResponse {
    ScriptedResponse::json(200, body)
}

fn streamed(frames: &[Json]) -> ScriptedResponse {
    let end = ["data: [DONE]\n\n".to_owned()];
    let frames = frames.iter().map(|frame| format!("data: {frame}\n\n"));
    events(frames.chain(end))
}

#[tokio::test]
async fn openai_refusals_have_their_own_field() {
    let choice = |content: Json, refusal: Json, finish: &str| {
        let message = json!({"role": "assistant", "content": content, "refusal": refusal});
        sent(&json!({"model": "m", "choices": [{"message": message, "finish_reason": finish}]}))
    };
    let refused = choice(Json::Null, NO.into(), "stop");
    check(&OPENAI, refused, (NO, FinishReason::Refusal)).await;
    let filtered = choice("Half a".into(), Json::Null, "content_filter");
    check(&OPENAI, filtered, ("Half a", filter("content_filter"))).await;
    let frames = [
        json!({"choices": [{"delta": {"role": "assistant", "content": null, "refusal": ""}}]}),
        json!({"choices": [{"delta": {"refusal": "I can't help"}}]}),
        json!({"choices": [{"delta": {"refusal": " with that."}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
    ];
    check(&OPENAI, streamed(&frames), (NO, FinishReason::Refusal)).await;
    let stopped = [
        json!({"choices": [{"delta": {"content": "Half a"}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}]}),
    ];
    check(
        &OPENAI,
        streamed(&stopped),
        ("Half a", filter("content_filter")),
    )
    .await;
}

#[tokio::test]
async fn responses_api_refusals_have_their_own_part() {
    let response = |parts: Json, status: &str, details: Json| {
        json!({
            "id": "resp_1", "object": "response", "model": "m", "status": status,
            "incomplete_details": details,
            "output": [{"type": "message", "role": "assistant", "content": parts}],
        })
    };
    let refusal = json!([{"type": "refusal", "refusal": NO}]);
    let refused = sent(&response(refusal, "completed", Json::Null));
    check(&RESPONSES, refused, (NO, FinishReason::Refusal)).await;
    let half = json!([{"type": "output_text", "text": "Half a"}]);
    let details = json!({"reason": "content_filter"});
    let filtered = sent(&response(half.clone(), "incomplete", details.clone()));
    check(&RESPONSES, filtered, ("Half a", filter("content_filter"))).await;
    let cut = sent(&response(
        half,
        "incomplete",
        json!({"reason": "max_output_tokens"}),
    ));
    check(&RESPONSES, cut, ("Half a", FinishReason::Length)).await;
    let end = |status: &str, details: Json| response(json!([]), status, details);
    let frames = [
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I can't help"}),
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": " with that."}),
        json!({"type": "response.completed", "response": end("completed", Json::Null)}),
    ];
    check(&RESPONSES, streamed(&frames), (NO, FinishReason::Refusal)).await;
    let frames = [
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i", "delta": "Half a"}),
        json!({"type": "response.incomplete", "response": end("incomplete", details)}),
    ];
    check(
        &RESPONSES,
        streamed(&frames),
        ("Half a", filter("content_filter")),
    )
    .await;
}

#[tokio::test]
async fn anthropic_reports_its_stop_reason() {
    let refused = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": NO}], "stop_reason": "refusal",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    });
    check(&ANTHROPIC, sent(&refused), (NO, FinishReason::Refusal)).await;
}

#[tokio::test]
async fn gemini_blocks_prompts_and_replies() {
    let blocked = json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
    });
    let stream = |frame: &Json| events([format!("data: {frame}\n\n")]);
    let expected = || ("", filter("PROHIBITED_CONTENT"));
    check(&GEMINI, sent(&blocked), expected()).await;
    check(&GEMINI, stream(&blocked), expected()).await;
    let reply = whole(&GEMINI, sent(&blocked), Delivery::Whole).await;
    assert_eq!(reply.usage.input_tokens, 9);
    let content = json!({"role": "model", "parts": [{"text": "Half a"}]});
    let filtered = json!({"candidates": [{"content": content, "finishReason": "SAFETY"}]});
    check(&GEMINI, sent(&filtered), ("Half a", filter("SAFETY"))).await;
    check(&GEMINI, stream(&filtered), ("Half a", filter("SAFETY"))).await;
}

#[tokio::test]
async fn an_aborted_reply_is_requested_again() {
    let message = json!({"role": "assistant", "content": "Half a"});
    let half = |finish: &str| {
        sent(&json!({
            "model": "m", "choices": [{"message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3},
        }))
    };
    for finish in ["error", "insufficient_system_resource", "network_error"] {
        let server = ModelServer::start(vec![half(finish)]);
        let provider = providers::open(settings(&OPENAI, &server)).unwrap();
        let (outcome, _) = ask(&provider, request(Delivery::Whole)).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Interrupted);
        assert!(
            error
                .message
                .contains(&format!("was interrupted ({finish})")),
            "{error}"
        );
        assert_eq!(&*error.reply, "Half a");
        assert_eq!(server.asked().len(), 3, "{finish}");
        // All attempts are charged.
        let usage = error.usage;
        assert_eq!(
            (usage.requests, usage.input_tokens, usage.output_tokens),
            (3, 15, 9)
        );
    }
    let server = ModelServer::start(vec![half("error"), half("stop")]);
    let provider = providers::open(settings(&OPENAI, &server)).unwrap();
    let (outcome, _) = ask(&provider, request(Delivery::Whole)).await;
    let usage = outcome.unwrap().usage;
    assert_eq!(
        (usage.requests, usage.input_tokens, usage.output_tokens),
        (2, 10, 6)
    );
}

/// An empty text is valid with calls, but not for callers that need text.
#[tokio::test]
async fn empty_replies_fail_for_callers_that_need_text() {
    for content in [json!(null), json!(""), json!(" \n")] {
        let message = json!({"role": "assistant", "content": content});
        let body =
            json!({"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]});
        let reply = whole(&OPENAI, sent(&body), Delivery::Whole).await;
        let error = reply.completed("openai:m").unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ModelErrorKind::Empty, "the reply of `openai:m` is empty")
        );
    }
}

#[tokio::test]
async fn malformed_arguments_reach_the_caller() {
    let broken = "{\"a\": 1,";
    let calls = json!([
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": broken}},
        {"id": "call_2", "type": "function", "function": {"name": "now", "arguments": ""}},
    ]);
    let message = json!({"role": "assistant", "content": "Let me see.", "tool_calls": calls});
    let completions = json!({
        "model": "m",
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    });
    let responses = json!({
        "id": "resp_1", "object": "response", "model": "m", "status": "completed",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
            {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": broken},
            {"type": "function_call", "call_id": "call_2", "name": "now", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8},
    });
    for (protocol, body) in [(&OPENAI, completions), (&RESPONSES, responses)] {
        let reply = whole(protocol, sent(&body), Delivery::Whole).await;
        assert_eq!(reply.text, "Let me see.");
        let arguments: Vec<&Value> = reply.calls.iter().map(|call| &call.arguments).collect();
        assert_eq!(arguments, [&Value::from(broken), &Value::empty_object()]);
        assert_eq!(
            (reply.usage.input_tokens, reply.usage.output_tokens),
            (5, 3)
        );
        // The model sees the result of its malformed call; providers accept objects only.
        let mut next = request(Delivery::Whole);
        next.messages.push(reply.message());
        let server = ModelServer::start(vec![protocol.failure(400, "enough")]);
        let provider = providers::open(settings(protocol, &server)).unwrap();
        ask(&provider, next).await.0.unwrap_err();
        let body = server.asked().remove(0).body.to_string();
        assert!(
            !body.contains(&broken[..6]) && body.contains("call_1"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn the_size_of_replies_is_limited() {
    for protocol in [&OPENAI, &ANTHROPIC, &GEMINI, &OLLAMA] {
        for delivery in [Delivery::Whole, Delivery::Live] {
            let said = super::ScriptedReply {
                words: &["Hello, hello, hello."; 40],
                ..super::HELLO
            };
            let server = ModelServer::start(vec![protocol.answer(delivery, &said)]);
            let mut settings = settings(protocol, &server);
            settings.max_bytes = 100;
            let provider = providers::open(settings).unwrap();
            let (outcome, heard) = ask(&provider, request(delivery)).await;
            let error = outcome.unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::CutOff, "{}", provider.name());
            assert!(error.message.ends_with("exceeds 100 bytes"), "{error}");
            assert!(error.reply.starts_with("Hello, hello, hello."), "{error:?}");
            assert!(heard.concat().len() <= 120, "{heard:?}");
        }
    }
}

#[tokio::test]
async fn endless_responses_are_cut() {
    for protocol in [&OPENAI, &ANTHROPIC, &GEMINI, &OLLAMA] {
        for delivery in [Delivery::Whole, Delivery::Live] {
            // An answer that begins well, a text that has no end, and an error that has none.
            let mut answer = protocol.answer(delivery, &super::HELLO);
            answer.parts.truncate(1);
            answer.parts[0].truncate(20);
            let failure = protocol.failure(500, "it hurts");
            for mut endless in [answer, failure] {
                endless.parts.push("x".repeat(64 * 1024));
                endless.ending = ResponseEnd::Endless;
                let server = ModelServer::start(vec![endless]);
                let mut settings = settings(protocol, &server);
                settings.max_bytes = 100;
                let provider = providers::open(settings).unwrap();
                let (outcome, _) = ask(&provider, request(delivery)).await;
                let error = outcome.unwrap_err();
                assert_eq!(error.kind, ModelErrorKind::CutOff, "{error:?}");
                assert!(error.message.ends_with("exceeds 100 bytes"), "{error}");
            }
        }
    }
}
