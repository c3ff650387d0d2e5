//! State machines of AWS Step Functions: each state waits for the one before it, and paths such as `$.file.content` read the
//! values that earlier states stored.

pub(super) mod plain;

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Value;

use super::rules::condition;
use super::{Translation, escaped, has_only, step};
use crate::native::{path_of, quoted_length};

const FORM: &str = "a state machine of AWS Step Functions";

/// The fields of all states that have a meaning here.
const COMMON: [&str; 4] = ["Type", "Comment", "Next", "End"];

/// The fields of a task that have a meaning here.
const TASK: [&str; 7] = [
    "Resource",
    "Parameters",
    "Arguments",
    "ResultPath",
    "TimeoutSeconds",
    "Retry",
    "Catch",
];

/// The fields of a `Map` that have a meaning here.
const MAP: [&str; 5] = [
    "ItemProcessor",
    "Iterator",
    "ItemsPath",
    "MaxConcurrency",
    "ResultPath",
];

/// The translation of `{"StartAt": …, "States": {…}}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    value.get("StartAt").and_then(Value::as_text)?;
    let states = value.get("States")?.as_object()?;
    let mut machine = Machine::new("inputs");
    let is_known = has_only(value, &["StartAt", "States", "Comment", "Version"]);
    if is_known && machine.states(value, Value::list([])).is_some() {
        return Translation::complete(FORM, machine.steps).map(with_inputs);
    }
    let first = states.iter().find_map(|(name, state)| {
        let machine = Machine::new("inputs");
        let task = machine.task(name, state, &Value::list([]));
        // An example needs no arguments.
        task.or_else(|| {
            let tool = Value::text(tool(state)?);
            Some(step([
                ("id", Some(Value::text(&**name))),
                ("tool", Some(tool)),
            ]))
        })
    })?;
    Some(Translation::of_first_step(FORM, first))
}

/// `translation` with a declaration of each input that its steps read: who starts a state machine gives them.
fn with_inputs(translation: Translation) -> Translation {
    const ROOT: &str = "inputs.";
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let json = translation.plan.to_json();
    let mut inputs: Vec<(Arc<str>, Value)> = Vec::new();
    for (at, _) in json.match_indices(ROOT) {
        let rest = &json[at + ROOT.len()..];
        let name = &rest[..rest.find(|sign| !is_of_name(sign)).unwrap_or(rest.len())];
        // A text may have the word as well.
        let is_reference = json[..at]
            .rfind("${")
            .is_some_and(|open| !json[open..at].contains('}'))
            && !json[..at].ends_with(|sign: char| is_of_name(sign) || sign == '.');
        if is_reference && !name.is_empty() && !inputs.iter().any(|(known, _)| **known == *name) {
            inputs.push((Arc::from(name), Value::empty_object()));
        }
    }
    let fields = translation.plan.as_object().filter(|_| !inputs.is_empty());
    let Some(fields) = fields.filter(|fields| fields.get("inputs").is_none()) else {
        return translation;
    };
    let declared = [(Arc::from("inputs"), Value::object(inputs))];
    let fields = fields
        .iter()
        .map(|(key, value)| (Arc::clone(key), value.clone()));
    let plan = Value::object(declared.into_iter().chain(fields).collect::<Vec<_>>());
    Translation {
        plan,
        ..translation
    }
}

/// The state of a translation.
struct Machine {
    steps: Vec<Value>,
    /// The outputs of states by the paths at which they are put, the newest last; `None` if no reference reads it.
    paths: Vec<(String, Option<String>)>,
    /// The conditions of the open branches.
    conditions: Vec<String>,
    /// The names of the steps and choices so far; each occurs once in a plan.
    names: HashSet<String>,
    /// The length of all conditions, in bytes.
    added: usize,
    /// The state at which the branches of the open choice meet, which follows them.
    join: Option<String>,
}

/// The maximum nesting of choices.
const MAX_CHOICES: usize = 8;

/// The maximum length of the conditions of all steps together, in bytes.
const MAX_ADDED: usize = 100_000;

/// The fields of a choice that have a meaning here.
const CHOICE: [&str; 4] = ["Type", "Comment", "Choices", "Default"];

impl Machine {
    /// The state before any step, whose input is `input`.
    fn new(input: &str) -> Self {
        Self {
            steps: Vec::new(),
            paths: vec![(String::new(), Some(input.to_owned()))],
            conditions: Vec::new(),
            names: HashSet::new(),
            added: 0,
            join: None,
        }
    }

