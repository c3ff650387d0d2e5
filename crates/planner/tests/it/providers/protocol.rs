//! Replies in the protocol of each provider.

use planwright_planner::model::Delivery;
use planwright_testkit::model_server::ScriptedResponse;
use serde_json::{Value, json};

/// A reply, independent of the provider.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScriptedReply {
    /// The text, in chunks.
    pub(super) words: &'static [&'static str],
    /// The requested calls.
    pub(super) calls: &'static [Called],
    /// True if the reply was cut off at its maximum length.
    pub(super) is_cut_off: bool,
}

/// A requested call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    /// The arguments, in chunks.
    pub(super) arguments: &'static [&'static str],
}

/// The protocol of a provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol {
    /// The model, as `provider:name`.
    pub(super) model: &'static str,
    /// Path of the base URL.
    pub(super) path: &'static str,
    /// Path of requests.
    pub(super) line: fn(Delivery) -> &'static str,
    /// Header field for the key.
    pub(super) key: Option<(&'static str, &'static str)>,
    pub(super) whole: fn(&ScriptedReply) -> ScriptedResponse,
    pub(super) live: fn(&ScriptedReply) -> ScriptedResponse,
    /// Content type of streams, and a malformed chunk.
    pub(super) garbled: (&'static str, &'static str),
    /// Body of an error.
    pub(super) failure: fn(&str) -> Value,
    /// Body of a request, without `stream`.
    pub(super) question: fn() -> Value,
}

impl Protocol {
    pub(super) fn answer(&self, delivery: Delivery, said: &ScriptedReply) -> ScriptedResponse {
        match delivery {
            Delivery::Whole => (self.whole)(said),
            Delivery::Live => (self.live)(said),
        }
    }

    pub(super) fn garbled(&self, delivery: Delivery) -> ScriptedResponse {
        match delivery {
            Delivery::Whole => {
                ScriptedResponse::new(200, "application/json", vec!["{\"a\": ".to_owned()])
            }
            Delivery::Live => {
                ScriptedResponse::new(200, self.garbled.0, vec![self.garbled.1.to_owned()])
            }
        }
    }

    pub(super) fn failure(&self, status: u16, words: &str) -> ScriptedResponse {
        ScriptedResponse::json(status, &(self.failure)(words))
    }
}

impl Called {
    pub(super) fn arguments(&self) -> Value {
        serde_json::from_str(&self.arguments.concat()).unwrap()
    }
}

impl ScriptedReply {
    pub(super) fn text(&self) -> String {
        self.words.concat()
    }
}

/// Formats events as `text/event-stream`.
pub(super) fn events(events: impl IntoIterator<Item = String>) -> ScriptedResponse {
    ScriptedResponse::new(200, "text/event-stream", events.into_iter().collect())
}

/// The tool that requests offer.
pub(super) fn add() -> Value {
    json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    })
}

/// The schema that requests ask for; every provider can enforce it.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"sum": {"type": "integer"}, "why": {"type": "string"}},
        "required": ["sum", "why"],
        "additionalProperties": false,
    })
}
