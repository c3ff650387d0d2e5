//! What a model says in place of what it was asked for: that it cannot, or a question of its own.

use serde_json::Value;

/// What a model says in place of what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declined {
    /// It cannot do what is asked: `{"cannot": "why"}`.
    Cannot(String),
    /// It needs to know something from the person: `{"ask": "question"}`.
    Asks(String),
}

impl Declined {
    /// The words of the model.
    pub fn words(&self) -> &str {
        match self {
            Self::Cannot(words) | Self::Asks(words) => words,
        }
    }

    /// The field in which the model says it, `cannot` or `ask`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Cannot(_) => "cannot",
            Self::Asks(_) => "ask",
        }
    }

    /// Reads the object that a model has answered with.
    pub(crate) fn of(answer: &Value) -> Option<Self> {
        let words = |name: &str| {
            let words = answer.get(name)?.as_str()?.trim();
            (!words.is_empty()).then(|| words.to_owned())
        };
        let cannot = words("cannot").map(Self::Cannot);
        cannot.or_else(|| words("ask").map(Self::Asks))
    }
}

impl std::fmt::Display for Declined {
    /// What the model does, as the rest of a sentence that begins with its name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cannot(words) => write!(f, "says that it cannot: {words}"),
            Self::Asks(words) => write!(f, "asks: {words}"),
        }
    }
}
