//! A model that records the replies of another model as a script for [`ScriptedModel`](super::ScriptedModel).

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::stream::BoxStream;

use super::replay::{ScriptCall, ScriptEntry, ScriptUsage};
use super::{FinishReason, Model, ModelError, ModelRequest, Reply, ReplyChunk};

/// Storage of a recorded script.
pub trait ScriptSink: Send + Sync + 'static {
    /// Stores a script, replacing the previous version, which is a prefix of it.
    ///
    /// # Errors
    ///
    /// The I/O error if the script cannot be stored.
    fn keep(&self, script: &str) -> io::Result<()>;
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
        let pieces = self.model.ask(request);
        let pieces = pieces.map(move |piece| {
            if let Ok(ReplyChunk::Done(reply)) = &piece {
                log.add(reply)?;
            }
            piece
        });
        pieces.boxed()
    }
}

impl<S: ScriptSink> ScriptLog<S> {
    fn add(&self, reply: &Reply) -> Result<(), ModelError> {
        // The lock covers storing as well: of two concurrent replies, the script stored last must hold both.
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push(script_entry(reply));
        let script = serde_json::to_string_pretty(&*entries).map_err(io::Error::from);
        let stored = script.and_then(|script| self.sink.keep(&(script + "\n")));
        stored.map_err(|error| {
            let message = format!("the answer cannot be recorded: {error}");
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
    use crate::model::{ScriptedModel, answer};

    #[derive(Clone, Debug, Default)]
    struct MemorySink(Arc<Mutex<Vec<String>>>);

    impl ScriptSink for MemorySink {
        fn keep(&self, script: &str) -> io::Result<()> {
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
            "the answer cannot be recorded: the disk is full"
        );
        assert_eq!(error.usage.requests, 1);
    }
}
