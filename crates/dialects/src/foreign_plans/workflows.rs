//! Workflows of Kubernetes and of serverless systems: Argo, Tekton, Serverless Workflow, Google Cloud Workflows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::Value;

use super::texts::{constant, replace_references, replaced};
use super::{Translation, has_only, objects, others, step, waits};

/// The translation of a workflow.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    kubernetes(value)
        .or_else(|| serverless(value))
        .or_else(|| calls_by_name(value))
}

/// `{"spec": {"templates": [{"dag": {"tasks"}}]}}` of Argo, and `{"spec": {"tasks": […]}}` of Tekton.
fn kubernetes(value: &Value) -> Option<Translation> {
    let spec = value.get("spec")?;
    let form = "a workflow of Kubernetes";
    let templates = spec.get("templates").and_then(Value::as_list);
    let templates = templates.unwrap_or_default();
    let tasks_of = |template: &'_ Value| {
        let dag = template.get("dag").and_then(|dag| dag.get("tasks"));
        dag.or_else(|| template.get("steps")).cloned()
    };
    let mut mains = templates
        .iter()
        .filter(|template| tasks_of(template).is_some());
    let main = match spec.get("entrypoint") {
        Some(name) => mains.find(|template| template.get("name") == Some(name)),
        None => mains.next(),
    };
    let tasks = main
        .and_then(tasks_of)
        .or_else(|| spec.get("tasks").cloned())
        .or_else(|| spec.get("steps").cloned())?;
    // A template may be another group of tasks, or a tool; and `onExit` and `finally` run at the end.
    let known = [
        "entrypoint",
        "templates",
        "tasks",
        "steps",
        "serviceAccountName",
    ];
    let is_tool = |template: &Value| {
        let known = [
            "name",
            "container",
            "script",
            "inputs",
            "outputs",
            "metadata",
        ];
        has_only(template, &known)
    };
    let is_main = |template: &Value| {
        Some(template) == main
            && has_only(template, &["name", "dag", "steps"])
            && template
                .get("dag")
                .is_none_or(|dag| has_only(dag, &["tasks"]))
    };
    let mut left_out: Vec<String> = others(spec, &known).collect();
    let are_read = templates
        .iter()
        .all(|template| is_tool(template) || is_main(template));
    if !are_read || (main.is_none() && spec.get("templates").is_some()) {
        left_out.push("templates".to_owned());
    }
    let mut steps = Vec::new();
    let mut before = None;
    for item in tasks.as_list()? {
        // A nested list is a group that runs after the previous group.
        let is_group = item.as_list().is_some();
        let group = item.as_list().unwrap_or(std::slice::from_ref(item));
        let mut ids = Vec::new();
        for task in group {
            left_out.extend(others(task, &TASK));
            if task.get("name").is_none() {
                left_out.push("steps".to_owned());
            }
            ids.extend(task.get("name").cloned());
            steps.push(task_of(task, before.as_ref().filter(|_| is_group))?);
        }
        before = waits(ids).or(before);
    }
    if left_out.is_empty() {
        return Translation::complete(form, steps);
    }
    Translation::of_calls(form, steps, left_out)
}

/// The fields of a task that have a meaning here, or a guess.
const TASK: [&str; 13] = [
    "name",
    "template",
    "taskRef",
    "arguments",
    "params",
    "withItems",
    "withParam",
    "dependencies",
    "depends",
    "runAfter",
    "when",
    "retries",
    "timeout",
];

/// The step of a task, which waits for the steps `before`.
fn task_of(task: &Value, before: Option<&Value>) -> Option<Value> {
    let fields = task.as_object()?.iter().map(|(key, field)| {
        let (key, field) = match &**key {
            "name" => ("id", field.clone()),
            "template" => ("tool", field.clone()),
            "taskRef" => ("tool", field.get("name")?.clone()),
            "arguments" => ("args", arguments(field)?),
            "params" => ("args", list_of_arguments(field)?),
            "withItems" | "withParam" => ("for_each", field.clone()),
            other => return Some((Arc::from(other), field.clone())),
        };
        Some((Arc::from(key), field))
    });
    let mut fields: Vec<(Arc<str>, Value)> = fields.collect::<Option<_>>()?;
    if let Some(before) = before {
        fields.push(("after".into(), before.clone()));
    }
    Some(Value::object(fields))
}

