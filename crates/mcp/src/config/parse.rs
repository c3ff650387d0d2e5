//! Reads an `mcp.json`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::expand::{expand, names_a_secret};
use super::{ConfigError, ConfigProblem, ServerConfig, ServersConfig, duration, jsonc};

/// The fields that hold the servers: the one of most clients, and that of VS Code.
const CONTAINERS: [&str; 2] = ["mcpServers", "servers"];

/// Shorter values are no secrets worth hiding: they would blank out half of every message.
const SHORTEST_SECRET: usize = 6;

impl ServersConfig {
    /// Reads the `text` of the file `file_name`, with or without comments. `lookup` gives the value of an
    /// environment variable. What was ignored comes back as warnings, next to the servers.
    ///
    /// # Errors
    ///
    /// Where the text is not JSON or names no servers at all. A fault of one server does not count: it stands in
    /// [`ServersConfig::unusable`], and the others work.
    pub fn parse(
        text: &str,
        file_name: &str,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<ConfigProblem>), ConfigError> {
        let file: Arc<str> = file_name.into();
        let parts: Parts = serde_json::from_str(&jsonc::to_json(text)).map_err(|error| {
            let is_shape = error.classify() == serde_json::error::Category::Data;
            ConfigError {
                file: Arc::clone(&file),
                place: (error.line() > 0).then(|| (error.line(), error.column())),
                message: if is_shape {
                    "this must be an object".to_owned()
                } else {
                    format!("this is not JSON: {}", reason(&error))
                },
                help: r#"write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`"#
                    .to_owned(),
            }
        })?;
        let mut reader = Reader {
            file,
            lookup,
            config: ServersConfig::default(),
            warnings: Vec::new(),
        };
        reader.read(parts)?;
        Ok((reader.config, reader.warnings))
    }
}

struct Reader<'a> {
    file: Arc<str>,
    lookup: &'a dyn Fn(&str) -> Option<String>,
    config: ServersConfig,
    warnings: Vec<ConfigProblem>,
}

impl Reader<'_> {
    fn read(&mut self, parts: Parts) -> Result<(), ConfigError> {
        let mut found = false;
        for (name, servers) in parts.0 {
            let Some(servers) = servers else {
                if name != "$schema" {
                    let message = format!("the field `{name}` is not known, and was ignored");
                    self.warn(None, format!("/{}", escape(&name)), message);
                }
                continue;
            };
            found = true;
            for (server, value) in servers.0 {
                let pointer = format!("/{name}/{}", escape(&server));
                self.read_server(server.into(), pointer, value);
            }
        }
        if found {
            return Ok(());
        }
        Err(ConfigError {
            file: Arc::clone(&self.file),
            place: None,
            message: "there is no `mcpServers` in it".to_owned(),
            help: r#"write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`"#.to_owned(),
        })
    }

    fn read_server(&mut self, name: Arc<str>, pointer: String, value: Value) {
        if self.config.servers.iter().any(|known| known.name == name) {
            let message = format!("the server `{name}` stands twice: the later one counts");
            self.warn(Some(&name), pointer.clone(), message);
            self.config.servers.retain(|known| known.name != name);
        }
        let mut server = ServerReader {
            pointer,
            config: ServerConfig::new(Arc::clone(&name), String::new()),
            problems: Vec::new(),
            unknown: Vec::new(),
            lookup: self.lookup,
        };
        let state = server.read(value);
        let ServerReader {
            pointer,
            config,
            problems,
            unknown,
            ..
        } = server;
        for field in unknown {
            let message =
                format!("the field `{field}` of the server `{name}` is not known, and was ignored");
            self.warn(
                Some(&name),
                format!("{pointer}/{}", escape(&field)),
                message,
            );
        }
        if state == State::Disabled {
            self.config.disabled.push(name);
            return;
        }
        if problems.is_empty() {
            self.config.servers.push(config);
            return;
        }
        let file = &self.file;
        let problems = problems
            .into_iter()
            .map(|(pointer, message, help)| ConfigProblem {
                file: Arc::clone(file),
                server: Some(Arc::clone(&name)),
                pointer,
                message: format!("the server `{name}` cannot be started: {message}"),
                help,
            });
        self.config.unusable.extend(problems);
    }

    fn warn(&mut self, server: Option<&Arc<str>>, pointer: String, message: String) {
        self.warnings.push(ConfigProblem {
            file: Arc::clone(&self.file),
            server: server.cloned(),
            pointer,
            message,
            help: "remove it, or look for a spelling mistake".to_owned(),
        });
    }
}

#[derive(PartialEq, Eq)]
enum State {
    Enabled,
    Disabled,
}

struct ServerReader<'a> {
    pointer: String,
    config: ServerConfig,
    problems: Vec<(String, String, String)>,
    unknown: Vec<String>,
    lookup: &'a dyn Fn(&str) -> Option<String>,
}

impl ServerReader<'_> {
    fn read(&mut self, value: Value) -> State {
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

    fn duration(&mut self, field: &str, value: &Value) -> Option<std::time::Duration> {
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

/// The fields of the file: those that hold servers, and the names of the others.
struct Parts(Vec<(String, Option<Fields>)>);

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor;

        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Parts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Parts, A::Error> {
                let mut parts = Vec::new();
                while let Some(name) = access.next_key::<String>()? {
                    let servers = if CONTAINERS.contains(&name.as_str()) {
                        Some(access.next_value()?)
                    } else {
                        access.next_value::<IgnoredAny>()?;
                        None
                    };
                    parts.push((name, servers));
                }
                Ok(Parts(parts))
            }
        }

        deserializer.deserialize_map(PartsVisitor)
    }
}

/// The fields of an object in their order, those that stand twice included.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = access.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The reader's words without the place that it appends to them.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}
