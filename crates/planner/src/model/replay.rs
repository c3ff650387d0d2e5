//! A model that answers from a script: for tests, and to hear a recorded conversation again.
//!
//! A script is a JSON list. Each entry is an answer: its text, or an object with `text` (or `json`, whose
//! JSON is the text), `calls` (each `name`, `arguments` and
//! maybe `id`), `usage` (`input`, `cached` and `output`, in tokens), `cut_off`, and `tokens_per_second`, at which pace it is
//! written.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use planwright_core::Value;
use serde::{Deserialize, Serialize};

use super::{
    Delivery, Finish, Model, ModelCall, ModelError, ModelErrorKind, ModelRequest, Piece, Reply,
    Usage,
};

/// How many letters are a token, by a rule of thumb.
const LETTERS_IN_A_TOKEN: usize = 4;

/// A model that answers from a script.
#[derive(Debug)]
pub struct Replay {
    name: String,
    all: usize,
    left: Mutex<VecDeque<Entry>>,
}

/// Why a text is no script.
#[derive(Debug, thiserror::Error)]
#[error("answer {number} of the script cannot be read: {cause}")]
#[non_exhaustive]
pub struct ReplayError {
    /// Which answer, from 1; 0 where the whole is no list.
    pub number: usize,
    /// Why.
    pub cause: String,
}

/// One answer, as it stands in a script.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    #[serde(default)]
    pub(super) text: String,
    /// What is written as JSON, in place of a text that would have to hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) json: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Call>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Tokens>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens_per_second: Option<f64>,
    #[serde(default, rename = "cut_off", skip_serializing_if = "is_false")]
    pub(super) is_cut_off: bool,
    #[serde(default, rename = "refused", skip_serializing_if = "is_false")]
    pub(super) is_refused: bool,
    /// The reason of a filter that stopped the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) filtered: Option<String>,
}

/// A call, as it stands in a script.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: serde_json::Value,
}

/// What an answer cost, as it stands in a script.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tokens {
    #[serde(default)]
    pub(super) input: u64,
    #[serde(default)]
    pub(super) cached: u64,
    #[serde(default)]
    pub(super) output: u64,
}

impl Replay {
    /// Reads a script; `name` is what the model is called.
    ///
    /// # Errors
    ///
    /// Where it is none.
    pub fn read(name: impl Into<String>, script: &str) -> Result<Self, ReplayError> {
        let entries: Vec<serde_json::Value> =
            serde_json::from_str(script).map_err(|error| ReplayError {
                number: 0,
                cause: error.to_string(),
            })?;
        let entries = entries
            .into_iter()
            .enumerate()
            .map(|(index, entry)| match entry {
                serde_json::Value::String(text) => Ok(Entry {
                    text,
                    ..Entry::default()
                }),
                other => serde_json::from_value::<Entry>(other)
                    .map(Entry::worded)
                    .map_err(|error| ReplayError {
                        number: index + 1,
                        cause: error.to_string(),
                    }),
            });
        let left = entries.collect::<Result<VecDeque<Entry>, _>>()?;
        Ok(Self {
            name: name.into(),
            all: left.len(),
            left: Mutex::new(left),
        })
    }

    /// Answers these texts, one after the other.
    pub fn of<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let left: VecDeque<Entry> = texts
            .into_iter()
            .map(|text| Entry {
                text: text.into(),
                ..Entry::default()
            })
            .collect();
        Self {
            name: "replay".to_owned(),
            all: left.len(),
            left: Mutex::new(left),
        }
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<Piece, ModelError>> {
        let Some(entry) = self.left().pop_front() else {
            let error = ModelError::new(
                ModelErrorKind::Ended,
                match self.all {
                    1 => "the script has one answer, and a second was asked for".to_owned(),
                    all => format!("the script has {all} answers, and one more was asked for"),
                },
            );
            return stream::iter([Err(error)]).boxed();
        };
        match request.delivery {
            Delivery::Whole => whole(entry).boxed(),
            Delivery::Live => live(entry).boxed(),
        }
    }
}

