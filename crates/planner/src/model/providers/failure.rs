//! What went wrong with an attempt: what it was, whether another may help, and when.

use std::time::Duration;

use genai::webc::{Error as WebError, StreamTimeout};
use genai::{BoxError, Error};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::super::{ModelError, ModelErrorKind, Usage};
use super::explanation;
use super::pause::{self, Clock, in_words};
use super::provider_name::ModelName;
use super::settings::Key;

/// What went wrong with an attempt.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: ModelErrorKind,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// Whether another attempt may end well.
    pub(super) may_pass: bool,
    /// How long the provider asks to be left alone.
    pub(super) pause: Option<Duration>,
    /// What it says about a question that it refuses.
    pub(super) refusal: Option<String>,
    /// The model's own words, as far as they came.
    pub(super) said: String,
}

/// Whom it happened to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose<'a> {
    pub(super) name: &'a ModelName,
    pub(super) key: Option<&'a Key>,
    pub(super) now: Option<Clock>,
}

impl Failure {
    pub(super) fn new(kind: ModelErrorKind, message: String) -> Self {
        Self {
            kind,
            message,
            help: None,
            may_pass: false,
            pause: None,
            refusal: None,
            said: String::new(),
        }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn passing(mut self) -> Self {
        self.may_pass = true;
        self
    }

    /// An answer that ends before its end.
    pub(super) fn broke_off(whose: Whose<'_>) -> Self {
        let message = format!("the answer of `{}` broke off", whose.name);
        Self::new(ModelErrorKind::Interrupted, message)
            .help("the connection was lost, or the provider gave up; ask again")
            .passing()
    }

    /// An answer of which only the beginning, `said`, was read.
    pub(super) fn too_long(whose: Whose<'_>, allowed: usize, said: &str) -> Self {
        let message = format!("the answer of `{}` exceeds {allowed} bytes", whose.name);
        Self {
            said: said.to_owned(),
            ..Self::new(ModelErrorKind::CutOff, message)
        }
        .help("the model may repeat itself; ask again, or ask another model")
    }

    /// An answer that is not what the protocol says.
    pub(super) fn malformed(whose: Whose<'_>, cause: &str) -> Self {
        let message = format!("the answer of `{}` cannot be read", whose.name);
        Self::new(
            ModelErrorKind::Malformed,
            with_words(message, explanation::tidy(cause, whose.key)),
        )
        .help("is there a server of this provider's protocol at the base URL?")
    }

    /// No answer before all time was up.
    pub(super) fn out_of_time(whose: Whose<'_>, allowed: Duration) -> Self {
        let message = format!("`{}` did not answer within {allowed:?}", whose.name);
        Self::new(ModelErrorKind::Timeout, message)
            .help("give it longer with `model.timeout`, or ask for less")
    }

    /// What `genai` reports.
    pub(super) fn of(error: Error, whose: Whose<'_>) -> Self {
        match error {
            Error::HttpError {
                status,
                body,
                headers,
                ..
            } => answered(status, &body, &headers, whose),
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
                of_exchange(webc_error, whose)
            }
            Error::WebStream { error, .. } => of_stream(error, whose),
            Error::ChatResponse { body, .. } => Self::reported(&body, whose),
            Error::ChatResponseGeneration {
                response_body,
                cause,
                ..
            } => match explanation::read_value(&response_body, whose.key) {
                Some(_) => Self::reported(&response_body, whose),
                None => Self::malformed(whose, &cause),
            },
            Error::StreamParse { serde_error, .. } => {
                Self::malformed(whose, &serde_error.to_string())
            }
            other => Self::malformed(whose, &other.to_string()),
        }
    }

    /// A failure that comes in place of an answer, or in the midst of one, with a status that says nothing of it.
    pub(super) fn reported(body: &Value, whose: Whose<'_>) -> Self {
        // Of what comes in a stream, `genai` hands over only what stands below `error`.
        let words = explanation::read_value(body, whose.key)
            .or_else(|| explanation::tidy(body.as_str()?, whose.key));
        let code = explanation::code(body);
        classified(status_of(&code), &code, words, whose)
    }

    /// What is told when no further attempt is made.
    pub(super) fn into_error(self, usage: Usage) -> ModelError {
        let message = match usage.requests {
            attempts @ 2.. if self.may_pass => {
                format!("{} ({attempts} attempts)", self.message)
            }
            _ => self.message,
        };
        let help = match self.pause {
            Some(pause) if self.may_pass && !pause.is_zero() => Some(format!(
                "ask again in {}, or ask another model",
                in_words(pause)
            )),
            _ => self.help,
        };
        ModelError {
            help,
            ..ModelError::new(self.kind, message)
                .with_words(&self.said)
                .after(usage)
        }
    }
}

fn of_exchange(error: WebError, whose: Whose<'_>) -> Failure {
    match error {
        WebError::ResponseFailedStatus {
            status,
            body,
            headers,
        } => answered(status, &body, &headers, whose),
        WebError::Reqwest(error) => of_transport(&error, whose),
        WebError::ResponseFailedInvalidJson { cause, .. } => Failure::malformed(whose, &cause),
        WebError::ResponseFailedNotJson { content_type, .. } => {
            Failure::malformed(whose, &format!("it is `{content_type}` and no JSON"))
        }
        WebError::JsonValueExt(error) => Failure::malformed(whose, &error.to_string()),
    }
}

