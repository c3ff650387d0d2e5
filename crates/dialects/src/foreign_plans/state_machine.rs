//! State machines of AWS Step Functions: each state waits for the one before it, and paths such as `$.file.content` read what the
//! states have put there.

use std::sync::Arc;

use planwright_core::Value;

use super::{Translation, escaped, step};
use crate::native::path_of;

const FORM: &str = "a state machine of AWS Step Functions";

/// The translation of `{"StartAt": …, "States": {…}}`.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    value.get("StartAt").and_then(Value::as_text)?;
    let states = value.get("States")?.as_object()?;
    let mut machine = Machine {
        steps: Vec::new(),
        paths: vec![(String::new(), Some("inputs".to_owned()))],
        conditions: Vec::new(),
    };
    if machine.states(value, Vec::new()).is_some() {
        return Translation::complete(FORM, machine.steps);
    }
    let first = states.iter().find_map(|(name, state)| {
        tool(state)?;
        Machine {
            steps: Vec::new(),
            paths: vec![(String::new(), Some("inputs".to_owned()))],
            conditions: Vec::new(),
        }
        .task(name, state, &[])
    })?;
    Some(Translation::of_first_step(FORM, first))
}

/// The state of a translation.
struct Machine {
    steps: Vec<Value>,
    /// The outputs of states by the paths at which they are put, the newest last; `None` if no reference reads it.
    paths: Vec<(String, Option<String>)>,
    /// The conditions of the open branches.
    conditions: Vec<String>,
}

/// The maximum number of choices, one in the branches of another.
const MAX_CHOICES: usize = 8;

impl Machine {
    /// Adds the states of `machine`, which wait for the steps `before`. Returns the ids of the last steps.
    fn states(&mut self, machine: &Value, before: Vec<Value>) -> Option<Vec<Value>> {
        self.states_from(machine, machine.get("StartAt")?.as_text()?, before)
    }

