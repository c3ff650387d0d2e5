//! `planwright bench`: a workflow that others have run, in several orders, in virtual time.

mod measure;
mod table;

use planwright::core::Value;
use planwright::wfformat::Workflow;

use super::args::{BenchArguments, Format, RunFormat};
use super::error::CommandError;
use super::exit::Exit;
use super::output;
use super::printer::Printer;
use super::text_file;

/// How many faults of a file are told.
const MOST_FAULTS: usize = 20;

/// `planwright bench FILE`
pub(crate) fn bench(arguments: &BenchArguments, printer: Printer) -> Result<Exit, CommandError> {
    let workflow = read(arguments)?;
    let measured = measure::measure(&workflow, arguments);
    match arguments.format {
        Format::Text => printer.data(&table::text(&measured)),
        Format::Json => output::json(&measured, RunFormat::Json, printer)?,
    }
    Ok(Exit::Success)
}

fn read(arguments: &BenchArguments) -> Result<Workflow, CommandError> {
    let path = &arguments.file;
    let file = path.display();
    let text = text_file::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let value = Value::from_json(&text)
        .map_err(|error| CommandError::new(format!("`{file}` is not JSON: {error}")))?;
    Workflow::from_value(&value).map_err(|faults| {
        let mut error = CommandError::new(format!("`{file}` cannot be replayed"));
        for fault in faults.iter().take(MOST_FAULTS) {
            error = error.hint(fault.to_string());
        }
        if let Some(more) = faults
            .len()
            .checked_sub(MOST_FAULTS)
            .filter(|more| *more > 0)
        {
            error = error.hint(format!("and {more} more of the kind"));
        }
        error
    })
}
