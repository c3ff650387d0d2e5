//! State machines in a plain form, `{"initial": …, "states": {…}}`: each state makes a call and names the next one, or several with
//! conditions.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::super::{Translation, has_only, objects, step, waits};
use crate::native::{Language, expression_in, path_of, without_markers};

const FORM: &str = "a state machine";

/// The words for the first state.
const STARTS: [&str; 7] = [
    "initial",
    "start",
    "initial_state",
    "initialState",
    "startAt",
    "start_at",
    "entry_point",
];

/// The fields of a state that hold its call.
const CALLS: [&str; 7] = [
    "action", "call", "invoke", "do", "entry", "task", "on_enter",
];

/// The fields of a state that name the next one.
const NEXT: [&str; 12] = [
    "next",
    "goto",
    "then",
    "to",
    "on_success",
    "onSuccess",
    "onDone",
    "on_done",
    "success",
    "transition",
    "next_state",
    "nextState",
];

/// The fields of a state that list the next ones with their conditions.
const CHOICES: [&str; 5] = ["transitions", "next", "choices", "branches", "on"];

/// The fields of a state that name the one after a failure.
const FAILURES: [&str; 7] = [
    "on_error",
    "onError",
    "on_failure",
    "onFailure",
    "error",
    "failure",
    "catch",
];

/// The fields of a state that say that it is the last one, or what it is for.
const MARKS: [&str; 8] = [
    "type",
    "end",
    "final",
    "terminal",
    "description",
    "name",
    "id",
    "comment",
];

/// The maximum number of states.
const MAX_STATES: usize = 200;

/// The translation of a state machine.
pub(in crate::foreign_plans) fn translation(value: &Value) -> Option<Translation> {
    let states = states_of(value.get("states")?)?;
    let known = [
        &STARTS[..],
        &["states", "name", "id", "description", "version"],
    ]
    .concat();
    has_only(value, &known).then_some(())?;
    let start = STARTS.iter().find_map(|word| value.get(word)?.as_text());
    let start = start.or_else(|| Some(&*states.first()?.0))?.to_owned();
    (states.len() <= MAX_STATES).then_some(())?;
    let order = ordered(&states, &start)?;
    let mut ways: HashMap<String, Vec<Way>> = HashMap::new();
    ways.insert(start, vec![Way::default()]);
    let mut steps = Vec::new();
    for name in order {
        let (_, state) = states.iter().find(|(known, _)| **known == *name)?;
        let incoming = ways.remove(&name).unwrap_or_default();
        let condition = joined(&incoming);
        let mut after: Vec<Value> = Vec::new();
        for id in incoming.iter().flat_map(|way| &way.after) {
            let id = Value::text(id.as_str());
            if !after.contains(&id) {
                after.push(id);
            }
        }
        let exits = exits(&name, state)?;
        let mut behind: Vec<String> = incoming.iter().flat_map(|way| way.after.clone()).collect();
        if let Some((tool, mut args)) = call(state)? {
            let fails = exits.iter().any(|exit| exit.is_failure);
            let when = condition
                .as_ref()
                .map(|when| Value::text(format!("${{{when}}}")));
            if args
                .as_object()
                .is_some_and(planwright_core::Object::is_empty)
            {
                args = Value::Null;
            }
            steps.push(step([
                ("id", Some(Value::text(name.as_str()))),
                ("tool", Some(Value::text(tool))),
                ("args", Some(args).filter(|args| !args.is_null())),
                ("when", when),
                ("after", waits(after)),
                ("on_error", fails.then(|| Value::text("continue"))),
            ]));
            behind = vec![name.clone()];
        }
        for exit in exits {
            let condition = match (&condition, exit.condition) {
                (Some(before), Some(own)) => Some(format!("({before}) && ({own})")),
                (before, own) => own.or_else(|| before.clone()),
            };
            ways.entry(exit.to).or_default().push(Way {
                condition,
                after: behind.clone(),
                is_rest: exit.is_rest,
            });
        }
    }
    Translation::complete(FORM, steps)
}

/// A way into a state.
#[derive(Clone, Debug, Default)]
struct Way {
    condition: Option<String>,
    after: Vec<String>,
    /// True if it is taken where no other way out of its state is.
    is_rest: bool,
}

/// A way out of a state.
struct Exit {
    to: String,
    condition: Option<String>,
    is_failure: bool,
    is_rest: bool,
}

/// The condition of a state with these ways into it; `None` if it is always reached.
fn joined(ways: &[Way]) -> Option<String> {
    // A way without a condition is always taken.
    let conditions: Option<Vec<&String>> = ways.iter().map(|way| way.condition.as_ref()).collect();
    let mut conditions = conditions?;
    conditions.sort();
    conditions.dedup();
    // Of a choice and its opposite, one is taken.
    let is_all = conditions.iter().any(|condition| {
        let opposite = format!("!({condition})");
        conditions.iter().any(|other| **other == opposite)
    });
    match conditions.as_slice() {
        [] => None,
        _ if is_all && ways.iter().any(|way| way.is_rest) => None,
        [only] => Some((*only).clone()),
        several => {
            let several: Vec<String> = several.iter().map(|one| format!("({one})")).collect();
            Some(several.join(" || "))
        }
    }
}

