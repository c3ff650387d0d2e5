//! Plans in stages: the steps of a stage run after all of the stage before.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::texts::{replace_references, replaced};
use super::{Translation, has_only, objects, others, waits};
use crate::native::path_of;

/// The names of the list of stages.
const STAGES: [&str; 4] = ["stages", "phases", "waves", "levels"];

/// The names of the list of steps in a stage.
const STEPS: [&str; 5] = ["steps", "tasks", "jobs", "actions", "calls"];

/// The names of the field that lists the steps that a step waits for.
const AFTER: [&str; 4] = ["after", "depends_on", "needs", "dependsOn"];

/// The names of the variables of a plan.
const INPUTS: [&str; 6] = ["variables", "vars", "env", "inputs", "params", "parameters"];

/// The other fields of a plan that have a meaning here.
const PLAN: [&str; 5] = ["name", "description", "version", "output", "outputs"];

/// The translation of `{"stages": [{"name": …, "steps": […]}]}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let form = "a plan in stages";
    let stages = objects(STAGES.iter().find_map(|name| value.get(name))?)?;
    let mut paths: HashMap<String, String> = HashMap::new();
    let mut steps: Vec<Value> = Vec::new();
    let mut before: Option<Value> = None;
    for stage in stages {
        let inner = objects(STEPS.iter().find_map(|name| stage.get(name))?)?;
        // A stage waits for the one before it, which is what it needs.
        let known = [
            "name",
            "id",
            "parallel",
            "title",
            "description",
            "needs",
            "depends_on",
        ];
        let known: Vec<&str> = STEPS.iter().chain(&known).copied().collect();
        has_only(stage, &known).then_some(())?;
        let is_parallel = match stage.get("parallel") {
            Some(parallel) => parallel.as_bool()?,
            None => false,
        };
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
            let has_own = fields.iter().any(|(key, _)| AFTER.contains(&&**key));
            let after = match ids.last() {
                Some(last) if !is_parallel => Some(Value::list([Value::clone(last)])),
                _ => before.clone(),
            };
            if let Some(after) = after.filter(|_| !has_own) {
                fields.push(("after".into(), after));
            }
            steps.push(Value::object(fields));
            ids.push(id.clone());
        }
        if !is_parallel {
            ids = ids.pop().into_iter().collect();
        }
        before = waits(ids);
    }
    let known: Vec<&str> = STAGES.iter().chain(&INPUTS).chain(&PLAN).copied().collect();
    let left_out: Vec<String> = others(value, &known).collect();
    let is_known = left_out.is_empty();
    let translation = Translation::complete(form, steps)?;
    if !translation.is_complete {
        return Some(translation);
    }
    let (inputs, names) = inputs(value)?;
    let steps = replaced(translation.plan.get("steps")?, &|text: &str| {
        replace_references(text, |path| {
            // The longest name with which the path begins, `stage.step` before `stage`.
            let ends = path.match_indices(['.', '[']).map(|(end, _)| end);
            let ends: Vec<usize> = ends.chain([path.len()]).collect();
            ends.into_iter().rev().find_map(|end| {
                let (name, rest) = path.split_at(end);
                let meaning = paths.get(name).or_else(|| names.get(name))?;
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
    let output = value.get("output").or_else(|| value.get("outputs"));
    fields.extend(output.map(|output| (Arc::from("output"), output.clone())));
    Some(Translation {
        plan: Value::object(fields),
        is_complete: is_known,
        left_out,
        ..translation
    })
}

/// The inputs that the variables of a plan are, `${NAME:-default}` included, with their paths by name.
fn inputs(value: &Value) -> Option<(Option<Value>, HashMap<String, String>)> {
    let mut names = HashMap::new();
    let mut sources = INPUTS.iter().filter_map(|word| value.get(word));
    let Some(variables) = sources.next() else {
        return Some((None, names));
    };
    if sources.next().is_some() {
        return None;
    }
    let mut inputs: Vec<(Arc<str>, Value)> = Vec::new();
    for (name, default) in variables.as_object()? {
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
