//! `planwright servers`: the servers of the `mcp.json` that commands use: listed, tested, added.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::join_all;
use planwright::core::{Object, Tool, Value};
use planwright::format::{ListedServerV1, ServerTestV1, ServerTestsV1, ServersV1};
use planwright::mcp::{ConnectOptions, Connections, ServersConfig};
use planwright::terminal_text;
use tokio::time::Instant;

use super::open_servers::{connect_options, print_failure};
use super::toolbox::{find_servers_file, servers_file};
use super::trust;
use crate::args::{
    AddServerArguments, Format, ListServersArguments, RunFormat, ServersArguments, ServersCommand,
};
use crate::error::{CommandError, Exit};
use crate::runs::store::shell_word;
use crate::setup::wrap::edit;
use crate::system::{environment, text_file};
use crate::view::output;
use crate::view::printer::{BAD, BOLD, DIM, GOOD, Printer, counted, styled, time};

/// `planwright servers`
pub(crate) async fn servers(
    arguments: &ServersArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    match &arguments.command {
        None => list(&arguments.listing, printer),
        Some(ServersCommand::List(listing)) => list(listing, printer),
        Some(ServersCommand::Test { names, listing }) => test(names, listing, printer).await,
        Some(ServersCommand::Add(added)) => add(added, printer),
    }
}

/// Lists the servers. None is started, so the file need not be trusted.
fn list(arguments: &ListServersArguments, printer: Printer) -> Result<Exit, CommandError> {
    let found = find_servers_file(&arguments.file.tools())?;
    let listing = match &found {
        None => ServersV1::new(None, false, Vec::new()),
        Some((path, text)) => {
            let config = read(path, text)?;
            let is_named = arguments.file.servers.is_some();
            let is_trusted = is_named || trust::is_trusted(path, text);
            ServersV1::new(
                Some(path.display().to_string()),
                is_trusted,
                describe_servers(&config),
            )
        }
    };
    match arguments.format {
        Format::Json => output::json(&listing, RunFormat::Json, printer)?,
        Format::Text => print(&listing, printer),
    }
    Ok(Exit::Success)
}

fn print(listing: &ServersV1, printer: Printer) {
    let Some(file) = &listing.file else {
        printer.quote("no servers: there is no `mcp.json` here or above, nor in your settings");
        printer.hint("`planwright servers add NAME -- COMMAND` writes one");
        return;
    };
    let widths = listing
        .servers
        .iter()
        .map(|server| terminal_text::width(&server.name));
    let width = widths.max().unwrap_or(0);
    for server in &listing.servers {
        let name = terminal_text::padded(&terminal_text::one_line(&server.name), width);
        let what = match (&server.problem, server.disabled) {
            (Some(problem), _) => styled(BAD, terminal_text::one_line(problem)),
            (None, true) => styled(DIM, "disabled"),
            (None, false) => terminal_text::one_line(&server.address).into_owned(),
        };
        printer.data_line(&format!("{}  {what}", styled(BOLD, name)));
    }
    let count = counted(listing.servers.len(), "server");
    printer.quote(&format!("{count} in `{file}`"));
    if !listing.trusted {
        printer.hint(format!(
            "it is not trusted: look at it, then run `planwright trust {}`",
            shell_word(file)
        ));
    }
}

fn describe_servers(config: &ServersConfig) -> Vec<ListedServerV1> {
    let usable = config.servers.iter().map(|server| ListedServerV1 {
        name: server.name.to_string(),
        kind: server.reach.kind(),
        address: server.reach.target(),
        disabled: false,
        problem: None,
    });
    let blank = |name: &str, disabled: bool, problem: Option<String>| ListedServerV1 {
        name: name.to_owned(),
        kind: "unknown",
        address: String::new(),
        disabled,
        problem,
    };
    let disabled = config.disabled.iter().map(|name| blank(name, true, None));
    let unusable = config.unusable.iter().filter_map(|problem| {
        let name = problem.server.as_deref()?;
        Some(blank(name, false, Some(problem.message.clone())))
    });
    usable.chain(disabled).chain(unusable).collect()
}

/// Reads the servers without the values of variables, which may be secret.
fn read(path: &Path, text: &str) -> Result<ServersConfig, CommandError> {
    let variables = |name: &str| Some(format!("${{{name}}}"));
    let read = ServersConfig::parse(text, &path.display().to_string(), &variables);
    let (config, _) = read.map_err(|error| {
        let help = error.help.clone();
        CommandError::new(error.to_string()).hint(help)
    })?;
    Ok(config)
}

