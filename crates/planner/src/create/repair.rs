//! Plan texts as written by a model: their extraction from replies with prose and code fences, and safe repairs of them
//! without asking the model again.
//!
//! A misspelt name is corrected if there is exactly one plausible correction. A misspelt tool name is corrected only if
//! that cannot do more harm than intended: the tool is read-only, or both names have the same letters, or both begin
//! with the same word. `get_user` never becomes `set_user`.
//!
//! Design: [Some mistakes of a model are repaired](https://github.com/planwright/planwright/blob/main/docs/design/planning.md#some-mistakes-of-a-model-are-repaired).

use planwright_core::{
    Catalog, Code, Diagnostic, Diagnostics, Fix, FixPart, Lookup, Value as PlanValue,
};
use planwright_dialects::document::nearest;
use planwright_dialects::native::Native;
use planwright_dialects::native::PlanDialect;
use planwright_dialects::native::lines::{Lines, from_json, plan_in, to_json};
use planwright_dialects::{ParseResult, ReadOptions, parse, parse_as};
use serde_json::Value;

use crate::model::DeclineReason;

/// Returns the part of `reply` that is meant to be the plan: the last JSON value that looks like one, or else the first JSON value, or
/// else the part closest to JSON. Returns `None` if there is no brace.
pub fn extract(reply: &str) -> Option<&str> {
    let candidates = json_values(reply);
    let is_json = |text: &&str| serde_json::from_str::<Value>(text).is_ok();
    // Models write drafts first, so the last plan is the answer.
    let planned = candidates.iter().rev().copied().find(|text| {
        let value = serde_json::from_str::<Value>(text);
        value.is_ok_and(|value| is_plan(&value))
    });
    planned
        .or_else(|| candidates.iter().copied().find(is_json))
        .or_else(|| incomplete(reply))
}

/// Returns the reason in the last object with `cannot` or `ask`, unless `reply` also holds a plan.
pub(crate) fn parse_decline(reply: &str) -> Option<DeclineReason> {
    let values = json_values(reply).into_iter();
    let values: Vec<Value> = values
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect();
    // A plan takes precedence over remarks beside it.
    if values.iter().any(is_plan) {
        return None;
    }
    values.iter().rev().find_map(DeclineReason::parse)
}

/// Returns true if a value looks like a plan in some dialect.
fn is_plan(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            ["steps", "calls", "tool_calls"]
                .iter()
                .any(|name| fields.get(*name).is_some_and(Value::is_array))
                || fields.get("plan").is_some_and(is_plan)
        }
        Value::Array(items) => {
            !items.is_empty()
                && items.iter().all(|item| {
                    let has = |name| item.get(name).is_some();
                    has("tool") || has("_tool") || has("name")
                })
        }
        _ => false,
    }
}

/// Maximum number of braces tried as the start of a value, since each try may scan the rest of the text.
const MAX_STARTS: usize = 400;

/// Finds all outermost JSON objects and lists in `reply`.
pub(crate) fn json_values(reply: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut position = 0;
    for _ in 0..MAX_STARTS {
        let Some(start) = reply[position..]
            .find(['{', '['])
            .map(|start| position + start)
        else {
            break;
        };
        let mut values = serde_json::Deserializer::from_str(&reply[start..]).into_iter::<Value>();
        if let Some(Ok(_)) = values.next() {
            let end = start + values.byte_offset();
            found.push(&reply[start..end]);
            position = end;
        } else {
            // Braces in prose are not values, so the search continues after this one.
            position = start + 1;
        }
    }
    found
}

/// Returns the span from the first brace to the last, or to the end if none closes.
fn incomplete(reply: &str) -> Option<&str> {
    let start = reply.find('{')?;
    let end = reply.rfind('}').map_or(reply.len(), |end| end + 1);
    Some(if end > start {
        &reply[start..end]
    } else {
        &reply[start..]
    })
}

/// Source name of created plans in diagnostics.
pub(super) const SOURCE_NAME: &str = "answer";

/// The text of a plan as written by a model.
#[derive(Clone, Debug)]
pub(super) struct ExtractedPlan {
    pub(super) dialect: PlanDialect,
    pub(super) text: String,
}

