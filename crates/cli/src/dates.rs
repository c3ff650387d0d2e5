//! `planwright dates PHRASE`: what a phrase of time means.

use planwright::planner::dates::{Now, TimeError, Zone, resolve};
use serde::Serialize;

use super::args::{DatesArguments, Format, MomentArguments, RunFormat};
use super::error::CommandError;
use super::exit::Exit;
use super::printer::Printer;
use super::{environment, run_storage};
use crate::view::output;

/// The days, as programs read them.
#[derive(Serialize)]
struct Dates {
    from: String,
    to: String,
}

pub(crate) fn dates(arguments: &DatesArguments, printer: Printer) -> Result<Exit, CommandError> {
    let now = now(&arguments.moment)?;
    let range = resolve(&arguments.phrase.join(" "), &now)
        .map_err(|error| CommandError::new(error.to_string()).hint(error.help()))?;
    match arguments.format {
        Format::Text => {
            let days = match range.days() {
                1 => "1 day".to_owned(),
                days => format!("{days} days"),
            };
            printer.data_line(&format!("{range} ({days})"));
        }
        Format::Json => {
            let dates = Dates {
                from: range.from.to_string(),
                to: range.to.to_string(),
            };
            output::json(&dates, RunFormat::Json, printer)?;
        }
    }
    Ok(Exit::Success)
}

/// The moment that phrases of time start from.
pub(super) fn now(arguments: &MomentArguments) -> Result<Now, CommandError> {
    let zone = zone(arguments)?;
    let now = match &arguments.now {
        Some(text) => Now::parse(text, &zone),
        None => Now::at(run_storage::since_1970(), &zone),
    };
    now.map_err(refused)
}

/// The zone whose days are meant.
pub(super) fn zone(arguments: &MomentArguments) -> Result<Zone, CommandError> {
    match &arguments.tz {
        Some(name) => Zone::named(name).map_err(refused),
        None => environment::zone(),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "errors are handed over where they are mapped"
)]
fn refused(error: TimeError) -> CommandError {
    CommandError::new(error.to_string())
}
