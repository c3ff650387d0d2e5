//! What a server says about its tools.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Annotations, Schema, Tool, Value};

use super::log::brief;

/// Reads the entries of `tools/list`. An entry that is no tool is left out, with a word in `warnings`.
pub(super) fn read(
    server: &Arc<str>,
    trusted: bool,
    entries: &[Value],
    warnings: &mut Vec<String>,
) -> Vec<Tool> {
    let mut tools = Vec::with_capacity(entries.len());
    let mut names = HashSet::with_capacity(entries.len());
    for entry in entries {
        match entry.get("name") {
            Some(Value::Text(name)) if !name.is_empty() => {
                if !names.insert(name) {
                    let name = brief(name);
                    warnings.push(format!(
                        "the server `{server}` lists the tool `{name}` twice: the later one counts"
                    ));
                }
                tools.push(tool(server, trusted, name, entry));
            }
            _ => warnings.push(format!(
                "the server `{server}` lists a tool without a name, which was left out"
            )),
        }
    }
    tools
}

fn tool(server: &Arc<str>, trusted: bool, name: &Arc<str>, entry: &Value) -> Tool {
    let hints = entry.get("annotations");
    let title = text(entry, "title").or_else(|| text(hints?, "title"));
    Tool {
        title,
        description: text(entry, "description"),
        input: schema(entry, "inputSchema"),
        output: schema(entry, "outputSchema"),
        annotations: annotations(hints, trusted),
        approval: says_destructive(hints),
        ..Tool::new(Arc::clone(server), Arc::clone(name))
    }
}

/// Whether a server says of itself that a tool may destroy something. That it does not say so is no such claim, though the
/// protocol takes it for one: most tools of most servers say nothing.
fn says_destructive(hints: Option<&Value>) -> bool {
    let says = |name: &str| hints.and_then(|hints| hints.get(name)?.as_bool()) == Some(true);
    says("destructiveHint") && !says("readOnlyHint")
}

fn annotations(hints: Option<&Value>, trusted: bool) -> Annotations {
    let hint = |name: &str| hints.and_then(|hints| hints.get(name)?.as_bool());
    let default = Annotations::default();
    Annotations {
        read_only: hint("readOnlyHint").unwrap_or(default.read_only),
        destructive: hint("destructiveHint").unwrap_or(default.destructive),
        idempotent: hint("idempotentHint").unwrap_or(default.idempotent),
        open_world: hint("openWorldHint").unwrap_or(default.open_world),
        trusted,
    }
}

fn text(entry: &Value, field: &str) -> Option<Arc<str>> {
    match entry.get(field)? {
        Value::Text(text) => Some(Arc::clone(text)),
        _ => None,
    }
}

fn schema(entry: &Value, field: &str) -> Schema {
    entry
        .get(field)
        .map_or_else(Schema::any, |schema| Schema::from_value(schema.clone()))
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::read;

    fn check(tools: &str, trusted: bool) -> String {
        let entries = Value::from_json(tools).unwrap();
        let mut warnings = Vec::new();
        let tools = read(
            &"s".into(),
            trusted,
            entries.as_list().unwrap(),
            &mut warnings,
        );
        let mut lines: Vec<String> = tools
            .iter()
            .map(|tool| {
                let annotations = &tool.annotations;
                let flags: String = [
                    (annotations.read_only, 'r'),
                    (annotations.destructive, 'd'),
                    (annotations.idempotent, 'i'),
                    (annotations.open_world, 'o'),
                    (annotations.trusted, 't'),
                    (tool.approval, 'a'),
                ]
                .iter()
                .filter_map(|(flag, letter)| flag.then_some(letter))
                .collect();
                format!(
                    "{} {:?} {:?} {flags} {} {}",
                    tool.qualified_name(),
                    tool.title,
                    tool.description,
                    tool.input.as_value(),
                    tool.output.as_value()
                )
            })
            .collect();
        lines.extend(warnings);
        lines.join("\n")
    }

    #[test]
    fn reads_tools() {
        insta::assert_snapshot!(check(r#"[
            {"name": "bare"},
            {"name": "full", "title": "Full", "description": "Does.", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"},
             "annotations": {"title": "other", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}},
            {"name": "kills", "annotations": {"destructiveHint": true}},
            {"name": "looks", "annotations": {"destructiveHint": true, "readOnlyHint": true}},
            {"name": "old", "annotations": {"title": "Old", "readOnlyHint": "yes"}, "icons": [{}]},
            {"name": ""}, {"name": 3}, 7
        ]"#, false), @r#"
        s.bare None None do {} {}
        s.full Some("Full") Some("Does.") ri {"type":"object"} {"type":"array"}
        s.kills None None doa {} {}
        s.looks None None rdo {} {}
        s.old Some("Old") None do {} {}
        the server `s` lists a tool without a name, which was left out
        the server `s` lists a tool without a name, which was left out
        the server `s` lists a tool without a name, which was left out
        "#);
        insta::assert_snapshot!(check(r#"[{"name": "x"}]"#, true), @"s.x None None dot {} {}");
        insta::assert_snapshot!(check("[]", true), @"");
        insta::assert_snapshot!(check(r#"[{"name": "x"}, {"name": "x", "title": "X"}]"#, true), @r#"
        s.x None None dot {} {}
        s.x Some("X") None dot {} {}
        the server `s` lists the tool `x` twice: the later one counts
        "#);
    }
}
