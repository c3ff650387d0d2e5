//! Jobs of CI, as GitHub's workflows have them: the steps of a job run one after the other.

use planwright_core::Value;

use super::texts::{constant, replaced, with_paths};
use super::{Translation, objects};
use crate::native::free_id;

/// The translation of `{"jobs": {"a": {"steps": […], "needs": […]}}}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let form = "a workflow with jobs";
    let jobs = value.get("jobs")?.as_object()?;
    let mut ids = std::collections::HashSet::new();
    let mut last: Vec<(&str, Value)> = Vec::new();
    let mut steps = Vec::new();
    let mut is_complete = true;
    for (name, job) in jobs {
        let known = [
            "steps",
            "needs",
            "name",
            "runs-on",
            "runs_on",
            "timeout-minutes",
            "env",
        ];
        let fields = job.as_object()?;
        is_complete &= fields.keys().all(|key| known.contains(&&**key));
        let env = [value.get("env"), job.get("env")];
        let mut constants: Vec<(String, String)> = Vec::new();
        for (name, value) in env
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .flatten()
        {
            match constant(value) {
                Some(value) => constants.push((format!("env.{name}"), value)),
                None => is_complete = false,
            }
        }
        let needs = match job.get("needs") {
            None => Vec::new(),
            Some(Value::List(items)) => items.to_vec(),
            Some(other) => vec![other.clone()],
        };
        let mut before: Vec<Value> = Vec::new();
        for need in &needs {
            let found = last.iter().find(|(job, _)| need.as_text() == Some(job));
            // A job that comes later, or one without steps.
            is_complete &= found.is_some();
            before.extend(found.map(|(_, id)| id.clone()));
        }
        for step in objects(job.get("steps")?)? {
            let tool = step.get("uses").or_else(|| step.get("tool"));
            let Some(tool) = tool.and_then(Value::as_text) else {
                is_complete = false;
                continue;
            };
            let tool = tool.split('@').next().unwrap_or_default();
            let id = step.get("id").and_then(Value::as_text);
            let id = id.map_or_else(|| free_id(tool, &ids), str::to_owned);
            ids.insert(id.clone());
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
                    with_paths(text, |path| {
                        let found = constants.iter().rev().find(|(name, _)| name == path)?;
                        Some(found.1.replace("${", "$${"))
                    })
                });
                (key, field)
            }));
            if !before.is_empty() {
                fields.push(("after".into(), Value::list(std::mem::take(&mut before))));
            }
            before = vec![Value::text(id)];
            steps.push(Value::object(fields));
        }
        last.push((name, before.into_iter().next()?));
    }
    if is_complete {
        return Translation::complete(form, steps);
    }
    Some(Translation::of_first_step(form, steps.into_iter().next()?))
}
