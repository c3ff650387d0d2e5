//! `planwright tools --changed` and `--accept`: how tools changed since they were pinned, and a person who accepts it. `planwright trust`
//! pins the tools of a file.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use planwright::core::ToolPattern;
use planwright::pins::{Pending, selection_digest};
use planwright_store::{Store, StoreError};
use serde::Serialize;

use super::toolbox::Toolbox;
use super::trust;
use crate::approval::passphrase::PassphraseCheck;
use crate::args::{
    Format, RunFormat, StoreArguments, ToolArguments, ToolsArguments, TrustArguments,
};
use crate::error::{CommandError, Exit, reason};
use crate::runs::{run_storage, store};
use crate::setup::settings::{self, Settings};
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
    // The current tools of the servers count, if servers are configured.
    if let Err(error) = look(&arguments.tools, &store, printer).await {
        if arguments.tools.are_named() {
            return Err(error);
        }
        printer.quote(&format!(
            "note: no servers are asked what they offer now: {error}"
        ));
    }
    match &arguments.accept {
        None => show(&store, arguments.format, printer),
        Some(names) => accept(&store, names, arguments.digest.as_deref(), printer),
    }
}

/// Starts the servers of a file that has become trusted, so that their tools are pinned, and lets a person accept what changed.
async fn pin(file: &Path, stored: &StoreArguments, printer: Printer) -> Result<(), CommandError> {
    let store = store::open(stored, printer)?;
    let tools = ToolArguments {
        servers: Some(file.to_owned()),
        ..ToolArguments::default()
    };
    let servers = look(&tools, &store, printer).await?;
    let mut changed = pending(&store)?;
    changed.retain(|server| servers.contains(&server.identity.server));
    if changed.is_empty() {
        return Ok(());
    }
    if Printer::is_watched()
        && let Ok(terminal) = terminal()
    {
        return ask(&store, &changed, &terminal, printer).map(drop);
    }
    printer.status(
        "some of its tools changed since they were pinned: look at `planwright tools --changed`",
    );
    Ok(())
}

/// Reports the tools that wait for a person, if any.
pub(crate) fn mention(store: &Store, printer: Printer) -> Result<(), CommandError> {
    let (changed, new) = store.count_changed_tools().map_err(store::explain)?;
    let tools = |count: u64| if count == 1 { "tool" } else { "tools" };
    let what = match (changed, new) {
        (0, 0) => return Ok(()),
        (0, new) => format!("{new} {} of known servers", super::change_report::new(new)),
        (changed, 0) => format!("{changed} {} changed since pinned", tools(changed)),
        (changed, new) => format!(
            "{changed} {} changed since pinned, {new} {} of known servers",
            tools(changed),
            super::change_report::new(new)
        ),
    };
    printer.status(&format!("{what}: `planwright tools --changed`"));
    Ok(())
}

/// Starts the servers and pins their tools. Returns the names of the servers.
async fn look(
    tools: &ToolArguments,
    store: &Store,
    printer: Printer,
) -> Result<Vec<String>, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let toolbox = Toolbox::open(tools, None, printer).await?;
    toolbox.close().await;
    toolbox.pin(&config, store)?;
    toolbox.mention_names(printer);
    let mut servers: Vec<String> = toolbox
        .catalog
        .tools()
        .map(|tool| tool.server.to_string())
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
                servers: changed
                    .iter()
                    .map(super::change_report::described)
                    .collect(),
            };
            output::json(&changes, RunFormat::Json, printer)?;
        }
        Format::Text if changed.is_empty() => {
            printer.status("no tool changed since it was pinned");
        }
        Format::Text => {
            for line in super::change_report::lines(&changed) {
                printer.data_line(&line);
            }
            printer.data_line(&format!(
                "accept all of it with `planwright tools --accept --digest {}`",
                run_storage::digest(&selection_digest(&changed))
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
    servers: Vec<super::change_report::ServerV1<'a>>,
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
            return Err(CommandError::new(
                "what would be accepted is not what was shown under this digest",
            )
            .hint("look at it again: `planwright tools --changed`"));
        }
        keep(store, &selection, printer)?;
        return Ok(Exit::Success);
    }
    let Ok(terminal) = terminal() else {
        return Err(
            CommandError::new("there is no terminal to show the difference on").hint(
                "look at `planwright tools --changed`, then give the digest: `--accept --digest DIGEST`",
            ),
        );
    };
    Ok(if ask(store, &selection, &terminal, printer)? {
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
                "`{name}` is another server than the one that was pinned, and is accepted as a whole"
            ))
            .hint(format!("`planwright tools --accept '{name}.*'`")));
        }
        selected.push(part);
    }
    Ok(selected)
}

/// Shows a selection on the terminal and asks; whether it was accepted.
fn ask(
    store: &Store,
    selection: &[Pending],
    terminal: &std::fs::File,
    printer: Printer,
) -> Result<bool, CommandError> {
    for line in super::change_report::lines(selection) {
        printer.status(&line);
    }
    let mut lines = BufReader::new(terminal).lines();
    loop {
        let mut out = terminal;
        write!(out, "accept these definitions? [y]es, [n]o: ")
            .and_then(|()| out.flush())
            .map_err(|error| CommandError::new(format!("no answer: {}", reason(&error))))?;
        let answer = lines.next().and_then(Result::ok);
        match answer.as_deref().map(str::trim) {
            Some("y" | "yes" | "Y") => break,
            Some("n" | "no" | "N") | None => {
                printer.status("nothing was accepted");
                return Ok(false);
            }
            Some(_) => {}
        }
    }
    keep(store, selection, printer)?;
    Ok(true)
}

fn keep(store: &Store, selection: &[Pending], printer: Printer) -> Result<(), CommandError> {
    PassphraseCheck::open(Some(store))?.confirm()?;
    let accepted = selection.iter().map(Pending::acceptance).collect();
    let by = environment::variable("USER");
    store
        .accept_tools(accepted, by, run_storage::now())
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
    for line in trust::commands(&text, &file.to_string())? {
        printer.quote(&line);
    }
    trust::remember(path, &text)?;
    printer.quote(&format!("`{file}` is trusted as it is now"));
    if !arguments.no_store {
        pin(path, &arguments.store, printer).await?;
    }
    Ok(Exit::Success)
}
