//! Playbooks of Ansible: the tasks of a play run one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Value;

use super::texts::{replace_references, replaced};
use super::{Translation, has_only, objects, step};
use crate::foreign_text::program_condition;
use crate::native::{UsedIds, path_of};

/// A field of a step with its value, if the step needs it.
type NeededField = Option<(Arc<str>, Value)>;

/// The fields of a task beside its module.
const FIELDS: [&str; 22] = [
    "name",
    "register",
    "when",
    "loop",
    "with_items",
    "loop_control",
    "ignore_errors",
    "tags",
    "retries",
    "delay",
    "until",
    "vars",
    "notify",
    "become",
    "become_user",
    "delegate_to",
    "run_once",
    "no_log",
    "changed_when",
    "failed_when",
    "environment",
    "check_mode",
];

/// The keys among them without a counterpart in a plan.
const LEFT_OUT: [&str; 6] = [
    "become",
    "notify",
    "delegate_to",
    "failed_when",
    "environment",
    "check_mode",
];

/// The fields of a play that have a meaning here, or none for a plan.
const PLAY: [&str; 8] = [
    "name",
    "hosts",
    "connection",
    "gather_facts",
    "become",
    "tags",
    "tasks",
    "vars",
];

/// The maximum number of tasks.
const MAX_TASKS: usize = 1000;

/// The number of retries of a task that runs until a condition holds.
const DEFAULT_RETRIES: u64 = 3;

/// The tool and the arguments of a task, which has its module as a key: `{"name": …, "get_time": {…}, "register": …}`.
fn module(task: &Value) -> Option<(&Arc<str>, &Value)> {
    let is_module = |key: &Arc<str>| !FIELDS.contains(&&**key);
    let mut modules = task.as_object()?.iter().filter(|(key, _)| is_module(key));
    let (tool, args) = modules.next().filter(|(key, args)| {
        let is_word = !matches!(
            &***key,
            "id" | "tool" | "steps" | "hosts" | "tasks" | "block"
        );
        is_word && matches!(args, Value::Object(_) | Value::Null)
    })?;
    modules.next().is_none().then_some((tool, args))
}

/// Returns true for a task outside of a play.
fn is_task(task: &Value) -> bool {
    let is_named = |(tool, args): (&Arc<str>, &Value)| {
        tool.contains(['_', '.', '/']) && args.as_object().is_some()
    };
    module(task).is_some_and(is_named) && task.as_object().is_some_and(|fields| fields.len() > 1)
}

fn is_play(play: &Value) -> bool {
    let tasks = play.get("tasks").and_then(objects);
    has_only(play, &PLAY)
        && tasks.is_some_and(|tasks| {
            play.get("hosts").is_some() || tasks.iter().all(|task| module(task).is_some())
        })
}

