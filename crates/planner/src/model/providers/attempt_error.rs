//! Errors of attempts: their kind, whether a retry may help, and a message of one line that does not contain the key.

use std::time::Duration;

use genai::webc::{Error as WebError, StreamTimeout};
use genai::{BoxError, Error};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::super::{ModelError, ModelErrorKind, Reply, Usage};
use super::retry::{Clock, delay_from_body, delay_from_headers, format_delay};
use super::settings::{Key, ModelName};

/// The error of an attempt.
#[derive(Clone, Debug)]
pub(super) struct AttemptError {
    pub(super) kind: ModelErrorKind,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// True if a retry may succeed.
    pub(super) is_transient: bool,
    /// Delay that the provider asks for.
    pub(super) retry_after: Option<Duration>,
    /// The provider's message if it rejected the request.
    pub(super) rejection: Option<String>,
    /// The part of the model's text that arrived.
    pub(super) reply: String,
    /// The tokens that the provider reports in spite of the error.
    pub(super) usage: Usage,
}

/// The provider in error messages: its name, key to redact, and clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorContext<'a> {
    pub(super) name: &'a ModelName,
    pub(super) key: Option<&'a Key>,
    pub(super) now: Option<Clock>,
}

impl AttemptError {
    pub(super) fn new(kind: ModelErrorKind, message: String) -> Self {
        Self {
            kind,
            message,
            help: None,
            is_transient: false,
            retry_after: None,
            rejection: None,
            reply: String::new(),
            usage: Usage::default(),
        }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn transient(mut self) -> Self {
        self.is_transient = true;
        self
    }

    /// Creates the error for a reply that ended early.
    pub(super) fn interrupted(context: ErrorContext<'_>) -> Self {
        let message = format!("the reply of `{}` was interrupted", context.name);
        Self::new(ModelErrorKind::Interrupted, message)
            .help("the connection was lost, or the provider stopped; ask again")
            .transient()
    }

    /// Creates the error for a reply that its provider reports to be unusable.
    pub(super) fn stopped(context: ErrorContext<'_>, reason: &str, reply: Reply) -> Self {
        let message = format!("the reply of `{}` was interrupted ({reason})", context.name);
        Self {
            reply: reply.text,
            usage: reply.usage,
            ..Self::new(ModelErrorKind::Interrupted, message)
        }
        .help("the provider stopped; ask again")
        .transient()
    }

    /// Creates the error for a reply that exceeds `allowed` bytes; `reply` is the part that was read.
    pub(super) fn too_long(context: ErrorContext<'_>, allowed: usize, reply: &str) -> Self {
        let message = format!("the reply of `{}` exceeds {allowed} bytes", context.name);
        Self {
            reply: reply.to_owned(),
            ..Self::new(ModelErrorKind::CutOff, message)
        }
        .help("the model may repeat itself; ask again, or ask another model")
    }

    /// Creates the error for a request that could not be sent.
    pub(super) fn unreachable(context: ErrorContext<'_>, cause: &str) -> Self {
        let message = format!("`{}` cannot be reached", context.name);
        Self::new(
            ModelErrorKind::Unavailable,
            with_detail(message, sanitize(cause, context.key)),
        )
        .help("check that this machine allows connections to `127.0.0.1`")
    }

    /// Creates the error for a response that violates the protocol.
    pub(super) fn malformed(context: ErrorContext<'_>, cause: &str) -> Self {
        let message = format!("the reply of `{}` cannot be read", context.name);
        Self::new(
            ModelErrorKind::Malformed,
            with_detail(message, sanitize(cause, context.key)),
        )
        .help("check that the server at the base URL speaks this provider's protocol")
    }

    /// Creates the error for a request that exceeded its timeout.
    pub(super) fn timed_out(context: ErrorContext<'_>, allowed: Duration) -> Self {
        let message = format!("`{}` did not answer within {allowed:?}", context.name);
        Self::new(ModelErrorKind::Timeout, message)
            .help("increase `model.timeout`, or ask for less")
    }

    /// Converts an error of `genai`.
    pub(super) fn from_genai(error: Error, context: ErrorContext<'_>) -> Self {
        match error {
            Error::HttpError {
                status,
                body,
                headers,
                ..
            } => from_response(status, &body, &headers, context),
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
                from_web_error(webc_error, context)
            }
            Error::WebStream { error, .. } => from_stream_error(error, context),
            Error::ChatResponse { body, .. } => Self::from_body(&body, context),
            // Some providers report an error in the body of a successful response.
            Error::ChatResponseGeneration {
                response_body,
                cause,
                ..
            } => match parse_json(&response_body, context.key) {
                Some(_) => Self::from_body(&response_body, context),
                None => Self::malformed(context, &cause),
            },
            Error::StreamParse { serde_error, .. } => {
                Self::malformed(context, &serde_error.to_string())
            }
            other => Self::malformed(context, &other.to_string()),
        }
    }

