//! What providers answer, in the words of each.

use planwright_planner::model::Delivery;
use planwright_testkit::model_server::Answered;
use serde_json::{Value, json};

/// What a model says, whoever it is of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    /// Its words, in the pieces in which they are written.
    pub(super) words: &'static [&'static str],
    /// What it wants to be called.
    pub(super) calls: &'static [Called],
    /// Whether it came to the end of what it may write.
    pub(super) is_cut_off: bool,
}

/// What a model wants to be called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    /// The arguments, in the pieces in which they are written.
    pub(super) arguments: &'static [&'static str],
}

/// How one provider speaks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol {
    /// `provider:name`.
    pub(super) model: &'static str,
    /// What its base URL ends with.
    pub(super) path: &'static str,
    /// Where it is asked.
    pub(super) line: fn(Delivery) -> &'static str,
    /// The header field that lets us in.
    pub(super) key: Option<(&'static str, &'static str)>,
    pub(super) whole: fn(&Said) -> Answered,
    pub(super) live: fn(&Said) -> Answered,
    /// The kind of what comes piece by piece, and a piece that cannot be read.
    pub(super) garbled: (&'static str, &'static str),
    /// The body of a failure.
    pub(super) failure: fn(&str) -> Value,
    /// What is sent, but for `stream`.
    pub(super) question: fn() -> Value,
}

impl Protocol {
    pub(super) fn answer(&self, delivery: Delivery, said: &Said) -> Answered {
        match delivery {
            Delivery::Whole => (self.whole)(said),
            Delivery::Live => (self.live)(said),
        }
    }

    pub(super) fn garbled(&self, delivery: Delivery) -> Answered {
        match delivery {
            Delivery::Whole => Answered::new(200, "application/json", vec!["{\"a\": ".to_owned()]),
            Delivery::Live => Answered::new(200, self.garbled.0, vec![self.garbled.1.to_owned()]),
        }
    }

    pub(super) fn failure(&self, status: u16, words: &str) -> Answered {
        Answered::json(status, &(self.failure)(words))
    }
}

impl Called {
    pub(super) fn arguments(&self) -> Value {
        serde_json::from_str(&self.arguments.concat()).unwrap()
    }
}

impl Said {
    pub(super) fn text(&self) -> String {
        self.words.concat()
    }
}

/// Events as `text/event-stream` has them.
pub(super) fn events(events: impl IntoIterator<Item = String>) -> Answered {
    Answered::new(200, "text/event-stream", events.into_iter().collect())
}

/// The tool that questions offer.
pub(super) fn add() -> Value {
    json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    })
}

/// The form that questions ask for: one that every provider can enforce.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"sum": {"type": "integer"}, "why": {"type": "string"}},
        "required": ["sum", "why"],
        "additionalProperties": false,
    })
}
