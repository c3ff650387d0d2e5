//! The plan in XML: elements with attributes for steps, and their arguments by name.

mod elements;

use std::sync::Arc;

use planwright_core::Value;

use self::elements::Element;
use super::advice::Extent;
use super::{FoundPlan, object};

/// The plan in `text`; `None` if it is not XML, has no steps, or says more than a plan can.
pub(super) fn plan(text: &str) -> Option<FoundPlan> {
    let range = elements::range(text)?;
    let extent = Extent::of(range.clone(), text);
    let roots = elements::read(&text[range])?;
    let mut fields = Vec::new();
    let steps = match roots.as_slice() {
        [root] => steps_of(root, &mut fields)?,
        calls => calls.iter().map(step).collect::<Option<_>>()?,
    };
    if steps.is_empty() {
        return None;
    }
    fields.push(("steps".into(), Value::list(steps)));
    Some(FoundPlan {
        plan: object(fields)?,
        extent,
    })
}

/// The elements around steps.
const CONTAINERS: [&str; 9] = [
    "plan",
    "steps",
    "workflow",
    "tasks",
    "calls",
    "function_calls",
    "tool_calls",
    "actions",
    "root",
];

/// The elements of steps, which name their tool inside.
const STEPS: [&str; 10] = [
    "step",
    "task",
    "call",
    "invoke",
    "action",
    "tool_call",
    "toolcall",
    "node",
    "tool_use",
    "tool",
];

/// The elements with arguments.
const ARGS: [&str; 8] = [
    "args",
    "arguments",
    "params",
    "parameters",
    "input",
    "inputs",
    "with",
    "tool_input",
];

/// The elements and attributes that are lists of ids.
const LISTS: [&str; 6] = [
    "after",
    "depends_on",
    "dependsOn",
    "depends-on",
    "needs",
    "dependencies",
];

/// The fields of a step that are attributes of an element named after its tool.
const FIELDS: [&str; 11] = [
    "id", "when", "if", "timeout", "retry", "for_each", "foreach", "as", "title", "output",
    "on_error",
];

/// The steps in the element `root`; its other parts are added to the `fields` of the plan.
fn steps_of(root: &Element, fields: &mut Vec<(Arc<str>, Value)>) -> Option<Vec<Value>> {
    let is_container = |element: &Element| CONTAINERS.contains(&&*element.name.to_lowercase());
    if !is_container(root) {
        return Some(vec![step(root)?]);
    }
    if !root.text.trim().is_empty() {
        return None;
    }
    let attributes = root.attributes.iter();
    let attributes = attributes.filter(|(name, _)| !name.starts_with("xmlns"));
    fields.extend(attributes.map(|(name, value)| (Arc::from(&**name), field(name, value))));
    let mut containers = root.children.iter().filter(|child| is_container(child));
    let Some(inner) = containers.next() else {
        return root.children.iter().map(step).collect();
    };
    if containers.next().is_some() {
        return None;
    }
    // `<plan>` may have other fields beside `<steps>`.
    for child in root.children.iter().filter(|child| !is_container(child)) {
        if STEPS.contains(&&*child.name.to_lowercase()) {
            return None;
        }
        fields.push((Arc::from(&*child.name), value_of(child)?));
    }
    steps_of(inner, fields)
}