/// Starts each server, and reports its number of tools, or why it did not start.
async fn test(
    names: &[String],
    arguments: &ListServersArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let Some(found) = servers_file(&arguments.file.tools(), true, printer)? else {
        return Err(CommandError::new("there is no `mcp.json` to test")
            .hint("name one with `--servers FILE`, or write one: `planwright servers add NAME -- COMMAND`"));
    };
    let file = found.path.display().to_string();
    let parsed = ServersConfig::parse(&found.text, &file, &environment::variable);
    let (config, _) = parsed.map_err(|error| {
        let help = error.help.clone();
        CommandError::new(error.to_string()).hint(help)
    })?;
    let known: Vec<&str> = config.names().map(AsRef::as_ref).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(
            CommandError::new(format!("there is no server `{name}` in `{file}`"))
                .hint(format!("it has `{}`", known.join("`, `"))),
        );
    }
    let is_wanted = |name: &&str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let wanted = known.iter().copied().filter(is_wanted);
    let tested = join_all(wanted.map(|name| start(&config, name))).await;
    let all_started = tested
        .iter()
        .all(|(_, connections, _)| connections.failures().is_empty());
    match arguments.format {
        Format::Json => {
            let tests = tested.iter().map(|(name, connections, took)| {
                let failure = connections.failures().first();
                ServerTestV1 {
                    name: (*name).to_owned(),
                    ok: failure.is_none(),
                    tools: connections.tools().len(),
                    duration_ms: took.as_secs_f64() * 1000.0,
                    error: failure.map(|failure| failure.message.clone()),
                    help: failure.map(|failure| failure.help.clone()),
                }
            });
            output::json(
                &ServerTestsV1::new(tests.collect()),
                RunFormat::Json,
                printer,
            )?;
        }
        Format::Text => {
            for (name, connections, took) in &tested {
                let name = terminal_text::one_line(name);
                match connections.failures().first() {
                    None => printer.data_line(&format!(
                        "{} {name}  {} in {}",
                        styled(GOOD, "✓"),
                        counted(connections.tools().len(), "tool"),
                        time(*took)
                    )),
                    Some(failure) => {
                        printer.data_line(&format!("{} {name}  does not start", styled(BAD, "✗")));
                        print_failure(failure, printer);
                    }
                }
                for warning in connections.warnings() {
                    printer.quote(&format!("warning: {warning}"));
                }
                if let Some(note) = poorly_described(connections.tools()) {
                    printer.quote(&format!("note: {name}: {note}"));
                }
            }
        }
    }
    join_all(
        tested
            .iter()
            .map(|(_, connections, _)| connections.shutdown()),
    )
    .await;
    Ok(if all_started {
        Exit::Success
    } else {
        Exit::Failed
    })
}

