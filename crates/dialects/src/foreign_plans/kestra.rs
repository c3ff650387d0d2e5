//! Flows of Kestra: tasks with their tool as the `type` and its arguments beside it, one after the other.

use std::sync::Arc;

use planwright_core::Value;

use super::{Translation, has_only, objects, step};

/// The fields of a flow that have a meaning here, or none for a plan.
const FLOW: [&str; 7] = [
    "id",
    "namespace",
    "description",
    "labels",
    "inputs",
    "tasks",
    "revision",
];

/// The fields of a task that are no arguments, and the ones in place of them.
const OPTIONS: [(&str, &str); 3] = [
    ("description", "note"),
    ("timeout", "timeout"),
    ("runIf", "when"),
];

/// The fields of a task without a counterpart.
const UNKNOWN: [&str; 8] = [
    "retry",
    "errors",
    "finally",
    "tasks",
    "values",
    "taskRunner",
    "workerGroup",
    "disabled",
];

/// The translation of `{"id": …, "namespace": …, "tasks": [{"id": …, "type": …}]}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    value.get("namespace")?.as_text()?;
    has_only(value, &FLOW).then_some(())?;
    let mut before: Option<&Value> = None;
    let mut steps = Vec::new();
    for task in objects(value.get("tasks")?)? {
        let (id, tool) = (task.get("id")?, task.get("type")?);
        id.as_text()?;
        let fields = task.as_object()?;
        let is_unknown = fields.keys().any(|key| UNKNOWN.contains(&&**key));
        // The types of Kestra's own plugins are classes.
        if is_unknown || tool.as_text()?.contains(char::is_uppercase) {
            return None;
        }
        let is_option = |key: &str| OPTIONS.iter().any(|(option, _)| *option == key);
        let args = fields
            .iter()
            .filter(|(key, _)| !matches!(&***key, "id" | "type" | "allowFailure"))
            .filter(|(key, _)| !is_option(key));
        let args = Value::object(args.map(|(key, field)| (Arc::clone(key), field.clone())));
        let may_fail = match task.get("allowFailure") {
            Some(may_fail) => may_fail.as_bool()?,
            None => false,
        };
        let options = OPTIONS.map(|(option, meant)| (meant, task.get(option).cloned()));
        let own = [
            ("id", Some(id.clone())),
            ("after", before.map(|before| Value::list([before.clone()]))),
            ("tool", Some(tool.clone())),
            ("args", Some(args)),
            ("on_error", may_fail.then(|| Value::text("continue"))),
        ];
        steps.push(step(own.into_iter().chain(options)));
        before = Some(id);
    }
    let found = Translation::complete("a flow of Kestra", steps)?;
    let steps = found.plan.get("steps")?.clone();
    let declared = match value.get("inputs") {
        Some(declared) => Some(inputs(declared)?),
        None => None,
    };
    let plan = step([
        ("name", value.get("id").cloned()),
        ("description", value.get("description").cloned()),
        ("inputs", declared),
        ("steps", Some(steps)),
    ]);
    Some(Translation { plan, ..found })
}

/// The inputs in the list `declared`; `None` if one has no counterpart.
fn inputs(declared: &Value) -> Option<Value> {
    let inputs = objects(declared)?.iter().map(|input| {
        has_only(
            input,
            &["id", "type", "defaults", "description", "required"],
        )
        .then_some(())?;
        let kind = match input.get("type")?.as_text()? {
            "STRING" | "DATETIME" | "DATE" | "TIME" | "URI" | "DURATION" => "string",
            "INT" => "integer",
            "FLOAT" => "number",
            "BOOLEAN" | "BOOL" => "boolean",
            "ARRAY" => "array",
            "JSON" => "object",
            _ => return None,
        };
        let schema = step([
            ("type", Some(Value::text(kind))),
            ("description", input.get("description").cloned()),
            ("default", input.get("defaults").cloned()),
        ]);
        Some((Arc::from(input.get("id")?.as_text()?), schema))
    });
    Some(Value::object(inputs.collect::<Option<Vec<_>>>()?))
}