fn of_stream(error: BoxError, whose: Whose<'_>) -> Failure {
    let error = match error.downcast::<Error>() {
        Ok(error) => return Failure::of(*error, whose),
        Err(error) => error,
    };
    if let Some(error) = error.downcast_ref::<reqwest::Error>() {
        return of_transport(error, whose);
    }
    match error.downcast_ref::<StreamTimeout>() {
        Some(timeout) => {
            let message = match timeout {
                StreamTimeout::Headers => format!("`{}` did not begin to answer", whose.name),
                StreamTimeout::Read => format!("`{}` fell silent within its answer", whose.name),
            };
            Failure::new(ModelErrorKind::Timeout, message).passing()
        }
        None => Failure::malformed(whose, &error.to_string()),
    }
}

/// The connection, not the answer.
fn of_transport(error: &reqwest::Error, whose: Whose<'_>) -> Failure {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let cause = cause.to_string().to_lowercase();
    let cause = cause.split(" (os error").next().unwrap_or_default();
    let cause = explanation::tidy(cause, whose.key);
    if error.is_connect() {
        let place = error.url().map(|url| url.origin().ascii_serialization());
        let place = place.map_or_else(String::new, |place| format!(" at {place}"));
        let message = format!("`{}` cannot be reached{place}", whose.name);
        return Failure::new(ModelErrorKind::Unavailable, with_words(message, cause))
            .help("is it running there, and is the base URL right?")
            .passing();
    }
    if error.is_timeout() {
        let message = format!("`{}` did not answer in time", whose.name);
        return Failure::new(ModelErrorKind::Timeout, message).passing();
    }
    if error.is_builder() {
        return Failure::malformed(whose, &cause.unwrap_or_default());
    }
    Failure::broke_off(whose)
}

/// An answer that says by its status that it is none.
fn answered(status: StatusCode, body: &str, headers: &HeaderMap, whose: Whose<'_>) -> Failure {
    let words = explanation::read(body, whose.key);
    let code =
        serde_json::from_str(body).map_or_else(|_| String::new(), |body| explanation::code(&body));
    let mut failure = classified(status.as_u16(), &code, words, whose);
    failure.pause = pause::of_headers(headers, whose.now).or_else(|| pause::of_body(body));
    match headers.get("x-should-retry").map(HeaderValue::as_bytes) {
        Some(b"false") => failure.may_pass = false,
        Some(b"true") if !matches!(status.as_u16(), 400 | 401 | 403 | 404) => {
            failure.may_pass = true;
        }
        _ => {}
    }
    failure
}

/// The status that a code in words stands for.
fn status_of(code: &str) -> u16 {
    let number = code.split(' ').find_map(|code| code.parse().ok());
    number.unwrap_or_else(|| match code {
        code if code.contains("overloaded") => 529,
        code if code.contains("rate_limit") => 429,
        code if code.contains("authentication") => 401,
        code if code.contains("permission") => 403,
        code if code.contains("not_found") => 404,
        code if code.contains("invalid_request") => 400,
        _ => 500,
    })
}

fn classified(status: u16, code: &str, words: Option<String>, whose: Whose<'_>) -> Failure {
    let name = whose.name;
    let failure = |kind, message: String| Failure::new(kind, with_words(message, words.clone()));
    let is_broke = code.contains("insufficient_quota") || code.contains("billing");
    match status {
        401 => {
            failure(ModelErrorKind::Key, format!("`{name}` refuses the key")).help(key_help(name))
        }
        403 => failure(
            ModelErrorKind::Key,
            format!("`{name}` does not let this key ask it"),
        )
        .help(key_help(name)),
        402 | 429 if status == 402 || is_broke => failure(
            ModelErrorKind::Limited,
            format!("no credit is left with `{name}`"),
        )
        .help("look at the account with the provider"),
        429 => failure(
            ModelErrorKind::Limited,
            format!("`{name}` takes no more questions for now"),
        )
        .help("wait a little, or ask another model")
        .passing(),
        404 => failure(
            ModelErrorKind::Refused,
            format!("`{}` knows no model `{}`", name.provider, name.model),
        )
        .help("look at the name of the model, and at the base URL if you gave one"),
        300..=399 => failure(
            ModelErrorKind::Refused,
            format!("`{name}` is somewhere else (status {status})"),
        )
        .help("give the base URL that it redirects to"),
        400 | 413 if is_context_exceeded(code, words.as_deref()) => failure(
            ModelErrorKind::Refused,
            format!("the question is too long for `{name}`"),
        )
        .help("tell the model of fewer tools with `--tool-tokens`, or ask a model that reads more"),
        400..=499 => Failure {
            refusal: words.clone(),
            ..failure(
                ModelErrorKind::Refused,
                format!("`{name}` refuses the question (status {status})"),
            )
        },
        503 | 529 => failure(
            ModelErrorKind::Unavailable,
            format!("`{name}` has too much to do (status {status})"),
        )
        .help("wait a little, or ask another model")
        .passing(),
        500 | 502 | 504 => failure(
            ModelErrorKind::Unavailable,
            format!("`{name}` failed (status {status})"),
        )
        .help("ask again later, or ask another model")
        .passing(),
        _ => failure(
            ModelErrorKind::Unavailable,
            format!("`{name}` failed (status {status})"),
        ),
    }
}

fn key_help(name: &ModelName) -> String {
    match name.key_variable() {
        Some(variable) => {
            format!("look at the key in `{variable}`, and at what it is allowed to do")
        }
        None => "look at the key, and at what it is allowed to do".to_owned(),
    }
}

fn with_words(message: String, words: Option<String>) -> String {
    match words {
        Some(words) => format!("{message}: {words}"),
        None => message,
    }
}

/// Whether a refusal says that the question has more tokens than the model reads.
fn is_context_exceeded(code: &str, words: Option<&str>) -> bool {
    let words = words.unwrap_or_default().to_lowercase();
    let says = |part: &str| words.contains(part);
    code.contains("context_length")
        || says("context length")
        || says("context window")
        || says("prompt is too long")
        || says("input token count") && says("exceed")
}

#[cfg(test)]
mod tests;
