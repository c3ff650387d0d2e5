//! `planwright tools --changed` and `--accept`: the changes of tools since they were pinned, and their acceptance by a person.
//! `planwright trust` pins the tools of a file.

use std::path::Path;

use planwright::call_view::visible;
use planwright::core::{ServerName, ToolPattern};
use planwright::pins::{
    Definition, DefinitionPart, DifferenceLine, HintChange, Pending, PendingTool, difference,
    selection_digest,
};
use planwright_store::{Store, StoreError};
use serde::Serialize;

use super::open_servers::ServerUse;
use super::server_view::commands;
use super::toolbox::Toolbox;
use super::trust;
use crate::approval::passphrase::PassphraseCheck;
use crate::args::{
    Format, RunFormat, StoreArguments, ToolArguments, ToolsArguments, TrustArguments,
};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::terminal_input::ask_at_terminal;
use crate::system::{environment, text_file};
use crate::view::output;
use crate::view::printer::{Printer, terminal};

/// The output of `--format json`.
const SCHEMA: &str = "planwright.tool-changes/1";

/// `planwright tools --changed` and `planwright tools --accept`
pub(crate) async fn command(
    arguments: &ToolsArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    // If servers are configured, their current tools are compared.
    if let Err(error) = pin_listed_tools(&arguments.tools, &store, printer).await {
        if arguments.tools.are_named() {
            return Err(error);
        }
        printer.quote(&format!("note: the servers were not started: {error}"));
    }
    match &arguments.accept {
        None => show(&store, arguments.format, printer),
        Some(names) => accept(&store, names, arguments.digest.as_deref(), printer),
    }
}

/// Starts the servers of a file that has become trusted, pins their tools, and lets a person accept the changes.
async fn pin(file: &Path, stored: &StoreArguments, printer: Printer) -> Result<(), CommandError> {
    let store = store::open(stored, printer)?;
    let tools = ToolArguments {
        servers: Some(file.to_owned()),
        ..ToolArguments::default()
    };
    let servers = pin_listed_tools(&tools, &store, printer).await?;
    let mut changed = pending(&store)?;
    changed.retain(|server| servers.contains(&server.identity.server));
    if changed.is_empty() {
        return Ok(());
    }
    if Printer::is_watched() && terminal().is_ok() {
        return ask(&store, &changed, printer).map(drop);
    }
    printer.status(
        "some of its tools changed since they were pinned: look at `planwright tools --changed`",
    );
    Ok(())
}

/// Reports the tools that wait for a person, if any.
pub(crate) fn report_pending(store: &Store, printer: Printer) -> Result<(), CommandError> {
    let (changed, new) = store.count_changed_tools().map_err(store::explain)?;
    let tools = |count: u64| if count == 1 { "tool" } else { "tools" };
    let what = match (changed, new) {
        (0, 0) => return Ok(()),
        (0, new) => format!("{new} {} of known servers", new_tools(new)),
        (changed, 0) => format!("{changed} {} changed since pinned", tools(changed)),
        (changed, new) => format!(
            "{changed} {} changed since pinned, {new} {} of known servers",
            tools(changed),
            new_tools(new)
        ),
    };
    printer.status(&format!("{what}: `planwright tools --changed`"));
    Ok(())
}

/// Starts the servers and pins their tools. Returns the names of the servers.
async fn pin_listed_tools(
    tools: &ToolArguments,
    store: &Store,
    printer: Printer,
) -> Result<Vec<ServerName>, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let toolbox = Toolbox::open(tools, None, ServerUse::FreshLists, printer).await?;
    toolbox.servers.close().await;
    toolbox.pin(&config, store)?;
    toolbox.mention_names(printer);
    let mut servers: Vec<ServerName> = toolbox
        .catalog
        .tools()
        .map(|tool| tool.server.clone())
        .collect();
    servers.dedup();
    Ok(servers)
}

fn pending(store: &Store) -> Result<Vec<Pending>, CommandError> {
    Pending::all(store).map_err(store::explain)
}

fn show(store: &Store, format: Format, printer: Printer) -> Result<Exit, CommandError> {
    let changed = pending(store)?;
    match format {
        Format::Json => {
            let changes = ToolChangesV1 {
                schema: SCHEMA,
                digest: selection_digest(&changed),
                servers: changed.iter().map(describe_server).collect(),
            };
            output::json(&changes, RunFormat::Json, printer)?;
        }
        Format::Text if changed.is_empty() => {
            printer.status("no tool changed since it was pinned");
        }
        Format::Text => {
            for line in lines(&changed) {
                printer.data_line(&line);
            }
            printer.data_line(&format!(
                "accept all of it with `planwright tools --accept --digest {}`",
                store::short_digest(&selection_digest(&changed))
            ));
        }
    }
    Ok(Exit::Success)
}

#[derive(Serialize)]
struct ToolChangesV1<'a> {
    schema: &'static str,
    /// The digest that accepts all of it.
    digest: String,
    servers: Vec<ServerV1<'a>>,
}