    /// Adds the states of `machine` from `name` on.
    fn states_from<'m>(
        &mut self,
        machine: &'m Value,
        mut name: &'m str,
        mut before: Vec<Value>,
    ) -> Option<Vec<Value>> {
        let states = machine.get("States")?.as_object()?;
        // A state that is visited twice belongs to a loop.
        for _ in 0..states.len() {
            let state = states.get(name)?;
            if state.get("Type").and_then(Value::as_text) == Some("Choice") {
                return self.choice(machine, state, before);
            }
            before = self.state(name, state, before)?;
            match state.get("Next") {
                Some(next) => name = next.as_text()?,
                None => return Some(before),
            }
        }
        None
    }

    /// Adds the states of all branches of a choice, each under its condition. A state of two branches has no counterpart.
    fn choice<'m>(
        &mut self,
        machine: &'m Value,
        state: &'m Value,
        before: Vec<Value>,
    ) -> Option<Vec<Value>> {
        (self.conditions.len() < MAX_CHOICES).then_some(())?;
        let mut last = Vec::new();
        let mut earlier: Vec<String> = Vec::new();
        let mut branches: Vec<(String, &'m Value)> = Vec::new();
        for choice in state.get("Choices")?.as_list()? {
            let condition = self.rule(choice, 0)?;
            let mut all: Vec<String> = earlier.iter().map(|one| format!("!({one})")).collect();
            earlier.push(condition.clone());
            all.push(if all.is_empty() {
                condition
            } else {
                format!("({condition})")
            });
            branches.push((all.join(" && "), choice.get("Next")?));
        }
        if let Some(default) = state.get("Default") {
            let all: Vec<String> = earlier.iter().map(|one| format!("!({one})")).collect();
            branches.push((all.join(" && "), default));
        }
        for (condition, next) in branches {
            let paths = self.paths.clone();
            self.conditions.push(condition);
            let steps = self.states_from(machine, next.as_text()?, before.clone());
            self.conditions.pop();
            self.paths = paths;
            last.extend(steps?);
        }
        let mut ids: Vec<&str> = self
            .steps
            .iter()
            .filter_map(|step| step.get("id")?.as_text())
            .collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        (ids.len() == count).then_some(last)
    }

    /// The condition of a rule such as `{"Variable": "$.a", "NumericGreaterThan": 0}`.
    fn rule(&self, rule: &Value, depth: usize) -> Option<String> {
        (depth < MAX_CHOICES).then_some(())?;
        for (word, sign) in [("And", " && "), ("Or", " || ")] {
            if let Some(rules) = rule.get(word) {
                let rules = rules
                    .as_list()?
                    .iter()
                    .map(|rule| Some(format!("({})", self.rule(rule, depth + 1)?)));
                return Some(rules.collect::<Option<Vec<_>>>()?.join(sign));
            }
        }
        if let Some(inner) = rule.get("Not") {
            return Some(format!("!({})", self.rule(inner, depth + 1)?));
        }
        let path = self.path(rule.get("Variable")?.as_text()?)?;
        rule.as_object()?.iter().find_map(|(key, value)| {
            let end = ["Numeric", "String", "Boolean"]
                .iter()
                .find_map(|kind| key.strip_prefix(kind))?;
            let sign = match end {
                "Equals" => "==",
                "GreaterThan" => ">",
                "GreaterThanEquals" => ">=",
                "LessThan" => "<",
                "LessThanEquals" => "<=",
                _ => return None,
            };
            let value = match value {
                Value::Text(text) if !text.contains(['\'', '\\', '{', '}', '\n']) => {
                    format!("'{text}'")
                }
                Value::Number(_) | Value::Bool(_) => value.to_json(),
                _ => return None,
            };
            Some(format!("{path} {sign} {value}"))
        })
    }

    /// Adds the steps of `state`. Returns the ids for which the next state waits.
    fn state(&mut self, name: &str, state: &Value, before: Vec<Value>) -> Option<Vec<Value>> {
        match state.get("Type")?.as_text()? {
            "Task" => {
                let step = self.task(name, state, &before)?;
                self.steps.push(step);
                self.put(state, Some(path_of(name)))?;
                Some(vec![Value::text(name)])
            }
            "Pass" => {
                let value = match state.get("Result") {
                    Some(result) => escaped(result),
                    None => self.arguments(state.get("Parameters")?)?,
                };
                self.steps.push(step([
                    ("id", Some(Value::text(name))),
                    ("value", Some(value)),
                ]));
                self.put(state, Some(path_of(name)))?;
                Some(before)
            }
            "Parallel" => {
                let mut last = Vec::new();
                let paths = self.paths.clone();
                for branch in state.get("Branches")?.as_list()? {
                    last.extend(self.states(branch, before.clone())?);
                    self.paths.clone_from(&paths);
                }
                self.put(state, None)?;
                Some(last)
            }
            "Map" => {
                let inner = state
                    .get("ItemProcessor")
                    .or_else(|| state.get("Iterator"))?;
                let list = state
                    .get("ItemsPath")
                    .and_then(Value::as_text)
                    .unwrap_or("$");
                let list = self.path(list)?;
                let states = inner.get("States")?.as_object()?;
                let ((_, only), 1) = (states.iter().next()?, states.len()) else {
                    return None;
                };
                let items = Self {
                    steps: Vec::new(),
                    paths: vec![(String::new(), Some("item".to_owned()))],
                    conditions: self.conditions.clone(),
                };
                let task = items.task(name, only, &before)?;
                let fields = task.as_object()?.iter();
                let fields = fields.map(|(key, field)| (Arc::clone(key), field.clone()));
                let over = ("for_each".into(), Value::text(format!("${{{list}}}")));
                self.steps.push(Value::object(fields.chain([over])));
                self.put(state, Some(path_of(name)))?;
                Some(vec![Value::text(name)])
            }
            "Succeed" => Some(before),
            _ => None,
        }
    }

    /// The step of a task.
    fn task(&self, name: &str, state: &Value, before: &[Value]) -> Option<Value> {
        let known = [
            "Type",
            "Resource",
            "Parameters",
            "Arguments",
            "ResultPath",
            "Next",
            "End",
            "Comment",
            "TimeoutSeconds",
            "Retry",
            "InputPath",
        ];
        if !state.as_object()?.keys().all(|key| known.contains(&&**key)) {
            return None;
        }
        let parameters = state.get("Parameters").or_else(|| state.get("Arguments"));
        let payload = parameters.and_then(|parameters| parameters.get("Payload"));
        let args = match payload.or(parameters) {
            Some(parameters) => Some(self.arguments(parameters)?),
            None => None,
        };
        let timeout = state.get("TimeoutSeconds").and_then(Value::as_u64);
        let retry = state.get("Retry").map(|retry| {
            let attempts = retry.as_list()?.first()?.get("MaxAttempts");
            let attempts = attempts.map_or(Some(3), Value::as_u64)?;
            Value::from_json(&attempts.checked_add(1)?.to_string()).ok()
        });
        let title = state.get("Comment").cloned();
        let when = match self.conditions.as_slice() {
            [] => None,
            [only] => Some(format!("${{{only}}}")),
            several => {
                let all: Vec<String> = several.iter().map(|one| format!("({one})")).collect();
                Some(format!("${{{}}}", all.join(" && ")))
            }
        };
        let when = when.map(Value::text);
        Some(step([
            ("id", Some(Value::text(name))),
            ("title", title),
            ("tool", Some(Value::text(tool(state)?))),
            ("args", args),
            (
                "after",
                (!before.is_empty()).then(|| Value::list(before.to_vec())),
            ),
            ("when", when),
            (
                "timeout",
                timeout.map(|seconds| Value::text(format!("{seconds}s"))),
            ),
            (
                "retry",
                match retry {
                    Some(retry) => Some(retry?),
                    None => None,
                },
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
                    let path = self.path(field.as_text()?)?;
                    Some((Arc::from(name), Value::text(format!("${{{path}}}"))))
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

    /// The path in this dialect of a path such as `$.file.content`.
    fn path(&self, written: &str) -> Option<String> {
        let written = written.replace("$$.Map.Item.Value", "$");
        let path = written.strip_prefix('$')?;
        let is_plain = path
            .chars()
            .all(|sign| sign.is_alphanumeric() || "_.[]".contains(sign));
        let is_below = |root: &str| {
            let rest = path.strip_prefix(root)?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
        };
        let mut found = self.paths.iter().rev();
        let (rest, root) =
            found.find_map(|(root, meaning)| Some((is_below(root)?, meaning.as_ref()?)))?;
        is_plain.then(|| format!("{root}{rest}"))
    }

    /// Puts the output of a state where its `ResultPath` says; by default it replaces everything.
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

/// The tool of a task: the last part of its resource, or the function that it invokes.
fn tool(state: &Value) -> Option<&str> {
    let resource = state.get("Resource")?.as_text()?;
    let parameters = state.get("Parameters").or_else(|| state.get("Arguments"));
    let function = parameters.and_then(|parameters| parameters.get("FunctionName"));
    let name = match function {
        Some(function) => function.as_text()?,
        None => resource,
    };
    name.rsplit(':').next().filter(|name| !name.is_empty())
}
