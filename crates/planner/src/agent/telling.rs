//! What the model is told in a round: one object of context and schema, nothing in it longer than there is room for.

use std::fmt::Write as _;

use planwright_core::check::Library;
use planwright_core::{Catalog, Object, Schema, Value};

use super::state::AgentState;
use crate::prompt::tools_for;
use crate::tools::signatures::estimated_tokens;

/// How many letters of a text are shown at first where there is no room for all, and how many at last.
const LETTERS: [usize; 4] = [4000, 1000, 250, 80];

/// The request of a round. Tools take at most `tool_tokens`, everything else at most `context_tokens` as far as cutting helps.
pub(super) fn request(
    state: &AgentState,
    catalog: &Catalog,
    library: &Library,
    output: Option<&Schema>,
    tool_tokens: usize,
    context_tokens: usize,
) -> String {
    let mut lines: Vec<Value> = tools(state, catalog, tool_tokens);
    lines.extend(library.names().map(|name| tool(&delegate(name, library))));
    lines.extend(state.texts.iter().cloned());
    let told = state.world.messages();
    let told = told
        .into_iter()
        .chain(plan(state))
        .chain(state.errors.iter().cloned());
    lines.extend(fitting(&told.collect::<Vec<_>>(), context_tokens));
    let schema = output.map_or(&Value::Null, Schema::as_value);
    let mut text = format!("{{\"schema\": {},\n \"context\": [", schema.to_json());
    for (index, line) in lines.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n  {}", line.to_json());
    }
    text + "\n]}"
}

/// The plan message: the calls of the last solution, and where they stand.
fn plan(state: &AgentState) -> Option<Value> {
    if state.plan.is_empty() {
        return None;
    }
    let calls = state.plan.iter().map(|record| {
        let mut call = record.call.as_object().cloned().unwrap_or_default();
        if let Some(status) = record.status {
            call.insert("_status".into(), Value::from(status.as_str()));
        }
        if let Some(result) = &record.result {
            call.insert("_result".into(), result.clone());
        }
        Value::from(call)
    });
    Some(Value::object([
        ("type", Value::from("plan")),
        ("plan", Value::list(calls)),
    ]))
}

fn tools(state: &AgentState, catalog: &Catalog, budget: usize) -> Vec<Value> {
    let said = state.world.messages();
    let about: Vec<String> = state
        .texts
        .iter()
        .chain(&said)
        .map(Value::to_json)
        .collect();
    let listing = tools_for(catalog, &about.join(" "), budget);
    listing
        .lines()
        .map(|line| {
            if line.starts_with('(') || catalog.is_empty() {
                Value::object([("type", Value::from("text")), ("text", Value::from(line))])
            } else {
                tool(line)
            }
        })
        .collect()
}

fn tool(signature: &str) -> Value {
    Value::object([
        ("type", Value::from("tool")),
        ("tool", Value::from(signature)),
    ])
}

/// A plan of the library as a tool: its name, its inputs, what it is for.
fn delegate(name: &str, library: &Library) -> String {
    let plan = library.get(name);
    let inputs = plan.into_iter().flat_map(|plan| &plan.inputs).map(|input| {
        let mark = if input.default.is_some() { "?" } else { "" };
        format!("{}{mark}", input.name)
    });
    let mut text = format!("{name}({})", inputs.collect::<Vec<_>>().join(", "));
    let said = plan.and_then(|plan| plan.description.as_deref().or(plan.title.as_deref()));
    if let Some(said) = said {
        let _ = write!(
            text,
            "  -- {}",
            said.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }
    text + " [plan]"
}

/// The messages, their longest texts and lists cut where there are too many tokens in all.
fn fitting(messages: &[Value], budget: usize) -> Vec<Value> {
    let tokens = |messages: &[Value]| {
        let all = messages
            .iter()
            .map(|message| estimated_tokens(&message.to_json()));
        all.sum::<usize>()
    };
    let mut cut = messages.to_vec();
    for letters in LETTERS {
        if tokens(&cut) <= budget {
            break;
        }
        cut = messages
            .iter()
            .map(|message| shortened(message, letters))
            .collect();
    }
    cut
}

/// A value in which no text has more than `letters`, and no list more items than a twentieth of that. A reference reads all of it nevertheless.
pub(super) fn shortened(value: &Value, letters: usize) -> Value {
    match value {
        Value::Text(text) if text.chars().count() > letters => {
            let all = text.chars().count();
            let kept: String = text.chars().take(letters).collect();
            Value::from(format!("{kept}… ({} more letters)", all - letters))
        }
        Value::List(items) => {
            let most = (letters / 20).max(3);
            let kept = items.iter().take(most).map(|item| shortened(item, letters));
            let mut kept: Vec<Value> = kept.collect();
            if items.len() > most {
                kept.push(Value::from(format!(
                    "… ({} more items)",
                    items.len() - most
                )));
            }
            Value::from(kept)
        }
        Value::Object(fields) => {
            let shorter = fields
                .iter()
                .map(|(name, value)| (name.clone(), shortened(value, letters)));
            Value::from(shorter.collect::<Object>())
        }
        other => other.clone(),
    }
}
