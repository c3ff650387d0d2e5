//! The plan in XML: elements with attributes for steps, and their arguments by name.

use std::sync::Arc;

use planwright_core::Value;

/// The maximum nesting of elements.
const MAX_DEPTH: usize = 16;

/// The plan in `text`; `None` if it is not XML, or has no steps.
pub(super) fn plan(text: &str) -> Option<Value> {
    let text = elements(text)?;
    let mut reader = Reader {
        rest: text.trim(),
        depth: 0,
    };
    let mut roots = Vec::new();
    while reader.skip_to_element() {
        roots.push(reader.element()?);
    }
    if !reader.rest.is_empty() || roots.is_empty() {
        return None;
    }
    let steps = match roots.as_slice() {
        [root] => steps_of(root)?,
        calls => calls.iter().map(step).collect::<Option<_>>()?,
    };
    (!steps.is_empty()).then(|| Value::object([("steps", Value::list(steps))]))
}

/// The part of `text` from its first element to its last one, if the lines around them are words.
fn elements(text: &str) -> Option<&str> {
    let is_element = |at: usize| {
        let inside = &text[at + 1..];
        let is_line = text[..at].ends_with('\n') || text[..at].trim().is_empty();
        is_line
            && inside.starts_with(|sign: char| sign.is_ascii_alphabetic() || "?!".contains(sign))
    };
    let mut starts = text.match_indices('<').map(|(at, _)| at);
    let start = starts.find(|at| is_element(*at))?;
    let end = text.rfind('>')? + 1;
    // Words may say under which condition the calls are made; what is behind them is left to the reader.
    (start < end && !text[..start].contains(['{', '(', '='])).then(|| &text[start..end])
}

