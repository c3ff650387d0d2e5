//! Requests of MCP, and conversations with a model whose messages call tools.

use std::borrow::Cow;
use std::collections::HashMap;

use planwright_core::Value;

use crate::foreign_references::ReferenceNames;

use super::{Translation, escaped, objects, step, waits};

/// The translation of requests `{"method": "tools/call", "params": {"name", "arguments"}}`, one or a list. Texts may refer to a
/// request by its id: `$1.result`.
pub(super) fn requests(value: &Value) -> Option<Translation> {
    let single = std::slice::from_ref(value);
    let requests = value.as_list().unwrap_or(single);
    // A log of a client has the answers as well.
    let requests: Vec<&Value> = requests.iter().filter(|it| !is_of_log(it)).collect();
    let written = |request: &Value| match request.get("id")? {
        Value::Text(id) => Some(id.to_string()),
        number @ Value::Number(_) => Some(number.to_json()),
        _ => None,
    };
    let written: Vec<Option<String>> = requests.iter().copied().map(written).collect();
    let ids: Vec<String> = (1..=requests.len())
        .map(|at| format!("call_{at}"))
        .collect();
    let paths = written.iter().zip(&ids);
    let paths = paths.filter_map(|(written, id)| Some((written.as_deref()?, Cow::from(&**id))));
    let order = ids.iter().map(String::as_str).collect();
    let names = ReferenceNames::of_paths(order, paths.collect(), HashMap::new());
    let steps = requests.iter().zip(&ids).map(|(request, id)| {
        let is_call = request.get("method")?.as_text()? == "tools/call";
        let params = request.get("params").filter(|_| is_call)?;
        let tool = with_server(params)?;
        let arguments = params.get("arguments");
        let marked = arguments.map(|arguments| with_markers(arguments, &names));
        let referring = marked.and_then(|arguments| names.as_native(&arguments));
        Some(match referring {
            Some(args) => step([
                ("id", Some(Value::text(&**id))),
                ("tool", Some(tool)),
                ("args", Some(args)),
            ]),
            None => call(Value::text(&**id), &tool, arguments)?,
        })
    });
    let form = if value.as_list().is_some() {
        "a list of requests of MCP"
    } else {
        "a request of MCP"
    };
    let translation = Translation::complete(form, steps.collect::<Option<_>>()?)?;
    if requests.len() == 1 {
        return Some(translation);
    }
    // Requests were sent in this order, also those without a reference to another one.
    let steps = translation.plan.get("steps")?.clone();
    Some(Translation {
        plan: Value::object([("ordering", Value::text("listed")), ("steps", steps)]),
        ..translation
    })
}

/// Returns true for a message of MCP that calls nothing: an answer, a notification, or a request of the connection.
fn is_of_log(message: &Value) -> bool {
    let is_message = message.get("jsonrpc").is_some();
    let method = message.get("method").and_then(Value::as_text);
    is_message
        && match method {
            Some(method) => {
                method.starts_with("notifications/")
                    || matches!(method, "initialize" | "ping" | "tools/list")
            }
            None => message.get("result").is_some() || message.get("error").is_some(),
        }
}

/// The maximum length of a path in `${…}`, in bytes.
const MAX_MARKER: usize = 200;

