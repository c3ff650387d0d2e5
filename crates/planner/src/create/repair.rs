//! Plan texts as written by a model, and safe repairs of them without asking the model again.
//!
//! A misspelt name is corrected if there is exactly one plausible correction. A misspelt tool name is corrected only if that cannot do more
//! harm than intended: the tool is read-only, or both names have the same letters, or both begin with the same word. `get_user` never
//! becomes `set_user`.

use planwright_core::{
    Catalog, Code, Diagnostic, Diagnostics, Fix, FixPart, Lookup, Value as PlanValue,
};
use planwright_dialects::document::nearest;
use planwright_dialects::native::Native;
use planwright_dialects::native::lines::{Lines, from_json, plan_in, to_json};
use planwright_dialects::{ParseResult, ReadOptions, parse, parse_as};
use serde_json::Value;

use super::extract::extract;
use crate::prompt::PlanDialect;

/// Source name of created plans in diagnostics.
pub(super) const SOURCE_NAME: &str = "answer";

/// The text of a plan as written by a model.
#[derive(Clone, Debug)]
pub(super) struct ExtractedPlan {
    pub(super) notation: PlanDialect,
    pub(super) text: String,
}

impl ExtractedPlan {
    /// Extracts the plan from a reply. A model that was asked for lines may write JSON anyway.
    pub(super) fn find(reply: &str, notation: PlanDialect) -> Option<Self> {
        let lines = match notation {
            PlanDialect::Json => None,
            PlanDialect::Lines => plan_in(reply),
        };
        let (notation, text) = match lines {
            Some(text) => (PlanDialect::Lines, text),
            None => (PlanDialect::Json, extract(reply)?),
        };
        Some(Self {
            notation,
            text: text.to_owned(),
        })
    }

    /// Removes an enclosing object, as in `{"plan": {…}}`.
    pub(super) fn unwrapped(&self) -> Self {
        let value = serde_json::from_str::<Value>(&self.text);
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
        if self.notation == PlanDialect::Lines {
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
    ) -> Option<(Self, Vec<PlanRepair>)> {
        let (text, repairs) = match self.notation {
            PlanDialect::Json => repair(&self.text, diagnostics, catalog)?,
            PlanDialect::Lines => {
                let json = to_json(&self.text)?.to_json();
                let (repaired, repairs) = repair(&json, diagnostics, catalog)?;
                (from_json(&PlanValue::from_json(&repaired).ok()?), repairs)
            }
        };
        let notation = self.notation;
        Some((Self { notation, text }, repairs))
    }
}

/// A repair made in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRepair {
    /// JSON pointer into the model's plan.
    pub pointer: String,
    /// Text before the repair.
    pub before: String,
    /// Text after the repair.
    pub after: String,
}

/// Applies all safe fixes in `diagnostics` to `text`. Returns `None` if there are none.
fn repair(
    text: &str,
    diagnostics: &Diagnostics,
    catalog: &Catalog,
) -> Option<(String, Vec<PlanRepair>)> {
    let mut plan: Value = serde_json::from_str(text).ok()?;
    let mut repairs = Vec::new();
    // Deepest pointers first: renaming a key invalidates the pointers below it.
    let mut fixes: Vec<(&Diagnostic, &Fix)> = diagnostics
        .iter()
        .filter_map(|diagnostic| Some((diagnostic, diagnostic.fix.as_ref()?)))
        .collect();
    fixes.sort_by(|(_, one), (_, other)| other.pointer.cmp(&one.pointer));
    for (diagnostic, fix) in fixes {
        if diagnostic.is_error()
            && is_safe(diagnostic, fix, &plan, catalog)
            && let Some(before) = apply(&mut plan, fix)
        {
            repairs.push(PlanRepair {
                pointer: fix.pointer.clone(),
                before,
                after: fix.replacement.clone(),
            });
        }
    }
    // Reported in the order of their pointers.
    repairs.reverse();
    (!repairs.is_empty()).then(|| (plan.to_string(), repairs))
}

fn is_safe(diagnostic: &Diagnostic, fix: &Fix, plan: &Value, catalog: &Catalog) -> bool {
    // Any other repair can do no harm, since the repaired plan is checked again.
    if diagnostic.code != Code::UnknownTool {
        return true;
    }
    let Some(written) = plan.pointer(&fix.pointer).and_then(Value::as_str) else {
        return false;
    };
    let Lookup::Found(meant) = catalog.find(&fix.replacement) else {
        return false;
    };
    let annotations = meant.annotations;
    (annotations.trusted && annotations.read_only)
        || normalized(written) == normalized(&meant.name)
        || normalized(written) == normalized(&meant.qualified_name())
        || (first_word(written) == first_word(&meant.name) && similar_tools(written, catalog) == 1)
}

/// Returns a name in lower case without separators.
fn normalized(name: &str) -> String {
    let normalized = name.chars().filter(|letter| letter.is_alphanumeric());
    normalized.flat_map(char::to_lowercase).collect()
}

/// Returns the first word of a name, usually the verb.
fn first_word(name: &str) -> String {
    let bare = name.rsplit(['.', '/']).next().unwrap_or(name);
    let mut word = String::new();
    for letter in bare.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && !word.is_empty()) {
            break;
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// Counts the tools with a name similar to `written`, up to two.
fn similar_tools(written: &str, catalog: &Catalog) -> usize {
    let mut names: Vec<&str> = catalog.tools().map(|tool| &*tool.name).collect();
    let mut count = 0;
    while let Some(similar) = nearest(written, names.iter().copied()) {
        names.retain(|name| *name != similar);
        count += 1;
        if count > 1 {
            break;
        }
    }
    count
}

/// Applies a fix and returns the previous text, if the place exists.
fn apply(plan: &mut Value, fix: &Fix) -> Option<String> {
    match fix.part {
        FixPart::Value => {
            let place = plan.pointer_mut(&fix.pointer)?;
            let before = match &*place {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            *place = Value::from(fix.replacement.as_str());
            Some(before)
        }
        FixPart::Key => {
            let (around, key) = fix.pointer.rsplit_once('/')?;
            let fields = plan.pointer_mut(around)?.as_object_mut()?;
            let key = key.replace("~1", "/").replace("~0", "~");
            // Renaming must not overwrite another field.
            if fields.contains_key(&fix.replacement) || !fields.contains_key(&key) {
                return None;
            }
            // Rebuilt, so that the fields keep their order.
            let renamed = std::mem::take(fields).into_iter().map(|(name, value)| {
                if name == key {
                    (fix.replacement.clone(), value)
                } else {
                    (name, value)
                }
            });
            *fields = renamed.collect();
            Some(key)
        }
    }
}
