//! Requests as sent to a provider.

use planwright_core::Value;
use planwright_planner::model::providers;
use planwright_planner::model::{
    AnswerSchema, Delivery, Message, Model, ModelCall, ModelErrorKind, ModelRequest,
    ToolDefinition, answer,
};
use planwright_testkit::model_server::{ModelServer, RecordedRequest};

use super::anthropic::ANTHROPIC;
use super::gemini::GEMINI;
use super::openai::OPENAI;
use super::{DELIVERIES, HELLO, PROTOCOLS, ask, protocol, settings};

#[tokio::test]
async fn requests_follow_the_protocol_of_the_provider() {
    for protocol in &PROTOCOLS {
        for delivery in DELIVERIES {
            let server = ModelServer::start(vec![protocol.answer(delivery, &HELLO)]);
            let provider = providers::open(settings(protocol, &server)).unwrap();
            assert_eq!(provider.name(), protocol.model);
            let (outcome, _) = ask(&provider, conversation(delivery)).await;
            outcome.unwrap();
            let asked = server.asked().remove(0);
            assert_eq!(asked.line, (protocol.line)(delivery));
            if let Some((name, value)) = protocol.key {
                assert_eq!(asked.headers.get(name).map(String::as_str), Some(value));
            }
            let mut expected = (protocol.question)();
            let is_live = delivery == Delivery::Live;
            if protocol.model != GEMINI.model {
                expected["stream"] = is_live.into();
            }
            if is_live && protocol.model == OPENAI.model {
                expected["stream_options"] = serde_json::json!({"include_usage": true});
            }
            assert_eq!(asked.body, expected, "{} {delivery:?}", protocol.model);
        }
    }
}

fn conversation(delivery: Delivery) -> ModelRequest {
    let call = ModelCall {
        id: "call_1".to_owned(),
        name: "add".to_owned(),
        arguments: Value::from(serde_json::json!({"a": 1, "b": 2})),
    };
    let messages = [
        Message::User("What is 1 + 2?".to_owned()),
        Message::Assistant {
            text: String::new(),
            calls: vec![call],
        },
        Message::ToolResult {
            call: "call_1".to_owned(),
            text: "3".to_owned(),
        },
    ];
    let mut request = ModelRequest::new("Be brief.", messages);
    request.tools = vec![ToolDefinition {
        name: "add".to_owned(),
        description: "Adds.".to_owned(),
        parameters: Value::from(protocol::add()),
    }];
    request.answer = Some(AnswerSchema {
        name: "answer".to_owned(),
        schema: Value::from(protocol::schema()),
    });
    request.max_tokens = Some(500);
    request.delivery = delivery;
    request
}

#[tokio::test]
async fn rejected_parameters_are_dropped() {
    for (protocol, words, field) in [
        (
            &OPENAI,
            "'temperature' does not support 0.1 with this model",
            "temperature",
        ),
        (
            &OPENAI,
            "this response_format type is unavailable now",
            "response_format",
        ),
        (
            &ANTHROPIC,
            "output_config: extra inputs are not permitted",
            "output_config",
        ),
    ] {
        let refusal = protocol.failure(400, words);
        let good = protocol.answer(Delivery::Whole, &HELLO);
        let server = ModelServer::start(vec![refusal.clone(), good.clone(), good, refusal]);
        let provider = providers::open(settings(protocol, &server)).unwrap();
        for requests in [2, 1] {
            let reply = answer(&provider, conversation(Delivery::Whole))
                .await
                .unwrap();
            assert_eq!(reply.usage.requests, requests, "{words}");
        }
        let has_field = |asked: &RecordedRequest| asked.body.get(field).is_some();
        let fields: Vec<bool> = server.asked().iter().map(has_field).collect();
        assert_eq!(fields, [true, false, false], "{words}");
        // A rejection of a parameter that was not sent is final.
        let error = answer(&provider, conversation(Delivery::Whole))
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, error.usage.requests),
            (ModelErrorKind::Refused, 1)
        );
    }
}
