//! Workflows of Arazzo: steps that call the operations of an API one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::texts::replaced;
use super::{Translation, has_only, objects, step};
use crate::native::path_of;

/// The fields of a step that have a meaning here, or none for a plan.
const STEP: [&str; 9] = [
    "stepId",
    "operationId",
    "operationPath",
    "description",
    "parameters",
    "requestBody",
    "outputs",
    "successCriteria",
    "timeout",
];

/// The translation of the first workflow of `{"workflows": [{"steps": [{"stepId", "operationId"}]}]}`, or of its steps alone.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let workflows = value.get("workflows").and_then(objects);
    let workflow = workflows.and_then(<[Value]>::first).unwrap_or(value);
    let steps = objects(workflow.get("steps")?)?;
    let is_step = |step: &Value| operation(step).is_some() && step.get("stepId").is_some();
    steps.iter().all(is_step).then_some(())?;
    // The path of an output in the answer, by the step and the name of the output.
    let mut outputs: HashMap<(&str, &str), String> = HashMap::new();
    for step in steps {
        let id = step.get("stepId")?.as_text()?;
        for (name, output) in step
            .get("outputs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            outputs.insert((id, name), pointer_path(output.as_text()?)?);
        }
    }
    let written = |text: &str| written(text, &outputs);
    let mut left_out: Vec<String> = Vec::new();
    let translated = steps.iter().map(|call| {
        for (key, _) in call.as_object()? {
            if !STEP.contains(&&**key) {
                left_out.push(key.to_string());
            }
        }
        let mut args: Vec<(Arc<str>, Value)> = Vec::new();
        for parameter in call
            .get("parameters")
            .and_then(Value::as_list)
            .unwrap_or_default()
        {
            args.push((
                Arc::from(parameter.get("name")?.as_text()?),
                parameter.get("value")?.clone(),
            ));
        }
        if let Some(body) = call.get("requestBody") {
            let fields = body.get("payload")?.as_object()?.iter();
            args.extend(fields.map(|(key, field)| (Arc::clone(key), field.clone())));
        }
        let args = (!args.is_empty()).then(|| replaced(&Value::object(args), &written));
        Some(step([
            ("id", call.get("stepId").cloned()),
            ("note", call.get("description").cloned()),
            ("tool", operation(call).map(Value::text)),
            ("args", args),
        ]))
    });
    let translated = translated.collect::<Option<Vec<_>>>()?;
    if workflows.is_some_and(|workflows| workflows.len() > 1) {
        return Translation::of_calls(FORM, translated, vec!["workflows".to_owned()]);
    }
    let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
    let properties = workflow
        .get("inputs")
        .map(|inputs| inputs.get("properties").unwrap_or(inputs));
    if let Some(properties) = properties {
        properties.as_object()?;
        fields.push(("inputs".into(), properties.clone()));
    }
    fields.push(("ordering".into(), Value::text("listed")));
    fields.push(("steps".into(), Value::list(translated)));
    if let Some(output) = workflow.get("outputs") {
        fields.push(("output".into(), replaced(output, &written)));
    }
    let known = [
        "workflowId",
        "summary",
        "description",
        "inputs",
        "steps",
        "outputs",
    ];
    if !has_only(workflow, &known) && workflows.is_some() {
        let others = workflow
            .as_object()?
            .keys()
            .filter(|key| !known.contains(&&***key));
        left_out.extend(others.map(ToString::to_string));
    }
    left_out.sort();
    left_out.dedup();
    Some(Translation {
        form: FORM,
        plan: Value::object(fields),
        is_complete: true,
        left_out,
    })
}

const FORM: &str = "a workflow of Arazzo";

/// The name of the operation that `step` calls, without its document.
fn operation(step: &Value) -> Option<&str> {
    let name = step
        .get("operationId")
        .or_else(|| step.get("operationPath"))?;
    let name = name.as_text()?.trim_start_matches('$');
    let name = name.strip_prefix("sourceDescriptions.").unwrap_or(name);
    Some(name.rsplit(['.', '/', '#']).next().unwrap_or(name))
}

/// The path of `$response.body#/a/0/b`: `.a[0].b`.
fn pointer_path(output: &str) -> Option<String> {
    let pointer = output
        .strip_prefix("$response.body")?
        .trim_start_matches('#');
    let parts = pointer.split('/').filter(|part| !part.is_empty());
    Some(parts.map(field).collect())
}

fn field(name: &str) -> String {
    if name.parse::<usize>().is_ok() {
        return format!("[{name}]");
    }
    let is_plain = name
        .chars()
        .all(|sign| sign.is_alphanumeric() || sign == '_');
    if is_plain {
        format!(".{name}")
    } else {
        format!("['{name}']")
    }
}

/// `text` with references of this dialect in place of `$steps.a.outputs.b`, `{$inputs.x}` and `$inputs.x`.
fn written(text: &str, outputs: &HashMap<(&str, &str), String>) -> String {
    let reference = |expression: &str| {
        let path = expression.strip_prefix('$')?;
        if let Some(name) = path.strip_prefix("inputs.") {
            return Some(format!(
                "${{inputs{}}}",
                name.split('.').map(field).collect::<String>()
            ));
        }
        let (id, output) = path.strip_prefix("steps.")?.split_once(".outputs.")?;
        let (name, pointer) = output.split_once('#').unwrap_or((output, ""));
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        let known = outputs
            .get(&(id, name))
            .cloned()
            .unwrap_or_else(|| field(name));
        let pointer: String = pointer
            .split('/')
            .filter(|part| !part.is_empty())
            .map(field)
            .collect();
        Some(format!("${{{}{known}{rest}{pointer}}}", path_of(id)))
    };
    if let Some(found) = reference(text) {
        return found;
    }
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("{$") {
        let found = inside
            .split_once('}')
            .and_then(|(expression, behind)| Some((reference(&format!("${expression}"))?, behind)));
        written.push_str(before);
        match found {
            Some((found, behind)) => {
                written.push_str(&found);
                rest = behind;
            }
            None => {
                written.push_str("{$");
                rest = inside;
            }
        }
    }
    written + rest
}
