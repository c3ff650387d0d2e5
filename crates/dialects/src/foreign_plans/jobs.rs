//! Jobs of CI, as GitHub's workflows have them: the steps of a job run one after the other.

use std::collections::HashMap;

use planwright_core::Value;

use super::texts::{constant, replace_references, replaced};
use super::{Translation, has_only, objects};
use crate::native::UsedIds;

/// The fields of a workflow that say nothing about its steps, besides `env`.
const KNOWN: [&str; 6] = ["jobs", "name", "run-name", "on", "permissions", "env"];

/// The translation of `{"jobs": {"a": {"steps": […], "needs": […]}}}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let form = "a workflow with jobs";
    let jobs = value.get("jobs")?.as_object()?;
    let mut ids = UsedIds::default();
    let mut last: HashMap<&str, Value> = HashMap::new();
    let mut steps = Vec::new();
    let mut is_complete = has_only(value, &KNOWN);
    let mut shared = constants(value, &mut is_complete);
    for (name, job) in jobs {
        let outputs = job.get("outputs").and_then(Value::as_object);
        for (key, output) in outputs.into_iter().flatten() {
            shared.insert(
                format!("needs.{name}.outputs.{key}"),
                output.as_text()?.to_string(),
            );
        }
    }
    for (name, job) in jobs {
        job.as_object()?;
        let known = [
            "steps",
            "needs",
            "name",
            "runs-on",
            "runs_on",
            "timeout-minutes",
            "env",
            "outputs",
        ];
        is_complete &= has_only(job, &known);
        let own = constants(job, &mut is_complete);
        let needs = match job.get("needs") {
            None => Vec::new(),
            Some(Value::List(items)) => items.to_vec(),
            Some(other) => vec![other.clone()],
        };
        let mut before: Vec<Value> = Vec::new();
        for need in &needs {
            let found = need.as_text().and_then(|need| last.get(need));
            // A job that comes later, or one without steps.
            is_complete &= found.is_some();
            before.extend(found.cloned());
        }
        let inner = objects(job.get("steps")?)?;
        // The time of several steps together has no counterpart.
        let time = job.get("timeout-minutes");
        let minutes = time.and_then(Value::as_u64).filter(|_| {
            inner.len() == 1
                && inner
                    .iter()
                    .all(|step| step.get("timeout-minutes").is_none())
        });
        is_complete &= time.is_none() || minutes.is_some();
        for step in inner {
            let tool = step.get("uses").or_else(|| step.get("tool"));
            let Some(tool) = tool.and_then(Value::as_text) else {
                is_complete = false;
                continue;
            };
            let tool = tool.split('@').next().unwrap_or_default();
            let id = step.get("id").and_then(Value::as_text);
            let id = if let Some(id) = id {
                ids.insert(id.to_owned());
                id.to_owned()
            } else {
                ids.add_for(tool)
            };
            let mut fields = vec![
                ("id".into(), Value::text(id.as_str())),
                ("tool".into(), Value::text(tool.replace('/', "."))),
            ];
            let others = step.as_object()?.iter();
            let others = others.filter(|(key, _)| !["id", "uses", "tool"].contains(&&***key));
            fields.extend(others.map(|(key, field)| {
                let key = match &**key {
                    "with" => "args".into(),
                    "name" => "title".into(),
                    _ => key.clone(),
                };
                let field = replaced(field, &|text: &str| {
                    replace_references(text, |path| {
                        own.get(path).or_else(|| shared.get(path)).cloned()
                    })
                });
                (key, field)
            }));
            if let Some(minutes) = minutes {
                fields.push(("timeout".into(), Value::text(format!("{minutes}m"))));
            }
            if !before.is_empty() {
                fields.push(("after".into(), Value::list(std::mem::take(&mut before))));
            }
            before = vec![Value::text(id)];
            steps.push(Value::object(fields));
        }
        last.insert(name, before.into_iter().next()?);
    }
    let triggers = ["workflow_dispatch", "workflow_call"];
    let inputs = value
        .get("on")
        .and_then(|on| triggers.iter().find_map(|name| on.get(name)?.get("inputs")));
    if is_complete {
        let translation = Translation::complete(form, steps)?;
        let (Some(inputs), true) = (inputs, translation.is_complete) else {
            return Some(translation);
        };
        let steps = translation.plan.get("steps")?.clone();
        return Some(Translation {
            plan: Value::object([("inputs", schemas(inputs)?), ("steps", steps)]),
            ..translation
        });
    }
    Some(Translation::of_first_step(form, steps.into_iter().next()?))
}

/// The schemas of the inputs of a workflow, whose fields are not all those of a schema.
fn schemas(inputs: &Value) -> Option<Value> {
    let schemas = inputs.as_object()?.iter().map(|(name, input)| {
        let known = ["default", "description"];
        let fields = input.as_object().into_iter().flatten();
        let fields = fields.filter(|(key, _)| known.contains(&&***key));
        let fields = fields.map(|(key, field)| (key.clone(), field.clone()));
        (name.clone(), Value::object(fields))
    });
    Some(Value::object(schemas))
}

/// The constants in `env` of a workflow or a job, by the paths that read them; `is_complete` becomes false if one is no constant.
fn constants(value: &Value, is_complete: &mut bool) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let Some(env) = value.get("env") else {
        return found;
    };
    *is_complete &= env.as_object().is_some();
    for (name, value) in env.as_object().into_iter().flatten() {
        match constant(value) {
            Some(value) => {
                found.insert(format!("env.{name}"), value);
            }
            None => *is_complete = false,
        }
    }
    found
}
