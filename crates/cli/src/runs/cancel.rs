//! `planwright cancel RUN`: asks the process that drives a run to cancel it.

use super::selector::find_run;
use super::store;
use crate::args::CancelArguments;
use crate::error::{CommandError, Exit};
use crate::system::environment;
use crate::view::printer::Printer;
use planwright_store::StoreError;

/// `planwright cancel RUN`
pub(crate) fn cancel(arguments: &CancelArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let run = find_run(&store, Some(&arguments.run))?.id;
    let by = environment::variable("USER");
    let short = store::short_id(&run);
    let asked = store.request_cancel(run.as_str(), by, store::now());
    let holder = asked.map_err(|error| match error {
        StoreError::Idle { .. } => {
            CommandError::new(format!("no process drives the run `{short}`"))
                .hint("`planwright runs` lists the runs with their status")
        }
        error => store::explain(error),
    })?;
    printer.status(&format!(
        "{holder} was asked to cancel the run `{short}`; `planwright attach {short}` shows its end"
    ));
    Ok(Exit::Success)
}
