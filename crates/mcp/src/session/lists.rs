//! The entries of a server's lists, without invisible characters, and the conversion of `tools/list` entries to tools.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use planwright_core::text::{is_visible, visible, without_hidden_texts};
use planwright_core::{Hints, Schema, ServerName, Tool, Value};

use super::message_text::truncate_message;
use crate::config::ServerConfig;
use crate::object::{text_field, with};
use crate::views;

/// Removes entries whose `key` has invisible characters. `what` is the kind of the entries.
pub(crate) fn remove_hidden_names(
    entries: &mut Vec<Value>,
    (what, key): (&str, &str),
    server: &ServerName,
    warnings: &mut Vec<String>,
) {
    entries.retain(|entry| {
        // A name is not stripped like other texts: the server would not know the new one, which may also be that of
        // another entry.
        let name = text(entry, key);
        if !is_visible(name) {
            let shown = visible(&truncate_message(name)).into_owned();
            warnings.push(format!(
                "the server `{server}` lists the {what} `{shown}`, whose name has invisible characters, so it was omitted"
            ));
        }
        is_visible(name)
    });
}

/// Removes invisible characters from the texts of entries.
pub(crate) fn strip_hidden_text(
    entries: &mut [Value],
    (what, key): (&str, &str),
    server: &ServerName,
    warnings: &mut Vec<String>,
) {
    for entry in entries {
        if let Some(stripped) = without_hidden_text(entry, key) {
            warnings.push(format!(
                "the server `{server}` describes the {what} `{}` with invisible characters, which were removed",
                truncate_message(text(entry, key))
            ));
            *entry = stripped;
        }
    }
}

/// The maximum number of reported warnings of a list; further ones are only counted.
const MAX_WARNINGS: usize = 10;

/// The kind of the entries of `tools/list`, and their key.
const TOOL_KIND: (&str, &str) = ("tool", "name");

/// Limits the number of warnings, so that people read them.
pub(crate) fn limit_warnings(server: &str, warnings: &mut Vec<String>) {
    let excess = warnings.len().saturating_sub(MAX_WARNINGS);
    if excess > 0 {
        warnings.truncate(MAX_WARNINGS);
        let more = if excess == 1 {
            "1 more problem".to_owned()
        } else {
            format!("{excess} more problems")
        };
        warnings.push(format!(
            "the list of tools of the server `{server}` has {more}"
        ));
    }
}

/// The entries of `tools/list` as the server sent them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolListEntries {
    pub(crate) entries: Vec<Value>,
    /// False if the list has no end.
    pub(crate) is_whole: bool,
    /// True if tools may require arguments to be repeated in headers.
    pub(crate) requires_headers: bool,
    /// The parts of an API that the server has no tools for, and the reasons.
    pub(crate) note: Option<String>,
}

impl ToolListEntries {
    /// Converts the entries to tools of the server `config`.
    pub(crate) fn read(self, config: &ServerConfig) -> ServerToolList {
        let Self {
            mut entries,
            is_whole,
            requires_headers,
            note,
        } = self;
        let mut warnings = Vec::new();
        if let Some(note) = note {
            let server = &config.name;
            warnings.push(format!(
                "the server `{server}` has no tool for {}",
                visible(&note)
            ));
        }
        if !is_whole {
            let (server, count) = (&config.name, entries.len());
            warnings.push(format!(
                "the list of tools of the server `{server}` has no end: {count} were read"
            ));
        }
        remove_hidden_names(&mut entries, TOOL_KIND, &config.name, &mut warnings);
        if requires_headers {
            entries.retain(|entry| {
                let problem = entry.get("inputSchema").and_then(argument_problem);
                if let Some(problem) = &problem {
                    let name = truncate_message(entry.get("name").and_then(Value::as_text).unwrap_or_default());
                    let server = &config.name;
                    warnings.push(format!(
                        "the server `{server}` lists the tool `{name}` with invalid headers, so it was omitted: {problem}"
                    ));
                }
                problem.is_none()
            });
        }
        let tools = read_tools(
            (&config.name, &config.origin()),
            config.trusted,
            &entries,
            &mut warnings,
        );
        // Pins need the original definitions, clients get the visible text, so this follows the conversion.
        strip_hidden_text(&mut entries, TOOL_KIND, &config.name, &mut warnings);
        limit_warnings(&config.name, &mut warnings);
        ServerToolList {
            tools,
            entries,
            warnings,
        }
    }
}

#[derive(Debug)]
pub(crate) struct ServerToolList {
    pub(crate) tools: Vec<Tool>,
    /// The entries of `tools/list`, without invisible characters in their texts.
    pub(crate) entries: Vec<Value>,
    /// Warnings about the list.
    pub(crate) warnings: Vec<String>,
}

