//! Parses an `mcp.json`.

use std::sync::Arc;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use planwright_core::ServerName;
use planwright_core::text::{is_visible, visible};
use serde_json::Value;

use super::problem::{ConfigError, ConfigProblem};
use super::server_reader::{EnvironmentLookup, ServerReader, escape};
use super::{ServerTransport, ServersConfig, jsonc};

/// The names of the field with the servers: that of most clients, and that of VS Code.
const CONTAINERS: [&str; 2] = ["mcpServers", "servers"];

impl ServersConfig {
    /// Parses the `text` of the file `file_name`, with or without comments. `lookup` returns the value of an
    /// environment variable. Returns the servers and warnings about ignored parts.
    ///
    /// # Errors
    ///
    /// Fails if the text is not JSON or has no list of servers. An invalid server is not an error: it is listed in
    /// [`ServersConfig::unusable`], and the others are available.
    pub fn parse(
        text: &str,
        file_name: &str,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<ConfigProblem>), ConfigError> {
        Self::parse_with(text, file_name, Some(lookup))
    }

    /// Parses a file like [`parse`](Self::parse), but leaves `${NAME}` as it is written. The servers are only displayed, not
    /// started.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse).
    pub fn parse_as_written(
        text: &str,
        file_name: &str,
    ) -> Result<(Self, Vec<ConfigProblem>), ConfigError> {
        Self::parse_with(text, file_name, None)
    }

    fn parse_with(
        text: &str,
        file_name: &str,
        lookup: Option<EnvironmentLookup<'_>>,
    ) -> Result<(Self, Vec<ConfigProblem>), ConfigError> {
        let mut reader = ConfigReader {
            // Some editors write a byte order mark, which JSON does not allow.
            text: text.strip_prefix('\u{feff}').unwrap_or(text),
            file: file_name.into(),
            lookup,
            config: ServersConfig::default(),
            warnings: Vec::new(),
        };
        reader.read()?;
        Ok((reader.config, reader.warnings))
    }
}

struct ConfigReader<'a> {
    text: &'a str,
    file: Arc<str>,
    /// The values of environment variables; `None` leaves variables as they are written.
    lookup: Option<EnvironmentLookup<'a>>,
    config: ServersConfig,
    warnings: Vec<ConfigProblem>,
}

impl ConfigReader<'_> {
    fn read(&mut self) -> Result<(), ConfigError> {
        let parsed = jsonc::parse(self.text).map_err(|error| {
            let mut reason = error.kind().to_string();
            // The reason continues our message, so it begins in lower case.
            reason[..1].make_ascii_lowercase();
            let place = (error.line_display(), error.column_display());
            self.error(Some(place), format!("this is not JSON: {reason}"))
        })?;
        let Some(value) = parsed.value else {
            return Err(self.error(None, "the file is empty".to_owned()));
        };
        let mut found = false;
        for ast::ObjectProp { name, value, .. } in self.members(value)? {
            let name = name.into_string();
            if !CONTAINERS.contains(&name.as_str()) {
                // Other fields belong to the client that owns the file. Editors use `$schema`, so it needs no warning.
                if name != "$schema" {
                    let message = format!("the field `{name}` is unknown and was ignored");
                    self.warn(None, format!("/{}", escape(&name)), message);
                }
                continue;
            }
            found = true;
            for server in self.members(value)? {
                let server_name = server.name.into_string();
                let pointer = format!("/{name}/{}", escape(&server_name));
                self.read_server(server_name.into(), pointer, server.value.into());
            }
        }
        if found {
            self.warn_about_colliding_names();
            return Ok(());
        }
        Err(self.error(None, "the file has no `mcpServers`".to_owned()))
    }

    /// Returns the members of an object in their order, including duplicates.
    fn members<'v>(&self, value: ast::Value<'v>) -> Result<Vec<ast::ObjectProp<'v>>, ConfigError> {
        if let ast::Value::Object(object) = value {
            return Ok(object.properties);
        }
        let before = &self.text[..value.range().start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Err(self.error(Some((line, column)), "this must be an object".to_owned()))
    }

    fn error(&self, place: Option<(usize, usize)>, message: String) -> ConfigError {
        ConfigError {
            file: Arc::clone(&self.file),
            place,
            message,
            help: r#"write `{"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}`"#.to_owned(),
        }
    }

    /// Warns about servers whose qualified tool names may collide.
    fn warn_about_colliding_names(&mut self) {
        let names: Vec<ServerName> = self.config.names().cloned().collect();
        for longer in &names {
            let begins = |shorter: &&ServerName| {
                // Tools are called `server.tool` or `server__tool`, so the longer name may read as a tool of the
                // shorter one.
                let rest = longer.strip_prefix(&***shorter);
                rest.is_some_and(|rest| rest.starts_with('.') || rest.starts_with("__"))
            };
            for shorter in names.iter().filter(begins) {
                self.warnings.push(ConfigProblem {
                    file: Arc::clone(&self.file),
                    server: Some(longer.clone()),
                    pointer: String::new(),
                    message: format!(
                        "the names of tools of the servers `{shorter}` and `{longer}` may be the same"
                    ),
                    help: "give one of them a name without `.` and `__`".to_owned(),
                });
            }
        }
    }

    fn read_server(&mut self, name: ServerName, pointer: String, value: Value) {
        // The last one counts, as in most JSON parsers.
        if self.config.servers.iter().any(|known| known.name == name) {
            let message =
                format!("the server `{name}` is defined twice: the second definition is used");
            self.warn(Some(&name), pointer.clone(), message);
            self.config.servers.retain(|known| known.name != name);
        }
        let mut server = ServerReader::new(name.clone(), pointer.clone(), self.lookup);
        let is_enabled = server.read(value);
        // Names that differ only in invisible characters look the same to people.
        if !is_visible(&name) {
            server.problem(
                "",
                "its name has invisible characters",
                "type its name again by hand",
            );
        }
        let ServerReader {
            mut config,
            problems,
            unknown,
            ..
        } = server;
        for field in unknown {
            let message =
                format!("the field `{field}` of the server `{name}` is unknown and was ignored");
            self.warn(
                Some(&name),
                format!("{pointer}/{}", escape(&field)),
                message,
            );
        }
        if !is_enabled {
            self.config.disabled.push(name);
            return;
        }
        if let ServerTransport::OpenApi(api) = &mut config.reach
            && self.lookup.is_some()
        {
            api.resolve_from(&self.file);
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
                server: Some(name.clone()),
                pointer,
                message: format!(
                    "the server `{}` cannot be started: {message}",
                    visible(&name)
                ),
                help,
            });
        self.config.unusable.extend(problems);
    }

    fn warn(&mut self, server: Option<&ServerName>, pointer: String, message: String) {
        self.warnings.push(ConfigProblem {
            file: Arc::clone(&self.file),
            server: server.cloned(),
            pointer,
            message,
            help: "remove it, or look for a spelling mistake".to_owned(),
        });
    }
}
