//! A model that writes down what another one answers, as a script that [`Replay`](super::Replay) reads.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::stream::BoxStream;

use super::replay::{Call, Entry, Tokens};
use super::{Finish, Model, ModelError, ModelErrorKind, ModelRequest, Piece, Reply};

/// Where a script is kept.
pub trait ScriptSink: Send + Sync + 'static {
    /// Keeps a script in place of the one before, which it begins with.
    ///
    /// # Errors
    ///
    /// Where it cannot be kept.
    fn keep(&self, script: &str) -> io::Result<()>;
}

/// A model that writes down what another one answers, after each answer.
#[derive(Debug)]
pub struct Recorder<M, S> {
    model: M,
    record: Arc<Record<S>>,
}

#[derive(Debug)]
struct Record<S> {
    entries: Mutex<Vec<Entry>>,
    sink: S,
}

impl<M: Model, S: ScriptSink> Recorder<M, S> {
    /// Writes down what `model` answers.
    pub fn new(model: M, sink: S) -> Self {
        let record = Record {
            entries: Mutex::default(),
            sink,
        };
        Self {
            model,
            record: Arc::new(record),
        }
    }
}

impl<M: Model, S: ScriptSink> Model for Recorder<M, S> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<Piece, ModelError>> {
        let record = Arc::clone(&self.record);
        let pieces = self.model.ask(request);
        let pieces = pieces.map(move |piece| {
            if let Ok(Piece::Done(reply)) = &piece {
                record.add(reply)?;
            }
            piece
        });
        pieces.boxed()
    }
}

impl<S: ScriptSink> Record<S> {
    fn add(&self, reply: &Reply) -> Result<(), ModelError> {
        // Who asks twice at once has both answers in the script, and the later script has both.
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push(entry(reply));
        let script = serde_json::to_string_pretty(&*entries).map_err(io::Error::from);
        let kept = script.and_then(|script| self.sink.keep(&(script + "\n")));
        kept.map_err(|error| {
            let message = format!("the answer cannot be recorded: {error}");
            ModelError::new(ModelErrorKind::Configuration, message).after(reply.usage)
        })
    }
}

fn entry(reply: &Reply) -> Entry {
    Entry {
        text: reply.text.clone(),
        calls: reply
            .calls
            .iter()
            .map(|call| Call {
                id: Some(call.id.clone()),
                name: call.name.clone(),
                arguments: serde_json::Value::from(&call.arguments),
            })
            .collect(),
        usage: Some(Tokens {
            input: reply.usage.input_tokens,
            cached: reply.usage.cached_tokens,
            output: reply.usage.output_tokens,
        }),
        is_cut_off: reply.finish == Finish::Length,
        is_refused: reply.finish == Finish::Refusal,
        filtered: match &reply.finish {
            Finish::Filter(reason) => Some(reason.clone()),
            _ => None,
        },
        json: None,
        tokens_per_second: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Replay, answer};

    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<Vec<String>>>);

    impl ScriptSink for Kept {
        fn keep(&self, script: &str) -> io::Result<()> {
            let mut kept = self.0.lock().unwrap();
            if kept.len() == 5 {
                return Err(io::Error::other("the disk is full"));
            }
            kept.push(script.to_owned());
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_was_answered_can_be_answered_again() {
        let script = r#"[
            "one",
            {"text": "two", "usage": {"input": 3, "cached": 2, "output": 1}, "cut_off": true},
            {"text": "I will not", "refused": true},
            {"filtered": "SAFETY"},
            {"calls": [{"id": "x", "name": "add", "arguments": {"a": 1}}]},
            "four"
        ]"#;
        let read = |script: &str| Replay::read("replay:script", script).unwrap();
        let kept = Kept::default();
        let recorder = Recorder::new(read(script), kept.clone());
        let request = ModelRequest::new("", []);
        let mut answers = Vec::new();
        for _ in 0..5 {
            answers.push(answer(&recorder, request.clone()).await.unwrap());
        }
        let finishes: Vec<_> = answers.iter().map(|answer| &answer.finish).collect();
        let filter = Finish::Filter("SAFETY".to_owned());
        assert_eq!(finishes[1..4], [&Finish::Length, &Finish::Refusal, &filter]);
        let recorded = kept.0.lock().unwrap().clone();
        for (number, script) in recorded.iter().enumerate() {
            let again = read(script);
            for expected in &answers[..=number] {
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