/// Names the tools that a model cannot judge: those without a description, and those with parameters without one. `None` if there are none.
fn poorly_described(tools: &[Tool]) -> Option<String> {
    let is_blank = |text: Option<&str>| text.is_none_or(|text| text.trim().is_empty());
    let bare = tools
        .iter()
        .filter(|tool| is_blank(tool.description.as_deref()));
    let bare: Vec<&str> = bare.map(|tool| &*tool.name).collect();
    let has_bare_parameter = |tool: &&Tool| {
        let properties = tool.input.as_value().get("properties");
        let mut parameters = properties.and_then(Value::as_object).into_iter().flatten();
        parameters.any(|(_, schema)| is_blank(schema.get("description").and_then(Value::as_text)))
    };
    let unclear = tools.iter().filter(has_bare_parameter).count();
    let named = |names: &[&str]| {
        let shown: Vec<String> = names
            .iter()
            .take(MAX_NAMED)
            .map(|name| format!("`{name}`"))
            .collect();
        match names.len().saturating_sub(MAX_NAMED) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    };
    let mut parts = Vec::new();
    if !bare.is_empty() {
        parts.push(format!("no description: {}", named(&bare)));
    }
    if unclear > 0 {
        let tools = counted(unclear, "tool");
        parts.push(format!("parameters without a description in {tools}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Maximum number of tools that a note names.
const MAX_NAMED: usize = 5;

/// Starts one server, and measures the time until its tools are listed.
async fn start<'a>(config: &ServersConfig, name: &'a str) -> (&'a str, Connections, Duration) {
    let begin = Instant::now();
    let options = ConnectOptions {
        only: Some(BTreeSet::from([name.into()])),
        ..connect_options()
    };
    let connections = Connections::connect(config, options).await;
    (name, connections, begin.elapsed())
}

/// Adds a server to the file, and trusts the file anew if it was trusted: the person who adds the server has seen its command.
fn add(added: &AddServerArguments, printer: Printer) -> Result<Exit, CommandError> {
    let named = added.file.servers.as_ref();
    let found = match named {
        Some(path) if !path.exists() => None,
        _ => find_servers_file(&added.file.tools())?,
    };
    let (path, text, is_trusted) = match found {
        Some((path, text)) => {
            let is_trusted = trust::is_trusted(&path, &text);
            (path, text, is_trusted)
        }
        None => {
            let path = named.map_or_else(|| PathBuf::from("mcp.json"), Clone::clone);
            (path, edit::EMPTY.to_owned(), true)
        }
    };
    let file = path.display();
    let problem = |problem: edit::EditError| {
        CommandError::new(format!("`{file}`: {}", problem.message)).hint(problem.help)
    };
    let changed = edit::with_server(&text, &added.name, entry(added, &path)?).map_err(problem)?;
    // An entry that no command could use is not written.
    read(&path, &changed)?;
    text_file::replace(&changed, &path)?;
    if is_trusted {
        trust::remember(&path, &changed)?;
    }
    printer.quote(&format!("`{}` is in `{file}`", added.name));
    if !is_trusted {
        printer.hint(format!(
            "the file is not trusted: look at it, then run `planwright trust {}`",
            shell_word(&file)
        ));
    }
    let name = shell_word(&added.name);
    printer.hint(format!("`planwright servers test {name}` starts it"));
    Ok(Exit::Success)
}

/// The entry in `file`.
fn entry(added: &AddServerArguments, file: &Path) -> Result<Value, CommandError> {
    let mut entry = Object::default();
    if let Some(document) = &added.openapi {
        let document = document_in(document, file)?;
        entry.insert("openapi".into(), Value::from(document));
        if let Some(address) = &added.base_url {
            entry.insert("baseUrl".into(), Value::from(address.as_str()));
        }
        add_pairs(&mut entry, "headers", &added.headers)?;
        return Ok(entry.into());
    }
    match (&added.url, added.command.split_first()) {
        (Some(url), _) => {
            entry.insert("type".into(), Value::from("http"));
            entry.insert("url".into(), Value::from(url.as_str()));
            add_pairs(&mut entry, "headers", &added.headers)?;
        }
        (None, Some((command, args))) => {
            entry.insert("command".into(), Value::from(command.as_str()));
            if !args.is_empty() {
                let args = args.iter().map(|arg| Value::from(arg.as_str()));
                entry.insert("args".into(), Value::list(args.collect::<Vec<_>>()));
            }
            add_pairs(&mut entry, "env", &added.env)?;
        }
        (None, None) => {
            return Err(CommandError::new("the server has neither a command nor an address")
                .hint("write it as `planwright servers add NAME -- COMMAND ARGS`, with `--url URL`, or with `--openapi FILE`"));
        }
    }
    Ok(entry.into())
}

/// Returns the path of an OpenAPI document as an entry of `file` names it, or its address unchanged. A person gives a path from the
/// working folder, an entry has one from the folder of its file.
fn document_in(document: &str, file: &Path) -> Result<String, CommandError> {
    if document.contains("://") {
        return Ok(document.to_owned());
    }
    let path = Path::new(document);
    let real = path
        .canonicalize()
        .map_err(|error| CommandError::unreadable(path, &error))?;
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = folder.canonicalize().ok();
    let inner = folder.and_then(|folder| real.strip_prefix(folder).ok().map(Path::to_owned));
    Ok(inner.unwrap_or(real).display().to_string())
}

fn add_pairs(entry: &mut Object, field: &str, pairs: &[String]) -> Result<(), CommandError> {
    let mut fields = Object::default();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(
                CommandError::new(format!("`{pair}` has no name before a `=`"))
                    .hint("write it as NAME=VALUE"),
            );
        };
        fields.insert(name.into(), Value::from(value));
    }
    if !fields.is_empty() {
        entry.insert(field.into(), fields.into());
    }
    Ok(())
}
