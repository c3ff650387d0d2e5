//! `planwright runs --sessions`: the sessions of clients that called tools without a plan.

use planwright::format::{SessionV1, SessionsV1};
use planwright::terminal_text::one_line;

use super::list::moment;
use super::store;
use crate::args::{Format, RunFormat, RunsArguments};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::{Printer, counted};

/// Lists the sessions that the arguments select.
pub(super) fn list(arguments: &RunsArguments, printer: Printer) -> Result<Exit, CommandError> {
    let since = arguments.since.map(|since| since.moment(store::now()));
    let found = match store::open_existing(&arguments.store)? {
        Some(store) => store
            .call_sessions(None, since, arguments.limit)
            .map_err(store::explain)?,
        None => Vec::new(),
    };
    let sessions: Vec<SessionV1> = found
        .into_iter()
        .map(|one| SessionV1::new(one.id, one.client, (one.began, one.ended), one.calls))
        .collect();
    match arguments.format {
        Format::Json => output::json(&SessionsV1::new(sessions), RunFormat::Json, printer)?,
        Format::Text if sessions.is_empty() => printer.status("no session is stored"),
        Format::Text => {
            for session in &sessions {
                printer.data_line(&format!(
                    "{}  {}  {}  {}",
                    store::short_id(&session.id),
                    moment(&session.began),
                    one_line(&session.client),
                    counted(session.calls, "call")
                ));
            }
        }
    }
    Ok(Exit::Success)
}