fn accept(
    store: &Store,
    names: &[String],
    digest: Option<&str>,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let selection = selected(&pending(store)?, names)?;
    if selection.is_empty() {
        printer.status("no tool changed since it was pinned");
        return Ok(Exit::Success);
    }
    if let Some(digest) = digest {
        if !selection_digest(&selection).starts_with(digest) {
            return Err(
                CommandError::new("the changes differ from those shown under this digest")
                    .hint("look at it again: `planwright tools --changed`"),
            );
        }
        store_acceptance(store, &selection, printer)?;
        return Ok(Exit::Success);
    }
    if terminal().is_err() {
        return Err(
            CommandError::new("there is no terminal to show the difference on").hint(
                "look at `planwright tools --changed`, then give the digest: `--accept --digest DIGEST`",
            ),
        );
    }
    Ok(if ask(store, &selection, printer)? {
        Exit::Success
    } else {
        Exit::Rejected
    })
}

/// Returns the waiting changes that the patterns cover; all of them if there are no patterns.
fn selected(changed: &[Pending], names: &[String]) -> Result<Vec<Pending>, CommandError> {
    let patterns: Vec<ToolPattern> = names.iter().map(|name| name.as_str().into()).collect();
    for (name, pattern) in names.iter().zip(&patterns) {
        let covers = |server: &Pending| server.select(std::slice::from_ref(pattern)).is_some();
        if !changed.iter().any(covers) {
            return Err(
                CommandError::new(format!("no tool `{name}` changed since it was pinned"))
                    .hint("`planwright tools --changed` lists those that did"),
            );
        }
    }
    let selection = changed.iter().filter_map(|server| {
        let part = server.select(&patterns)?;
        Some((server, part))
    });
    let mut selected = Vec::new();
    for (server, part) in selection {
        if server.accepted_origins.is_some() && part.tools.len() < server.tools.len() {
            let name = &server.identity.server;
            return Err(CommandError::new(format!(
                "the configuration of `{name}` changed, so all its tools are accepted together"
            ))
            .hint(format!(
                "`planwright tools --accept {}`",
                store::shell_word(&format!("{name}.*"))
            )));
        }
        selected.push(part);
    }
    Ok(selected)
}

/// Shows a selection on the terminal and asks. Returns true if it was accepted.
fn ask(store: &Store, selection: &[Pending], printer: Printer) -> Result<bool, CommandError> {
    for line in lines(selection) {
        printer.status(&line);
    }
    let is_accepted =
        ask_at_terminal(|input| input.agrees("accept these definitions? [y]es, [n]o: "))?;
    if !is_accepted {
        printer.status("nothing was accepted");
        return Ok(false);
    }
    store_acceptance(store, selection, printer)?;
    Ok(true)
}

fn store_acceptance(
    store: &Store,
    selection: &[Pending],
    printer: Printer,
) -> Result<(), CommandError> {
    PassphraseCheck::open(Some(store))?.confirm()?;
    let accepted = selection.iter().map(Pending::acceptance).collect();
    let by = environment::variable("USER");
    store
        .accept_tools(accepted, by, store::now())
        .map_err(|error| match error {
            StoreError::ToolChanged { .. } => CommandError::new(error.to_string())
                .hint("look at it again: `planwright tools --changed`"),
            other => store::explain(other),
        })?;
    let count: usize = selection.iter().map(|server| server.tools.len()).sum();
    let tools = if count == 1 { "tool is" } else { "tools are" };
    printer.status(&format!("{count} {tools} pinned as shown"));
    Ok(())
}

/// `planwright trust FILE`
pub(crate) async fn trust(
    arguments: &TrustArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let path = &arguments.file;
    let file = path.display();
    if arguments.remove {
        let was = trust::forget(path)?;
        let what = if was {
            "no longer trusted"
        } else {
            "was not trusted"
        };
        printer.quote(&format!("`{file}` is {what}").replace("is was", "was"));
        return Ok(Exit::Success);
    }
    let text = text_file::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
    for line in commands(&text, &file.to_string())? {
        printer.quote(&line);
    }
    trust::remember(path, &text)?;
    printer.quote(&format!("`{file}` is trusted as it is now"));
    if !arguments.no_store {
        pin(path, &arguments.store, printer).await?;
    }
    Ok(Exit::Success)
}

/// A server with changes that wait for a person.
#[derive(Serialize)]
pub(crate) struct ServerV1<'a> {
    server: &'a str,
    /// The command or address of the server.
    origin: &'a str,
    /// The accepted commands or addresses of a server of this name, if this one is not accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_origins: Option<&'a [String]>,
    tools: Vec<ToolV1<'a>>,
}