impl ExtractedPlan {
    /// Extracts the plan from a reply. A model that was asked for lines may write JSON anyway.
    pub(super) fn find(reply: &str, dialect: PlanDialect) -> Option<Self> {
        let lines = match dialect {
            PlanDialect::Json => None,
            PlanDialect::Lines => plan_in(reply),
        };
        let (dialect, text) = match lines {
            Some(text) => (PlanDialect::Lines, text),
            None => (PlanDialect::Json, extract(reply)?),
        };
        Some(Self {
            dialect,
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
            dialect: self.dialect,
            text: inner.unwrap_or_else(|| self.text.clone()),
        }
    }

    /// Parses the plan.
    pub(super) fn parse(&self) -> ParseResult {
        let options = ReadOptions::new(SOURCE_NAME);
        if self.dialect == PlanDialect::Lines {
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

    /// Applies all safe fixes in `diagnostics`. Returns `None` if there are none. Lines are repaired as their equivalent JSON,
    /// since diagnostics point into that.
    pub(super) fn repaired(
        &self,
        diagnostics: &Diagnostics,
        catalog: &Catalog,
    ) -> Option<(Self, Vec<PlanRepair>)> {
        let (text, repairs) = match self.dialect {
            PlanDialect::Json => repair(&self.text, diagnostics, catalog)?,
            PlanDialect::Lines => {
                let json = to_json(&self.text)?.to_json();
                let (repaired, repairs) = repair(&json, diagnostics, catalog)?;
                (from_json(&PlanValue::from_json(&repaired).ok()?), repairs)
            }
        };
        let dialect = self.dialect;
        Some((Self { dialect, text }, repairs))
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
    // `get_user` and `set_user` are one letter apart, so a tool that may have effects needs more than a similar name.
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
        // Several servers may offer a tool of that name, which counts once.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reply: &str, expected: Option<&str>) {
        assert_eq!(extract(reply), expected, "{reply}");
    }

    #[test]
    fn a_plan_is_found_among_words() {
        let plan = r#"{"steps": [{"tool": "a"}]}"#;
        check(plan, Some(plan));
        check(&format!("Plan: {plan} done"), Some(plan));
        check(
            &format!("Here:\n```json\n{plan}\n```\nIt takes {{care}} of [it]."),
            Some(plan),
        );
        check(&format!("A set {{1, 2}} and [3].\n{plan}"), Some(plan));
    }

    #[test]
    fn the_last_plan_is_the_answer() {
        let first = r#"{"steps": []}"#;
        let last = r#"{"steps": [{"tool": "a"}]}"#;
        check(
            &format!("First {first}, better {last}, as {{\"said\": 1}}"),
            Some(last),
        );
    }

    #[test]
    fn an_argument_is_no_plan() {
        let plan = r#"{"steps": [{"tool": "run", "args": {"plan": {"steps": [{"tool": "b"}]}}}]}"#;
        check(plan, Some(plan));
    }

    #[test]
    fn other_json_is_better_than_none() {
        check(r#"I would say {"answer": 1}."#, Some(r#"{"answer": 1}"#));
    }

    fn check_declined(reply: &str, expected: Option<DeclineReason>) {
        assert_eq!(parse_decline(reply), expected, "{reply}");
    }

    #[test]
    fn a_model_may_decline() {
        let cannot = || Some(DeclineReason::Cannot("there is no such tool".to_owned()));
        check_declined(r#"{"cannot": "there is no such tool"}"#, cannot());
        check_declined(
            "Sorry:\n```json\n{\"cannot\": \" there is no such tool \"}\n```",
            cannot(),
        );
        check_declined(
            r#"{"ask": "which month?"}"#,
            Some(DeclineReason::Asks("which month?".to_owned())),
        );
        check_declined(r#"{"cannot": ""}"#, None);
        check_declined(r#"{"ask": 1}"#, None);
        check_declined("which month?", None);
        check_declined(r#"{"steps": [], "ask": "which month?"}"#, None);
        check_declined(
            r#"{"steps": [{"tool": "a", "args": {"ask": "why"}}]}"#,
            None,
        );
    }

    #[test]
    fn an_incomplete_plan_is_returned_unchanged() {
        check(
            r#"Sure: {"steps": [{"tool": "a""#,
            Some(r#"{"steps": [{"tool": "a""#),
        );
        check(
            r#"Sure: {"steps": [{"tool": "a",}]} ok"#,
            Some(r#"{"steps": [{"tool": "a",}]}"#),
        );
        check("no plan", None);
        check("", None);
    }
}
