//! What a tool is found by.

use planwright_core::{Tool, Value};

/// How deep parameters are looked at.
const DEPTH: usize = 4;

/// How many parameters of a tool are looked at, those of parameters included.
const PARAMETERS: usize = 200;

/// The text that `tool` is found by. What stands in it more often weighs more: a name tells more than a description.
pub(super) fn text(tool: &Tool) -> String {
    let mut text = String::new();
    let mut add = |part: &str, times: usize| {
        for _ in 0..times {
            text.push_str(part);
            text.push('\n');
        }
    };
    add(&tool.name, 4);
    add(&tool.server, 1);
    add(tool.title.as_deref().unwrap_or_default(), 2);
    add(tool.description.as_deref().unwrap_or_default(), 1);
    let mut left = PARAMETERS;
    parameters(tool.input.as_value(), DEPTH, &mut left, &mut |part| {
        add(part, 1);
    });
    text
}

/// Names, titles and descriptions of the fields that `schema` describes. References are not followed.
fn parameters(schema: &Value, depth: usize, left: &mut usize, add: &mut impl FnMut(&str)) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if *left == 0 {
            return;
        }
        *left -= 1;
        add(name);
        for word in ["title", "description"] {
            add(property
                .get(word)
                .and_then(Value::as_text)
                .unwrap_or_default());
        }
        for choice in property
            .get("enum")
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .take(20)
        {
            add(choice.as_text().unwrap_or_default());
        }
        parameters(property, deeper, left, add);
        if let Some(items) = property.get("items") {
            parameters(items, deeper, left, add);
        }
    }
}
