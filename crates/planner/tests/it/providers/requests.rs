//! Requests as sent to a provider.

use std::sync::{Arc, Mutex};

use planwright_core::Value;
use planwright_planner::model::providers::{Key, Prices, Provider, ProviderSettings};
use planwright_planner::model::{
    AnswerSchema, Delivery, Message, Model, ModelCall, ModelErrorKind, ModelRequest,
    RecordingModel, ScriptSink, ToolDefinition, answer, providers,
};
use planwright_testkit::model_server::{ModelServer, RecordedRequest};

use super::anthropic::ANTHROPIC;
use super::gemini::GEMINI;
use super::openai::OPENAI;
use super::{DELIVERIES, HELLO, PROTOCOLS, ask, protocol, request, settings};

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

#[tokio::test]
async fn the_shared_beginning_of_requests_is_marked_for_the_cache() {
    for protocol in &PROTOCOLS {
        for is_shared in [false, true] {
            let server = ModelServer::start(vec![protocol.answer(Delivery::Whole, &HELLO)]);
            let provider = providers::open(settings(protocol, &server)).unwrap();
            let mut request = conversation(Delivery::Whole);
            request.is_prefix_shared = is_shared;
            ask(&provider, request).await.0.unwrap();
            let body = server.asked().remove(0).body;
            let is_marked = is_shared && protocol.model == ANTHROPIC.model;
            let mark = serde_json::json!({"type": "ephemeral"});
            let system = body.pointer("/system/0/cache_control");
            assert_eq!(system, Some(&mark).filter(|_| is_marked), "{body}");
            let count = body.to_string().matches("cache").count();
            assert_eq!(count, usize::from(is_marked), "{body}");
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

#[tokio::test]
async fn settings_are_applied() {
    let server = ModelServer::start(vec![OPENAI.answer(Delivery::Whole, &HELLO)]);
    let mut settings = settings(&OPENAI, &server);
    settings.model = "openai-compatible:mistral-medium".to_owned();
    settings.temperature = Some(0.0);
    settings.max_tokens = Some(9);
    settings.prices = Some(Prices {
        input: 1.0,
        output: 10.0,
        cached: Some(0.5),
    });
    for key in [Some("sk-secret"), None] {
        settings.key = key.map(Key::new);
        let provider = providers::open(settings.clone()).unwrap();
        let reply = answer(&provider, request(Delivery::Whole)).await.unwrap();
        assert!((reply.usage.cost.unwrap() - 0.000_088).abs() < 1e-12);
        let asked = server.asked().pop().unwrap();
        let bearer = key.map(|key| format!("Bearer {key}"));
        assert_eq!(asked.headers.get("authorization"), bearer.as_ref());
        // The name belongs to the server, even if its end looks like an effort.
        let parts = ["model", "temperature", "max_tokens", "reasoning_effort"];
        let parts = parts.map(|part| asked.body[part].clone());
        let expected = serde_json::json!(["mistral-medium", 0.0, 9, null]);
        assert_eq!(serde_json::json!(parts), expected);
    }
}

fn check_settings(change: impl Fn(&mut ProviderSettings), message: &str, help: &str) {
    let mut settings = ProviderSettings::new("openai:gpt-4o");
    settings.key = Some(Key::new("sk-secret"));
    change(&mut settings);
    let error = providers::open(settings).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Configuration);
    assert_eq!(error.message, message);
    assert!(
        error.help.clone().unwrap_or_default().contains(help),
        "{error:?}"
    );
}

#[test]
fn invalid_settings_are_rejected() {
    let base = |url: &'static str| {
        move |settings: &mut ProviderSettings| settings.base_url = Some(url.to_owned())
    };
    check_settings(
        |it| it.key = None,
        "there is no key for `openai`",
        "`OPENAI_API_KEY`",
    );
    check_settings(
        |it| it.key = None,
        "there is no key for `openai`",
        "`model.key_variable`",
    );
    check_settings(
        |it| it.key = Some(Key::new("a b")),
        "the key for `openai` is empty or has characters that a header does not allow",
        "",
    );
    check_settings(
        |it| it.model = "opnai:a".to_owned(),
        "there is no provider `opnai`",
        "did you mean `openai`",
    );
    check_settings(
        |it| it.model = "openai-compatible:a".to_owned(),
        "`openai-compatible` needs a base URL",
        "http://localhost:8000/v1",
    );
    check_settings(
        base("localhost:80"),
        "the base URL `localhost:80` is not an address",
        "https://HOST/PATH",
    );
    check_settings(
        base("ftp://a"),
        "the base URL `ftp://a` is not an address",
        "https://HOST/PATH",
    );
}

#[derive(Clone, Debug, Default)]
struct RunJournal(Arc<Mutex<String>>);

impl ScriptSink for RunJournal {
    fn store(&self, script: &str) -> std::io::Result<()> {
        script.clone_into(&mut self.0.lock().unwrap());
        Ok(())
    }
}

#[tokio::test]
async fn keys_are_not_recorded() {
    let server = ModelServer::start(vec![OPENAI.answer(Delivery::Whole, &HELLO)]);
    let provider: Provider = providers::open(settings(&OPENAI, &server)).unwrap();
    assert!(!format!("{provider:?}").contains("sk-secret"));
    let journal = RunJournal::default();
    let recorder = RecordingModel::new(provider, journal.clone());
    answer(&recorder, request(Delivery::Whole)).await.unwrap();
    let script = journal.0.lock().unwrap().clone();
    assert!(script.contains("Hello there, you"), "{script}");
    assert!(!script.contains("sk-secret"), "{script}");
}
