//! Extraction of the plan from a reply that may contain prose and code fences.

use serde_json::Value;

use crate::model::DeclineReason;

/// Returns the part of `reply` that is meant to be the plan: the last JSON value that looks like one, or else the first JSON value, or
/// else the part closest to JSON. Returns `None` if there is no brace.
pub fn extract(reply: &str) -> Option<&str> {
    let candidates = candidates(reply);
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
    let values = candidates(reply).into_iter();
    let values: Vec<Value> = values
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect();
    // A plan takes precedence over remarks beside it.
    if values.iter().any(is_plan) {
        return None;
    }
    values.iter().rev().find_map(DeclineReason::parse)
}

/// Returns whether a value looks like a plan in some dialect.
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
fn candidates(reply: &str) -> Vec<&str> {
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
            // Braces in prose are no values, so the search continues behind this one.
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
