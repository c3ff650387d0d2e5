//! Plans in stages: the steps of a stage run after all of the stage before.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::texts::{below, replaced, with_paths};
use super::{Translation, objects};
use crate::native::path_of;

/// The names of the list of stages.
const STAGES: [&str; 4] = ["stages", "phases", "waves", "levels"];

/// The names of the list of steps in a stage.
const STEPS: [&str; 5] = ["steps", "tasks", "jobs", "actions", "calls"];

/// The translation of `{"stages": [{"name": …, "steps": […]}]}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let form = "a plan in stages";
    let stages = objects(STAGES.iter().find_map(|name| value.get(name))?)?;
    let mut paths: HashMap<String, String> = HashMap::new();
    let mut steps: Vec<Value> = Vec::new();
    let mut before: Vec<Value> = Vec::new();
    for stage in stages {
        let inner = objects(STEPS.iter().find_map(|name| stage.get(name))?)?;
        let known = |key: &Arc<str>| {
            STEPS.contains(&&**key)
                || ["name", "id", "parallel", "title", "description"].contains(&&**key)
        };
        stage.as_object()?.keys().all(known).then_some(())?;
        let is_parallel = stage.get("parallel").and_then(Value::as_bool) == Some(true);
        let name = stage.get("name").or_else(|| stage.get("id"));
        let mut ids = Vec::new();
        for step in inner {
            let id = ["id", "name", "step"]
                .iter()
                .find_map(|key| step.get(key))?;
            let text = id.as_text()?;
            if let Some(name) = name.and_then(Value::as_text) {
                paths.insert(format!("{name}.{text}"), path_of(text));
            }
            let mut fields: Vec<(Arc<str>, Value)> = step
                .as_object()?
                .iter()
                .map(|(key, field)| (Arc::clone(key), field.clone()))
                .collect();
            let waits = match ids.last() {
                Some(last) if !is_parallel => vec![Value::clone(last)],
                _ => before.clone(),
            };
            let has_own = fields
                .iter()
                .any(|(key, _)| ["after", "depends_on", "needs", "dependsOn"].contains(&&**key));
            if !waits.is_empty() && !has_own {
                fields.push(("after".into(), Value::list(waits)));
            }
            steps.push(Value::object(fields));
            ids.push(id.clone());
        }
        before = if is_parallel {
            ids
        } else {
            ids.pop().into_iter().collect()
        };
    }
    let (inputs, names) = inputs(value)?;
    let steps = replaced(&Value::list(steps), &|text: &str| {
        with_paths(text, |path| {
            let mut known = paths.iter().chain(&names);
            known.find_map(|(name, meaning)| {
                let rest = below(path, name)?;
                Some(format!("${{{meaning}{rest}}}"))
            })
        })
    });
    let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
    for key in ["name", "description"] {
        fields.extend(value.get(key).map(|field| (Arc::from(key), field.clone())));
    }
    fields.extend(inputs.map(|inputs| (Arc::from("inputs"), inputs)));
    fields.push(("steps".into(), steps));
    for key in ["output", "outputs"] {
        fields.extend(
            value
                .get(key)
                .map(|field| (Arc::from("output"), field.clone())),
        );
    }
    Some(Translation {
        form,
        plan: Value::object(fields),
        is_complete: true,
    })
}

/// The inputs that the variables of a plan are, `${NAME:-default}` included, with their paths by name.
fn inputs(value: &Value) -> Option<(Option<Value>, HashMap<String, String>)> {
    let mut names = HashMap::new();
    let words = ["variables", "vars", "env", "inputs", "params", "parameters"];
    let Some(given) = words.iter().find_map(|word| value.get(word)) else {
        return Some((None, names));
    };
    let mut inputs: Vec<(Arc<str>, Value)> = Vec::new();
    for (name, default) in given.as_object()? {
        names.insert(name.to_string(), format!("inputs.{name}"));
        let schema = match default {
            Value::Object(_) => default.clone(),
            Value::Text(text) if text.starts_with("${") => {
                // `${NAME:-default}` of a shell
                let inside = text.strip_prefix("${")?.strip_suffix('}')?;
                match inside.split_once(":-") {
                    Some((_, default)) => Value::object([("default", Value::text(default))]),
                    None => Value::empty_object(),
                }
            }
            Value::Null => Value::empty_object(),
            other => Value::object([("default", other.clone())]),
        };
        inputs.push((Arc::clone(name), schema));
    }
    Some((Some(Value::object(inputs)), names))
}