/// The step in an element; `None` if it says more than the fields of a step can.
fn step(element: &Element) -> Option<Value> {
    let names_tool = STEPS.contains(&&*element.name.to_lowercase());
    // `<tool_call>{"name": …, "arguments": …}</tool_call>`
    if names_tool && element.is_leaf() && element.text.trim_start().starts_with('{') {
        let is_alone = element.attributes.is_empty();
        return Value::from_json(element.text.trim())
            .ok()
            .filter(|_| is_alone);
    }
    let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
    let mut args: Vec<(Arc<str>, Value)> = Vec::new();
    if !names_tool {
        fields.push(("tool".into(), Value::text(&*element.name)));
    }
    for (name, value) in &element.attributes {
        let is_field = names_tool || FIELDS.contains(&&**name) || LISTS.contains(&&**name);
        let part = (Arc::from(&**name), field(name, value));
        if is_field {
            fields.push(part);
        } else {
            args.push(part);
        }
    }
    for child in &element.children {
        let lower = child.name.to_lowercase();
        let is_plain = child.attributes.is_empty();
        let names_call = names_tool && ["tool", "function", "call", "action"].contains(&&*lower);
        if names_call && let Some(tool) = tool_of(child) {
            fields.push(("tool".into(), Value::text(tool)));
            continue;
        }
        // A step in a step.
        if STEPS.contains(&&*lower) && !(is_plain && child.is_leaf()) {
            return None;
        }
        if let Some(name) = child.attribute(&["name", "key"]) {
            args.push((Arc::from(name), value_of(child)?));
        } else if ARGS.contains(&&*lower) {
            match value_of(child)? {
                Value::Object(object) => {
                    let object = object.iter();
                    args.extend(object.map(|(name, value)| (Arc::clone(name), value.clone())));
                }
                Value::Null => {}
                other => fields.push(("args".into(), other)),
            }
        } else if !names_tool {
            args.push((Arc::from(&*child.name), value_of(child)?));
        } else if LISTS.contains(&&*child.name) && !child.is_leaf() {
            let is_id = |id: &Element| id.is_leaf() && id.attributes.is_empty();
            if !is_plain || !child.text.trim().is_empty() || !child.children.iter().all(is_id) {
                return None;
            }
            let ids = child.children.iter().map(|id| Value::text(id.text.trim()));
            fields.push((Arc::from(&*child.name), Value::list(ids)));
        } else if child.is_leaf() && is_plain {
            fields.push((Arc::from(&*child.name), field(&child.name, &child.text)));
        } else {
            fields.push((Arc::from(&*child.name), value_of(child)?));
        }
    }
    if !element.text.trim().is_empty() {
        return None;
    }
    if !args.is_empty() {
        fields.push(("args".into(), object(args)?));
    }
    (fields.len() > usize::from(names_tool)).then(|| object(fields))?
}

/// The tool that `<tool name="f" server="s"/>` names; `None` if the element says more.
fn tool_of(element: &Element) -> Option<String> {
    let known = ["name", "id", "ref", "server"];
    let has_meaning = |(name, _): &(String, String)| known.contains(&&**name);
    if !element.is_leaf()
        || !element.text.trim().is_empty()
        || !element.attributes.iter().all(has_meaning)
    {
        return None;
    }
    let mut names = known.iter().filter(|name| **name != "server");
    let name = names.find_map(|name| element.attribute(&[name]))?;
    // A tool has one name.
    if element.attributes.len() > 1 + usize::from(element.attribute(&["server"]).is_some()) {
        return None;
    }
    Some(match element.attribute(&["server"]) {
        Some(server) => format!("{server}.{name}"),
        None => name.to_owned(),
    })
}

/// The value of the field `name` of a step.
fn field(name: &str, written: &str) -> Value {
    let written = written.trim();
    if LISTS.contains(&name) {
        let ids = written.split([',', ' ']).filter(|id| !id.is_empty());
        return Value::list(ids.map(Value::text));
    }
    match name {
        "id" => Value::text(written),
        _ => scalar(written),
    }
}

/// The value of an element: its attribute `value`, the object of its children, a list of items, or its text. `None` if it has
/// several of these, or attributes without a meaning.
fn value_of(element: &Element) -> Option<Value> {
    let has_meaning = |(name, _): &(String, String)| NAMING.contains(&&**name);
    if !element.attributes.iter().all(has_meaning) {
        return None;
    }
    let text = element.text.trim();
    let is_text = match element.attribute(&["type"]) {
        Some("string" | "str" | "text") => true,
        Some(kind) if !KINDS.contains(&kind) => return None,
        Some(_) | None => false,
    };
    let leaf = |written: &str| {
        if is_text {
            Value::text(written)
        } else {
            scalar(written)
        }
    };
    if let Some(written) = element.attribute(&["value"]) {
        return (element.is_leaf() && text.is_empty()).then(|| leaf(written));
    }
    if element.is_leaf() {
        let is_empty = element.attributes.is_empty() && text.is_empty();
        return Some(if is_empty { Value::Null } else { leaf(text) });
    }
    if !text.is_empty() || is_text {
        return None;
    }
    let named = |child: &Element| child.attribute(&["name", "key"]).map(str::to_owned);
    let is_item = |child: &Element| {
        ["item", "value", "element"].contains(&&*child.name) && named(child).is_none()
    };
    if element.children.iter().all(is_item) {
        let items = element.children.iter().map(value_of);
        return Some(Value::list(items.collect::<Option<Vec<_>>>()?));
    }
    let fields = element.children.iter().map(|child| {
        let name = named(child).unwrap_or_else(|| child.name.clone());
        Some((Arc::from(name), value_of(child)?))
    });
    object(fields.collect::<Option<_>>()?)
}