/// `text` without the `stdout` of results: what a tool prints is its output.
fn without_streams(text: &str) -> String {
    if !text.contains("{{") || text.contains("stdout_lines") {
        return text.to_owned();
    }
    // A file may have such a name, so the text around the markers stays.
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, marker)) = rest.split_once("{{") {
        let length = marker.find("}}").unwrap_or(marker.len());
        let (marker, after) = marker.split_at(length);
        plain.extend([before, "{{"]);
        plain.push_str(
            &marker
                .replace(" | map(attribute='stdout')", "")
                .replace(" | map(attribute=\"stdout\")", "")
                .replace(".stdout", ""),
        );
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// The translation of `[{"hosts": …, "tasks": […]}]`, of one play, or of the tasks alone.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let form = "a playbook of Ansible";
    let single = std::slice::from_ref(value);
    let plays = objects(value).unwrap_or(single);
    // Tasks of another file may be included.
    let whole = Value::object([("tasks", value.clone())]);
    let plays = if value.as_list().is_some() && plays.iter().all(is_task) {
        std::slice::from_ref(&whole)
    } else {
        plays.iter().all(is_play).then_some(plays)?
    };
    let mut vars: Vec<(Arc<str>, Value)> = Vec::new();
    let mut tasks = Tasks::default();
    for play in plays {
        if let Some(variables) = play.get("vars") {
            let variables = variables.as_object()?.iter();
            vars.extend(variables.map(|(key, field)| (Arc::clone(key), field.clone())));
        }
        tasks.leave_out(play, &["become", "tags"]);
        for task in objects(play.get("tasks")?)? {
            tasks.add(task)?;
        }
    }
    let translation = Translation {
        left_out: tasks.left_out,
        ..Translation::complete(form, tasks.steps)?
    };
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

/// The steps of the tasks so far.
#[derive(Default)]
struct Tasks {
    steps: Vec<Value>,
    used: UsedIds,
    /// The names in conditions: the ids of the steps, and the item of a loop.
    names: Vec<String>,
    before: Option<String>,
    left_out: Vec<String>,
}

impl Tasks {
    /// Adds the step of `task`, which runs after the one before it.
    fn add(&mut self, task: &Value) -> Option<()> {
        let (tool, args) = module(task).filter(|_| self.steps.len() < MAX_TASKS)?;
        task.get("vars").is_none().then_some(())?;
        let id = match task.get("register").and_then(Value::as_text) {
            Some(name) => {
                self.used.insert(name.to_owned()).then_some(())?;
                name.to_owned()
            }
            None => self.used.add_for(tool),
        };
        self.names.push(id.clone());
        let mut fields: Vec<(Arc<str>, Value)> = vec![("id".into(), Value::text(id.as_str()))];
        if let Some(title) = task.get("name") {
            fields.push(("title".into(), title.clone()));
        }
        fields.push(("tool".into(), Value::text(tool.replace('/', "."))));
        if args.as_object().is_some() {
            fields.push(("args".into(), replaced(args, &without_streams)));
        }
        if let Some(list) = ["loop", "with_items"].iter().find_map(|key| task.get(key)) {
            fields.push(("for_each".into(), list.clone()));
            let item = task
                .get("loop_control")
                .and_then(|control| control.get("loop_var"));
            let item = item.and_then(Value::as_text).unwrap_or("item");
            if item != "item" {
                fields.push(("as".into(), Value::text(item)));
            }
            self.names.push(item.to_owned());
        }
        if let Some(when) = task.get("when") {
            fields.push(("when".into(), self.condition(when)?));
        }
        fields.extend(self.attempts(task, &id)?);
        if task.get("ignore_errors").and_then(Value::as_bool) == Some(true) {
            fields.push(("on_error".into(), Value::text("continue")));
        }
        if let Some(before) = self.before.replace(id) {
            fields.push(("after".into(), Value::list([Value::text(before)])));
        }
        self.leave_out(task, &LEFT_OUT);
        self.steps.push(Value::object(fields));
        Some(())
    }

    fn leave_out(&mut self, value: &Value, keys: &[&str]) {
        for key in keys.iter().filter(|key| value.get(key).is_some()) {
            if !self.left_out.iter().any(|known| known == key) {
                self.left_out.push((*key).to_owned());
            }
        }
    }

    /// The condition `when`; all of a list hold.
    fn condition(&self, when: &Value) -> Option<Value> {
        let conditions = when.as_list().unwrap_or(std::slice::from_ref(when));
        let conditions = conditions.iter().map(|condition| match condition {
            Value::Bool(value) => Some(value.to_string()),
            other => program_condition(inside(other.as_text()?), &self.names),
        });
        let conditions = conditions.collect::<Option<Vec<_>>>()?;
        let joined = match conditions.as_slice() {
            [only] => only.clone(),
            several => format!("({})", several.join(") && (")),
        };
        Some(Value::text(format!("${{{joined}}}")))
    }

    /// The attempts of `task`: further ones after a failure, or rounds until its output satisfies a condition.
    fn attempts(&mut self, task: &Value, id: &str) -> Option<NeededField> {
        let count = |key| task.get(key).map(Value::as_u64);
        let (retries, delay) = (count("retries"), count("delay"));
        if retries.is_none() && task.get("until").is_none() {
            return Some(None);
        }
        let attempts = retries.unwrap_or(Some(DEFAULT_RETRIES))?.checked_add(1)?;
        let attempts = Value::from_json(&attempts.to_string()).ok()?;
        let until = task.get("until").map(|until| self.condition(until));
        let success = format!("${{results.{id}.success}}");
        let is_success = |until: &Value| until.as_text() == Some(&*success);
        Some(Some(match until {
            Some(until) if !is_success(until.as_ref()?) => {
                if delay.is_some() {
                    self.left_out.push("delay".to_owned());
                }
                (
                    "repeat".into(),
                    Value::object([("until", until?), ("max", attempts)]),
                )
            }
            _ => {
                let delay = delay
                    .flatten()
                    .map(|delay| Value::text(format!("{delay}s")));
                (
                    "retry".into(),
                    step([("attempts", Some(attempts)), ("delay", delay)]),
                )
            }
        }))
    }
}

/// The inside of `{{ … }}`, or all of `text`.
fn inside(text: &str) -> &str {
    let inside = text
        .trim()
        .strip_prefix("{{")
        .and_then(|text| text.strip_suffix("}}"));
    inside.unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::without_streams;

    #[test]
    fn names_of_files_keep_their_end() {
        for (text, plain) in [
            ("{{ a.stdout }} in run.stdout", "{{ a }} in run.stdout"),
            ("log.stdout", "log.stdout"),
            ("{{ a.stdout_lines }}", "{{ a.stdout_lines }}"),
            ("{{ a.stdout", "{{ a"),
        ] {
            assert_eq!(without_streams(text), plain);
        }
    }
}