    /// Converts an error in the body of a response whose status says nothing about it.
    pub(super) fn from_body(body: &Value, context: ErrorContext<'_>) -> Self {
        // In streams, `genai` passes on only the value of `error`.
        let detail =
            parse_json(body, context.key).or_else(|| sanitize(body.as_str()?, context.key));
        let code = code(body);
        from_status(status_of(&code), &code, detail, context)
    }

    /// Converts the last error into the error for the caller.
    pub(super) fn into_model_error(self, usage: Usage) -> ModelError {
        let message = match usage.requests {
            attempts @ 2.. if self.is_transient => {
                format!("{} ({attempts} attempts)", self.message)
            }
            _ => self.message,
        };
        let help = match self.retry_after {
            Some(retry_after) if self.is_transient && !retry_after.is_zero() => Some(format!(
                "ask again in {}, or ask another model",
                format_delay(retry_after)
            )),
            _ => self.help,
        };
        ModelError {
            help,
            ..ModelError::new(self.kind, message)
                .with_words(&self.reply)
                .with_usage(usage)
        }
    }
}

fn from_web_error(error: WebError, context: ErrorContext<'_>) -> AttemptError {
    match error {
        WebError::ResponseFailedStatus {
            status,
            body,
            headers,
        } => from_response(status, &body, &headers, context),
        WebError::Reqwest(error) => from_transport_error(&error, context),
        WebError::ResponseFailedInvalidJson { cause, .. } => {
            AttemptError::malformed(context, &cause)
        }
        WebError::ResponseFailedNotJson { content_type, .. } => {
            AttemptError::malformed(context, &format!("it is `{content_type}`, not JSON"))
        }
        WebError::JsonValueExt(error) => AttemptError::malformed(context, &error.to_string()),
    }
}

fn from_stream_error(error: BoxError, context: ErrorContext<'_>) -> AttemptError {
    let error = match error.downcast::<Error>() {
        Ok(error) => return AttemptError::from_genai(*error, context),
        Err(error) => error,
    };
    // Streams pass on errors of several layers as boxes; each layer has its own classification.
    if let Some(error) = error.downcast_ref::<reqwest::Error>() {
        return from_transport_error(error, context);
    }
    match error.downcast_ref::<StreamTimeout>() {
        Some(timeout) => {
            let message = match timeout {
                StreamTimeout::Headers => format!("`{}` did not begin to answer", context.name),
                StreamTimeout::Read => {
                    format!("`{}` stopped in the middle of its answer", context.name)
                }
            };
            AttemptError::new(ModelErrorKind::Timeout, message).transient()
        }
        None => AttemptError::malformed(context, &error.to_string()),
    }
}

/// Converts a connection error.
pub(super) fn from_transport_error(
    error: &reqwest::Error,
    context: ErrorContext<'_>,
) -> AttemptError {
    let mut cause: &dyn std::error::Error = error;
    // The innermost error has the actual reason.
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let cause = cause.to_string().to_lowercase();
    let cause = cause.split(" (os error").next().unwrap_or_default();
    let cause = sanitize(cause, context.key);
    if error.is_connect() {
        let address = error.url().map(|url| url.origin().ascii_serialization());
        let address = address.map_or_else(String::new, |address| format!(" at {address}"));
        let message = format!("`{}` cannot be reached{address}", context.name);
        return AttemptError::new(ModelErrorKind::Unavailable, with_detail(message, cause))
            .help("check that it is running, and that the base URL is right")
            .transient();
    }
    if error.is_timeout() {
        let message = format!("`{}` did not answer in time", context.name);
        return AttemptError::new(ModelErrorKind::Timeout, message).transient();
    }
    if error.is_builder() {
        return AttemptError::malformed(context, &cause.unwrap_or_default());
    }
    AttemptError::interrupted(context)
}

