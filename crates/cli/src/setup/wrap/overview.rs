//! `planwright wrap` without a client: the lists of servers that the known clients have here.

use planwright::format::{ClientListV1, ClientListsV1};
use planwright::terminal_text;

use super::client::CLIENTS;
use super::command::path;
use super::edit::names_file;
use super::place::{GatewayFiles, PathEnvironment, ServerListPlace};
use crate::args::{Format, RunFormat, WrapScope};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::{BOLD, Printer, counted, styled};

/// Lists the files that exist, and whether the gateway is in front of their servers.
pub(super) fn overview(format: Format, printer: Printer) -> Result<Exit, CommandError> {
    let around = PathEnvironment::of_process()?;
    let mut lists = Vec::new();
    for client in CLIENTS {
        for place in client.places(&around) {
            lists.extend(describe(client.name, &place)?);
        }
    }
    let listing = ClientListsV1::new(lists);
    match format {
        Format::Json => output::json(&listing, RunFormat::Json, printer)?,
        Format::Text => print(&listing, printer),
    }
    Ok(Exit::Success)
}

/// Describes a list; `None` if it does not exist and nothing was moved from it.
fn describe(
    client: &'static str,
    place: &ServerListPlace,
) -> Result<Option<ClientListV1>, CommandError> {
    let gateway_files = GatewayFiles::of(place)?;
    let mut list = ClientListV1 {
        client,
        file: place.file.display().to_string(),
        scope: place.scope.map(WrapScope::word),
        wrapped: gateway_files.servers.is_file(),
        servers: Vec::new(),
        servers_file: None,
        problem: None,
    };
    let file = gateway_files.servers.display().to_string();
    if list.wrapped {
        list.servers_file = Some(file.clone());
    }
    let text = match super::place::read(&place.file) {
        Ok(Some(text)) => text,
        Ok(None) if list.wrapped => {
            list.problem = Some("it is gone".to_owned());
            return Ok(Some(list));
        }
        Ok(None) => return Ok(None),
        Err(error) => {
            list.problem = Some(error.to_string());
            return Ok(Some(list));
        }
    };
    match super::edit::servers(place.syntax, &text, &path(place)) {
        Ok(None) if !list.wrapped => return Ok(None),
        Ok(servers) => {
            let servers = servers.unwrap_or_default();
            let entry = servers.iter().find(|(name, _)| *name == place.entry);
            let has_entry = entry.is_some_and(|(_, entry)| names_file(entry, &file));
            if has_entry && !list.wrapped {
                list.problem = Some(format!("`{file}` is gone with the servers in it"));
            } else if list.wrapped && !has_entry {
                list.problem = Some(format!("its entry `{}` is gone", place.entry));
            }
            let others = servers
                .into_iter()
                .map(|(name, _)| name)
                .filter(|name| !has_entry || *name != place.entry);
            list.servers = others.collect();
        }
        Err(error) => list.problem = Some(error.message),
    }
    Ok(Some(list))
}

fn print(listing: &ClientListsV1, printer: Printer) {
    if listing.lists.is_empty() {
        printer.quote("no known client lists servers here");
        printer.hint("`planwright wrap FILE` wraps the list of any other client");
        return;
    }
    for list in &listing.lists {
        let scope = list.scope.unwrap_or("file");
        let state = match (list.wrapped, list.servers.len()) {
            (true, 0) => "wrapped".to_owned(),
            (true, more) => format!(
                "wrapped, and {} beside the gateway",
                counted(more, "server")
            ),
            (false, 0) => "no servers".to_owned(),
            (false, servers) => format!("not wrapped: {}", counted(servers, "server")),
        };
        let problem = list.problem.as_ref();
        let problem = problem.map_or_else(String::new, |problem| format!(" ({problem})"));
        let line = format!("{} ({scope})  {state}{problem}", list.file);
        let line = terminal_text::one_line(&line);
        printer.data_line(&format!("{}  {line}", styled(BOLD, list.client)));
    }
    let open = listing.lists.iter();
    let mut open = open.filter(|list| !list.wrapped && !list.servers.is_empty());
    if let Some(list) = open.next() {
        printer.hint(format!(
            "`planwright wrap {} --dry-run` shows what would change",
            list.client
        ));
    }
}
