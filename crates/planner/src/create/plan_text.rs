//! Plan texts as written by a model.

use planwright_core::{Catalog, Code, Diagnostic, Diagnostics, Value};
use planwright_dialects::native::Native;
use planwright_dialects::native::lines::{Lines, from_json, plan_in, to_json};
use planwright_dialects::{ParseResult, ReadOptions, parse, parse_as};

use super::extract::extract;
use super::repair::{Repair, repair};
use crate::prompt::Notation;

/// Source name of created plans in diagnostics.
pub(super) const SOURCE_NAME: &str = "answer";

/// The text of a plan as written by a model.
#[derive(Clone, Debug)]
pub(super) struct PlanText {
    pub(super) notation: Notation,
    pub(super) text: String,
}

impl PlanText {
    /// Extracts the plan from a reply. A model that was asked for lines may write JSON anyway.
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

    /// Removes an enclosing object, as in `{"plan": {…}}`.
    pub(super) fn unwrapped(&self) -> Self {
        let value = serde_json::from_str::<serde_json::Value>(&self.text);
        let inner = value.ok().and_then(|value| {
            let fields = value.as_object()?;
            // With `steps` beside it, `plan` is a field of the plan itself.
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

    /// Parses the plan.
    pub(super) fn parse(&self) -> ParseResult {
        let options = ReadOptions::new(SOURCE_NAME);
        if self.notation == Notation::Lines {
            return parse_as(&Lines, self.text.as_bytes(), &options);
        }
        let mut result = parse(self.text.as_bytes(), &options);
        let is_recognized = |diagnostic: &Diagnostic| {
            !matches!(
                diagnostic.code,
                Code::UnknownDialect | Code::AmbiguousDialect
            )
        };
        if !result.diagnostics.iter().all(is_recognized) {
            // An ambiguous plan is taken for the dialect that was requested.
            result = parse_as(&Native, self.text.as_bytes(), &options);
        }
        result
    }

    /// Applies all safe fixes in `diagnostics`. Returns `None` if there are none. Lines are repaired as the JSON they stand for, since
    /// diagnostics point into that.
    pub(super) fn repaired(
        &self,
        diagnostics: &Diagnostics,
        catalog: &Catalog,
    ) -> Option<(Self, Vec<Repair>)> {
        let (text, repairs) = match self.notation {
            Notation::Json => repair(&self.text, diagnostics, catalog)?,
            Notation::Lines => {
                let json = to_json(&self.text)?.to_json();
                let (repaired, repairs) = repair(&json, diagnostics, catalog)?;
                (from_json(&Value::from_json(&repaired).ok()?), repairs)
            }
        };
        let notation = self.notation;
        Some((Self { notation, text }, repairs))
    }
}
