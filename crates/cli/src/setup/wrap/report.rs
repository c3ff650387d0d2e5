//! The report of the changes of `wrap`, and of the servers that stay.

use planwright::core::Value;
use planwright::format::{CarriedRulesV1, WrapV1, WrappedFileV1};
use planwright::mcp::ServersConfig;
use planwright::terminal_text;

use crate::system::environment;
use crate::view::printer::Printer;
use crate::view::printer::counted;

/// Prints the changes, made or planned.
pub(crate) fn print(report: &WrapV1, printer: Printer) {
    for file in &report.files {
        for line in lines(report, file) {
            printer.data_line(&terminal_text::one_line(&line));
        }
    }
    if report.files.is_empty() {
        printer.status("it is not wrapped: none of its servers is behind the gateway");
    }
    let has_changed = report.files.iter().any(|file| file.changed);
    if has_changed && !report.dry_run {
        printer.status("the client sees it once it is started again, or reloads its servers");
    }
    if has_changed && !report.undo {
        printer.quote(
            "note: all other tools of these servers ask before each call, unless their server states that they only read, or that \
             they destroy nothing",
        );
    }
    let is_shared = |file: &&WrappedFileV1| file.scope == Some("project") && !file.moved.is_empty();
    if let Some(file) = report.files.iter().find(is_shared).filter(|_| !report.undo) {
        printer.quote(&format!(
            "note: `{}` may be shared with others, and its entry names files of this machine",
            file.path
        ));
    }
}

fn lines(report: &WrapV1, file: &WrappedFileV1) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", file.path, heading(report, file))];
    for (what, names) in [("moved", &file.moved), ("back", &file.returned)] {
        if !names.is_empty() {
            lines.push(format!("  {what}: {}", names.join(", ")));
        }
    }
    for renamed in &file.renamed {
        lines.push(format!(
            "  `{}` is `{}` now, since the client has another server of that name",
            renamed.server, renamed.now
        ));
    }
    for server in &file.stay {
        lines.push(format!("  stays: {} ({})", server.server, server.because));
    }
    for dropped in &file.dropped {
        lines.push(format!(
            "  without: `{}` of {}, which has no equivalent",
            dropped.field, dropped.server
        ));
    }
    if let Some(problem) = &file.problem {
        lines.push(format!("  {problem}"));
    }
    if !report.dry_run && !file.moved.is_empty() {
        lines.push(format!("  servers: {}", file.servers_file));
    }
    if let Some(backup) = file
        .backup
        .as_ref()
        .filter(|_| (file.changed && !report.dry_run) || file.problem.is_some())
    {
        lines.push(format!("  backup: {backup}"));
    }
    lines.extend(file.difference.iter().map(|line| format!("  {line}")));
    if let Some(rules) = &file.rules {
        lines.extend(of_rules(report, rules));
    }
    lines
}

fn of_rules(report: &WrapV1, rules: &CarriedRulesV1) -> Vec<String> {
    let mut lines = Vec::new();
    if !rules.difference.is_empty() {
        let would = if report.dry_run {
            "would change"
        } else {
            "changed"
        };
        lines.push(format!("  rules: {} {would}", rules.file));
        lines.extend(rules.difference.iter().map(|line| format!("    {line}")));
    }
    for (what, rules) in [
        ("need not ask", &rules.no_ask),
        ("asks", &rules.ask),
        ("never called", &rules.deny),
    ] {
        for rule in rules {
            lines.push(format!(
                "  {what}: {} (`{}` in `{}`)",
                rule.tools, rule.rule, rule.from
            ));
        }
    }
    for rule in &rules.left {
        lines.push(format!(
            "  not copied: `{}` in `{}` (a project's file cannot waive approval for {})",
            rule.rule, rule.from, rule.tools
        ));
    }
    lines
}

fn heading(report: &WrapV1, file: &WrappedFileV1) -> String {
    let would = if report.dry_run { "would " } else { "" };
    if file.problem.is_some() {
        return "cannot be put back".to_owned();
    }
    if report.undo {
        let come = if report.dry_run { "come" } else { "came" };
        return format!(
            "{} {would}{come} back",
            counted(file.returned.len(), "server")
        );
    }
    if file.moved.is_empty() {
        return "nothing to move".to_owned();
    }
    let go = if report.dry_run { "go" } else { "went" };
    format!(
        "{} {would}{go} behind `{}`",
        counted(file.moved.len(), "server"),
        file.entry
    )
}

/// The number of lines that are shown around a change.
const AROUND: usize = 2;

