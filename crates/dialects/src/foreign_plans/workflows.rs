//! Workflows of Kubernetes and of serverless systems: Argo, Tekton, Serverless Workflow, Google Cloud Workflows.

use std::sync::Arc;

use planwright_core::Value;

use super::texts::{constant, replaced, with_paths};
use super::{Translation, objects, step};

/// The translation of a workflow.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    kubernetes(value)
        .or_else(|| serverless(value))
        .or_else(|| calls_by_name(value))
}

/// `{"spec": {"templates": [{"dag": {"tasks"}}]}}` of Argo, and `{"spec": {"tasks": […]}}`.
fn kubernetes(value: &Value) -> Option<Translation> {
    let spec = value.get("spec")?;
    let form = "a workflow of Kubernetes";
    let templates = spec.get("templates").and_then(Value::as_list);
    let main = templates.into_iter().flatten().find_map(|template| {
        let tasks = template.get("dag").and_then(|dag| dag.get("tasks"));
        tasks.or_else(|| template.get("steps"))
    });
    let tasks = main
        .or_else(|| spec.get("tasks"))
        .or_else(|| spec.get("steps"))?;
    let mut steps = Vec::new();
    let mut before = Vec::new();
    for item in tasks.as_list()? {
        // A list in the list is a group that runs after the one before.
        let is_group = item.as_list().is_some();
        let group = item.as_list().unwrap_or(std::slice::from_ref(item));
        let mut ids = Vec::new();
        for task in group {
            ids.extend(task.get("name").cloned());
            steps.push(task_of(task, if is_group { &before } else { &[] })?);
        }
        before = ids;
    }
    Translation::complete(form, steps)
}

/// The step of a task, which waits for the steps `before`.
fn task_of(task: &Value, before: &[Value]) -> Option<Value> {
    let fields = task.as_object()?.iter().map(|(key, field)| {
        let (key, field) = match &**key {
            "name" => ("id", field.clone()),
            "template" => ("tool", field.clone()),
            "taskRef" => ("tool", field.get("name")?.clone()),
            "arguments" => ("args", arguments(field.get("parameters").unwrap_or(field))?),
            "params" => ("args", arguments(field)?),
            "withItems" | "withParam" => ("for_each", field.clone()),
            other => return Some((Arc::from(other), field.clone())),
        };
        Some((Arc::from(key), field))
    });
    let mut fields: Vec<(Arc<str>, Value)> = fields.collect::<Option<_>>()?;
    if !before.is_empty() {
        fields.push(("after".into(), Value::list(before.to_vec())));
    }
    Some(Value::object(fields))
}

/// `[{"name": "a", "value": 1}]` as `{"a": 1}`.
fn arguments(value: &Value) -> Option<Value> {
    let Some(items) = value.as_list() else {
        return value.as_object().map(|_| value.clone());
    };
    let fields = items.iter().map(|item| {
        let name = item.get("name")?.as_text()?;
        Some((Arc::from(name), item.get("value")?.clone()))
    });
    Some(Value::object(fields.collect::<Option<Vec<_>>>()?))
}

/// `{"states": [{"actions": [{"functionRef": …}]}]}` of Serverless Workflow.
fn serverless(value: &Value) -> Option<Translation> {
    let states = objects(value.get("states")?)?;
    let functions = value
        .get("functions")
        .and_then(Value::as_list)
        .unwrap_or_default();
    let operation = |name: &Value| {
        let function = functions
            .iter()
            .find(|function| function.get("name") == Some(name));
        let operation = function.and_then(|function| function.get("operation"));
        operation.unwrap_or(name).clone()
    };
    let mut steps = Vec::new();
    let mut before: Vec<Value> = Vec::new();
    for state in states {
        let is_known = |key: &Arc<str>| {
            ["name", "type", "actions", "end", "transition", "actionMode"].contains(&&**key)
        };
        if !state.as_object()?.keys().all(is_known) {
            return None;
        }
        let actions = objects(state.get("actions")?)?;
        for (index, action) in actions.iter().enumerate() {
            let call = action.get("functionRef")?;
            let name = call.get("refName").unwrap_or(call);
            let id = action.get("name").cloned().or_else(|| {
                let name = state.get("name")?.as_text()?;
                Some(match index {
                    0 => Value::text(name),
                    _ => Value::text(format!("{name}_{}", index + 1)),
                })
            });
            let after = (!before.is_empty()).then(|| Value::list(before.clone()));
            before = id.iter().cloned().collect();
            steps.push(step([
                ("id", id),
                ("tool", Some(operation(name))),
                ("args", call.get("arguments").cloned()),
                ("after", after),
            ]));
        }
    }
    Translation::complete("a serverless workflow", steps)
}

/// `{"do": [{"a": {"call": …, "with": …}}]}` of Serverless Workflow, and `{"main": {"steps": [{"a": {"call", "args"}}]}}` of
/// Google Cloud Workflows: calls by name, one after the other.
fn calls_by_name(value: &Value) -> Option<Translation> {
    let main = value.get("main").unwrap_or(value);
    let items = objects(
        main.get("steps")
            .or_else(|| value.get("do"))
            .unwrap_or(main),
    )?;
    let mut steps = Vec::new();
    let mut before: Option<Value> = None;
    let mut constants: Vec<(String, String)> = Vec::new();
    let mut output = None;
    for item in items {
        let mut fields = item.as_object()?.iter();
        let ((name, call), None) = (fields.next()?, fields.next()) else {
            return None;
        };
        // A return ends the workflow.
        output.is_none().then_some(())?;
        if let Some(returned) = call.get("return") {
            output = Some(with_constants(returned, &constants));
            continue;
        }
        if let Some(assigned) = call.get("assign").filter(|_| call.get("call").is_none()) {
            for (name, value) in objects(assigned)?
                .iter()
                .filter_map(Value::as_object)
                .flatten()
            {
                constants.push((name.to_string(), constant(value)?));
            }
            continue;
        }
        let tool = call.get("call")?;
        tool.as_text()?;
        let id = call
            .get("result")
            .cloned()
            .unwrap_or_else(|| Value::text(&**name));
        id.as_text()?;
        let mut fields = vec![("id".into(), id.clone()), ("tool".into(), tool.clone())];
        let others = call
            .as_object()?
            .iter()
            .filter(|(key, _)| !matches!(&***key, "call" | "result"));
        fields.extend(others.map(|(key, field)| (key.clone(), with_constants(field, &constants))));
        if let Some(before) = before.replace(id) {
            fields.push(("after".into(), Value::list([before])));
        }
        steps.push(Value::object(fields));
    }
    let translation = Translation::complete("a workflow of calls by name", steps)?;
    let Some(output) = output else {
        return Some(translation);
    };
    let steps = translation.plan.get("steps")?.clone();
    Some(Translation {
        plan: Value::object([("steps", steps), ("output", output)]),
        ..translation
    })
}

/// `value` with constants in place of their names in its references.
fn with_constants(value: &Value, constants: &[(String, String)]) -> Value {
    replaced(value, &|text: &str| {
        with_paths(text, |path| {
            let found = constants.iter().rev().find(|(name, _)| name == path)?;
            Some(found.1.replace("${", "$${"))
        })
    })
}