/// Converts a response with an error status.
pub(super) fn from_response(
    status: StatusCode,
    body: &str,
    headers: &HeaderMap,
    context: ErrorContext<'_>,
) -> AttemptError {
    let detail = parse(body, context.key);
    let code = serde_json::from_str(body).map_or_else(|_| String::new(), |body| code(&body));
    let mut error = from_status(status.as_u16(), &code, detail, context);
    error.retry_after = delay_from_headers(headers, context.now).or_else(|| delay_from_body(body));
    // The header overrides our reading of the status, except for errors that no retry can resolve.
    match headers.get("x-should-retry").map(HeaderValue::as_bytes) {
        Some(b"false") => error.is_transient = false,
        Some(b"true") if !matches!(status.as_u16(), 400 | 401 | 403 | 404) => {
            error.is_transient = true;
        }
        _ => {}
    }
    error
}

/// Returns the status that corresponds to an error code.
fn status_of(code: &str) -> u16 {
    let number = code.split(' ').find_map(|code| code.parse().ok());
    number.unwrap_or_else(|| match code {
        code if code.contains("overloaded") => 529,
        code if code.contains("rate_limit") => 429,
        code if code.contains("authentication") => 401,
        code if code.contains("permission") => 403,
        code if code.contains("not_found") => 404,
        code if code.contains("invalid_request") => 400,
        // An unknown code counts as a failure of the server, which may pass.
        _ => 500,
    })
}

fn from_status(
    status: u16,
    code: &str,
    detail: Option<String>,
    context: ErrorContext<'_>,
) -> AttemptError {
    let name = context.name;
    let error =
        |kind, message: String| AttemptError::new(kind, with_detail(message, detail.clone()));
    let has_no_credit = code.contains("insufficient_quota") || code.contains("billing");
    match status {
        401 => error(ModelErrorKind::Key, format!("`{name}` refuses the key")).help(key_help(name)),
        403 => error(
            ModelErrorKind::Key,
            format!("`{name}` denies access with this key"),
        )
        .help(key_help(name)),
        // Some providers answer 429 if the credit is used up. Waiting does not help then, so it is not transient.
        402 | 429 if status == 402 || has_no_credit => error(
            ModelErrorKind::Limited,
            format!("no credit is left with `{name}`"),
        )
        .help("check the account with the provider"),
        429 => error(
            ModelErrorKind::Limited,
            format!("`{name}` limits the rate of requests"),
        )
        .help("wait a little, or ask another model")
        .transient(),
        404 => error(
            ModelErrorKind::Refused,
            format!("`{}` has no model `{}`", name.provider, name.model),
        )
        .help("check the name of the model, and the base URL if one is set"),
        // Redirects are not followed, because the key would reach another host.
        300..=399 => error(
            ModelErrorKind::Refused,
            format!("`{name}` redirects to another address (status {status})"),
        )
        .help("set the base URL to the address that it redirects to"),
        400 | 413 if is_context_exceeded(code, detail.as_deref()) => error(
            ModelErrorKind::Refused,
            format!("the question is too long for `{name}`"),
        )
        .help("list fewer tools with `--tool-tokens`, or ask a model with a larger context"),
        400..=499 => AttemptError {
            // The next request may omit the parameter that is named here.
            rejection: detail.clone(),
            ..error(
                ModelErrorKind::Refused,
                format!("`{name}` refuses the question (status {status})"),
            )
        },
        // 529 is not a standard status, but some providers use it for overload.
        503 | 529 => error(
            ModelErrorKind::Unavailable,
            format!("`{name}` is overloaded (status {status})"),
        )
        .help("wait a little, or ask another model")
        .transient(),
        500 | 502 | 504 => error(
            ModelErrorKind::Unavailable,
            format!("`{name}` failed (status {status})"),
        )
        .help("ask again later, or ask another model")
        .transient(),
        _ => error(
            ModelErrorKind::Unavailable,
            format!("`{name}` failed (status {status})"),
        ),
    }
}