/// Formats the lines that differ between two texts as one hunk: removed lines with `-`, added ones with `+`. Values in `env` and
/// `headers` of `servers` are not shown.
pub(crate) fn difference(before: &str, after: &str, servers: &Value) -> Vec<String> {
    let hidden = hidden(servers);
    let shown = |sign: char, line: &str| {
        let line = conceal(hidden.iter().fold(line.to_owned(), hide));
        format!("{sign} {line}").trim_end().to_owned()
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let pairs = old.iter().zip(&new);
    let start = pairs.take_while(|(old, new)| old == new).count();
    let pairs = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let around_before = &old[start.saturating_sub(AROUND)..start];
    let around_after = &old[old_end..old.len().min(old_end + AROUND)];
    let common =
        |lines: &[&str]| -> Vec<String> { lines.iter().map(|line| shown(' ', line)).collect() };
    let removed = old[start..old_end].iter().map(|line| shown('-', line));
    let come = new[start..new_end].iter().map(|line| shown('+', line));
    let mut lines = common(around_before);
    lines.extend(removed.chain(come));
    lines.extend(common(around_after));
    lines
}

/// The fields with values that may be secret, in the forms of all clients.
const SECRETS: &[&str] = &["env", "headers", "envs", "http_headers"];

/// The values of environment variables and headers, the longest first, so that no part of one remains.
fn hidden(servers: &Value) -> Vec<String> {
    let mut hidden = Vec::new();
    collect_hidden(servers, false, &mut hidden);
    hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
    hidden
}

fn collect_hidden(value: &Value, is_secret: bool, hidden: &mut Vec<String>) {
    match value {
        Value::Text(text) if is_secret && !text.is_empty() => {
            hidden.push(text.to_string());
            // A text of several lines, such as a key, may be written in as many lines of the file.
            if text.contains('\n') {
                let lines = text.lines().map(str::trim);
                let lines = lines.filter(|line| line.len() >= DISTINCT);
                hidden.extend(lines.map(str::to_owned));
            }
        }
        Value::Number(_) if is_secret => hidden.push(value.to_json()),
        Value::Object(fields) => {
            for (name, value) in fields.iter() {
                collect_hidden(value, is_secret || SECRETS.contains(&&**name), hidden);
            }
        }
        _ => {}
    }
}

/// The length from which a text is hidden wherever it occurs. A shorter one may occur by chance.
const DISTINCT: usize = 6;

/// Hides a value in a line: in quotes, after a colon, or anywhere if it is long.
fn hide(line: String, text: &String) -> String {
    let line = line.replace(&Value::text(&**text).to_json(), "\"…\"");
    if text.len() >= DISTINCT {
        return line.replace(text, "…");
    }
    match line.trim_end().strip_suffix(&format!(": {text}")) {
        Some(field) => format!("{field}: …"),
        None => line,
    }
}

/// The ends of names of fields that are secret anywhere, such as the key of a model in a line beside the servers.
const SECRET_NAMES: &[&str] = &[
    "apikey",
    "token",
    "secret",
    "password",
    "passphrase",
    "authorization",
    "privatekey",
];

/// Hides the value of a field with such a name that begins a line.
fn conceal(line: String) -> String {
    let Some(at) = line.find([':', '=']) else {
        return line;
    };
    let name: String = line[..at]
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let name = name.to_ascii_lowercase();
    let value = line[at + 1..].trim();
    let is_shown = value.is_empty() || value.contains('…') || value.starts_with(['{', '[']);
    if is_shown || !SECRET_NAMES.iter().any(|word| name.ends_with(word)) {
        return line;
    }
    let comma = if value.ends_with(',') { "," } else { "" };
    format!("{} …{comma}", &line[..=at])
}

/// Variables that only a client can fill in.
const OF_CLIENTS: &[&str] = &[
    "workspaceFolder",
    "workspaceFolderBasename",
    "workspaceRoot",
    "userHome",
    "pathSeparator",
    "/",
    "CLAUDE_PLUGIN_ROOT",
];

/// Fields that only a client uses. A server works without them.
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

/// Returns the reason why a server has to stay with its client; `None` if it can move. `is_own` is true for an entry in the user's own file.
pub(crate) fn reason(name: &str, server: &Value, is_own: bool) -> Option<String> {
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
        return Some("it is disabled".to_owned());
    }
    let mut servers = config.servers.iter();
    if servers.any(|server| server.reach.is_relative()) {
        return Some(
            "its `openapi` is a path from the folder of this file: write the whole path".to_owned(),
        );
    }
    // Behind the gateway, the field would relax rules, as if the user had written it.
    if !is_own && config.servers.iter().any(|server| server.trusted) {
        return Some(
            "a project's file cannot make it `trusted`: remove the field, then wrap it again"
                .to_owned(),
        );
    }
    let fields = warnings
        .iter()
        .filter_map(|warning| warning.pointer.rsplit('/').next());
    let mut unknown = fields.filter(|field| !HARMLESS.contains(field));
    unknown
        .next()
        .map(|field| format!("its field `{field}` is not supported"))
}

/// The first variable in any text of `value` that only a client can fill in.
fn variable_of_client(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => {
            let variables = text.split("${").skip(1);
            let mut names = variables.filter_map(|rest| rest.split_once('}').map(|(name, _)| name));
            names.find(|name| {
                let is_environment = name.starts_with("env:") || name.contains(":-");
                // Continue writes `${{ secrets.NAME }}`.
                let is_template = name.starts_with('{');
                is_template || OF_CLIENTS.contains(name) || (name.contains(':') && !is_environment)
            })
        }
        Value::List(items) => items.iter().find_map(variable_of_client),
        Value::Object(fields) => fields.values().find_map(variable_of_client),
        _ => None,
    }
}
