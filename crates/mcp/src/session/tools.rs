//! Conversion of `tools/list` entries to tools.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Hints, Schema, Tool, Value};

use crate::object::text_field;
use crate::transport::stdio::log::truncate_message;

/// Converts the entries of `tools/list`. Entries that are not tools are left out with a warning.
///
/// `origin` is the identity of the server, see [`ServerConfig::origin`](crate::ServerConfig::origin).
pub(crate) fn read(
    (server, origin): (&Arc<str>, &Arc<str>),
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
                    let name = truncate_message(name);
                    warnings.push(format!(
                        "the server `{server}` lists the tool `{name}` twice: the later one counts"
                    ));
                }
                let mut tool = tool(server, trusted, name, entry);
                tool.origin = Arc::clone(origin);
                tools.push(tool);
            }
            _ => warnings.push(format!(
                "the server `{server}` lists a tool without a name, which was left out"
            )),
        }
    }
    tools
}

fn tool(server: &Arc<str>, trusted: bool, name: &Arc<str>, entry: &Value) -> Tool {
    let stated = entry.get("annotations");
    let title = text_field(entry, "title").or_else(|| text_field(stated?, "title"));
    let hints = hints(stated);
    Tool {
        title,
        description: text_field(entry, "description"),
        input: schema(entry, "inputSchema"),
        output: schema(entry, "outputSchema"),
        annotations: hints.annotations(trusted),
        hints,
        approval: hints.is_stated_destructive(),
        approval_reason: hints
            .is_stated_destructive()
            .then(|| Arc::from("its server says that it may destroy something")),
        ..Tool::new(Arc::clone(server), Arc::clone(name))
    }
}

/// Reads the hints of a `tools/list` entry. A hint that is not a boolean counts as missing.
fn hints(stated: Option<&Value>) -> Hints {
    let hint = |name: &str| stated.and_then(|stated| stated.get(name)?.as_bool());
    Hints {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
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
            (&"s".into(), &"".into()),
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