impl Entry {
    /// The answer with its words as a text.
    fn worded(mut self) -> Self {
        if let Some(json) = self.json.take() {
            self.text = json.to_string();
        }
        self
    }

    /// How long a token takes.
    fn pace(&self) -> Option<Duration> {
        self.tokens_per_second
            .filter(|pace| *pace > 0.0)
            .map(|pace| Duration::from_secs_f64(1.0 / pace))
    }

    fn reply(self) -> Reply {
        let tokens = self.usage.unwrap_or(Tokens {
            input: 0,
            cached: 0,
            output: 0,
        });
        let calls = self.calls.into_iter().enumerate();
        let finish = match (self.filtered, self.is_refused, self.is_cut_off) {
            (Some(reason), ..) => Finish::Filter(reason),
            (None, true, _) => Finish::Refusal,
            (None, false, true) => Finish::Length,
            (None, false, false) => Finish::Complete,
        };
        Reply {
            text: self.text,
            calls: calls
                .map(|(index, call)| ModelCall {
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

/// The answer once it is written.
fn whole(entry: Entry) -> impl futures::Stream<Item = Result<Piece, ModelError>> {
    stream::once(async move {
        if let Some(pace) = entry.pace() {
            let tokens = u32::try_from(tokens(&entry.text).len()).unwrap_or(u32::MAX);
            tokio::time::sleep(pace.saturating_mul(tokens)).await;
        }
        Ok(Piece::Done(entry.reply()))
    })
}

/// The answer token by token, at its pace.
fn live(entry: Entry) -> impl futures::Stream<Item = Result<Piece, ModelError>> {
    let pace = entry.pace();
    let tokens = tokens(&entry.text);
    let words = stream::iter(tokens).then(move |token| async move {
        if let Some(pace) = pace {
            tokio::time::sleep(pace).await;
        }
        Ok(Piece::Text(token))
    });
    words.chain(stream::iter([Ok(Piece::Done(entry.reply()))]))
}

fn tokens(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(LETTERS_IN_A_TOKEN)
        .map(|letters| letters.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Message, answer};

    async fn check(script: &str, expected: &[Reply]) {
        let model = Replay::read("replay:script", script).unwrap();
        let request = ModelRequest::new("", [Message::User("go on".to_owned())]);
        for expected in expected {
            assert_eq!(answer(&model, request.clone()).await.unwrap(), *expected);
        }
        let error = answer(&model, request).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Ended);
    }

    fn asked(reply: Reply) -> Reply {
        let usage = Usage {
            requests: 1,
            ..reply.usage
        };
        Reply { usage, ..reply }
    }

    #[tokio::test]
    async fn answers_come_in_order() {
        check("[]", &[]).await;
        check(
            r#"["one", {"text": "two"}, {"json": {"three": [3]}}]"#,
            &[
                asked(Reply::text("one")),
                asked(Reply::text("two")),
                asked(Reply::text(r#"{"three":[3]}"#)),
            ],
        )
        .await;
    }

    #[tokio::test]
    async fn calls_have_ids() {
        check(
            r#"[{"calls": [{"name": "add", "arguments": {"a": 1}}, {"id": "x", "name": "sub"}]}]"#,
            &[asked(Reply {
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
    fn what_is_no_script_is_named() {
        for (script, number) in [("{}", 0), ("[1]", 1), (r#"["a", {"words": "b"}]"#, 2)] {
            assert_eq!(Replay::read("replay", script).unwrap_err().number, number);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pace_is_kept() {
        let script = r#"[{"text": "twelve words", "tokens_per_second": 2}]"#;
        for (delivery, expected) in [(Delivery::Live, 4), (Delivery::Whole, 1)] {
            let model = Replay::read("replay", script).unwrap();
            let request = ModelRequest {
                delivery,
                ..ModelRequest::new("", [])
            };
            let begin = tokio::time::Instant::now();
            let pieces: Vec<_> = model.ask(request).collect().await;
            assert_eq!(begin.elapsed(), Duration::from_millis(1500));
            assert_eq!(pieces.len(), expected);
        }
    }
}
