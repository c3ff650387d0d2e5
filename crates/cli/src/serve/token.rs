//! `planwright token`: the clients that may reach `serve` over HTTP.

use std::fmt::Write as _;

use planwright::terminal_text;
use planwright_serve::TokenFile;
use serde::Serialize;

use crate::args::{Format, RunFormat, TokenArguments, TokenCommand};
use crate::error::{CommandError, Exit};
use crate::system::environment;
use crate::view::output;
use crate::view::printer::Printer;

/// The token file in the folder of the user's data.
pub(crate) fn user_file() -> Result<TokenFile, CommandError> {
    let folder = environment::data_folder().ok_or_else(|| {
        CommandError::new("there is no folder to keep tokens in").hint("set HOME or XDG_DATA_HOME")
    })?;
    Ok(TokenFile::at(folder.join("tokens.json")))
}

/// A client, as `token list` tells of it.
#[derive(Debug, Serialize)]
struct TokenListing<'a> {
    name: &'a str,
    created: &'a str,
}

/// `planwright token`
pub(crate) fn command(arguments: &TokenArguments, printer: Printer) -> Result<Exit, CommandError> {
    let file = user_file()?;
    match &arguments.command {
        TokenCommand::Create { name } => {
            let token = file.create(name)?;
            printer.quote(&format!(
                "`{name}` has a token; it is shown this once, only its hash is stored"
            ));
            printer.data_line(&token);
        }
        TokenCommand::Revoke { name } => {
            file.revoke(name)?;
            printer.quote(&format!("the token of `{name}` is no longer taken"));
        }
        TokenCommand::List { format } => {
            let tokens = file.read()?;
            let clients: Vec<TokenListing<'_>> = tokens
                .iter()
                .map(|token| TokenListing {
                    name: &token.name,
                    created: &token.created,
                })
                .collect();
            match format {
                Format::Json => output::json(&clients, RunFormat::Json, printer)?,
                Format::Text if clients.is_empty() => printer.status("no client has a token"),
                Format::Text => printer.data(&table(&clients)),
            }
        }
    }
    Ok(Exit::Success)
}

fn table(clients: &[TokenListing<'_>]) -> String {
    let widths = clients
        .iter()
        .map(|client| terminal_text::width(client.name));
    let width = widths.max().unwrap_or(0);
    let mut text = String::new();
    for client in clients {
        let name = terminal_text::padded(client.name, width);
        let _ = writeln!(text, "{name}  {}", terminal_text::one_line(client.created));
    }
    text
}
