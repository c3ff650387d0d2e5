//! The lists of a server, with all pages and without invisible characters.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::text::{is_visible, visible, without_hidden_texts};
use planwright_core::{Tool, Value};

use super::caller::UpstreamError;
use super::lifecycle::{ServerStartError, Session};
use super::router::RequestError;
use super::tools;
use crate::config::ServerConfig;
use crate::object::with;
use crate::transport::http::argument_fault;
use crate::transport::stdio::log::truncate_message;

/// Removes entries whose `key` has invisible characters. `what` is the kind of the entries.
pub(crate) fn remove_hidden_names(
    entries: &mut Vec<Value>,
    (what, key): (&str, &str),
    server: &Arc<str>,
    warnings: &mut Vec<String>,
) {
    entries.retain(|entry| {
        let name = text(entry, key);
        if !is_visible(name) {
            let shown = visible(&truncate_message(name)).into_owned();
            warnings.push(format!(
                "the server `{server}` lists the {what} `{shown}`, whose name has characters that cannot be seen, so it was left out"
            ));
        }
        is_visible(name)
    });
}

/// Removes invisible characters from the texts of entries.
pub(crate) fn strip_hidden_text(
    entries: &mut [Value],
    (what, key): (&str, &str),
    server: &Arc<str>,
    warnings: &mut Vec<String>,
) {
    for entry in entries {
        if let Some(stripped) = without_hidden_text(entry, key) {
            warnings.push(format!(
                "the server `{server}` describes the {what} `{}` with characters that cannot be seen, which were left out",
                truncate_message(text(entry, key))
            ));
            *entry = stripped;
        }
    }
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

const MAX_PAGES: usize = 1000;

/// The maximum number of reported warnings of a list; further ones are only counted.
const MAX_WARNINGS: usize = 10;

/// The kind of the entries of `tools/list`, and their key.
const TOOL_KIND: (&str, &str) = ("tool", "name");

impl Session {
    /// Requests a list by `method` and returns all entries in `field`, unchanged. A server without this list may not
    /// know the method.
    pub(crate) async fn list(&self, method: &str, field: &str) -> Result<Vec<Value>, RequestError> {
        let (entries, _) = self.pages(method, field).await?;
        Ok(entries)
    }

    /// Requests a list and returns its entries, and whether the list is complete.
    async fn pages(&self, method: &str, field: &str) -> Result<(Vec<Value>, bool), RequestError> {
        let mut found = Vec::new();
        let mut params = Value::empty_object();
        let mut seen = HashSet::new();
        for _ in 0..MAX_PAGES {
            let page = match self.request(method, &params, None).await {
                Ok(page) => page,
                Err(RequestError::Refused(error))
                    if error.code == UpstreamError::UNKNOWN_METHOD =>
                {
                    return Ok((found, true));
                }
                Err(error) => return Err(error),
            };
            let Some(entries) = page.get(field).and_then(Value::as_list) else {
                let reason = format!("there is no list `{field}` in the answer");
                return Err(RequestError::Unreadable(reason));
            };
            found.extend_from_slice(entries);
            match page.get("nextCursor").and_then(Value::as_text) {
                None | Some("") => return Ok((found, true)),
                // A repeated cursor would loop forever.
                Some(next) if !seen.insert(next.to_owned()) => return Ok((found, false)),
                Some(next) => params = Value::object([("cursor", Value::from(next))]),
            }
        }
        Ok((found, false))
    }

    /// Requests and converts the tools of the server.
    pub(crate) async fn list_tools(
        &self,
        config: &ServerConfig,
    ) -> Result<ToolList, ServerStartError> {
        let (mut entries, is_whole) = match self.pages("tools/list", "tools").await {
            Ok(pages) => pages,
            Err(error) => return Err(self.list_error(error).await),
        };
        let mut warnings = Vec::new();
        if !is_whole {
            let (server, count) = (&config.name, entries.len());
            warnings.push(format!(
                "the list of tools of the server `{server}` has no end: {count} were read"
            ));
        }
        remove_hidden_names(&mut entries, TOOL_KIND, &config.name, &mut warnings);
        if self.requires_argument_headers() {
            entries.retain(|entry| {
                let fault = entry.get("inputSchema").and_then(argument_fault);
                if let Some(fault) = &fault {
                    let name = truncate_message(entry.get("name").and_then(Value::as_text).unwrap_or_default());
                    let server = &config.name;
                    warnings.push(format!(
                        "the server `{server}` lists the tool `{name}` with headers that cannot be, so it was left out: {fault}"
                    ));
                }
                fault.is_none()
            });
        }
        let tools = tools::read(
            (&config.name, &config.origin()),
            config.trusted,
            &entries,
            &mut warnings,
        );
        // Pins need the original definitions, clients get the visible text, so this follows the conversion.
        strip_hidden_text(&mut entries, TOOL_KIND, &config.name, &mut warnings);
        limit_warnings(&config.name, &mut warnings);
        Ok(ToolList {
            tools,
            entries,
            warnings,
        })
    }

    async fn list_error(&self, error: RequestError) -> ServerStartError {
        let message = match error {
            RequestError::Refused(error) => {
                format!(
                    "it does not list its tools: {}",
                    truncate_message(&error.message)
                )
            }
            RequestError::Unreadable(reason) => {
                format!("its list of tools cannot be read: {reason}")
            }
            RequestError::Unsent(reason) | RequestError::Lost(Some(reason)) => reason,
            RequestError::Lost(None) => self.close_reason().await,
        };
        ServerStartError {
            message,
            help: self.help(),
        }
    }
}

/// Limits the number of warnings, so that people read them.
pub(crate) fn limit_warnings(server: &str, warnings: &mut Vec<String>) {
    let excess = warnings.len().saturating_sub(MAX_WARNINGS);
    if excess > 0 {
        warnings.truncate(MAX_WARNINGS);
        let more = if excess == 1 {
            "1 more fault".to_owned()
        } else {
            format!("{excess} more faults")
        };
        warnings.push(format!(
            "the list of tools of the server `{server}` has {more}"
        ));
    }
}

#[derive(Debug)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<Tool>,
    /// The entries of `tools/list`, without invisible characters in their texts.
    pub(crate) entries: Vec<Value>,
    /// Warnings about the list.
    pub(crate) warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::{limit_warnings, remove_hidden_names, strip_hidden_text};

    fn check(what: (&str, &str), entries: &str, expected: &str, warned: &[&str]) {
        let mut entries = Value::from_json(entries)
            .unwrap()
            .as_list()
            .unwrap()
            .to_vec();
        let mut warnings = Vec::new();
        remove_hidden_names(&mut entries, what, &"s".into(), &mut warnings);
        strip_hidden_text(&mut entries, what, &"s".into(), &mut warnings);
        assert_eq!(Value::from(entries).to_json(), expected);
        assert_eq!(warnings, warned);
    }

    #[test]
    fn names_with_invisible_characters_are_removed() {
        check(
            ("tool", "name"),
            r#"[{"name": "pay\u200b"}, {"name": "a\nb"}, {"name": "rtl\u202e"}, {"name": "tag\udb40\udc41"}, {"name": "Größe 東京"}]"#,
            r#"[{"name":"Größe 東京"}]"#,
            &[
                r"the server `s` lists the tool `pay\u{200b}`, whose name has characters that cannot be seen, so it was left out",
                r"the server `s` lists the tool `a\nb`, whose name has characters that cannot be seen, so it was left out",
                r"the server `s` lists the tool `rtl\u{202e}`, whose name has characters that cannot be seen, so it was left out",
                r"the server `s` lists the tool `tag\u{e0041}`, whose name has characters that cannot be seen, so it was left out",
            ],
        );
    }

    #[test]
    fn texts_lose_invisible_characters() {
        check(
            ("tool", "name"),
            r#"[{"name": "a", "description": "x\u200by\n", "annotations": {"title": "t\u2066"},
                "inputSchema": {"properties": {"description": {"description": "p\u00ad", "default": "d\u00ad", "enum": ["e\u00ad"]}}}}]"#,
            "[{\"name\":\"a\",\"description\":\"xy\\n\",\"annotations\":{\"title\":\"t\"},\"inputSchema\":{\"properties\":{\"description\":{\"description\":\"p\",\"default\":\"d\u{ad}\",\"enum\":[\"e\u{ad}\"]}}}}]",
            &[
                "the server `s` describes the tool `a` with characters that cannot be seen, which were left out",
            ],
        );
        check(
            ("tool", "name"),
            r#"[{"name": "a", "description": "Plain.", "x-own": "\u200b"}]"#,
            "[{\"name\":\"a\",\"description\":\"Plain.\",\"x-own\":\"\u{200b}\"}]",
            &[],
        );
    }

    #[test]
    fn the_name_of_a_resource_is_a_description() {
        check(
            ("resource", "uri"),
            r#"[{"uri": "x:1", "name": "a\u202eb"}, {"uri": "x:\u200b2", "name": "b"}]"#,
            r#"[{"uri":"x:1","name":"a\\u{202e}b"}]"#,
            &[
                r"the server `s` lists the resource `x:\u{200b}2`, whose name has characters that cannot be seen, so it was left out",
                "the server `s` describes the resource `x:1` with characters that cannot be seen, which were left out",
            ],
        );
    }

    /// Compares the number of warnings left of `count`, and the last of them.
    #[track_caller]
    fn check_lists(count: usize, length: usize, last: &str) {
        let mut warnings: Vec<String> = (1..=count)
            .map(|number| format!("fault {number}"))
            .collect();
        limit_warnings("s", &mut warnings);
        assert_eq!(
            (warnings.len(), warnings.last().map_or("", String::as_str)),
            (length, last)
        );
    }

    #[test]
    fn warnings_are_limited() {
        check_lists(0, 0, "");
        check_lists(10, 10, "fault 10");
        check_lists(
            11,
            11,
            "the list of tools of the server `s` has 1 more fault",
        );
        check_lists(
            5000,
            11,
            "the list of tools of the server `s` has 4990 more faults",
        );
    }
}
