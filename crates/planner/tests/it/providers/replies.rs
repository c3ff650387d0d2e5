//! Replies that succeed, possibly after retries.

use std::time::Duration;

use planwright_planner::model::providers::ProviderSettings;
use planwright_planner::model::{Delivery, ModelErrorKind, providers};
use planwright_testkit::listening::ClosedPort;
use planwright_testkit::model_server::{ModelServer, ResponseEnd, ScriptedResponse};

use super::anthropic::ANTHROPIC;
use super::openai::OPENAI;
use super::protocol::{Called, Protocol, ScriptedReply};
use super::{
    DELIVERIES, HELLO, PROTOCOLS, SHORT, ask, check, check_all, check_with, protocol, reply,
    request, settings,
};

#[tokio::test]
async fn replies_arrive() {
    let cut_off = ScriptedReply {
        is_cut_off: true,
        ..HELLO
    };
    let calls = ScriptedReply {
        words: &["Let me", " see."],
        calls: &[
            Called {
                id: "call_a",
                name: "add",
                arguments: &["{\"a\":", " 1, \"b", "\": 2}"],
            },
            Called {
                id: "call_b",
                name: "now",
                arguments: &["{}"],
            },
        ],
        is_cut_off: false,
    };
    let only_calls = ScriptedReply {
        words: &[],
        ..calls
    };
    for said in [HELLO, cut_off, calls, only_calls] {
        check_all(
            |protocol, delivery| vec![protocol.answer(delivery, &said)],
            |_| (Ok(reply(&said)), 1),
        )
        .await;
    }
}

#[tokio::test]
async fn transient_errors_are_retried() {
    type FailedStep = fn(&Protocol, Delivery) -> ScriptedResponse;
    let troubles: [FailedStep; 7] = [
        |protocol, _| {
            protocol
                .failure(429, "slow down")
                .header("retry-after", "0")
        },
        |protocol, _| {
            protocol
                .failure(429, "slow down")
                .header("retry-after-ms", "5")
        },
        |protocol, _| protocol.failure(500, "it hurts"),
        |protocol, _| protocol.failure(503, "busy"),
        |protocol, _| protocol.failure(529, "busy"),
        |_, _| ScriptedResponse::new(502, "text/html", vec!["<html>".to_owned()]),
        // The reply ends early, before any of it is passed on.
        |protocol, delivery| {
            let answer = protocol.answer(delivery, &HELLO);
            let part = answer.parts[0].get(..20).unwrap().to_owned();
            let mut answer = answer.ending(0, ResponseEnd::Closed);
            answer.parts.push(part);
            answer
        },
    ];
    for trouble in troubles {
        check_all(
            |protocol, delivery| {
                vec![
                    trouble(protocol, delivery),
                    protocol.answer(delivery, &HELLO),
                ]
            },
            |_| (Ok(reply(&HELLO)), 2),
        )
        .await;
    }
}

#[tokio::test]
async fn retry_delays_of_providers_are_respected() {
    let busy = OPENAI
        .failure(429, "slow down")
        .header("retry-after-ms", "150");
    let script = vec![busy, OPENAI.answer(Delivery::Whole, &HELLO)];
    let begin = tokio::time::Instant::now();
    check(&OPENAI, Delivery::Whole, script, (Ok(reply(&HELLO)), 2)).await;
    assert!(begin.elapsed() >= Duration::from_millis(150));
}

/// A failing response, its error, and the number of requests sent.
type Refusal = (
    u16,
    Option<(&'static str, &'static str)>,
    ModelErrorKind,
    &'static str,
    usize,
);

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    use ModelErrorKind::{Key, Limited, Refused, Unavailable};
    let soon = Some(("retry-after", "0"));
    let late = Some(("retry-after", "3600"));
    let yes = Some(("x-should-retry", "true"));
    let no = Some(("x-should-retry", "false"));
    let cases: [Refusal; 9] = [
        (500, None, Unavailable, "failed (status 500): it hurts", 3),
        (500, no, Unavailable, "failed", 1),
        (503, None, Unavailable, "is overloaded", 3),
        (
            429,
            soon,
            Limited,
            "limits the rate of requests: it hurts",
            3,
        ),
        (429, late, Limited, "limits the rate", 1),
        (401, None, Key, "refuses the key: it hurts", 1),
        (403, None, Key, "denies access with this key", 1),
        (404, yes, Refused, "has no model", 1),
        (
            400,
            None,
            Refused,
            "refuses the question (status 400): it hurts",
            1,
        ),
    ];
    for (status, header, kind, part, sent) in cases {
        check_all(
            |protocol, _| {
                let answer = protocol.failure(status, "it hurts, says sk-secret");
                vec![match header {
                    Some((name, value)) => answer.header(name, value),
                    None => answer,
                }]
            },
            |_| (Err((kind, part)), sent),
        )
        .await;
    }
}

