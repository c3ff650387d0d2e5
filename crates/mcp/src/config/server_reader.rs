//! Parses one server of an `mcp.json`, and expands `${NAME}` in its commands, arguments and environment values.

use std::path::PathBuf;
use std::time::Duration;

use planwright_core::ServerName;
use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value};

use super::{ProgramConfig, ServerConfig, ServerTransport};
use crate::session::handshake::{REVISIONS, supported_revision};

/// The names of the address field: that of most clients first.
pub(super) const URL_FIELDS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// A transport, as the entry of a server names it.
struct TransportRow {
    /// The values of `type`; the first one is in hints.
    words: &'static [&'static str],
    /// The fields that decide if there is no `type`.
    fields: &'static [&'static str],
    read: fn(&mut ServerReader<'_>, Map<String, Value>),
}

/// All transports. The field of an earlier one decides.
static TRANSPORTS: [TransportRow; 3] = [
    TransportRow {
        words: &["openapi"],
        fields: &["openapi"],
        read: |reader, fields| reader.read_openapi(fields),
    },
    TransportRow {
        words: &[
            "http",
            "streamable-http",
            "streamable_http",
            "streamableHttp",
        ],
        fields: &URL_FIELDS,
        read: |reader, fields| reader.read_http(fields),
    },
    TransportRow {
        words: &["stdio"],
        fields: &["command"],
        read: |reader, fields| reader.read_program(fields),
    },
];

/// Returns the hint for an unknown transport.
fn known_transports() -> String {
    let words = TRANSPORTS.iter().rev().filter_map(|row| row.words.first());
    let words: Vec<&str> = words.copied().collect();
    format!("write one of `{}`", words.join("`, `"))
}

/// The minimum length of a secret in bytes: redacting shorter values would make messages unreadable.
const MIN_SECRET_LENGTH: usize = 6;

/// Returns the value of an environment variable.
pub(super) type EnvironmentLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A parser of one server. It collects all problems instead of stopping at the first.
pub(super) struct ServerReader<'a> {
    pointer: String,
    pub(super) config: ServerConfig,
    /// Pointer, message and help of each problem.
    pub(super) problems: Vec<(String, String, String)>,
    pub(super) unknown: Vec<String>,
    lookup: Option<EnvironmentLookup<'a>>,
}

impl<'a> ServerReader<'a> {
    pub(super) fn new(
        name: ServerName,
        pointer: String,
        lookup: Option<EnvironmentLookup<'a>>,
    ) -> Self {
        Self {
            pointer,
            config: ServerConfig::program(name, ProgramConfig::default()),
            problems: Vec::new(),
            unknown: Vec::new(),
            lookup,
        }
    }

