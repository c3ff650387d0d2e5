//! Tests: classification of errors by status, headers and body.

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};

use super::super::{ModelErrorKind, Usage};
use super::attempt_error::{AttemptError, ErrorContext, from_response};
use super::settings::Key;
use super::settings::ModelName;

fn check(
    status: u16,
    headers: &[(&'static str, &str)],
    body: &str,
    expected: (ModelErrorKind, bool, Option<u64>),
) {
    let name = ModelName::read("openai:gpt").unwrap();
    let key = Key::new("sk-1234");
    let context = ErrorContext {
        name: &name,
        key: Some(&key),
        now: None,
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    let error = from_response(status, body, &map, context);
    let retry_after = error
        .retry_after
        .map(|retry_after| u64::try_from(retry_after.as_millis()).unwrap());
    assert_eq!(
        (error.kind, error.is_transient, retry_after),
        expected,
        "{status} {headers:?}"
    );
    assert!(!error.message.contains("sk-1234"), "{}", error.message);
}

#[test]
fn errors_are_classified_by_status() {
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
fn retry_delays_are_read() {
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
fn errors_in_bodies_are_classified() {
    let name = ModelName::read("anthropic:claude").unwrap();
    let context = ErrorContext {
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
        assert_eq!(
            AttemptError::from_body(&body, context).kind,
            expected,
            "{body}"
        );
    }
}

#[test]
fn errors_carry_advice() {
    let name = ModelName::read("openai:gpt").unwrap();
    let context = ErrorContext {
        name: &name,
        key: None,
        now: None,
    };
    let shown = |status: u16, wait: Option<&'static str>, body: &str| {
        let status = StatusCode::from_u16(status).unwrap();
        let mut headers = HeaderMap::new();
        if let Some(wait) = wait {
            headers.insert("retry-after", HeaderValue::from_static(wait));
        }
        let usage = Usage {
            requests: 3,
            ..Usage::default()
        };
        let error = from_response(status, body, &headers, context).into_model_error(usage);
        (error.message, error.help.unwrap_or_default())
    };
    let long = r#"{"error": {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}}"#;
    let (message, help) = shown(400, None, long);
    assert!(
        message.starts_with("the question is too long for `openai:gpt`: "),
        "{message}"
    );
    assert!(help.contains("`--tool-tokens`"), "{help}");
    let (message, help) = shown(500, None, "");
    assert_eq!(message, "`openai:gpt` failed (status 500) (3 attempts)");
    assert_eq!(help, "ask again later, or ask another model");
    let (_, help) = shown(429, Some("5400"), "");
    assert_eq!(help, "ask again in 90 min, or ask another model");
}