#[tokio::test]
async fn malformed_replies_are_failures() {
    use ModelErrorKind::Malformed;
    check_all(
        |protocol, delivery| vec![protocol.garbled(delivery)],
        |_| (Err((Malformed, "cannot be read")), 1),
    )
    .await;
    for protocol in &PROTOCOLS {
        let page = ScriptedResponse::new(200, "text/html", vec!["<html></html>".to_owned()]);
        let expected = Err((Malformed, "cannot be read: it is text/html, not JSON"));
        check(protocol, Delivery::Whole, vec![page], (expected, 1)).await;
    }
    let nothing = ScriptedResponse::json(200, &serde_json::json!({}));
    let expected = Err((Malformed, "it contains no message"));
    check(&OPENAI, Delivery::Whole, vec![nothing], (expected, 1)).await;
}

#[tokio::test]
async fn truncated_replies_are_failures() {
    use ModelErrorKind::{Interrupted, Timeout};
    for protocol in &PROTOCOLS {
        let whole = protocol.answer(Delivery::Live, &HELLO);
        let all = whole.parts.len();
        // The end is missing, or the last chunk and the end; the connection is closed properly, or not.
        for (parts, ending, kind, part) in [
            (all - 1, ResponseEnd::Whole, Interrupted, "was interrupted"),
            (all - 1, ResponseEnd::Closed, Interrupted, "was interrupted"),
            (all - 2, ResponseEnd::Whole, Interrupted, "was interrupted"),
            (
                all - 1,
                ResponseEnd::Silent,
                Timeout,
                "stopped in the middle of its answer",
            ),
        ] {
            let half = whole.clone().ending(parts, ending);
            let expected = (Err((kind, part)), 1);
            check(protocol, Delivery::Live, vec![half], expected).await;
        }
        let whole = protocol.answer(Delivery::Whole, &HELLO);
        let part = whole.parts[0].get(..40).unwrap().to_owned();
        let mut half = whole.ending(0, ResponseEnd::Closed);
        half.parts.push(part);
        let expected = (Err((Interrupted, "was interrupted")), 3);
        check(protocol, Delivery::Whole, vec![half], expected).await;
    }
}

#[tokio::test]
async fn errors_within_streams_are_reported() {
    let overloaded = "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n";
    let failed = "data: {\"error\": {\"message\": \"Overloaded\", \"code\": 502}}\n\n";
    for (protocol, event) in [(&ANTHROPIC, overloaded), (&OPENAI, failed)] {
        let whole = protocol.answer(Delivery::Live, &HELLO);
        let mut answer = whole.clone().ending(5, ResponseEnd::Whole);
        answer.parts.push(event.to_owned());
        let expected = Err((ModelErrorKind::Unavailable, ": Overloaded"));
        check(protocol, Delivery::Live, vec![answer], (expected, 1)).await;
        // A retry follows only before the first chunk.
        let answer = protocol::events([event.to_owned()]);
        let expected = (Ok(reply(&HELLO)), 2);
        check(protocol, Delivery::Live, vec![answer, whole], expected).await;
    }
    let body = serde_json::json!({"error": {"message": "Overloaded", "code": 502}});
    let script = vec![
        ScriptedResponse::json(200, &body),
        OPENAI.answer(Delivery::Whole, &HELLO),
    ];
    check(&OPENAI, Delivery::Whole, script, (Ok(reply(&HELLO)), 2)).await;
}

#[tokio::test]
async fn requests_time_out() {
    for protocol in &PROTOCOLS {
        for delivery in DELIVERIES {
            let server = ModelServer::start(vec![ScriptedResponse::silence()]);
            let mut settings = settings(protocol, &server);
            settings.timeout = SHORT;
            let expected = Err((ModelErrorKind::Timeout, "did not answer within 100ms"));
            check_with(settings, delivery, &server, (expected, 1)).await;
        }
        let expected = Err((ModelErrorKind::Timeout, "did not begin to answer"));
        check(
            protocol,
            Delivery::Live,
            vec![ScriptedResponse::silence()],
            (expected, 3),
        )
        .await;
    }
}

#[tokio::test]
async fn unreachable_servers_are_failures() {
    let closed = ClosedPort::take();
    let url = closed.url();
    for delivery in DELIVERIES {
        let mut settings = ProviderSettings::new("ollama:a");
        settings.base_url = Some(url.clone());
        settings.first_delay = Duration::from_millis(2);
        let provider = providers::open(settings).unwrap();
        let (outcome, _) = ask(&provider, request(delivery)).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Unavailable);
        assert_eq!(error.usage.requests, 3);
        let expected =
            format!("`ollama:a` cannot be reached at {url}: connection refused (3 attempts)");
        assert!(error.message == expected, "{}", error.message);
    }
}