    /// Parses the value of the server. Returns false if the server is disabled.
    pub(super) fn read(&mut self, value: Value) -> bool {
        let Value::Object(mut fields) = value else {
            self.problem("", "it must be an object", r#"write `{"command": "…"}`"#);
            return true;
        };
        // A disabled server may be incomplete, so its other fields are not checked.
        if fields.shift_remove("disabled") == Some(Value::Bool(true)) {
            return false;
        }
        self.read_common_fields(&mut fields);
        // Clients differ in the name of this field.
        let kind = ["type", "transport"]
            .iter()
            .filter_map(|field| fields.shift_remove(*field))
            .find_map(|value| value.as_str().map(str::to_owned));
        let of_kind = |kind: &str| TRANSPORTS.iter().find(|row| row.words.contains(&kind));
        match kind.as_deref().map(|kind| (kind, of_kind(kind))) {
            Some((_, Some(row))) => (row.read)(self, fields),
            Some(("sse", None)) => self.problem(
                "/type",
                "its transport is `sse`, which MCP has deprecated",
                "write the address of its Streamable HTTP endpoint with `\"type\": \"http\"`; if it has none, put a \
                 bridge in between: `\"command\": \"npx\", \"args\": [\"mcp-remote\", \"URL\"]`",
            ),
            Some((kind, None)) => self.problem(
                "/type",
                &format!("unknown transport `{kind}`"),
                &known_transports(),
            ),
            // Most clients omit the type and let the field of the address decide.
            None => {
                let has_field = |row: &&TransportRow| {
                    let mut names = row.fields.iter();
                    names.any(|field| fields.contains_key(*field))
                };
                let read = TRANSPORTS.iter().find(has_field).map(|row| row.read);
                match read {
                    Some(read) => read(self, fields),
                    None => self.read_program(fields),
                }
            }
        }
        true
    }

    #[cfg(not(feature = "http"))]
    fn read_http(&mut self, _: Map<String, Value>) {
        self.problem(
            "",
            "its transport is HTTP, but this program was built without HTTP",
            "build the program with the feature `mcp-http` of `planwright`",
        );
    }

    #[cfg(not(feature = "http"))]
    fn read_openapi(&mut self, fields: Map<String, Value>) {
        self.read_http(fields);
    }

    /// Parses the fields that are independent of the transport.
    fn read_common_fields(&mut self, fields: &mut Map<String, Value>) {
        if let Some(value) = fields.shift_remove("trusted") {
            match value.as_bool() {
                Some(trusted) => self.config.trusted = trusted,
                None => self.problem(
                    "/trusted",
                    "`trusted` must be true or false",
                    "write `true`, or leave it out",
                ),
            }
        }
        if let Some(value) = fields.shift_remove("protocol") {
            let revision = value.as_str().and_then(supported_revision);
            self.config.protocol = revision.map(|revision| revision.as_str().into());
            if revision.is_none() {
                let known = REVISIONS.iter().map(ProtocolVersion::as_str);
                let known = known.collect::<Vec<_>>().join("`, `");
                self.problem(
                    "/protocol",
                    &format!("`protocol` is {value}, which is not a supported revision of MCP"),
                    &format!("write one of `{known}`, or leave it out"),
                );
            }
        }
        if let Some(value) = fields.shift_remove("timeout") {
            self.config.timeout = self.read_duration("timeout", &value);
        }
        if let Some(value) = fields.shift_remove("startTimeout") {
            self.config.start_timeout = self.read_duration("startTimeout", &value);
        }
    }

    /// Returns a text with its variables expanded; numbers and booleans count as their JSON text.
    pub(super) fn read_text(&mut self, field: &str, value: &Value) -> String {
        let text = match value {
            Value::String(text) => text.clone(),
            // People write these values without quotes, and a process gets text in any case.
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => {
                let name = field.trim_start_matches('/').to_owned();
                self.problem(
                    field,
                    &format!("`{name}` must be a string"),
                    "put it in quotes",
                );
                return String::new();
            }
        };
        let Some(lookup) = self.lookup else {
            return text;
        };
        match expand(&text, lookup) {
            Ok(expanded) => {
                for secret in &expanded.secrets {
                    self.add_secret(secret);
                }
                expanded.text
            }
            Err(errors) => {
                for error in errors {
                    self.problem(field, &error.message, &error.help);
                }
                String::new()
            }
        }
    }

    /// Returns true if a text has variables that are not expanded, as for a person who looks at the file: whether it is valid depends on them.
    #[cfg(feature = "http")]
    pub(super) fn has_variable(&self, text: &str) -> bool {
        self.lookup.is_none() && text.contains("${")
    }

    fn read_duration(&mut self, field: &str, value: &Value) -> Option<Duration> {
        let duration = parse_duration(value);
        if duration.is_none() {
            self.problem(
                &format!("/{field}"),
                &format!("`{field}` must be a duration"),
                r#"write `"30s"`, or a number of milliseconds"#,
            );
        }
        duration
    }

    pub(super) fn add_secret(&mut self, secret: &str) {
        let is_known = self.config.secrets.iter().any(|known| **known == *secret);
        if secret.len() >= MIN_SECRET_LENGTH && !is_known {
            self.config.secrets.push(secret.into());
        }
    }

    pub(super) fn problem(&mut self, field: &str, message: &str, help: &str) {
        let pointer = format!("{}{field}", self.pointer);
        self.problems
            .push((pointer, message.to_owned(), help.to_owned()));
    }
}

/// Escapes a name for a JSON pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl ServerReader<'_> {
    pub(super) fn read_program(&mut self, fields: Map<String, Value>) {
        let mut program = ProgramConfig::default();
        let mut has_command = false;
        for (field, value) in fields {
            match field.as_str() {
                "command" => {
                    has_command = true;
                    program.command = self.read_text("/command", &value);
                }
                "args" => program.args = self.read_args(&value),
                "env" => program.env = self.read_env(&value),
                "cwd" => program.cwd = Some(PathBuf::from(self.read_text("/cwd", &value))),
                // Clients have additional fields, so an unknown field is only a warning.
                _ => self.unknown.push(field),
            }
        }
        if !has_command {
            self.problem(
                "",
                "it has no `command`",
                "add a `command` that starts the server, or its `url`",
            );
        } else if self.problems.is_empty() && program.command.trim().is_empty() {
            self.problem(
                "/command",
                "`command` is empty",
                "name the program that starts the server",
            );
        }
        self.config.reach = ServerTransport::Program(program);
    }

