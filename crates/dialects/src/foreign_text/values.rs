//! Several values of JSON in one text, such as a request or a step on each line.

use std::sync::Arc;

use planwright_core::Value;

use super::calls::values::closing;
use crate::foreign_plans::translated;
use crate::native::UsedIds;

/// Fields of a plan that no step has without a tool.
const PLAN_FIELDS: [&str; 10] = [
    "name",
    "title",
    "description",
    "goal",
    "inputs",
    "vars",
    "output",
    "outputs",
    "ordering",
    "on_failure",
];

/// The values of `text` as a list, or as the steps of a plan; `None` if there are fewer than two, or other content.
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
    // The first and the last value may hold the fields of the plan itself.
    let is_of_plan = |value: &&Value| {
        value.as_object().is_some_and(|fields| {
            !fields.is_empty() && fields.iter().all(|(key, _)| PLAN_FIELDS.contains(&&**key))
        })
    };
    let header = values.first().filter(is_of_plan).cloned();
    let footer = values.last().filter(is_of_plan).cloned();
    let start = usize::from(header.is_some());
    let end = values.len() - usize::from(footer.is_some());
    let steps = values.get(start..end).unwrap_or_default();
    let are_steps = !steps.is_empty() && steps.iter().all(|step| step.get("tool").is_some());
    if are_steps && (header.is_some() || footer.is_some()) {
        let around = [header, footer];
        let fields = around.iter().flatten().filter_map(Value::as_object);
        let mut fields: Vec<(Arc<str>, Value)> = fields
            .flat_map(|fields| fields.iter())
            .map(|(key, value)| (Arc::clone(key), value.clone()))
            .collect();
        fields.push((Arc::from("steps"), Value::list(steps.to_vec())));
        return Some(Value::object(fields));
    }
    let list = Value::list(values);
    Some(match translated(&list) {
        Some(found) => found.plan,
        None => calls_in_order(&list).unwrap_or_else(|| Value::object([("steps", list)])),
    })
}

/// The plan of calls without ids, which are made in their order; `None` if one has an id, or is not a call.
fn calls_in_order(calls: &Value) -> Option<Value> {
    let mut ids = UsedIds::default();
    let steps = calls.as_list()?.iter().map(|call| {
        let fields = call.as_object()?.iter();
        let is_known = |key: &str| matches!(key, "tool" | "args" | "title" | "note");
        fields.clone().all(|(key, _)| is_known(key)).then_some(())?;
        let id = ids.add_for(call.get("tool")?.as_text()?);
        let fields = fields.map(|(key, value)| (Arc::clone(key), value.clone()));
        let own = [(Arc::from("id"), Value::text(id))];
        Some(Value::object(
            own.into_iter().chain(fields).collect::<Vec<_>>(),
        ))
    });
    let steps = Value::list(steps.collect::<Option<Vec<_>>>()?);
    Some(Value::object([
        ("ordering", Value::text("listed")),
        ("steps", steps),
    ]))
}
