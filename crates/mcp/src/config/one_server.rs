//! Reads what a file says about one server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::expand::{expand, names_a_secret};
use super::{ServerConfig, duration};

/// Shorter values are no secrets worth hiding: they would blank out half of every message.
const SHORTEST_SECRET: usize = 6;

/// Whether a server is wanted.
#[derive(PartialEq, Eq)]
pub(super) enum State {
    Enabled,
    Disabled,
}

/// Reads one server. What is wrong with it is collected, so that all of it is seen at once.
pub(super) struct ServerReader<'a> {
    pointer: String,
    /// The server, as far as it could be read.
    pub(super) config: ServerConfig,
    /// Pointer, message and help of each fault.
    pub(super) problems: Vec<(String, String, String)>,
    /// The fields that mean nothing here.
    pub(super) unknown: Vec<String>,
    lookup: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> ServerReader<'a> {
    /// A reader for the server `name`, which stands at `pointer`.
    pub(super) fn new(
        name: Arc<str>,
        pointer: String,
        lookup: &'a dyn Fn(&str) -> Option<String>,
    ) -> Self {
        Self {
            pointer,
            config: ServerConfig::new(name, String::new()),
            problems: Vec::new(),
            unknown: Vec::new(),
            lookup,
        }
    }

    /// Reads what the file says about the server.
    pub(super) fn read(&mut self, value: Value) -> State {
        let Value::Object(mut fields) = value else {
            self.problem("", "it must be an object", r#"write `{"command": "…"}`"#);
            return State::Enabled;
        };
        if fields.shift_remove("disabled") == Some(Value::Bool(true)) {
            return State::Disabled;
        }
        let kind = ["type", "transport"]
            .iter()
            .filter_map(|field| fields.shift_remove(*field))
            .find_map(|value| value.as_str().map(str::to_owned));
        let url = fields.shift_remove("url");
        if url.is_some() || kind.as_deref().is_some_and(|kind| kind != "stdio") {
            self.no_stdio(kind.as_deref(), url.as_ref());
            return State::Enabled;
        }
        let mut has_command = false;
        for (field, value) in fields {
            match field.as_str() {
                "command" => {
                    has_command = true;
                    self.config.command = self.text("/command", &value);
                }
                "args" => self.args(&value),
                "env" => self.env(&value),
                "cwd" => {
                    let cwd = self.text("/cwd", &value);
                    self.config.cwd = Some(PathBuf::from(cwd));
                }
                "trusted" => match value.as_bool() {
                    Some(trusted) => self.config.trusted = trusted,
                    None => self.problem(
                        "/trusted",
                        "`trusted` must be true or false",
                        "write `true`, or leave it out",
                    ),
                },
                "timeout" => self.config.timeout = self.duration("timeout", &value),
                "startTimeout" => self.config.start_timeout = self.duration("startTimeout", &value),
                _ => self.unknown.push(field),
            }
        }
        if !has_command {
            self.problem(
                "",
                "it has no `command`",
                "name the program that the server is",
            );
        } else if self.problems.is_empty() && self.config.command.trim().is_empty() {
            self.problem(
                "/command",
                "`command` is empty",
                "name the program that the server is",
            );
        }
        State::Enabled
    }

    fn no_stdio(&mut self, kind: Option<&str>, url: Option<&Value>) {
        let url = url.and_then(Value::as_str);
        match kind {
            Some(kind) if url.is_none() && !matches!(kind, "http" | "sse") => self.problem(
                "/type",
                &format!("`{kind}` is no way to reach a server that is known"),
                "write `stdio`",
            ),
            _ => self.problem(
                "/url",
                "it is reached over HTTP, which is not supported yet",
                &format!(
                    r#"put a bridge in between: `"command": "npx", "args": ["mcp-remote", "{}"]`"#,
                    url.unwrap_or("URL")
                ),
            ),
        }
    }

    fn args(&mut self, value: &Value) {
        let Value::Array(items) = value else {
            self.problem(
                "/args",
                "`args` must be a list of texts",
                r#"write `["…", "…"]`"#,
            );
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let argument = self.text(&format!("/args/{index}"), item);
            self.config.args.push(argument);
        }
    }

    fn env(&mut self, value: &Value) {
        let Value::Object(variables) = value else {
            self.problem(
                "/env",
                "`env` must be an object of texts",
                r#"write `{"NAME": "value"}`"#,
            );
            return;
        };
        for (name, value) in variables {
            let value = match value {
                Value::Null => None,
                value => Some(self.text(&format!("/env/{}", escape(name)), value)),
            };
            if names_a_secret(name) {
                self.hide(value.as_deref().unwrap_or_default());
            }
            self.config.env.push((name.clone(), value));
        }
    }

    /// A text with its variables put in; numbers and truth values count as what they look like.
    fn text(&mut self, field: &str, value: &Value) -> String {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => {
                let name = field.trim_start_matches('/').to_owned();
                self.problem(
                    field,
                    &format!("`{name}` must be a text"),
                    "put it in quotes",
                );
                return String::new();
            }
        };
        match expand(&text, self.lookup) {
            Ok(expanded) => {
                for secret in &expanded.secrets {
                    self.hide(secret);
                }
                expanded.text
            }
            Err(faults) => {
                for fault in faults {
                    self.problem(field, &fault.message, &fault.help);
                }
                String::new()
            }
        }
    }

    fn duration(&mut self, field: &str, value: &Value) -> Option<Duration> {
        let duration = duration::read(value);
        if duration.is_none() {
            self.problem(
                &format!("/{field}"),
                &format!("`{field}` must be a length of time"),
                r#"write `"30s"`, or a number of milliseconds"#,
            );
        }
        duration
    }

    fn hide(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            self.config.secrets.push(secret.into());
        }
    }

    fn problem(&mut self, field: &str, message: &str, help: &str) {
        let pointer = format!("{}{field}", self.pointer);
        self.problems
            .push((pointer, message.to_owned(), help.to_owned()));
    }
}

/// A name as a JSON pointer writes it.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