    fn read_args(&mut self, value: &Value) -> Vec<String> {
        let Value::Array(items) = value else {
            self.problem(
                "/args",
                "`args` must be a list of strings",
                r#"write `["…", "…"]`"#,
            );
            return Vec::new();
        };
        let items = items.iter().enumerate();
        items
            .map(|(index, item)| self.read_text(&format!("/args/{index}"), item))
            .collect()
    }

    fn read_env(&mut self, value: &Value) -> Vec<(String, Option<String>)> {
        let Value::Object(variables) = value else {
            self.problem(
                "/env",
                "`env` must be an object of strings",
                r#"write `{"NAME": "value"}`"#,
            );
            return Vec::new();
        };
        let mut env = Vec::with_capacity(variables.len());
        for (name, value) in variables {
            let value = match value {
                Value::Null => None,
                value => Some(self.read_text(&format!("/env/{}", escape(name)), value)),
            };
            if is_secret_name(name) {
                self.add_secret(value.as_deref().unwrap_or_default());
            }
            env.push((name.clone(), value));
        }
        env
    }
}

/// Parses `"30s"`, `"250ms"`, `"2m"`, or a number of milliseconds, as in other clients. Returns `None` for anything else and for
/// zero.
pub(super) fn parse_duration(value: &Value) -> Option<Duration> {
    let duration = match value {
        Value::Number(number) => Duration::from_millis(number.as_u64()?),
        Value::String(text) => parse_text(text.trim())?,
        _ => return None,
    };
    (!duration.is_zero()).then_some(duration)
}

#[derive(Debug, PartialEq, Eq)]
struct Expanded {
    pub(super) text: String,
    /// The values of variables whose names indicate a secret.
    pub(super) secrets: Vec<String>,
}

/// The reason why a variable cannot be expanded, and a hint.
#[derive(Debug, PartialEq, Eq)]
struct ExpansionError {
    pub(super) message: String,
    pub(super) help: String,
}

/// Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}` with the values of `lookup`. Expanded values are not
/// expanded again.
fn expand(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Expanded, Vec<ExpansionError>> {
    let mut expanded = Expanded {
        text: String::with_capacity(text.len()),
        secrets: Vec::new(),
    };
    let mut errors = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        expanded.text.push_str(before);
        let Some(end) = from.find('}') else {
            errors.push(ExpansionError {
                message: format!("`{from}` opens a variable that is never closed"),
                help: "write it as `${NAME}`".to_owned(),
            });
            // Without an end, the variable cannot be separated from the text after it.
            rest = "";
            break;
        };
        match variable(&from[2..end], lookup) {
            Ok((value, is_secret)) => {
                expanded.text.push_str(&value);
                if is_secret {
                    expanded.secrets.push(value);
                }
            }
            // The other variables are still read, so that all errors are reported together.
            Err(error) => errors.push(error),
        }
        rest = &from[end + 1..];
    }
    expanded.text.push_str(rest);
    if errors.is_empty() {
        Ok(expanded)
    } else {
        Err(errors)
    }
}

/// Returns true if a variable or header of this name usually contains a secret.
pub fn is_secret_name(name: &str) -> bool {
    const MARKERS: [&str; 8] = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "AUTH",
        "PRIVATE",
    ];
    let name = name.to_ascii_uppercase();
    MARKERS.iter().any(|marker| name.contains(marker))
}

fn parse_text(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let amount: f64 = digits.trim_end().parse().ok()?;
    let seconds = match &text[digits.len()..] {
        "ms" => amount / 1000.0,
        "s" => amount,
        "m" | "min" => amount * 60.0,
        "h" => amount * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn variable(
    inside: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<(String, bool), ExpansionError> {
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    // Other clients have kinds such as `${input:NAME}`, which cannot be resolved here.
    if let Some((kind, _)) = name.split_once(':') {
        return Err(ExpansionError {
            message: format!("`${{{inside}}}` uses the unknown variable kind `{kind}`"),
            help: "put the value into an environment variable and write `${env:NAME}`".to_owned(),
        });
    }
    match lookup(name).or_else(|| default.map(str::to_owned)) {
        Some(value) => Ok((value, is_secret_name(name))),
        None => Err(ExpansionError {
            message: format!("the environment variable `{name}` is not set"),
            help: format!("set `{name}`, or give a default: `${{{name}:-…}}`"),
        }),
    }
}
