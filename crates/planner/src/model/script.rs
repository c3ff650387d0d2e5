//! Models for tests and recorded conversations: one replays scripted replies, one records those of another model as such a
//! script.
//!
//! A script is a JSON list. Each entry is a reply: a string, or an object with `text` (or `json`, whose JSON becomes the text),
//! `calls` (each with `name`, `arguments` and optionally `id`), `usage` (`input`, `cached` and `output`, in tokens), `cut_off`, `refused`,
//! `filtered` (the reason of a content filter), and `tokens_per_second`, the pace of the reply.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use planwright_core::Value;
use serde::{Deserialize, Serialize};

use super::{
    Delivery, FinishReason, Model, ModelCall, ModelError, ModelErrorKind, ModelRequest, Reply,
    ReplyChunk, Usage,
};

/// Characters per token, by rule of thumb.
const CHARS_PER_TOKEN: usize = 4;

/// A model that replays a script.
#[derive(Debug)]
pub struct ScriptedModel {
    name: String,
    total: usize,
    remaining: Mutex<VecDeque<ScriptEntry>>,
}

/// The error of an invalid script.
#[derive(Debug, thiserror::Error)]
#[error("answer {number} of the script cannot be read: {cause}")]
#[non_exhaustive]
pub struct ModelScriptError {
    /// Number of the invalid entry from 1, or 0 if the script is not a list.
    pub number: usize,
    /// The cause.
    pub cause: String,
}

/// A reply in a script.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptEntry {
    #[serde(default)]
    text: String,
    /// JSON to use as the text, so that the script need not escape it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<ScriptCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<ScriptUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens_per_second: Option<f64>,
    #[serde(default, rename = "cut_off", skip_serializing_if = "is_false")]
    is_cut_off: bool,
    #[serde(default, rename = "refused", skip_serializing_if = "is_false")]
    is_refused: bool,
    /// The reason of a content filter that stopped the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filtered: Option<String>,
}

/// A tool call in a script.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: String,
    #[serde(default)]
    arguments: serde_json::Value,
}

/// Token counts in a script.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptUsage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    output: u64,
}

impl ScriptedModel {
    /// Parses a script; `name` becomes the name of the model.
    ///
    /// # Errors
    ///
    /// The position and cause of the first invalid entry.
    pub fn read(name: impl Into<String>, script: &str) -> Result<Self, ModelScriptError> {
        let entries: Vec<serde_json::Value> =
            serde_json::from_str(script).map_err(|error| ModelScriptError {
                number: 0,
                cause: error.to_string(),
            })?;
        let entries = entries
            .into_iter()
            .enumerate()
            .map(|(index, entry)| match entry {
                serde_json::Value::String(text) => Ok(ScriptEntry {
                    text,
                    ..ScriptEntry::default()
                }),
                other => serde_json::from_value::<ScriptEntry>(other)
                    .map(ScriptEntry::with_json_text)
                    .map_err(|error| ModelScriptError {
                        number: index + 1,
                        cause: error.to_string(),
                    }),
            });
        let remaining = entries.collect::<Result<VecDeque<ScriptEntry>, _>>()?;
        Ok(Self {
            name: name.into(),
            total: remaining.len(),
            remaining: Mutex::new(remaining),
        })
    }

    /// Creates a model that replies with `texts`, in order.
    pub fn of<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let remaining: VecDeque<ScriptEntry> = texts
            .into_iter()
            .map(|text| ScriptEntry {
                text: text.into(),
                ..ScriptEntry::default()
            })
            .collect();
        Self {
            name: "replay".to_owned(),
            total: remaining.len(),
            remaining: Mutex::new(remaining),
        }
    }

    fn remaining(&self) -> MutexGuard<'_, VecDeque<ScriptEntry>> {
        // A panic elsewhere leaves the queue intact, so a poisoned lock is still usable.
        self.remaining
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        let Some(entry) = self.remaining().pop_front() else {
            let error = ModelError::new(
                ModelErrorKind::Ended,
                match self.total {
                    1 => "the script has one answer, and a second was asked for".to_owned(),
                    total => format!("the script has {total} answers, and one more was asked for"),
                },
            );
            return stream::iter([Err(error)]).boxed();
        };
        match request.delivery {
            Delivery::Whole => whole_reply(entry).boxed(),
            Delivery::Live => streamed_reply(entry).boxed(),
        }
    }
}

impl ScriptEntry {
    /// Replaces `json` by its text.
    fn with_json_text(mut self) -> Self {
        if let Some(json) = self.json.take() {
            self.text = json.to_string();
        }
        self
    }

    /// Returns the time per token.
    fn pace(&self) -> Option<Duration> {
        self.tokens_per_second
            .filter(|pace| *pace > 0.0)
            .map(|pace| Duration::from_secs_f64(1.0 / pace))
    }