/// The arguments in `{"parameters": […]}`, or by name.
fn arguments(value: &Value) -> Option<Value> {
    match value.get("parameters") {
        Some(parameters) if has_only(value, &["parameters"]) => list_of_arguments(parameters),
        Some(_) => None,
        None => list_of_arguments(value),
    }
}

/// `[{"name": "a", "value": 1}]` as `{"a": 1}`.
fn list_of_arguments(value: &Value) -> Option<Value> {
    let Some(items) = value.as_list() else {
        return value.as_object().map(|_| value.clone());
    };
    let fields = items.iter().map(|item| {
        let name = item.get("name")?.as_text()?;
        let value = item
            .get("value")
            .filter(|_| has_only(item, &["name", "value"]))?;
        Some((Arc::from(name), value.clone()))
    });
    Some(Value::object(fields.collect::<Option<Vec<_>>>()?))
}

/// `{"states": [{"actions": [{"functionRef": …}]}]}` of Serverless Workflow.
fn serverless(value: &Value) -> Option<Translation> {
    let states = objects(value.get("states")?)?;
    let known = [
        "id",
        "key",
        "name",
        "description",
        "version",
        "specVersion",
        "start",
        "functions",
        "states",
    ];
    if !has_only(value, &known) {
        return None;
    }
    let functions = value
        .get("functions")
        .and_then(Value::as_list)
        .unwrap_or_default();
    let operations = functions.iter().filter_map(|function| {
        let name = function.get("name")?.as_text()?;
        Some((name, function.get("operation")?))
    });
    let operations: HashMap<&str, &Value> = operations.collect();
    let mut steps = Vec::new();
    let mut before: Option<Value> = None;
    for state in in_order(value, states)? {
        let known = ["name", "type", "actions", "end", "transition", "actionMode"];
        let is_operation = state
            .get("type")
            .is_none_or(|kind| kind.as_text() == Some("operation"));
        if !has_only(state, &known) || !is_operation {
            return None;
        }
        let actions = objects(state.get("actions")?)?;
        for (index, action) in actions.iter().enumerate() {
            let call = action.get("functionRef")?;
            let is_plain = call.as_text().is_some() || has_only(call, &["refName", "arguments"]);
            if !has_only(action, &["name", "functionRef"]) || !is_plain {
                return None;
            }
            let name = call.get("refName").unwrap_or(call);
            let operation = name.as_text().and_then(|name| operations.get(name));
            let id = action.get("name").cloned().or_else(|| {
                let name = state.get("name")?.as_text()?;
                Some(match index {
                    0 => Value::text(name),
                    _ => Value::text(format!("{name}_{}", index + 1)),
                })
            });
            let after = before.take();
            before = waits(id.iter().cloned().collect());
            steps.push(step([
                ("id", id),
                ("tool", Some((*operation.unwrap_or(&name)).clone())),
                ("args", call.get("arguments").cloned()),
                ("after", after),
            ]));
        }
    }
    Translation::complete("a serverless workflow", steps)
}