    /// Adds the states of `machine`, which wait for the steps in the list `before`. Returns the list of the last steps.
    fn states(&mut self, machine: &Value, before: Value) -> Option<Value> {
        self.states_from(machine, machine.get("StartAt")?.as_text()?, before)
    }

    /// Adds the states of `machine` from `name` on.
    fn states_from<'m>(
        &mut self,
        machine: &'m Value,
        mut name: &'m str,
        mut before: Value,
    ) -> Option<Value> {
        let states = machine.get("States")?.as_object()?;
        // A state that is visited twice belongs to a loop.
        for _ in 0..states.len() {
            if self.join.as_deref() == Some(name) {
                return Some(before);
            }
            let state = states.get(name)?;
            if state.get("Type").and_then(Value::as_text) == Some("Choice") {
                if !self.names.insert(name.to_owned()) {
                    return None;
                }
                let (last, meeting) = self.choice(machine, state, &before)?;
                let Some(next) = meeting else {
                    return Some(last);
                };
                (before, name) = (last, next);
                continue;
            }
            before = self.state(name, state, before)?;
            if let Some(catch) = state.get("Catch") {
                return self.caught(machine, (name, state), catch, &before);
            }
            match state.get("Next") {
                Some(next) => name = next.as_text()?,
                None => return Some(before),
            }
        }
        None
    }

    /// Adds the states after the task `name`: those of its `catch` if it fails, the others if it succeeds.
    fn caught(
        &mut self,
        machine: &Value,
        (name, state): (&str, &Value),
        catch: &Value,
        before: &Value,
    ) -> Option<Value> {
        let [rule] = catch.as_list()? else {
            return None;
        };
        let is_plain = has_only(rule, &["ErrorEquals", "ResultPath", "Next"]) && is_of_all(rule);
        if !is_plain || self.conditions.len() + 2 >= MAX_CHOICES || path_of(name) != name {
            return None;
        }
        let paths = self.paths.clone();
        if let Some(path) = rule.get("ResultPath").filter(|path| !path.is_null()) {
            // Nothing here has the error at that path.
            self.paths
                .push((path.as_text()?.strip_prefix('$')?.to_owned(), None));
        }
        self.conditions.push(format!("!results.{name}.success"));
        let handled = self.states_from(machine, rule.get("Next")?.as_text()?, before.clone())?;
        self.conditions.pop();
        self.paths = paths;
        let Some(next) = state.get("Next") else {
            return Some(handled);
        };
        self.conditions.push(format!("results.{name}.success"));
        let others = self.states_from(machine, next.as_text()?, before.clone())?;
        self.conditions.pop();
        Some(Value::list(
            [handled.as_list()?, others.as_list()?].concat(),
        ))
    }

    /// Adds the states of all branches of the choice `state`, each under its condition. Returns their last steps and the state in which
    /// the branches meet, if there is one. `None` if two branches have a step in common without that, or if no branch may be taken.
    fn choice<'m>(
        &mut self,
        machine: &'m Value,
        state: &'m Value,
        before: &Value,
    ) -> Option<(Value, Option<&'m str>)> {
        if self.conditions.len() >= MAX_CHOICES || !has_only(state, &CHOICE) {
            return None;
        }
        let mut branches: Vec<(String, &'m Value)> = Vec::new();
        let mut earlier = String::new();
        for choice in state.get("Choices")?.as_list()? {
            let condition = condition(choice, &|path| self.path(path))?;
            let negated = format!("!({condition})");
            let (all, others) = if earlier.is_empty() {
                (condition, negated)
            } else {
                let all = format!("{earlier} && ({condition})");
                (all, format!("{earlier} && {negated}"))
            };
            self.add(all.len())?;
            branches.push((all, choice.get("Next")?));
            earlier = others;
        }
        if branches.is_empty() {
            return None;
        }
        branches.push((earlier, state.get("Default")?));
        let starts: Option<Vec<&str>> = branches.iter().map(|(_, next)| next.as_text()).collect();
        let join = meeting(machine, &starts?);
        let outer = self.join.clone();
        if join.is_some() {
            self.join = join.map(str::to_owned);
        }
        let paths = self.paths.clone();
        let mut is_replaced = false;
        let mut put = Vec::new();
        let mut last: Vec<Value> = Vec::new();
        for (condition, next) in branches {
            self.conditions.push(condition);
            let ids = self.states_from(machine, next.as_text()?, before.clone())?;
            self.conditions.pop();
            match self.paths.strip_prefix(&*paths) {
                Some(own) => put.extend(own.iter().map(|(path, _)| (path.clone(), None))),
                None => is_replaced = true,
            }
            self.paths.clone_from(&paths);
            for id in ids.as_list()? {
                if !last.contains(id) {
                    last.push(id.clone());
                }
            }
        }
        self.join = outer;
        if join.is_some() {
            // No reference reads what only one of the branches has put at a path.
            if is_replaced {
                self.paths = vec![(String::new(), None)];
            }
            self.paths.extend(put);
        }
        Some((Value::list(last), join))
    }

    /// Adds the step `name` under the conditions of the open branches; `None` if the name is taken.
    fn push(&mut self, name: &str, step: &Value) -> Option<()> {
        if !self.names.insert(name.to_owned()) {
            return None;
        }
        self.add(self.conditions.iter().map(String::len).sum())?;
        let when = match self.conditions.as_slice() {
            [] => None,
            [only] => Some(format!("${{{only}}}")),
            several => {
                let all: Vec<String> = several.iter().map(|one| format!("({one})")).collect();
                Some(format!("${{{}}}", all.join(" && ")))
            }
        };
        let when = when.map(|when| (Arc::from("when"), Value::text(when)));
        let fields = step.as_object()?.iter();
        let fields = fields.map(|(key, field)| (Arc::clone(key), field.clone()));
        self.steps.push(Value::object(fields.chain(when)));
        Some(())
    }

    /// Counts `bytes` of conditions; `None` if there are too many.
    fn add(&mut self, bytes: usize) -> Option<()> {
        self.added += bytes;
        (self.added <= MAX_ADDED).then_some(())
    }

    /// Adds the steps of `state`. Returns the steps that the next state waits for.
    fn state(&mut self, name: &str, state: &Value, before: Value) -> Option<Value> {
        let kind = state.get("Type")?.as_text()?;
        let own: &[&str] = match kind {
            "Task" => &TASK,
            "Pass" => &["Result", "Parameters", "ResultPath"],
            "Parallel" => &["Branches", "ResultPath"],
            "Map" => &MAP,
            "Succeed" => &[],
            _ => return None,
        };
        let known: Vec<&str> = own.iter().chain(&COMMON).copied().collect();
        if !has_only(state, &known) {
            return None;
        }
        match kind {
            "Task" => {
                let step = self.task(name, state, &before)?;
                self.push(name, &step)?;
                self.put(state, Some(path_of(name)))?;
                Some(Value::list([Value::text(name)]))
            }
            "Pass" => {
                let value = match (state.get("Result"), state.get("Parameters")) {
                    (Some(result), None) => escaped(result),
                    (None, Some(parameters)) => self.arguments(parameters)?,
                    _ => return None,
                };
                let step = step([("id", Some(Value::text(name))), ("value", Some(value))]);
                self.push(name, &step)?;
                self.put(state, Some(path_of(name)))?;
                Some(before)
            }
            "Parallel" => {
                let mut last = Vec::new();
                let paths = self.paths.clone();
                // The states of a branch have names of their own.
                let join = self.join.take();
                for branch in state.get("Branches")?.as_list()? {
                    if !has_only(branch, &["StartAt", "States", "Comment"]) {
                        return None;
                    }
                    let ids = self.states(branch, before.clone())?;
                    last.extend_from_slice(ids.as_list()?);
                    self.paths.clone_from(&paths);
                }
                self.join = join;
                self.put(state, None)?;
                Some(Value::list(last))
            }
            "Map" => {
                let step = self.map(name, state, &before)?;
                self.push(name, &step)?;
                self.put(state, Some(path_of(name)))?;
                Some(Value::list([Value::text(name)]))
            }
            _ => Some(before),
        }
    }

    /// The step of a `Map`, whose only state is a task.
    fn map(&self, name: &str, state: &Value, before: &Value) -> Option<Value> {
        let inner = state
            .get("ItemProcessor")
            .or_else(|| state.get("Iterator"))?;
        let list = match state.get("ItemsPath") {
            Some(path) => path.as_text()?,
            None => "$",
        };
        let list = self.path(list)?;
        let states = inner.get("States")?.as_object()?;
        let ((_, only), 1) = (states.iter().next()?, states.len()) else {
            return None;
        };
        let is_task = only.get("Type").and_then(Value::as_text) == Some("Task");
        // The result would be merged into the item.
        if !is_task
            || only.get("ResultPath").is_some()
            || !has_only(inner, &["StartAt", "States", "Comment", "ProcessorConfig"])
        {
            return None;
        }
        let task = Self::new("item").task(name, only, before)?;
        let fields = task.as_object()?.iter();
        let fields = fields.map(|(key, field)| (Arc::clone(key), field.clone()));
        let over = ("for_each".into(), Value::text(format!("${{{list}}}")));
        let at_once = match state.get("MaxConcurrency") {
            Some(count) => Some(count.as_u64()?).filter(|count| *count > 0),
            None => None,
        };
        let at_once = at_once.map(|count| ("max_parallel".into(), Value::from(count)));
        Some(Value::object(fields.chain([over]).chain(at_once)))
    }

    /// The step of a task.
    fn task(&self, name: &str, state: &Value, before: &Value) -> Option<Value> {
        let known: Vec<&str> = TASK.iter().chain(&COMMON).copied().collect();
        let parameters = state.get("Parameters").or_else(|| state.get("Arguments"))?;
        let catches = |catch: &Value| catch.as_list().is_some_and(|rules| rules.len() == 1);
        if !has_only(state, &known) || !state.get("Catch").is_none_or(catches) {
            return None;
        }
        // A function gets its payload only.
        let arguments = match parameters.get("FunctionName") {
            Some(_) if has_only(parameters, &["FunctionName", "Payload"]) => {
                parameters.get("Payload")
            }
            Some(_) => return None,
            None => Some(parameters),
        };
        let args = match arguments {
            Some(arguments) => Some(self.arguments(arguments)?),
            None => None,
        };
        let after = before.as_list().filter(|ids| !ids.is_empty());
        let after = after.map(|_| before.clone());
        let timeout = match state.get("TimeoutSeconds") {
            Some(seconds) => Some(Value::text(format!("{}s", seconds.as_u64()?))),
            None => None,
        };
        let retry = match state.get("Retry") {
            Some(retry) => Some(attempts(retry)?),
            None => None,
        };
        Some(step([
            ("id", Some(Value::text(name))),
            ("title", state.get("Comment").cloned()),
            ("tool", Some(Value::text(tool(state)?))),
            ("args", args),
            ("after", after),
            ("timeout", timeout),
            ("retry", retry),
            (
                "on_error",
                state.get("Catch").map(|_| Value::text("continue")),
            ),
        ]))
    }

    /// `value` with references in place of the paths in fields such as `"a.$"`.
    fn arguments(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, field)| {
                    let Some(name) = key.strip_suffix(".$") else {
                        return Some((Arc::clone(key), self.arguments(field)?));
                    };
                    let value = self.computed(field.as_text()?)?;
                    Some((Arc::from(name), Value::text(value)))
                });
                Some(Value::object(fields.collect::<Option<Vec<_>>>()?))
            }
            Value::List(items) => {
                let items = items.iter().map(|item| self.arguments(item));
                Some(Value::list(items.collect::<Option<Vec<_>>>()?))
            }
            // `{% … %}` is an expression of JSONata.
            Value::Text(text) if text.starts_with("{%") => None,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                Some(escaped(value))
            }
        }
    }

    /// The text of a path, or of a function that makes a text of paths: `States.Format('{} items', $.n)`.
    fn computed(&self, written: &str) -> Option<String> {
        let reference = |path: &str| Some(format!("${{{}}}", self.path(path.trim())?));
        let inside = |name: &str| {
            written
                .strip_prefix(name)?
                .strip_prefix('(')?
                .strip_suffix(')')
        };
        if let Some(path) = inside("States.JsonToString") {
            return reference(path);
        }
        let Some(inside) = inside("States.Format") else {
            return reference(written);
        };
        let length = quoted_length(inside, '\'').filter(|_| inside.starts_with('\''))?;
        let template = &inside[1..length - 1];
        let mut values = inside[length..].split(',').skip(1);
        if template.contains(['\\', '$']) {
            return None;
        }
        let mut parts = template.split("{}");
        let mut text = parts.next()?.to_owned();
        for part in parts {
            text.push_str(&reference(values.next()?)?);
            text.push_str(part);
        }
        values.next().is_none().then_some(text)
    }

    /// The path in this dialect of a path such as `$.file.content`.
    fn path(&self, written: &str) -> Option<String> {
        let written = written.replace("$$.Map.Item.Value", "$");
        let path = written.strip_prefix('$')?;
        let is_plain = path
            .chars()
            .all(|sign| sign.is_alphanumeric() || "_.[]".contains(sign));
        let is_below = |root: &str, path: &str| {
            let rest = path.strip_prefix(root);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        for (root, meaning) in self.paths.iter().rev() {
            if is_below(root, path) {
                let root_of_rest = meaning.as_ref().filter(|_| is_plain)?;
                return Some(format!("{root_of_rest}{}", &path[root.len()..]));
            }
            // The value has the output of another state inside.
            if is_below(path, root) {
                return None;
            }
        }
        None
    }

    /// Stores the output of a state at its `ResultPath`; by default it replaces the whole data.
    fn put(&mut self, state: &Value, output: Option<String>) -> Option<()> {
        match state.get("ResultPath") {
            Some(Value::Null) => {}
            Some(path) => {
                let path = path.as_text()?.strip_prefix('$')?.to_owned();
                self.paths.push((path, output));
            }
            None => self.paths = vec![(String::new(), output)],
        }
        Some(())
    }
}