/// The attributes of an element that name or hold its value.
const NAMING: [&str; 4] = ["name", "key", "value", "type"];

/// The kinds of values in the attribute `type`, besides text.
const KINDS: [&str; 9] = [
    "number", "integer", "int", "float", "boolean", "bool", "object", "array", "json",
];

/// A text, or the value of the JSON in it.
fn scalar(written: &str) -> Value {
    let is_json = matches!(written, "true" | "false" | "null")
        || written.parse::<f64>().is_ok()
        || written.starts_with(['[', '{']);
    let json = is_json.then(|| Value::from_json(written).ok()).flatten();
    json.unwrap_or_else(|| Value::text(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_in_xml() {
        let check = |text: &str, expected: Option<&str>| {
            let found = plan(text).map(|found| found.plan.to_json());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            "<?xml version=\"1.0\"?>\n<plan><!-- words -->\n<step id=\"a\" tool=\"f\"><arg name=\"n\">1</arg><arg name='t' value='&lt;x>'/></step>\n<step id=\"2\" tool=\"g\" after=\"a\"/></plan>",
            Some(
                r#"{"steps":[{"id":"a","tool":"f","args":{"n":1,"t":"<x>"}},{"id":"2","tool":"g","after":["a"]}]}"#,
            ),
        );
        check(
            "<workflow><name>w</name><steps><step><id>a</id><tool>f</tool><args><n>1</n><l><item>x</item></l></args><depends_on>b, c</depends_on></step></steps></workflow>",
            Some(
                r#"{"name":"w","steps":[{"id":"a","tool":"f","depends_on":["b","c"],"args":{"n":1,"l":["x"]}}]}"#,
            ),
        );
        check(
            "<function_calls>\n<invoke name=\"f\">\n<parameter name=\"t\">a & b</parameter>\n</invoke>\n</function_calls>",
            Some(r#"{"steps":[{"name":"f","args":{"t":"a & b"}}]}"#),
        );
        check(
            "<plan><get_time id=\"t\" zone=\"UTC\"/><say><text><![CDATA[<b>]]></text></say></plan>",
            Some(
                r#"{"steps":[{"tool":"get_time","id":"t","args":{"zone":"UTC"}},{"tool":"say","args":{"text":"<b>"}}]}"#,
            ),
        );
        check(
            "I look:\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}\n</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call>",
            Some(r#"{"steps":[{"name":"f","arguments":{"n":1}},{"name":"g"}]}"#),
        );
        check("f(x=1)\n<a>b</a>", None);
        check(
            "<plan><f a=\"&#65;&#x42;&amp;#67; &x; & \"><t type=\"string\">1</t></f></plan>",
            Some(r#"{"steps":[{"tool":"f","args":{"a":"AB&#67; &x; &","t":"1"}}]}"#),
        );
        check("<plan><!--</plan>", None);
        check("<plan><!-- a -- ></plan>", None);
        check(
            "<plan><steps><f a='1'/></steps><tasks><g a='1'/></tasks></plan>",
            None,
        );
        check("<plan>only if it rains<f a='1'/></plan>", None);
        check("<plan><f><a>b <c>d</c></a></f></plan>", None);
        check("<plan><f><a unit='m'>1</a></f></plan>", None);
        check("<plan><f><a value='1'>2</a></f></plan>", None);
        check("<plan><f><a>1</a><a>2</a></f></plan>", None);
        check("<plan><step tool='f'><step tool='g'/></step></plan>", None);
        check("<plan><step tool='f' tool='g'/></plan>", None);
        check("<plan> is a word", None);
        check("<plan><step>", None);
        check("<plan></step></plan>", None);
        check("words", None);
        check("", None);
    }
}