/// The `states` of the workflow `value` in the order of their transitions, or as they are listed; `None` if some are not reached, or
/// twice.
fn in_order<'v>(value: &'v Value, states: &'v [Value]) -> Option<Vec<&'v Value>> {
    // `{"nextState": "a"}` and `"a"` are the same.
    fn target<'t>(value: &'t Value, field: &str) -> Option<&'t str> {
        match value {
            Value::Text(name) => Some(name),
            _ => value
                .get(field)
                .filter(|_| has_only(value, &[field]))?
                .as_text(),
        }
    }
    let named = states.iter().enumerate();
    let positions: HashMap<&str, usize> = named
        .filter_map(|(at, state)| Some((state.get("name")?.as_text()?, at)))
        .collect();
    let mut at = match value.get("start") {
        Some(start) => *positions.get(target(start, "stateName")?)?,
        None => 0,
    };
    let mut found: Vec<&Value> = Vec::new();
    // A state that is visited twice belongs to a loop.
    while found.len() < states.len() {
        let state = states.get(at)?;
        found.push(state);
        let ends = matches!(state.get("end"), Some(Value::Bool(true)));
        at = match state.get("transition") {
            Some(next) => *positions.get(target(next, "nextState")?)?,
            None if ends || at + 1 == states.len() => {
                return (found.len() == states.len()).then_some(found);
            }
            None => at + 1,
        };
    }
    None
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
    // Other parts are inputs, or separate workflows.
    let is_all = |value: &Value| {
        value.as_list().is_some() || has_only(value, &["main", "steps", "do", "document", "params"])
    };
    if !is_all(value) || !is_all(main) {
        return None;
    }
    let parameters = Parameters::of(main)?;
    let mut steps = Vec::new();
    let mut before: Option<Value> = None;
    let mut constants: HashMap<String, String> = HashMap::new();
    let mut output = None;
    let mut condition: Option<Value> = None;
    for (at, item) in items.iter().enumerate() {
        let mut fields = item.as_object()?.iter();
        let ((name, call), None) = (fields.next()?, fields.next()) else {
            return None;
        };
        // A return ends the workflow.
        output.is_none().then_some(())?;
        if let Some(returned) = call.get("return").filter(|_| has_only(call, &["return"])) {
            output = Some(parameters.written(&with_constants(returned, &constants)));
            continue;
        }
        if call.get("switch").is_some() {
            condition.is_none().then_some(())?;
            let next = items.get(at + 1).and_then(Value::as_object);
            let next = next.and_then(|next| next.keys().next());
            let found = condition_of(call, next.map(|name| &**name))?;
            condition = Some(parameters.written(&with_constants(&found, &constants)));
            continue;
        }
        if let Some(assigned) = call.get("assign").filter(|_| has_only(call, &["assign"])) {
            for (name, value) in objects(assigned)?
                .iter()
                .filter_map(Value::as_object)
                .flatten()
            {
                constants.insert(name.to_string(), constant(value)?);
            }
            continue;
        }
        let known = ["call", "with", "args", "arguments", "result", "if"];
        let tool = call.get("call").filter(|_| has_only(call, &known))?;
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
        fields.extend(others.map(|(key, field)| {
            let field = parameters.written(&with_constants(field, &constants));
            (key.clone(), field)
        }));
        if let Some(before) = before.replace(id) {
            fields.push(("after".into(), Value::list([before])));
        }
        if let Some(condition) = &condition {
            call.get("if").is_none().then_some(())?;
            fields.push(("when".into(), condition.clone()));
        }
        steps.push(Value::object(fields));
    }
    let translation = Translation::complete("a workflow of calls by name", steps)?;
    let inputs = parameters.inputs();
    if !translation.is_complete || (output.is_none() && inputs.is_none()) {
        return Some(translation);
    }
    let fields = [
        ("inputs", inputs),
        ("steps", translation.plan.get("steps").cloned()),
        ("output", output),
    ];
    Some(Translation {
        plan: step(fields),
        ..translation
    })
}

/// The condition of the steps behind a `switch` with one case, if the other one is the end of the workflow: `next` is the step behind.
fn condition_of(call: &Value, next: Option<&str>) -> Option<Value> {
    let [case] = objects(call.get("switch")?)? else {
        return None;
    };
    let is_known = has_only(call, &["switch", "next"]) && has_only(case, &["condition", "next"]);
    let condition = case.get("condition")?.as_text().filter(|_| is_known)?;
    let inside = condition.strip_prefix("${")?.strip_suffix('}')?;
    let target = |value: &Value| Some(value.get("next")?.as_text()?.to_owned());
    let (then, otherwise) = (target(case)?, target(call));
    if Some(&*then) == next && otherwise.as_deref() == Some("end") {
        return Some(Value::text(format!("${{{inside}}}")));
    }
    let goes_on = otherwise.is_none() || otherwise.as_deref() == next;
    (&*then == "end" && goes_on).then(|| Value::text(format!("${{!({inside})}}")))
}

/// The parameters of a workflow of Google: objects with all of its arguments, or the arguments themselves.
struct Parameters {
    /// The names of the parameters.
    names: Vec<String>,
    /// The fields of the only parameter, if only they are used.
    fields: Vec<String>,
}

