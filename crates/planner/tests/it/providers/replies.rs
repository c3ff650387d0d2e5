//! Replies that succeed, possibly after retries.

use std::time::Duration;

use planwright_planner::model::Delivery;
use planwright_testkit::model_server::{ResponseEnd, ScriptedResponse};

use super::openai::OPENAI;
use super::protocol::{Called, Protocol, ScriptedReply};
use super::{HELLO, check, check_all, reply};

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