/// `value` with `{1.a}` in place of `${1.a}`, which is not a reference to the request 1 in this dialect.
fn with_markers(value: &Value, names: &ReferenceNames<'_>) -> Value {
    match value {
        Value::Text(text) => {
            let mut written = String::new();
            let mut rest = &**text;
            while let Some((before, after)) = rest.split_once("${") {
                written.push_str(before);
                let signs = after.bytes().take(MAX_MARKER);
                let end = signs.into_iter().position(|sign| sign == b'}');
                let inside = end.and_then(|end| after.get(..end));
                let is_named = inside.is_some_and(|inside| names.path(inside).is_some());
                written.push_str(if is_named { "{" } else { "${" });
                rest = after;
            }
            Value::text(written + rest)
        }
        Value::List(items) => Value::list(items.iter().map(|item| with_markers(item, names))),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::object(fields.map(|(key, field)| (key.clone(), with_markers(field, names))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The name of the tool in `params`, with its server, if stated.
fn with_server(params: &Value) -> Option<Value> {
    let name = params.get("name")?.as_text()?;
    Some(match params.get("server").and_then(Value::as_text) {
        Some(server) if !name.contains('.') => Value::text(format!("{server}.{name}")),
        _ => Value::text(name),
    })
}

/// The translation of a conversation: the calls of all its messages, those of a message after those of the message before.
pub(super) fn conversation(value: &Value) -> Option<Translation> {
    let fields = ["messages", "contents", "conversation", "history"];
    let list = fields.iter().find_map(|field| value.get(field));
    let messages = objects(list.unwrap_or(value))?;
    if !messages.iter().all(|message| message.get("role").is_some()) {
        return None;
    }
    let mut steps: Vec<Value> = Vec::new();
    let mut before: Option<Value> = None;
    for message in messages {
        let mut ids = Vec::new();
        for (id, name, arguments) in calls(message) {
            let id = id.unwrap_or_else(|| Value::text(format!("call_{}", steps.len() + 1)));
            ids.push(id.clone());
            let mut call = call(id, name, arguments)?;
            if let Value::Object(fields) = &call
                && let Some(before) = &before
            {
                let fields = fields
                    .iter()
                    .map(|(key, field)| (key.clone(), field.clone()));
                let after = ("after".into(), before.clone());
                call = Value::object(fields.chain([after]));
            }
            steps.push(call);
        }
        before = waits(ids).or(before);
    }
    let is_answer = |message: &Value| {
        let role = message.get("role").and_then(Value::as_text);
        let blocks = message.get("content").and_then(Value::as_list);
        role == Some("tool")
            || blocks
                .into_iter()
                .flatten()
                .any(|block| block.get("tool_use_id").is_some())
    };
    let form = if messages.iter().any(is_answer) {
        "a conversation with calls that were made already"
    } else {
        "a conversation"
    };
    let left_out = messages.last().and_then(answer_with_references);
    let translation = Translation::complete(form, steps)?;
    Some(Translation {
        left_out: left_out.into_iter().collect(),
        ..translation
    })
}

/// The first line of the text of `message`, an answer without calls that has references in it.
fn answer_with_references(message: &Value) -> Option<String> {
    let is_of_model = message.get("role")?.as_text()? == "assistant";
    let text = message.get("content")?.as_text()?;
    let has_references = ["${", "{{"].iter().any(|mark| text.contains(mark));
    (is_of_model && calls(message).is_empty() && has_references)
        .then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// The id, the tool and the arguments of each call of `message`.
fn calls(message: &Value) -> Vec<(Option<Value>, &Value, Option<&Value>)> {
    let list = |field: &str| {
        message
            .get(field)
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
    };
    let of_openai = list("tool_calls").filter_map(|call| {
        let function = call.get("function").unwrap_or(call);
        let arguments = function.get("arguments").or_else(|| function.get("args"));
        Some((call.get("id").cloned(), function.get("name")?, arguments))
    });
    let of_anthropic = list("content").filter_map(|block| {
        let is_call = block.get("type")?.as_text()? == "tool_use";
        let name = block.get("name").filter(|_| is_call)?;
        Some((block.get("id").cloned(), name, block.get("input")))
    });
    let of_gemini = list("parts").filter_map(|part| {
        let call = part
            .get("functionCall")
            .or_else(|| part.get("function_call"))?;
        Some((None, call.get("name")?, call.get("args")))
    });
    of_openai.chain(of_anthropic).chain(of_gemini).collect()
}

/// The step that makes a call with literal `arguments`, an object or its JSON.
fn call(id: Value, name: &Value, arguments: Option<&Value>) -> Option<Value> {
    name.as_text()?;
    let arguments = match arguments.map(|arguments| (arguments, arguments.as_text())) {
        Some((_, Some(text))) if text.trim().is_empty() => None,
        Some((_, Some(text))) => Some(Value::from_json(text).ok()?),
        Some((arguments, None)) => Some(arguments.clone()),
        None => None,
    };
    let args = arguments.map(|arguments| escaped(&arguments));
    Some(step([
        ("id", Some(id)),
        ("tool", Some(name.clone())),
        ("args", args),
    ]))
}
