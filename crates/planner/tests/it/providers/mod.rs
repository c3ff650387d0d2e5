//! Models over HTTP, with test servers for the protocols of the providers.

mod anthropic;
mod finish_reasons;
mod gemini;
mod ollama;
mod openai;
mod protocol;
mod replies;
mod requests;
mod response_formats;

use std::time::Duration;

use futures::StreamExt;
use planwright_core::Value;
use planwright_planner::model::providers::{self, Key, ProviderSettings};
use planwright_planner::model::{
    Delivery, FinishReason, Message, Model, ModelCall, ModelError, ModelErrorKind, ModelRequest,
    Reply, ReplyChunk, Usage,
};
use planwright_testkit::model_server::{ModelServer, ResponseEnd, ScriptedResponse};

use anthropic::ANTHROPIC;
use gemini::GEMINI;
use ollama::OLLAMA;
use openai::OPENAI;
use protocol::{Protocol, ScriptedReply};

const PROTOCOLS: [Protocol; 4] = [OPENAI, ANTHROPIC, GEMINI, OLLAMA];
const DELIVERIES: [Delivery; 2] = [Delivery::Whole, Delivery::Live];

/// Timeouts: short for servers that stay silent, and long for servers on a slow machine.
const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_mins(1);

const HELLO: ScriptedReply = ScriptedReply {
    words: &["Hello", " there", ", you"],
    calls: &[],
    is_cut_off: false,
};

/// The expected outcome of a request: the reply, or the kind of error with a part of its message; and the number of requests sent.
type Outcome<'a> = (Result<Reply, (ModelErrorKind, &'a str)>, usize);

fn settings(protocol: &Protocol, server: &ModelServer) -> ProviderSettings {
    let mut settings = ProviderSettings::new(protocol.model);
    settings.base_url = Some(format!("{}{}", server.url(), protocol.path));
    settings.key = Some(Key::new("sk-secret"));
    settings.first_delay = Duration::from_millis(2);
    settings
}

fn request(delivery: Delivery) -> ModelRequest {
    let mut request = ModelRequest::new("Be brief.", [Message::User("Say hello.".to_owned())]);
    request.delivery = delivery;
    request
}

/// Returns the complete reply, and the chunks received before it.
async fn ask(model: &dyn Model, request: ModelRequest) -> (Result<Reply, ModelError>, Vec<String>) {
    let mut texts = Vec::new();
    let mut chunks = model.ask(request);
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(ReplyChunk::Text(text)) => texts.push(text),
            Ok(ReplyChunk::Done(reply)) => return (Ok(reply), texts),
            Err(error) => return (Err(error), texts),
        }
    }
    panic!("the answer has no end");
}

async fn check(
    protocol: &Protocol,
    delivery: Delivery,
    script: Vec<ScriptedResponse>,
    (expected, sent): Outcome<'_>,
) {
    let is_silent = script
        .iter()
        .any(|answer| answer.ending == ResponseEnd::Silent);
    let timeout = if is_silent { SHORT } else { LONG };
    let server = ModelServer::start(script);
    let mut settings = settings(protocol, &server);
    settings.header_timeout = timeout;
    settings.idle_timeout = timeout;
    check_with(settings, delivery, &server, (expected, sent)).await;
}

async fn check_with(
    settings: ProviderSettings,
    delivery: Delivery,
    server: &ModelServer,
    (expected, sent): Outcome<'_>,
) {
    let what = format!("{} {delivery:?}: {expected:?}", settings.model);
    let provider = providers::open(settings).unwrap();
    let (outcome, texts) = ask(&provider, request(delivery)).await;
    assert_eq!(server.asked().len(), sent, "{what}, not {outcome:?}");
    match (outcome, expected) {
        (Ok(reply), Ok(mut expected)) => {
            expected.usage.requests = u32::try_from(sent).unwrap();
            assert_eq!(reply, expected, "{what}");
            let is_live = delivery == Delivery::Live;
            let text = if is_live { reply.text.as_str() } else { "" };
            assert_eq!(texts.concat(), text, "{what}");
        }
        (Err(error), Err((kind, part))) => {
            assert_eq!(error.kind, kind, "{what}, not {error:?}");
            assert!(error.message.contains(part), "{what}, not {error:?}");
            assert!(!format!("{error:?}").contains("sk-secret"), "{error:?}");
            assert_eq!(error.usage.requests as usize, sent, "{what}");
        }
        (outcome, _) => panic!("{what}, not {outcome:?}"),
    }
}

fn reply(said: &ScriptedReply) -> Reply {
    let mut reply = Reply::text(said.text());
    let calls = said.calls.iter();
    reply.calls = calls
        .map(|call| ModelCall {
            id: call.id.to_owned(),
            name: call.name.to_owned(),
            arguments: Value::from(call.arguments()),
        })
        .collect();
    if said.is_cut_off {
        reply.finish = FinishReason::Length;
    }
    reply.usage = tokens();
    reply
}

fn tokens() -> Usage {
    let mut usage = Usage::default();
    usage.input_tokens = 20;
    usage.cached_tokens = 4;
    usage.output_tokens = 7;
    usage
}

/// Runs the same check for all protocols, with whole and streamed replies.
async fn check_all(
    script: impl Fn(&Protocol, Delivery) -> Vec<ScriptedResponse>,
    expected: impl Fn(Delivery) -> Outcome<'static>,
) {
    for protocol in &PROTOCOLS {
        for delivery in DELIVERIES {
            let script = script(protocol, delivery);
            check(protocol, delivery, script, expected(delivery)).await;
        }
    }
}
