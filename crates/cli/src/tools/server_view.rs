//! The servers of an `mcp.json` as a person sees them who decides whether to trust the file.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright::core::Value;
use planwright::engine::run::MASK;
use planwright::mcp::{
    ConfigProblem, Grant, HttpConfig, OauthConfig, OpenApiConfig, ProgramConfig, ServerConfig,
    ServerTransport, ServersConfig, is_secret_name,
};
use planwright::terminal_text;

use crate::error::CommandError;
use crate::setup::wrap::edit::ObjectText;

/// The fields that may contain the servers.
const CONTAINERS: [&str; 2] = ["mcpServers", "servers"];

/// Returns all that a file would start or connect to, as it is written: for each server its command line with its folder and environment,
/// or its address with its headers and its OAuth client, and its settings. A value is masked if the name of its variable or header says that
/// it is a secret. The problems of a server that cannot be started as it is written are listed with all of its text, because it may be
/// valid once its variables are expanded.
pub(super) fn commands(text: &str, file: &str) -> Result<Vec<String>, CommandError> {
    let (config, warnings) = ServersConfig::parse_as_written(text, file).map_err(|error| {
        let help = error.help.clone();
        CommandError::new(error.to_string()).hint(help)
    })?;
    let warnings = warnings.iter();
    let lines = config
        .servers
        .iter()
        .flat_map(command)
        .chain(unusable(&config.unusable, text)?)
        .chain(warnings.map(|warning| format!("  warning: {}", warning.message)));
    Ok(lines
        .map(|line| terminal_text::one_line(&line).into_owned())
        .collect())
}

/// Destructures everything, so that a new field of a server is not forgotten here.
fn command(server: &ServerConfig) -> Vec<String> {
    let ServerConfig {
        name,
        reach,
        trusted,
        timeout,
        start_timeout,
        protocol,
        // These are values of the fields above.
        secrets: _,
    } = server;
    let mut lines = Vec::new();
    match reach {
        ServerTransport::Program(ProgramConfig {
            command,
            args,
            env,
            cwd,
        }) => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<String> = words.map(shell_quoted).collect();
            lines.push(format!("  {name}: {}", words.join(" ")));
            if let Some(folder) = cwd {
                let folder = shell_quoted(folder.display().to_string());
                lines.push(format!("    in the folder {folder}"));
            }
            lines.extend(env.iter().map(|(name, value)| match value {
                Some(value) => format!("    with {name}={}", masked(name, value)),
                None => format!("    without {name}"),
            }));
        }
        ServerTransport::Http(HttpConfig {
            url,
            headers,
            oauth,
        }) => {
            lines.push(format!("  {name}: talk to {url}"));
            lines.extend(with_headers(headers));
            lines.extend(login(oauth));
        }
        ServerTransport::OpenApi(OpenApiConfig {
            document,
            base_url,
            headers,
        }) => {
            let document = shell_quoted(document);
            let base = match base_url {
                Some(base) => base.as_str(),
                None => "the address that it names",
            };
            lines.push(format!("  {name}: call the API of {document} at {base}"));
            lines.extend(with_headers(headers));
        }
    }
    if *trusted {
        lines.push(
            "    trusted: its statements about its tools count, so that calls which it states to be harmless are repeated without a question"
                .to_owned(),
        );
    }
    for (field, duration) in [("timeout", timeout), ("startTimeout", start_timeout)] {
        lines.extend(duration.map(|duration| format!("    {field}: {duration:?}")));
    }
    lines.extend(
        protocol
            .iter()
            .map(|revision| format!("    protocol: {revision}")),
    );
    lines
}

/// The lines about the headers of every request.
fn with_headers(headers: &[(String, String)]) -> impl Iterator<Item = String> {
    let headers = headers.iter();
    headers.map(|(name, value)| format!("    with {name}: {}", masked(name, value)))
}

/// The line about the OAuth client of a server, if the file has one.
fn login(oauth: &OauthConfig) -> Option<String> {
    let OauthConfig {
        grant,
        client_id,
        client_secret,
        client_metadata_url,
        scopes,
        callback_port,
    } = oauth;
    let grant = match grant {
        Grant::AuthorizationCode => None,
        Grant::ClientCredentials => Some("client_credentials".to_owned()),
    };
    let scopes = (!scopes.is_empty()).then(|| scopes.join(" "));
    let fields = [
        ("grant", grant),
        ("clientId", client_id.clone()),
        ("clientSecret", client_secret.clone()),
        ("clientMetadataUrl", client_metadata_url.clone()),
        ("scopes", scopes),
        ("callbackPort", callback_port.map(|port| port.to_string())),
    ];
    let fields = fields.iter().filter_map(|(name, value)| {
        let value = value.as_deref()?;
        Some(format!("{name}={}", shell_quoted(masked(name, value))))
    });
    let fields: Vec<String> = fields.collect();
    (!fields.is_empty()).then(|| format!("    logs in with {}", fields.join(" ")))
}

/// The lines about servers that cannot be started as they are written: their problems, and all of their text.
fn unusable(problems: &[ConfigProblem], text: &str) -> Result<Vec<String>, CommandError> {
    let mut lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("  {}", problem.message))
        .collect();
    let names: BTreeSet<&str> = problems
        .iter()
        .filter_map(|problem| problem.server.as_deref())
        .collect();
    let mut unseen = names.clone();
    for container in CONTAINERS {
        let servers = ObjectText::find(text, &[container]).ok().flatten();
        let members = servers.into_iter().flat_map(|servers| servers.members);
        for member in members {
            if names.contains(&*member.name) {
                unseen.remove(&*member.name);
                let written = masked_fields(&member.value).to_json();
                lines.push(format!("  {} as written: {written}", member.name));
            }
        }
    }
    // The file has the same field twice, and clients disagree about which one counts.
    match unseen.first() {
        None => Ok(lines),
        Some(name) => Err(CommandError::new(format!(
            "the text of the server `{name}` cannot be shown"
        ))
        .hint("write each server and each field of the file once")),
    }
}

/// A value with its secrets masked.
fn masked_fields(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::object(fields.iter().map(|(name, field)| {
            let field = match field {
                Value::Text(text) => Value::from(masked(name, text)),
                field => masked_fields(field),
            };
            (Arc::clone(name), field)
        })),
        Value::List(items) => Value::list(items.iter().map(masked_fields)),
        value => value.clone(),
    }
}

/// Returns the value of a variable or header, or the mask if its name says that it is a secret. Only this occurrence is masked: the
/// author of the file chooses names and values, so the same text must stay visible in a command and under another name.
fn masked<'a>(name: &str, value: &'a str) -> &'a str {
    let is_secret = is_secret_name(name) || name.eq_ignore_ascii_case("cookie");
    if is_secret && !value.contains("${") {
        MASK
    } else {
        value
    }
}

/// Quotes a word for a shell. Nothing is left out of it, because a person decides by what is shown.
fn shell_quoted(word: impl AsRef<str>) -> String {
    let word = word.as_ref();
    match shlex::try_quote(word) {
        Ok(word) => word.into_owned(),
        // No program can have a NUL in its arguments.
        Err(_) => format!("{word:?}"),
    }
}