    fn reply(self) -> Reply {
        let tokens = self.usage.unwrap_or_default();
        let calls = self.calls.into_iter().enumerate();
        let finish = match (self.filtered, self.is_refused, self.is_cut_off) {
            (Some(reason), ..) => FinishReason::Filter(reason),
            (None, true, _) => FinishReason::Refusal,
            (None, false, true) => FinishReason::Length,
            (None, false, false) => FinishReason::Complete,
        };
        Reply {
            text: self.text,
            calls: calls
                .map(|(index, call)| ModelCall {
                    // Results refer to calls by id, so each call needs one.
                    id: call.id.unwrap_or_else(|| format!("call_{}", index + 1)),
                    name: call.name,
                    arguments: Value::from(call.arguments),
                })
                .collect(),
            usage: Usage {
                requests: 1,
                input_tokens: tokens.input,
                cached_tokens: tokens.cached,
                output_tokens: tokens.output,
                cost: None,
            },
            finish,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "`serde` wants a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// Yields the reply as a whole, after the time that it takes to write.
fn whole_reply(entry: ScriptEntry) -> impl futures::Stream<Item = Result<ReplyChunk, ModelError>> {
    stream::once(async move {
        if let Some(pace) = entry.pace() {
            let tokens = u32::try_from(tokens(&entry.text).len()).unwrap_or(u32::MAX);
            tokio::time::sleep(pace.saturating_mul(tokens)).await;
        }
        Ok(ReplyChunk::Done(entry.reply()))
    })
}

/// Yields the reply token by token, at its pace.
fn streamed_reply(
    entry: ScriptEntry,
) -> impl futures::Stream<Item = Result<ReplyChunk, ModelError>> {
    let pace = entry.pace();
    let tokens = tokens(&entry.text);
    let chunks = stream::iter(tokens).then(move |token| async move {
        if let Some(pace) = pace {
            tokio::time::sleep(pace).await;
        }
        Ok(ReplyChunk::Text(token))
    });
    chunks.chain(stream::iter([Ok(ReplyChunk::Done(entry.reply()))]))
}

fn tokens(text: &str) -> Vec<String> {
    // Split by characters, so that no chunk ends within one.
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(CHARS_PER_TOKEN)
        .map(|chars| chars.iter().collect())
        .collect()
}

/// Storage of a recorded script.
pub trait ScriptSink: Send + Sync + 'static {
    /// Stores a script in place of the previous version, which has the same entries except for the last one.
    ///
    /// # Errors
    ///
    /// The I/O error if the script cannot be stored.
    fn store(&self, script: &str) -> io::Result<()>;
}

/// A model that records the replies of another one.
#[derive(Debug)]
pub struct RecordingModel<M, S> {
    model: M,
    log: Arc<ScriptLog<S>>,
}

#[derive(Debug)]
struct ScriptLog<S> {
    entries: Mutex<Vec<ScriptEntry>>,
    sink: S,
}

impl<M: Model, S: ScriptSink> RecordingModel<M, S> {
    /// Wraps `model` and records its replies in `sink`.
    pub fn new(model: M, sink: S) -> Self {
        let log = ScriptLog {
            entries: Mutex::default(),
            sink,
        };
        Self {
            model,
            log: Arc::new(log),
        }
    }
}

impl<M: Model, S: ScriptSink> Model for RecordingModel<M, S> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        let log = Arc::clone(&self.log);
        let chunks = self.model.ask(request);
        let chunks = chunks.map(move |chunk| {
            // The last chunk has the whole reply, so the others need not be recorded.
            if let Ok(ReplyChunk::Done(reply)) = &chunk {
                log.add(reply)?;
            }
            chunk
        });
        chunks.boxed()
    }
}

impl<S: ScriptSink> ScriptLog<S> {
    fn add(&self, reply: &Reply) -> Result<(), ModelError> {
        // The lock covers storing as well: of two concurrent replies, the script that is stored last must contain both.
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push(script_entry(reply));
        let script = serde_json::to_string_pretty(&*entries).map_err(io::Error::from);
        let stored = script.and_then(|script| self.sink.store(&(script + "\n")));
        stored.map_err(|error| {
            let message = format!("the reply cannot be recorded: {error}");
            ModelError::configuration(message).with_usage(reply.usage)
        })
    }
}

