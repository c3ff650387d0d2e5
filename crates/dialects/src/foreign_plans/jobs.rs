//! Jobs of CI, as GitHub's workflows have them: the steps of a job run one after the other.

use std::collections::HashMap;

use planwright_core::Value;

use super::texts::{constant, replace_references, replaced};
use super::{Translation, objects, others};
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
    let mut left_out: Vec<String> = others(value, &KNOWN).collect();
    let mut shared = constants(value, &mut left_out);
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
        left_out.extend(others(job, &known));
        let own = constants(job, &mut left_out);
        let needs = match job.get("needs") {
            None => Vec::new(),
            Some(Value::List(items)) => items.to_vec(),
            Some(other) => vec![other.clone()],
        };
        let mut before: Vec<Value> = Vec::new();
        for need in &needs {
            let found = need.as_text().and_then(|need| last.get(need));
            // A job that comes later, or one without steps.
            if found.is_none() {
                left_out.push("needs".to_owned());
            }
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
        if time.is_some() && minutes.is_none() {
            left_out.push("timeout-minutes".to_owned());
        }
        for step in inner {
            let tool = step.get("uses").or_else(|| step.get("tool"));
            let Some(tool) = tool.and_then(Value::as_text) else {
                left_out.push(called(step));
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
    let translation = if left_out.is_empty() {
        Translation::complete(form, steps)?
    } else {
        Translation::of_calls(form, steps, left_out)?
    };
    let Some(inputs) = inputs else {
        return Some(translation);
    };
    let steps = translation.plan.get("steps")?.clone();
    Some(Translation {
        plan: Value::object([("inputs", schemas(inputs)?), ("steps", steps)]),
        ..translation
    })
}

/// The name of `step`, which calls no tool: the first line of its command, or its name.
fn called(step: &Value) -> String {
    let names = ["run", "name", "id"].iter();
    let name = names
        .filter_map(|key| step.get(key)?.as_text()?.lines().next())
        .find(|name| !name.trim().is_empty());
    name.unwrap_or("steps").trim().to_owned()
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

/// The constants in `env` of a workflow or a job, by the paths that read them. The others are added to `left_out`.
fn constants(value: &Value, left_out: &mut Vec<String>) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let Some(env) = value.get("env") else {
        return found;
    };
    if env.as_object().is_none() {
        left_out.push("env".to_owned());
    }
    for (name, value) in env.as_object().into_iter().flatten() {
        match constant(value) {
            Some(value) => {
                found.insert(format!("env.{name}"), value);
            }
            None => left_out.push(name.to_string()),
        }
    }
    found
}
