//! Plans that stand as text inside of another value, such as the content of a message or the arguments of a call.

use planwright_core::Value;

use crate::document::{Item, ItemKind, enclosed_parts};

/// Fields around such a text.
const WRAPPERS: [&str; 24] = [
    "answer",
    "arguments",
    "args",
    "body",
    "candidates",
    "choices",
    "completion",
    "content",
    "data",
    "function",
    "input",
    "json",
    "message",
    "messages",
    "output",
    "parameters",
    "params",
    "parts",
    "plan",
    "response",
    "result",
    "text",
    "tool_calls",
    "workflow",
];

/// The maximum number of values around such a text.
const MAX_DEPTH: usize = 10;

/// The maximum number of list items that are searched for such a text.
const MAX_ITEMS: usize = 16;

/// The only plan inside a string of `root`; `None` if there is none, or several.
pub(crate) fn plan_in_text(root: &Item) -> Option<Value> {
    let mut found = Vec::new();
    search(root, 0, &mut found);
    let plan = found.pop();
    plan.filter(|_| found.is_empty())
}

fn search(item: &Item, depth: usize, found: &mut Vec<Value>) {
    if depth > MAX_DEPTH {
        return;
    }
    match &item.kind {
        ItemKind::Text(text) => found.extend(plan_of(text)),
        ItemKind::List(items) if items.len() <= MAX_ITEMS => {
            for item in items {
                search(item, depth + 1, found);
            }
        }
        ItemKind::Object(fields) => {
            // The arguments of any other tool are its own affair.
            let name = item.get("name").and_then(Item::as_text);
            let is_other = name.is_some_and(|name| {
                let name = name.to_lowercase();
                !name.contains("plan") && !name.contains("workflow")
            });
            if is_other || item.has("tool") || item.has("steps") {
                return;
            }
            for field in fields {
                if WRAPPERS.contains(&&*field.key) {
                    search(&field.item, depth + 1, found);
                }
            }
        }
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::List(_) => {}
    }
}

/// The plan that `text` holds, alone or in a block of code.
fn plan_of(text: &str) -> Option<Value> {
    let inside = text.trim();
    let part = match enclosed_parts(inside).as_slice() {
        [] => inside,
        [only] => inside.get(only.range.clone())?.trim(),
        _ => return None,
    };
    let value = part
        .starts_with('{')
        .then(|| Value::from_json(part))?
        .ok()?;
    let steps = value.get("steps")?;
    let are_steps = |steps: &[Value]| {
        let is_step = |step: &Value| {
            ["tool", "plan", "value", "extract", "action"]
                .iter()
                .any(|word| step.get(word).is_some())
        };
        !steps.is_empty() && steps.iter().all(is_step)
    };
    steps.as_list().is_some_and(are_steps).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ReadLimits, read};

    #[track_caller]
    fn check(text: &str, is_plan: bool) {
        let (document, _) = read(text, "test", 0, &ReadLimits::default());
        let found = plan_in_text(&document.unwrap().root);
        assert_eq!(found.is_some(), is_plan, "{text}");
    }

    #[test]
    fn plans_in_messages_and_calls() {
        let plan = r#"{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}]}"#;
        check(&format!(r#""{plan}""#), true);
        check(&format!(r#"{{"plan": "{plan}"}}"#), true);
        check(
            &format!(r#"{{"choices": [{{"message": {{"content": "{plan}"}}}}]}}"#),
            true,
        );
        check(
            &format!(r#"{{"content": "Here:\n```json\n{plan}\n```\n"}}"#),
            true,
        );
        check(
            &format!(r#"{{"name": "submit_plan", "arguments": "{plan}"}}"#),
            true,
        );
        check(
            &format!(r#"{{"name": "write_file", "arguments": "{plan}"}}"#),
            false,
        );
        check(
            &format!(r#"{{"tool": "write_file", "args": {{"text": "{plan}"}}}}"#),
            false,
        );
        check(
            &format!(r#"{{"content": "{plan}", "text": "{plan}"}}"#),
            false,
        );
        check(r#"{"content": "{\"steps\": 3}"}"#, false);
        check(r#""just text""#, false);
    }
}
