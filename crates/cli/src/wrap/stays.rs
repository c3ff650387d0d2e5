//! The servers that cannot move, since only their client can start them.

use planwright::core::Value;
use planwright::mcp::ServersConfig;

use super::super::environment;

/// Variables that a client fills in, and no environment.
const OF_CLIENTS: &[&str] = &[
    "workspaceFolder",
    "workspaceFolderBasename",
    "workspaceRoot",
    "userHome",
    "pathSeparator",
    "/",
    "CLAUDE_PLUGIN_ROOT",
];

/// Fields that only matter to a client: without them a server works as well.
const HARMLESS: &[&str] = &[
    "alwaysAllow",
    "autoApprove",
    "disabledTools",
    "excludeTools",
    "trust",
    "gallery",
    "version",
    "description",
    "icon",
    "name",
    "dev",
    "autoStart",
    "scope",
    "id",
    "source",
    "tags",
];

/// Returns the reason why a server has to stay with its client; `None` if it can move.
pub(super) fn reason(name: &str, server: &Value) -> Option<String> {
    let starts_us = |command: &str| {
        let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
        matches!(file, "planwright" | "planwright.exe")
    };
    if server
        .get("command")
        .and_then(Value::as_text)
        .is_some_and(starts_us)
    {
        return Some("it is planwright itself".to_owned());
    }
    if let Some(variable) = variable_of_client(server) {
        return Some(format!("only the client can fill in `${{{variable}}}`"));
    }
    let servers = Value::object([(name, server.clone())]);
    let text = Value::object([("mcpServers", servers)]).to_json();
    // A variable that is not set now may be set when the client starts the gateway.
    let lookup = |name: &str| environment::variable(name).or_else(|| Some("x".to_owned()));
    let (config, warnings) = match ServersConfig::parse(&text, "", &lookup) {
        Ok(read) => read,
        Err(error) => return Some(error.message),
    };
    if let Some(problem) = config.unusable.first() {
        let message = problem.message.split_once(": ").map(|(_, message)| message);
        return Some(message.unwrap_or(&problem.message).to_owned());
    }
    if !config.disabled.is_empty() {
        return Some("it is switched off".to_owned());
    }
    let fields = warnings
        .iter()
        .filter_map(|warning| warning.pointer.rsplit('/').next());
    let mut unknown = fields.filter(|field| !HARMLESS.contains(field));
    unknown
        .next()
        .map(|field| format!("what its field `{field}` says is not known here"))
}

/// The first variable in any text of `value` that only a client can fill in.
fn variable_of_client(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => {
            let variables = text.split("${").skip(1);
            let mut names = variables.filter_map(|rest| rest.split_once('}').map(|(name, _)| name));
            names.find(|name| {
                let is_environment = name.starts_with("env:") || name.contains(":-");
                OF_CLIENTS.contains(name) || (name.contains(':') && !is_environment)
            })
        }
        Value::List(items) => items.iter().find_map(variable_of_client),
        Value::Object(fields) => fields.values().find_map(variable_of_client),
        _ => None,
    }
}