/// The first state that all ways of `machine` from `starts` on reach; `None` if there is none, or a way divides before.
fn meeting<'m>(machine: &'m Value, starts: &[&'m str]) -> Option<&'m str> {
    let states = machine.get("States")?.as_object()?;
    let way = |start: &'m str| {
        let mut way = vec![start];
        let mut name = start;
        while way.len() <= states.len()
            && let Some(state) = states.get(name)
            && state.get("Catch").is_none()
            && state.get("Choices").is_none()
            && let Some(next) = state.get("Next").and_then(Value::as_text)
        {
            way.push(next);
            name = next;
        }
        way
    };
    let (first, others) = starts.split_first()?;
    let others: Vec<HashSet<&str>> = others
        .iter()
        .map(|start| way(start).into_iter().collect())
        .collect();
    let mut met = way(first).into_iter();
    met.find(|name| others.iter().all(|way| way.contains(name)))
}

/// The number of attempts that `Retry` allows; `None` if it is more than one rule for all errors, with the usual delays.
fn attempts(retry: &Value) -> Option<Value> {
    let [rule] = retry.as_list()? else {
        return None;
    };
    // The delay here doubles as well.
    let doubles = rule
        .get("BackoffRate")
        .is_none_or(|rate| rate.as_f64() == Some(2.0));
    let known = [
        "ErrorEquals",
        "MaxAttempts",
        "IntervalSeconds",
        "BackoffRate",
    ];
    if !is_of_all(rule) || !doubles || !has_only(rule, &known) {
        return None;
    }
    let retries = rule.get("MaxAttempts").map_or(Some(3), Value::as_u64)?;
    let attempts = Value::from(retries.checked_add(1)?);
    match rule.get("IntervalSeconds") {
        Some(seconds) => Some(Value::object([
            ("attempts", attempts),
            ("delay", Value::text(format!("{}s", seconds.as_u64()?))),
        ])),
        None => Some(attempts),
    }
}

/// Returns true if the rule of `Retry` or `Catch` is for all errors of a call.
fn is_of_all(rule: &Value) -> bool {
    rule.get("ErrorEquals").is_none_or(|errors| {
        let names = errors.as_list().unwrap_or_default().iter();
        let mut names = names.map(|name| name.as_text().unwrap_or_default());
        matches!(
            (names.next(), names.next()),
            (Some("States.ALL" | "States.TaskFailed"), None)
        )
    })
}

/// The tool of a task: the last part of its resource, or the function that it invokes.
fn tool(state: &Value) -> Option<&str> {
    let resource = state.get("Resource")?.as_text()?;
    // The step would wait for more than the call.
    if resource.contains(".waitForTaskToken") || resource.contains(".sync") {
        return None;
    }
    let parameters = state.get("Parameters").or_else(|| state.get("Arguments"));
    let function = parameters.and_then(|parameters| parameters.get("FunctionName"));
    let name = match function {
        Some(function) => function.as_text()?,
        None => resource,
    };
    let name = name.strip_suffix(":$LATEST").unwrap_or(name);
    name.rsplit(':').next().filter(|name| !name.is_empty())
}
