//! A plan as a model has written it, in whichever notation that is.

use planwright_core::{Catalog, Code, Diagnostic, Diagnostics, Value};
use planwright_dialects::native::Native;
use planwright_dialects::native::lines::{Lines, from_json, plan_in, to_json};
use planwright_dialects::{ParseResult, ReadOptions, parse, parse_as};

use super::extract::extract;
use super::repair::{Repair, repair};
use crate::prompt::Notation;

/// What the text of a created plan is called.
pub(super) const NAME: &str = "answer";

/// A plan as a model has written it.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) notation: Notation,
    pub(super) text: String,
}

impl Written {
    /// The plan in an answer of a model that was asked for one in `notation`. It may write JSON all the same.
    pub(super) fn find(reply: &str, notation: Notation) -> Option<Self> {
        let lines = match notation {
            Notation::Json => None,
            Notation::Lines => plan_in(reply),
        };
        let (notation, text) = match lines {
            Some(text) => (Notation::Lines, text),
            None => (Notation::Json, extract(reply)?),
        };
        Some(Self {
            notation,
            text: text.to_owned(),
        })
    }

    /// The same without an object around it: `{"plan": {…}}`.
    pub(super) fn unwrapped(&self) -> Self {
        let value = serde_json::from_str::<serde_json::Value>(&self.text);
        let inner = value.ok().and_then(|value| {
            let fields = value.as_object()?;
            let inner = fields
                .get("plan")
                .filter(|_| !fields.contains_key("steps"))?;
            inner.is_object().then(|| inner.to_string())
        });
        Self {
            notation: self.notation,
            text: inner.unwrap_or_else(|| self.text.clone()),
        }
    }

    /// Reads it.
    pub(super) fn parsed(&self) -> ParseResult {
        let options = ReadOptions::new(NAME);
        if self.notation == Notation::Lines {
            return parse_as(&Lines, self.text.as_bytes(), &options);
        }
        let mut result = parse(self.text.as_bytes(), &options);
        let has_shape = |finding: &Diagnostic| {
            !matches!(finding.code, Code::UnknownDialect | Code::AmbiguousDialect)
        };
        if !result.diagnostics.iter().all(has_shape) {
            // Where its shape does not tell, it is what the model was asked for.
            result = parse_as(&Native, self.text.as_bytes(), &options);
        }
        result
    }

    /// The same with everything mended that `findings` say how to, and that is safe; nothing where there is none of it. Lines are
    /// mended as the JSON that they stand for, since that is what findings point into.
    pub(super) fn mended(
        &self,
        findings: &Diagnostics,
        catalog: &Catalog,
    ) -> Option<(Self, Vec<Repair>)> {
        let (text, repairs) = match self.notation {
            Notation::Json => repair(&self.text, findings, catalog)?,
            Notation::Lines => {
                let json = to_json(&self.text)?.to_json();
                let (mended, repairs) = repair(&json, findings, catalog)?;
                (from_json(&Value::from_json(&mended).ok()?), repairs)
            }
        };
        let notation = self.notation;
        Some((Self { notation, text }, repairs))
    }
}