impl Parameters {
    fn of(main: &Value) -> Option<Self> {
        let listed = main.get("params").map(Value::as_list);
        let listed = listed.unwrap_or(Some(&[]))?.iter();
        // A parameter with a default is an object.
        let names = listed.map(|name| name.as_text().map(ToString::to_string));
        let names = names.collect::<Option<Vec<_>>>()?;
        let mut fields = Vec::new();
        if let [name] = names.as_slice() {
            let mut is_whole = false;
            each_path(main, &mut |path| {
                let Some(rest) = path.strip_prefix(name.as_str()) else {
                    return;
                };
                match rest.strip_prefix('.').map(|rest| rest.split('.').next()) {
                    Some(Some(field)) if !field.is_empty() => {
                        if !fields.iter().any(|known| known == field) {
                            fields.push(field.to_owned());
                        }
                    }
                    _ => is_whole |= rest.is_empty(),
                }
            });
            if is_whole {
                fields.clear();
            }
        }
        Some(Self { names, fields })
    }

    /// The inputs of the plan; `None` if there are none.
    fn inputs(&self) -> Option<Value> {
        let names = if self.fields.is_empty() {
            &self.names
        } else {
            &self.fields
        };
        let inputs = names
            .iter()
            .map(|name| (Arc::from(name.as_str()), Value::empty_object()));
        let inputs: Vec<(Arc<str>, Value)> = inputs.collect();
        (!inputs.is_empty()).then(|| Value::object(inputs))
    }

    /// `value` with inputs in place of the parameters in its expressions, and with the functions of this dialect.
    fn written(&self, value: &Value) -> Value {
        replaced(value, &|text| {
            let mut written = text.to_owned();
            for range in paths(text).into_iter().rev() {
                let path = &text[range.clone()];
                let root = path.split('.').next().unwrap_or_default();
                if !self.names.iter().any(|name| name == root) {
                    continue;
                }
                let meant = if self.fields.is_empty() {
                    format!("inputs.{path}")
                } else {
                    format!("inputs{}", &path[root.len()..])
                };
                written.replace_range(range, &meant);
            }
            with_matches(&written).unwrap_or(written)
        })
    }
}

/// Calls `visit` with each path in the expressions of the texts of `value`.
fn each_path(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::Text(text) => {
            for range in paths(text) {
                visit(&text[range]);
            }
        }
        Value::List(items) => items.iter().for_each(|item| each_path(item, visit)),
        Value::Object(fields) => fields.values().for_each(|field| each_path(field, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The places of names with fields in the expressions `${…}` of `text`, outside of quotes.
fn paths(text: &str) -> Vec<Range<usize>> {
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut is_inside, mut quote) = (false, None);
    let mut before = ' ';
    for (at, sign) in text.char_indices() {
        match (is_inside, quote) {
            (false, _) => is_inside = before == '$' && sign == '{',
            (true, Some(open)) if open == sign => quote = None,
            (true, None) if sign == '}' => is_inside = false,
            (true, None) if matches!(sign, '"' | '\'') => quote = Some(sign),
            (true, None) if is_name(sign) || sign == '.' => match found.last_mut() {
                Some(range) if range.end == at => range.end = at + sign.len_utf8(),
                _ if sign != '.' => found.push(at..at + sign.len_utf8()),
                _ => {}
            },
            (true, _) => {}
        }
        before = sign;
    }
    found
}

/// `text` with the method of this dialect in place of the only `text.match_regex(a, "b")`.
fn with_matches(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("text.match_regex(")?;
    let (value, rest) = rest.split_once(',')?;
    let is_path = |sign: char| sign.is_alphanumeric() || "_.".contains(sign);
    let pattern = rest.trim_start();
    let quote = pattern
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let (pattern, behind) = pattern.get(1..)?.split_once(quote)?;
    let behind = behind.trim_start().strip_prefix(')')?;
    let value = value.trim();
    (value.chars().all(is_path) && !behind.contains("text.match_regex("))
        .then(|| format!("{before}{value}.matches({quote}{pattern}{quote}){behind}"))
}

/// `value` with constants in place of their names in its references.
fn with_constants(value: &Value, constants: &HashMap<String, String>) -> Value {
    replaced(value, &|text: &str| {
        replace_references(text, |path| constants.get(path).cloned())
    })
}