#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn attribute(&self, names: &[&str]) -> Option<&str> {
        let mut found = self
            .attributes
            .iter()
            .filter(|(name, _)| names.contains(&&**name));
        Some(&found.next()?.1)
    }

    fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    /// Skips blanks, comments and declarations; returns true if an element follows.
    fn skip_to_element(&mut self) -> bool {
        loop {
            self.rest = self.rest.trim_start();
            let pairs = [("<!--", "-->"), ("<?", "?>"), ("<!DOCTYPE", ">")];
            let skipped = pairs.iter().find_map(|(open, close)| {
                let inside = self.rest.strip_prefix(open)?;
                Some(inside.split_once(close)?.1)
            });
            match skipped {
                Some(rest) => self.rest = rest,
                None => return self.rest.starts_with('<') && !self.rest.starts_with("</"),
            }
        }
    }

    fn element(&mut self) -> Option<Element> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.strip_prefix('<')?;
        let mut element = Element {
            name: self.name()?,
            ..Element::default()
        };
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix("/>") {
                self.rest = rest;
                self.depth -= 1;
                return Some(element);
            }
            if let Some(rest) = self.rest.strip_prefix('>') {
                self.rest = rest;
                break;
            }
            let name = self.name()?;
            self.rest = self.rest.trim_start().strip_prefix('=')?.trim_start();
            let quote = self
                .rest
                .chars()
                .next()
                .filter(|sign| "\"'".contains(*sign))?;
            let (value, rest) = self.rest[1..].split_once(quote)?;
            self.rest = rest;
            element.attributes.push((name, decoded(value)));
        }
        loop {
            if let Some(inside) = self.rest.strip_prefix("<![CDATA[") {
                let (text, rest) = inside.split_once("]]>")?;
                element.text.push_str(text);
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix("</") {
                self.rest = rest
                    .strip_prefix(&*element.name)?
                    .trim_start()
                    .strip_prefix('>')?;
                self.depth -= 1;
                return Some(element);
            } else if self.rest.starts_with("<!--") {
                self.skip_to_element();
            } else if self.rest.starts_with('<') {
                element.children.push(self.element()?);
            } else {
                let end = self.rest.find('<')?;
                element.text.push_str(&decoded(&self.rest[..end]));
                self.rest = &self.rest[end..];
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let is_of_name = |sign: char| sign.is_alphanumeric() || "_-.:".contains(sign);
        let end = self
            .rest
            .find(|sign| !is_of_name(sign))
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
            .then(|| name.to_owned())
    }
}

/// `text` with characters in place of entities.
fn decoded(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&#10;", "\n"),
        ("&amp;", "&"),
    ];
    let mut decoded = text.to_owned();
    for (entity, sign) in entities {
        decoded = decoded.replace(entity, sign);
    }
    decoded
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

/// The steps in the element `root`.
fn steps_of(root: &Element) -> Option<Vec<Value>> {
    let is_container = |element: &Element| CONTAINERS.contains(&&*element.name.to_lowercase());
    if !is_container(root) {
        return Some(vec![step(root)?]);
    }
    // `<plan>` may have elements for people beside `<steps>`.
    if let Some(inner) = root.children.iter().find(|child| is_container(child)) {
        return steps_of(inner);
    }
    root.children.iter().map(step).collect()
}

/// The step in an element.
fn step(element: &Element) -> Option<Value> {
    let names_tool = STEPS.contains(&&*element.name.to_lowercase());
    // `<tool_call>{"name": …, "arguments": …}</tool_call>`
    if names_tool && element.is_leaf() && element.text.trim_start().starts_with('{') {
        return Value::from_json(element.text.trim()).ok();
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
        let is_tool = names_tool && ["tool", "function", "call", "action"].contains(&&*lower);
        if is_tool
            && child.is_leaf()
            && let Some(name) = child.attribute(&["name", "id", "ref"])
        {
            let server = child.attribute(&["server"]);
            let server = server.map_or_else(String::new, |server| format!("{server}."));
            fields.push(("tool".into(), Value::text(format!("{server}{name}"))));
        } else if let Some(name) = child.attribute(&["name", "key"]) {
            let written = child.attribute(&["value"]);
            args.push((
                Arc::from(name),
                written.map_or_else(|| inside(child), scalar),
            ));
        } else if ARGS.contains(&&*lower) {
            match inside(child) {
                Value::Object(object) => {
                    let object = object.iter();
                    args.extend(object.map(|(name, value)| (Arc::clone(name), value.clone())));
                }
                Value::Null => {}
                other => fields.push(("args".into(), other)),
            }
        } else if !names_tool {
            args.push((Arc::from(&*child.name), inside(child)));
        } else if child.is_leaf() {
            fields.push((Arc::from(&*child.name), field(&child.name, &child.text)));
        } else {
            let ids = child.children.iter().map(|id| Value::text(id.text.trim()));
            fields.push((Arc::from(&*child.name), Value::list(ids)));
        }
    }
    if !element.text.trim().is_empty() {
        return None;
    }
    if !args.is_empty() {
        fields.push(("args".into(), Value::object(args)));
    }
    (fields.len() > usize::from(names_tool)).then(|| Value::object(fields))
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

/// The value of an element: the object of its children, a list of items, or its text.
fn inside(element: &Element) -> Value {
    if element.is_leaf() {
        let is_empty = element.attributes.is_empty() && element.text.trim().is_empty();
        return if is_empty {
            Value::Null
        } else {
            scalar(element.text.trim())
        };
    }
    let is_item = |child: &Element| ["item", "value", "element"].contains(&&*child.name);
    if element.children.iter().all(is_item) {
        return Value::list(element.children.iter().map(inside));
    }
    let fields = element.children.iter().map(|child| {
        let name = child.attribute(&["name", "key"]).unwrap_or(&child.name);
        let written = child.attribute(&["value"]);
        (
            Arc::from(name),
            written.map_or_else(|| inside(child), scalar),
        )
    });
    Value::object::<Arc<str>>(fields)
}

/// A text, or the JSON in it.
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
            let found = plan(text).map(|plan| plan.to_json());
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
                r#"{"steps":[{"id":"a","tool":"f","depends_on":["b","c"],"args":{"n":1,"l":["x"]}}]}"#,
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
        check("<plan> is a word", None);
        check("<plan><step>", None);
        check("<plan></step></plan>", None);
        check("words", None);
        check("", None);
    }
}
