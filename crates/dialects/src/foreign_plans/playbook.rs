//! Playbooks of Ansible: the tasks of a play run one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Value;

use super::texts::{replace_references, replaced};
use super::{Translation, has_only, objects};
use crate::foreign_text::program_condition;
use crate::native::{UsedIds, path_of};

/// The fields of a task beside its module.
const FIELDS: [&str; 11] = [
    "name",
    "register",
    "when",
    "loop",
    "with_items",
    "ignore_errors",
    "tags",
    "retries",
    "delay",
    "until",
    "vars",
];

/// The fields of a play that have a meaning here, or none for a plan.
const PLAY: [&str; 6] = [
    "name",
    "hosts",
    "connection",
    "gather_facts",
    "tasks",
    "vars",
];

/// The maximum number of tasks.
const MAX_TASKS: usize = 1000;

/// Returns true for a task, which has its module as a key: `{"name": …, "get_time": {…}, "register": …}`.
fn is_task(task: &Value) -> bool {
    let Some(fields) = task.as_object() else {
        return false;
    };
    let mut modules = fields.iter().filter(|(key, _)| !FIELDS.contains(&&***key));
    let module = modules.next().filter(|(key, value)| {
        let is_word = !matches!(&***key, "id" | "tool" | "steps" | "hosts" | "tasks");
        is_word && key.contains(['_', '.', '/']) && value.as_object().is_some()
    });
    module.is_some() && modules.next().is_none() && (fields.len() > 1)
}

/// The translation of `[{"hosts": …, "tasks": […]}]`, or of the tasks alone.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let form = "a playbook of Ansible";
    let plays = objects(value)?;
    let is_play = |play: &Value| {
        play.get("tasks").is_some() && play.get("hosts").is_some() && has_only(play, &PLAY)
    };
    let are_tasks = !plays.is_empty() && plays.iter().all(is_task);
    // Tasks of another file may be included.
    let whole = Value::object([("tasks", value.clone())]);
    let plays = if are_tasks {
        std::slice::from_ref(&whole)
    } else {
        plays.iter().all(is_play).then_some(plays)?
    };
    let mut vars: Vec<(Arc<str>, Value)> = Vec::new();
    let mut steps: Vec<Value> = Vec::new();
    let mut used = UsedIds::default();
    let mut names: Vec<String> = Vec::new();
    let mut before: Option<String> = None;
    for play in plays {
        if let Some(variables) = play.get("vars") {
            let variables = variables.as_object()?.iter();
            vars.extend(variables.map(|(key, field)| (Arc::clone(key), field.clone())));
        }
        for task in objects(play.get("tasks")?)? {
            let is_module = |key: &Arc<str>| !FIELDS.contains(&&**key);
            let mut modules = task.as_object()?.iter().filter(|(key, _)| is_module(key));
            let ((tool, args), None) = (modules.next()?, modules.next()) else {
                return None;
            };
            let name = task.get("register").and_then(Value::as_text);
            let id = match name {
                Some(name) => {
                    used.insert(name.to_owned()).then_some(())?;
                    name.to_owned()
                }
                None => used.add_for(tool),
            };
            names.push(id.clone());
            if names.len() > MAX_TASKS {
                return None;
            }
            let mut fields: Vec<(Arc<str>, Value)> = vec![("id".into(), Value::text(id.as_str()))];
            if let Some(title) = task.get("name") {
                fields.push(("title".into(), title.clone()));
            }
            fields.push(("tool".into(), Value::text(tool.replace('/', "."))));
            match args {
                Value::Null => {}
                Value::Object(_) => fields.push(("args".into(), args.clone())),
                _ => return None,
            }
            if let Some(when) = task.get("when") {
                let conditions = match when {
                    Value::List(items) => items.to_vec(),
                    other => vec![other.clone()],
                };
                let conditions = conditions.iter().map(|condition| {
                    let condition = program_condition(condition.as_text()?, &names)?;
                    Some(format!("({condition})"))
                });
                let conditions = conditions.collect::<Option<Vec<_>>>()?;
                let joined = match conditions.as_slice() {
                    [only] => only[1..only.len() - 1].to_owned(),
                    several => several.join(" && "),
                };
                fields.push(("when".into(), Value::text(format!("${{{joined}}}"))));
            }
            for key in ["loop", "with_items"] {
                if let Some(list) = task.get(key) {
                    fields.push(("for_each".into(), list.clone()));
                }
            }
            if task.get("ignore_errors").and_then(Value::as_bool) == Some(true) {
                fields.push(("on_error".into(), Value::text("continue")));
            }
            if ["retries", "until", "vars"]
                .iter()
                .any(|key| task.get(key).is_some())
            {
                return None;
            }
            if let Some(before) = before.replace(id) {
                fields.push(("after".into(), Value::list([Value::text(before)])));
            }
            steps.push(Value::object(fields));
        }
    }
    let translation = Translation::complete(form, steps)?;
    if vars.is_empty() {
        return Some(translation);
    }
    let names: HashSet<Arc<str>> = vars.iter().map(|(name, _)| Arc::clone(name)).collect();
    let steps = translation.plan.get("steps")?;
    let steps = replaced(steps, &|text: &str| {
        replace_references(text, |path| {
            let end = path.find(['.', '[']).unwrap_or(path.len());
            let (name, rest) = path.split_at(end);
            names.get(name)?;
            Some(format!("${{vars.{}{rest}}}", path_of(name)))
        })
    });
    Some(Translation {
        plan: Value::object([("vars", Value::object(vars)), ("steps", steps)]),
        ..translation
    })
}
