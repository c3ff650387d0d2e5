//! Several values of JSON in one text, such as a request or a step on each line.

use planwright_core::Value;

use super::calls::values::closing;
use crate::foreign_plans::translated;

/// The values of `text` as a list, or as the steps of a plan; `None` if it has no two of them, or anything else.
pub(super) fn value(text: &str) -> Option<Value> {
    let mut values = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}').trim();
    while !rest.is_empty() {
        let end = closing(rest).filter(|_| rest.starts_with('{'))? + 1;
        values.push(Value::from_json(&rest[..end]).ok()?);
        rest = rest[end..]
            .trim_start()
            .trim_start_matches([',', ';'])
            .trim_start();
    }
    // Several plans are not a list of steps.
    let is_plan = |value: &Value| value.get("steps").is_some() || value.get("StartAt").is_some();
    if values.len() < 2 || values.iter().any(is_plan) {
        return None;
    }
    let list = Value::list(values);
    Some(match translated(&list) {
        Some(found) => found.plan,
        None => Value::object([("steps", list)]),
    })
}
