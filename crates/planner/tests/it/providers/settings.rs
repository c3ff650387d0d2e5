//! Opening of providers: settings that are accepted and rejected.

use std::sync::{Arc, Mutex};

use planwright_planner::model::providers::{self, Key, Prices, Provider, ProviderSettings};
use planwright_planner::model::{Delivery, ModelErrorKind, RecordingModel, ScriptSink, answer};
use planwright_testkit::model_server::ModelServer;

use super::openai::OPENAI;
use super::{HELLO, request, settings};

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
        "the base URL `localhost:80` is no address",
        "https://HOST/PATH",
    );
    check_settings(
        base("ftp://a"),
        "the base URL `ftp://a` is no address",
        "https://HOST/PATH",
    );
}

#[derive(Clone, Debug, Default)]
struct RunJournal(Arc<Mutex<String>>);

impl ScriptSink for RunJournal {
    fn keep(&self, script: &str) -> std::io::Result<()> {
        script.clone_into(&mut self.0.lock().unwrap());
        Ok(())
    }
}

#[tokio::test]
async fn keys_are_not_recorded() {
    let server = ModelServer::start(vec![OPENAI.answer(Delivery::Whole, &HELLO)]);
    let provider: Provider = providers::open(settings(&OPENAI, &server)).unwrap();
    assert!(!format!("{provider:?}").contains("sk-secret"));
    let kept = RunJournal::default();
    let recorder = RecordingModel::new(provider, kept.clone());
    answer(&recorder, request(Delivery::Whole)).await.unwrap();
    let script = kept.0.lock().unwrap().clone();
    assert!(script.contains("Hello there, you"), "{script}");
    assert!(!script.contains("sk-secret"), "{script}");
}