/// The states in an object by name, or in a list of states with names.
fn states_of(value: &Value) -> Option<Vec<(Arc<str>, &Value)>> {
    if let Some(fields) = value.as_object() {
        let states = fields.iter();
        return Some(
            states
                .map(|(name, state)| (Arc::clone(name), state))
                .collect(),
        );
    }
    let states = objects(value)?.iter().map(|state| {
        let name = ["name", "id", "state"]
            .iter()
            .find_map(|key| state.get(key)?.as_text())?;
        Some((Arc::from(name), state))
    });
    states.collect()
}

/// The tool and the arguments of a state; `None` in it if the state makes no call, and `None` if it says more than that.
#[expect(clippy::option_option, reason = "no call is a valid state")]
fn call(state: &Value) -> Option<Option<(String, Value)>> {
    let fields = state.as_object()?;
    let mut holder = state;
    for word in CALLS {
        match fields.get(word) {
            Some(inner @ Value::Object(_)) => holder = inner,
            Some(Value::Text(tool)) if fields.get("tool").is_none() => {
                return Some(Some((tool.to_string(), args_of(state)?)));
            }
            Some(_) => return None,
            None => {}
        }
    }
    let own = [
        &CALLS[..],
        &NEXT,
        &CHOICES,
        &FAILURES,
        &MARKS,
        &[
            "tool",
            "args",
            "arguments",
            "params",
            "input",
            "parameters",
            "with",
            "state",
        ],
    ]
    .concat();
    has_only(state, &own).then_some(())?;
    let tool = ["tool", "name", "src"]
        .iter()
        .filter(|key| **key == "tool" || !std::ptr::eq(holder, state))
        .find_map(|key| holder.get(key)?.as_text());
    match tool {
        Some(tool) => Some(Some((tool.to_owned(), args_of(holder)?))),
        None if std::ptr::eq(holder, state) => Some(None),
        None => None,
    }
}

/// The arguments in `holder`, which are an object.
fn args_of(holder: &Value) -> Option<Value> {
    let words = ["args", "arguments", "params", "input", "parameters", "with"];
    match words.iter().find_map(|word| holder.get(word)) {
        Some(args @ Value::Object(_)) => Some(args.clone()),
        Some(Value::Null) | None => Some(Value::empty_object()),
        Some(_) => None,
    }
}

/// The ways out of the state `name`.
fn exits(name: &str, state: &Value) -> Option<Vec<Exit>> {
    let mut found = Vec::new();
    let failure = FAILURES.iter().find_map(|word| state.get(word)?.as_text());
    let has_call = call(state)?.is_some();
    let is_plain = path_of(name) == name;
    if let Some(to) = failure {
        (has_call && is_plain).then_some(())?;
        found.push(Exit {
            to: to.to_owned(),
            condition: Some(format!("!results.{name}.success")),
            is_failure: true,
            is_rest: false,
        });
    }
    let success = failure.map(|_| format!("results.{name}.success"));
    if let Some(to) = NEXT.iter().find_map(|word| state.get(word)?.as_text()) {
        found.push(Exit {
            to: to.to_owned(),
            condition: success,
            is_failure: false,
            is_rest: false,
        });
        return Some(found);
    }
    let Some(choices) = CHOICES.iter().find_map(|word| state.get(word)?.as_list()) else {
        let others = CHOICES.iter().any(|word| state.get(word).is_some());
        return (!others).then_some(found);
    };
    let mut earlier = success;
    for choice in choices {
        let words = ["when", "if", "condition", "cond", "guard"];
        let to = ["to", "target", "next", "goto", "state"]
            .iter()
            .find_map(|word| choice.get(word)?.as_text())?;
        let written = words.iter().find_map(|word| choice.get(word));
        let (condition, is_rest) = match written {
            Some(written) => (Some(condition(written.as_text()?)?), false),
            None => (None, true),
        };
        let both = |own: &str| match &earlier {
            Some(earlier) => format!("{earlier} && ({own})"),
            None => own.to_owned(),
        };
        found.push(Exit {
            to: to.to_owned(),
            condition: condition.as_deref().map(&both).or_else(|| earlier.clone()),
            is_failure: false,
            is_rest,
        });
        let Some(own) = condition else {
            break;
        };
        earlier = Some(both(&format!("!({own})")));
    }
    Some(found)
}

/// The native form of the condition `written`.
fn condition(written: &str) -> Option<String> {
    let bare = written.replace("{{", "${").replace("}}", "}");
    let bare = without_markers(&bare)?;
    expression_in(bare.trim(), Language::Condition)
}

/// The states from `start` on, each after all from which it is reached; `None` if a state is reached from itself.
fn ordered(states: &[(Arc<str>, &Value)], start: &str) -> Option<Vec<String>> {
    let mut waiting: HashMap<String, usize> = HashMap::new();
    let mut reached = vec![start.to_owned()];
    let mut at = 0;
    while let Some(name) = reached.get(at).cloned() {
        let (_, state) = states.iter().find(|(known, _)| **known == *name)?;
        for exit in exits(&name, state)? {
            *waiting.entry(exit.to.clone()).or_default() += 1;
            if !reached.contains(&exit.to) {
                reached.push(exit.to);
            }
        }
        at += 1;
    }
    let mut ready = vec![start.to_owned()];
    (!waiting.contains_key(start)).then_some(())?;
    let mut at = 0;
    while let Some(name) = ready.get(at).cloned() {
        let (_, state) = states.iter().find(|(known, _)| **known == *name)?;
        for exit in exits(&name, state)? {
            let left = waiting.get_mut(&exit.to)?;
            *left -= 1;
            if *left == 0 {
                ready.push(exit.to);
            }
        }
        at += 1;
    }
    (ready.len() == reached.len()).then_some(ready)
}