fn script_entry(reply: &Reply) -> ScriptEntry {
    ScriptEntry {
        text: reply.text.clone(),
        calls: reply
            .calls
            .iter()
            .map(|call| ScriptCall {
                id: Some(call.id.clone()),
                name: call.name.clone(),
                arguments: serde_json::Value::from(&call.arguments),
            })
            .collect(),
        usage: Some(ScriptUsage {
            input: reply.usage.input_tokens,
            cached: reply.usage.cached_tokens,
            output: reply.usage.output_tokens,
        }),
        is_cut_off: reply.finish == FinishReason::Length,
        is_refused: reply.finish == FinishReason::Refusal,
        filtered: match &reply.finish {
            FinishReason::Filter(reason) => Some(reason.clone()),
            FinishReason::Complete | FinishReason::Length | FinishReason::Refusal => None,
        },
        json: None,
        tokens_per_second: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Message, ScriptedModel, answer};

    async fn check(script: &str, expected: &[Reply]) {
        let model = ScriptedModel::read("replay:script", script).unwrap();
        let request = ModelRequest::new("", [Message::User("go on".to_owned())]);
        for expected in expected {
            assert_eq!(answer(&model, request.clone()).await.unwrap(), *expected);
        }
        let error = answer(&model, request).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Ended);
    }

    fn with_one_request(reply: Reply) -> Reply {
        let usage = Usage {
            requests: 1,
            ..reply.usage
        };
        Reply { usage, ..reply }
    }

    #[tokio::test]
    async fn replies_come_in_order() {
        check("[]", &[]).await;
        check(
            r#"["one", {"text": "two"}, {"json": {"three": [3]}}]"#,
            &[
                with_one_request(Reply::text("one")),
                with_one_request(Reply::text("two")),
                with_one_request(Reply::text(r#"{"three":[3]}"#)),
            ],
        )
        .await;
    }

    #[tokio::test]
    async fn calls_have_ids() {
        check(
            r#"[{"calls": [{"name": "add", "arguments": {"a": 1}}, {"id": "x", "name": "sub"}]}]"#,
            &[with_one_request(Reply {
                calls: vec![
                    ModelCall {
                        id: "call_1".to_owned(),
                        name: "add".to_owned(),
                        arguments: Value::object([("a", Value::from(1))]),
                    },
                    ModelCall {
                        id: "x".to_owned(),
                        name: "sub".to_owned(),
                        arguments: Value::Null,
                    },
                ],
                ..Reply::default()
            })],
        )
        .await;
    }

    #[test]
    fn invalid_entries_are_numbered() {
        for (script, number) in [("{}", 0), ("[1]", 1), (r#"["a", {"words": "b"}]"#, 2)] {
            assert_eq!(
                ScriptedModel::read("replay", script).unwrap_err().number,
                number
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn replies_take_their_time() {
        let script = r#"[{"text": "twelve words", "tokens_per_second": 2}]"#;
        for (delivery, expected) in [(Delivery::Live, 4), (Delivery::Whole, 1)] {
            let model = ScriptedModel::read("replay", script).unwrap();
            let request = ModelRequest {
                delivery,
                ..ModelRequest::new("", [])
            };
            let begin = tokio::time::Instant::now();
            let chunks: Vec<_> = model.ask(request).collect().await;
            assert_eq!(begin.elapsed(), Duration::from_millis(1500));
            assert_eq!(chunks.len(), expected);
        }
    }

    #[derive(Clone, Debug, Default)]
    struct MemorySink(Arc<Mutex<Vec<String>>>);

    impl ScriptSink for MemorySink {
        fn store(&self, script: &str) -> io::Result<()> {
            let mut stored = self.0.lock().unwrap();
            if stored.len() == 5 {
                return Err(io::Error::other("the disk is full"));
            }
            stored.push(script.to_owned());
            Ok(())
        }
    }

    #[tokio::test]
    async fn recorded_replies_can_be_replayed() {
        let script = r#"[
            "one",
            {"text": "two", "usage": {"input": 3, "cached": 2, "output": 1}, "cut_off": true},
            {"text": "I will not", "refused": true},
            {"filtered": "SAFETY"},
            {"calls": [{"id": "x", "name": "add", "arguments": {"a": 1}}]},
            "four"
        ]"#;
        let read = |script: &str| ScriptedModel::read("replay:script", script).unwrap();
        let stored = MemorySink::default();
        let recorder = RecordingModel::new(read(script), stored.clone());
        let request = ModelRequest::new("", []);
        let mut replies = Vec::new();
        for _ in 0..5 {
            replies.push(answer(&recorder, request.clone()).await.unwrap());
        }
        let finishes: Vec<_> = replies.iter().map(|answer| &answer.finish).collect();
        let filter = FinishReason::Filter("SAFETY".to_owned());
        assert_eq!(
            finishes[1..4],
            [&FinishReason::Length, &FinishReason::Refusal, &filter]
        );
        let recorded = stored.0.lock().unwrap().clone();
        for (number, script) in recorded.iter().enumerate() {
            let again = read(script);
            for expected in &replies[..=number] {
                assert_eq!(answer(&again, request.clone()).await.unwrap(), *expected);
            }
        }
        let error = answer(&recorder, request).await.unwrap_err();
        assert_eq!(
            error.message,
            "the reply cannot be recorded: the disk is full"
        );
        assert_eq!(error.usage.requests, 1);
    }
}