/// Converts the entries of `tools/list`. Entries that are not tools are left out with a warning.
///
/// `origin` is the identity of the server, see [`ServerConfig::origin`](crate::ServerConfig::origin).
fn read_tools(
    (server, origin): (&ServerName, &Arc<str>),
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
                let mut tool = read_tool(server, trusted, name, entry);
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

/// The schema field with the name of the header.
const FIELD: &str = "x-mcp-header";

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderPosition {
    Root,
    /// An argument, or a field of one.
    Argument,
    /// Any other position, which may describe no value or many.
    Other,
}

/// Returns the first problem in the headers that the schema of a tool declares. Such a tool must not be called over HTTP.
fn argument_problem(schema: &Value) -> Option<String> {
    find_problem(schema, HeaderPosition::Root, &mut BTreeSet::new())
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_text).unwrap_or_default()
}

/// Returns an entry without invisible characters, or `None` if it has none.
fn without_hidden_text(entry: &Value, key: &str) -> Option<Value> {
    let texts = without_hidden_texts(entry);
    // The name of a resource is only descriptive: its key is the URI.
    let label = match entry.get("name") {
        Some(Value::Text(name)) if key != "name" && !is_visible(name) => Some(visible(name)),
        _ => None,
    };
    if texts.is_none() && label.is_none() {
        return None;
    }
    let entry = texts.unwrap_or_else(|| entry.clone());
    Some(match label {
        Some(label) => with(&entry, "name", Value::from(label.as_ref())),
        None => entry,
    })
}

fn read_tool(server: &ServerName, trusted: bool, name: &Arc<str>, entry: &Value) -> Tool {
    let stated = entry.get("annotations");
    // Revisions before 2025-06-18 have the title in the annotations.
    let title = text_field(entry, "title").or_else(|| text_field(stated?, "title"));
    let hints = read_hints(stated);
    Tool {
        title,
        description: text_field(entry, "description"),
        input: read_schema(entry, "inputSchema"),
        output: read_schema(entry, "outputSchema"),
        annotations: hints.annotations(trusted),
        hints,
        // A hint that asks for more caution counts even if the server is not trusted.
        approval: hints.is_stated_destructive(),
        approval_reason: hints
            .is_stated_destructive()
            .then(|| Arc::from("its server says that it may destroy something")),
        for_views: views::is_for_views(entry),
        ..Tool::new(server.clone(), Arc::clone(name))
    }
}

/// Reads the hints of a `tools/list` entry. A hint that is not a boolean counts as missing, except that a tool whose `destructiveHint` is
/// something else than `false` may destroy something.
fn read_hints(stated: Option<&Value>) -> Hints {
    let field = |name: &str| stated?.get(name).filter(|value| !value.is_null());
    let hint = |name: &str| field(name).and_then(Value::as_bool);
    Hints {
        read_only: hint("readOnlyHint"),
        destructive: field("destructiveHint").map(|value| value.as_bool() != Some(false)),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    }
}

fn read_schema(entry: &Value, field: &str) -> Schema {
    entry
        .get(field)
        .map_or_else(Schema::any, |schema| Schema::from_value(schema.clone()))
}

fn find_problem(
    schema: &Value,
    position: HeaderPosition,
    seen: &mut BTreeSet<String>,
) -> Option<String> {
    if let Some(items) = schema.as_list() {
        let mut items = items.iter();
        return items.find_map(|item| find_problem(item, HeaderPosition::Other, seen));
    }
    let inner = match position {
        HeaderPosition::Root | HeaderPosition::Argument => HeaderPosition::Argument,
        HeaderPosition::Other => HeaderPosition::Other,
    };
    let all = |schemas: &Value, position: HeaderPosition, seen: &mut BTreeSet<String>| {
        let mut schemas = schemas.as_object()?.values();
        schemas.find_map(|schema| find_problem(schema, position, seen))
    };
    schema
        .as_object()?
        .iter()
        .find_map(|(key, value)| match &**key {
            FIELD if position == HeaderPosition::Argument => {
                header_problem(value, schema.get("type"), seen)
            }
            FIELD => Some("a header is declared at a position that is not an argument".to_owned()),
            "properties" => all(value, inner, seen),
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                all(value, HeaderPosition::Other, seen)
            }
            // The values of these fields are data, not schemas.
            "default" | "const" | "enum" | "examples" => None,
            _ => find_problem(value, HeaderPosition::Other, seen),
        })
}

fn header_problem(
    header: &Value,
    kind: Option<&Value>,
    seen: &mut BTreeSet<String>,
) -> Option<String> {
    let Some(name) = header.as_text() else {
        return Some("the name of a header is not text".to_owned());
    };
    if name.is_empty() || !name.bytes().all(is_token) {
        return Some(format!(
            "`{}` is not the name of a header",
            name.escape_debug()
        ));
    }
    if !seen.insert(name.to_ascii_lowercase()) {
        return Some(format!("the header `{name}` occurs twice"));
    }
    match kind.and_then(Value::as_text) {
        Some("string" | "integer" | "boolean") => None,
        _ => Some(format!(
            "the header `{name}` is of an argument that is not a simple value"
        )),
    }
}

/// Returns true for the bytes of a header name according to RFC 9110.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