fn key_help(name: &ModelName) -> String {
    match name.key_variable() {
        Some(variable) => {
            format!("check the key in `{variable}` and its permissions")
        }
        None => "check the key and its permissions".to_owned(),
    }
}

fn with_detail(message: String, detail: Option<String>) -> String {
    match detail {
        Some(detail) => format!("{message}: {detail}"),
        None => message,
    }
}

/// Returns true if an error means that the prompt exceeds the model's context.
fn is_context_exceeded(code: &str, detail: Option<&str>) -> bool {
    let detail = detail.unwrap_or_default().to_lowercase();
    let says = |part: &str| detail.contains(part);
    code.contains("context_length")
        || says("context length")
        || says("context window")
        || says("prompt is too long")
        || says("input token count") && says("exceed")
}

/// Maximum length of a message, in characters.
const MAX_CHARS: usize = 300;

/// JSON pointers to the message in error bodies.
const MESSAGE_POINTERS: &[&str] = &[
    "/error/message",
    "/0/error/message",
    "/error",
    "/message",
    "/detail",
    "/errors/0/message",
];

/// Extracts the message from an error body.
pub(super) fn parse(body: &str, key: Option<&Key>) -> Option<String> {
    match serde_json::from_str(body) {
        Ok(value) => parse_json(&value, key),
        // HTML comes from a proxy in between and says nothing useful.
        Err(_) if body.trim_start().starts_with('<') => None,
        Err(_) => sanitize(body, key),
    }
}

/// Extracts the message from an error body in JSON.
fn parse_json(body: &Value, key: Option<&Key>) -> Option<String> {
    let mut candidates = MESSAGE_POINTERS
        .iter()
        .filter_map(|pointer| body.pointer(pointer));
    let message = candidates.find_map(Value::as_str);
    message.and_then(|message| sanitize(message, key))
}

/// Extracts the provider's error codes, joined by spaces.
pub(super) fn code(body: &Value) -> String {
    let pointers = ["/error/code", "/error/type", "/code", "/type"];
    let found = pointers.iter().filter_map(|pointer| body.pointer(pointer));
    let codes: Vec<String> = found
        .map(|code| {
            code.as_str()
                .map_or_else(|| code.to_string(), str::to_owned)
        })
        .collect();
    codes.join(" ")
}

/// Puts a message on one line, redacts the key and truncates it.
fn sanitize(message: &str, key: Option<&Key>) -> Option<String> {
    let mut message: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(key) = key {
        message = message.replace(key.expose(), "[redacted]");
    }
    // Messages are shown on terminals, and our own texts quote names in backticks.
    message.retain(|letter| !letter.is_control() && letter != '`');
    if let Some((end, _)) = message.char_indices().nth(MAX_CHARS) {
        message.truncate(end);
        message.push('…');
    }
    Some(message).filter(|message| !message.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Option<&str>) {
        let key = Key::new("sk-1234");
        assert_eq!(parse(body, Some(&key)).as_deref(), expected, "{body}");
    }

    #[test]
    fn messages_are_found() {
        check(
            r#"{"error": {"message": "no\n such model"}}"#,
            Some("no such model"),
        );
        check(r#"[{"error": {"message": "gone"}}]"#, Some("gone"));
        check(
            r#"{"error": "model 'a' not found"}"#,
            Some("model 'a' not found"),
        );
        check(r#"{"message": "no"}"#, Some("no"));
        check(
            r#"{"error": {"message": "bad key sk-1234."}}"#,
            Some("bad key [redacted]."),
        );
        check("upstream \u{1b}[31mfailed", Some("upstream [31mfailed"));
        check("<html>502</html>", None);
        check("{}", None);
        check("", None);
        let long = "a".repeat(1000);
        let cut = "a".repeat(300) + "…";
        check(&long, Some(&cut));
    }
}
