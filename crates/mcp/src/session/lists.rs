//! The lists of a server, with all pages.

use std::collections::HashSet;

use planwright_core::{Tool, Value};

use super::caller::UpstreamError;
use super::lifecycle::{ServerStartError, Session};
use super::router::RequestError;
use super::sanitize::{remove_hidden_names, strip_hidden_text};
use super::tools;
use crate::config::ServerConfig;
use crate::transport::http::argument_fault;
use crate::transport::stdio::log::truncate_message;

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
    use super::limit_warnings;

    /// Compares the number of warnings left of `count`, and the last of them.
    #[track_caller]
    fn check(count: usize, kept: usize, last: &str) {
        let mut warnings: Vec<String> = (1..=count)
            .map(|number| format!("fault {number}"))
            .collect();
        limit_warnings("s", &mut warnings);
        assert_eq!(
            (warnings.len(), warnings.last().map_or("", String::as_str)),
            (kept, last)
        );
    }

    #[test]
    fn warnings_are_limited() {
        check(0, 0, "");
        check(10, 10, "fault 10");
        check(
            11,
            11,
            "the list of tools of the server `s` has 1 more fault",
        );
        check(
            5000,
            11,
            "the list of tools of the server `s` has 4990 more faults",
        );
    }
}
