//! `planwright man`: manual pages, made from the command line's definition.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::{Arguments, ManArguments};
use crate::error::{CommandError, Exit};
use crate::system::text_file;
use crate::view::printer::Printer;

/// `planwright man`
pub(crate) fn man(arguments: &ManArguments, printer: Printer) -> Result<Exit, CommandError> {
    let mut command = Arguments::command();
    command.build();
    let Some(folder) = &arguments.output else {
        printer.data(&page(&command)?);
        return Ok(Exit::Success);
    };
    text_file::create_folder(folder)?;
    write_all(&command, folder, printer)?;
    Ok(Exit::Success)
}

/// Writes the page of a command, and of all below it.
fn write_all(command: &Command, folder: &Path, printer: Printer) -> Result<(), CommandError> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    text_file::write(&page(command)?, &path, true)?;
    printer.data_line(&path.display().to_string());
    let commands = command.get_subcommands();
    for command in commands.filter(|command| command.get_name() != "help") {
        write_all(command, folder, printer)?;
    }
    Ok(())
}

/// The page of a command, in roff.
fn page(command: &Command) -> Result<String, CommandError> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| CommandError::new("cannot write the manual").internal(error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
