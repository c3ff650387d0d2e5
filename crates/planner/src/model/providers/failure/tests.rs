//! Failures by what a provider says of them.

use super::*;

fn check(
    status: u16,
    headers: &[(&'static str, &str)],
    body: &str,
    expected: (ModelErrorKind, bool, Option<u64>),
) {
    let name = ModelName::read("openai:gpt").unwrap();
    let key = Key::new("sk-1234");
    let whose = Whose {
        name: &name,
        key: Some(&key),
        now: None,
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    let failure = answered(status, body, &map, whose);
    let pause = failure
        .pause
        .map(|pause| u64::try_from(pause.as_millis()).unwrap());
    assert_eq!(
        (failure.kind, failure.may_pass, pause),
        expected,
        "{status} {headers:?}"
    );
    assert!(!failure.message.contains("sk-1234"), "{}", failure.message);
}

#[test]
fn statuses_are_told_apart() {
    use ModelErrorKind::{Key, Limited, Refused, Unavailable};
    check(400, &[], "", (Refused, false, None));
    check(
        401,
        &[],
        r#"{"error": {"message": "no such key: sk-1234"}}"#,
        (Key, false, None),
    );
    check(402, &[], "", (Limited, false, None));
    check(403, &[], "", (Key, false, None));
    check(404, &[], "", (Refused, false, None));
    check(307, &[], "", (Refused, false, None));
    check(429, &[], "", (Limited, true, None));
    check(
        429,
        &[],
        r#"{"error": {"code": "insufficient_quota"}}"#,
        (Limited, false, None),
    );
    for status in [500, 502, 503, 504, 529] {
        check(status, &[], "sk-1234", (Unavailable, true, None));
    }
    check(501, &[], "", (Unavailable, false, None));
}

#[test]
fn providers_say_when() {
    use ModelErrorKind::{Key, Limited, Unavailable};
    check(
        429,
        &[("retry-after", "3")],
        "",
        (Limited, true, Some(3000)),
    );
    check(
        429,
        &[("retry-after", "3"), ("retry-after-ms", "250")],
        "",
        (Limited, true, Some(250)),
    );
    check(
        429,
        &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")],
        "",
        (Limited, true, None),
    );
    check(429, &[("retry-after", "-1")], "", (Limited, true, None));
    check(
        500,
        &[("x-should-retry", "false")],
        "",
        (Unavailable, false, None),
    );
    check(
        501,
        &[("x-should-retry", "true")],
        "",
        (Unavailable, true, None),
    );
    check(401, &[("x-should-retry", "true")], "", (Key, false, None));
}

#[test]
fn failures_within_answers_are_told_apart() {
    let name = ModelName::read("anthropic:claude").unwrap();
    let whose = Whose {
        name: &name,
        key: None,
        now: None,
    };
    for (body, expected) in [
        (
            r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#,
            ModelErrorKind::Unavailable,
        ),
        (
            r#"{"type": "error", "error": {"type": "rate_limit_error", "message": "later"}}"#,
            ModelErrorKind::Limited,
        ),
        (r#"{"code": 401, "message": "no"}"#, ModelErrorKind::Key),
        (
            r#"{"message": "Error in input stream", "type": "server_error"}"#,
            ModelErrorKind::Unavailable,
        ),
        (r#""gone""#, ModelErrorKind::Unavailable),
    ] {
        let body = serde_json::from_str(body).unwrap();
        assert_eq!(Failure::reported(&body, whose).kind, expected, "{body}");
    }
}

#[test]
fn failures_say_what_to_do() {
    let name = ModelName::read("openai:gpt").unwrap();
    let whose = Whose {
        name: &name,
        key: None,
        now: None,
    };
    let told = |status: u16, wait: Option<&'static str>, body: &str| {
        let status = StatusCode::from_u16(status).unwrap();
        let mut headers = HeaderMap::new();
        if let Some(wait) = wait {
            headers.insert("retry-after", HeaderValue::from_static(wait));
        }
        let usage = Usage {
            requests: 3,
            ..Usage::default()
        };
        let error = answered(status, body, &headers, whose).into_error(usage);
        (error.message, error.help.unwrap_or_default())
    };
    let long = r#"{"error": {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}}"#;
    let (message, help) = told(400, None, long);
    assert!(
        message.starts_with("the question is too long for `openai:gpt`: "),
        "{message}"
    );
    assert!(help.contains("`--tool-tokens`"), "{help}");
    let (message, help) = told(500, None, "");
    assert_eq!(message, "`openai:gpt` failed (status 500) (3 attempts)");
    assert_eq!(help, "ask again later, or ask another model");
    let (_, help) = told(429, Some("5400"), "");
    assert_eq!(help, "ask again in 90 min, or ask another model");
}