/// A tool that waits for a person.
#[derive(Serialize)]
struct ToolV1<'a> {
    tool: &'a str,
    /// The digest that accepts this tool alone; absent if its server must be accepted as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// The changes: `description`, `input schema`, `output schema`, `title`, or an annotation.
    changed: Vec<&'static str>,
    is_new: bool,
    /// True if calls of the tool need approval under `pin = "ask"`.
    asks: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a Definition>,
    now: &'a Definition,
}

/// Describes a server for programs.
pub(crate) fn describe_server(server: &Pending) -> ServerV1<'_> {
    let is_accepted = server.accepted_origins.is_none();
    let tools = server.tools.iter().map(|tool| ToolV1 {
        tool: &tool.name,
        digest: is_accepted.then(|| selection_digest(&[selection_of_one(server, tool)])),
        changed: tool.changes.names(),
        is_new: tool.before.is_none(),
        asks: !is_accepted || tool.changes.asks(),
        before: tool.before.as_ref(),
        now: &tool.now,
    });
    ServerV1 {
        server: &server.identity.server,
        origin: &server.identity.origin,
        accepted_origins: server.accepted_origins.as_deref(),
        tools: tools.collect(),
    }
}

/// Returns the number of new tools in words.
pub(crate) fn new_tools(count: u64) -> &'static str {
    if count == 1 { "new tool" } else { "new tools" }
}

/// Formats a selection for people, without control or invisible characters.
pub(crate) fn lines(selection: &[Pending]) -> Vec<String> {
    let mut text = Text(Vec::new());
    for server in selection {
        text.server(server);
    }
    text.0
}

fn selection_of_one(server: &Pending, tool: &PendingTool) -> Pending {
    let mut alone = server.clone();
    alone.tools.retain(|other| other.name == tool.name);
    alone
}

struct Text(Vec<String>);

impl Text {
    fn server(&mut self, server: &Pending) {
        let name = &server.identity.server;
        if let Some(origins) = &server.accepted_origins {
            self.line(&format!("{name}  not the pinned server"));
            for origin in origins {
                self.line(&format!("  - {origin}"));
            }
            self.line(&format!("  + {}", server.identity.origin));
        }
        for tool in &server.tools {
            let qualified = format!("{name}.{}", tool.name);
            let what = match &tool.before {
                None => "new".to_owned(),
                Some(_) if tool.changes.is_empty() => "the same definition".to_owned(),
                Some(_) => format!("{} changed", tool.changes.names().join(", ")),
            };
            self.line(&format!("{qualified}  {what}"));
            self.tool(tool);
            if server.accepted_origins.is_none() {
                let digest = selection_digest(&[selection_of_one(server, tool)]);
                self.line(&format!("  digest {}", store::short_digest(&digest)));
            }
        }
    }

    fn tool(&mut self, tool: &PendingTool) {
        let before = tool.before.as_ref();
        self.part(
            "description",
            before.and_then(|before| before.description.as_ref()),
            tool.now.description.as_ref(),
        );
        self.part(
            "input schema",
            before.map(|before| &before.input_schema),
            Some(&tool.now.input_schema),
        );
        self.part(
            "output schema",
            before.map(|before| &before.output_schema),
            Some(&tool.now.output_schema),
        );
        self.part(
            "title",
            before.and_then(|before| before.title.as_ref()),
            tool.now.title.as_ref(),
        );
        for hint in &tool.changes.hints {
            self.hint(hint);
        }
    }

    /// Returns the difference of one part; `None` if it did not change.
    fn part(&mut self, name: &str, before: Option<&DefinitionPart>, now: Option<&DefinitionPart>) {
        if before == now {
            return;
        }
        let text =
            |part: Option<&DefinitionPart>| part.map(DefinitionPart::pretty).unwrap_or_default();
        self.line(&format!("  {name}"));
        let lines = difference(&text(before), &text(now));
        if lines.is_empty() {
            self.line("      the same lines, with other line ends or beyond what is stored");
        }
        for line in lines {
            match line {
                DifferenceLine::Same(line) => self.line(&format!("      {line}")),
                DifferenceLine::Removed(line) => self.line(&format!("    - {line}")),
                DifferenceLine::Added(line) => self.line(&format!("    + {line}")),
                DifferenceLine::Skipped(count) => self.line(&format!("      … {count} lines")),
            }
        }
        for (sign, part) in [('-', before), ('+', now)] {
            if let Some(part) = part.filter(|part| 0 < part.missing()) {
                self.line(&format!(
                    "    {sign} … {} more bytes, SHA-256 of all {}: {}",
                    part.missing(),
                    part.bytes,
                    part.sha256
                ));
            }
        }
    }

    fn hint(&mut self, hint: &HintChange) {
        let stated = |value: Option<bool>| match value {
            Some(value) => value.to_string(),
            None => "not stated".to_owned(),
        };
        self.line(&format!(
            "  {}: {} → {}",
            hint.name,
            stated(hint.before),
            stated(hint.now)
        ));
    }

    fn line(&mut self, line: &str) {
        self.0.push(visible(line).into_owned());
    }
}
