//! `planwright lsp`: the language server, with the tools of this folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::Sender;
use lsp_server::Connection;
use planwright::core::check::Policy;
use planwright_lsp::PlanTools;

use super::check::{FileStates, changed, states_of};
use crate::args::LspArguments;
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::{self, Toolbox};
use crate::view::printer::Printer;

/// `planwright lsp`
pub(crate) async fn lsp(arguments: &LspArguments, printer: Printer) -> Result<Exit, CommandError> {
    let (connection, threads) = Connection::stdio();
    let (sender, tools) = crossbeam_channel::unbounded();
    let mut server = tokio::task::spawn_blocking(move || {
        let served = planwright_lsp::serve(&connection, &tools);
        // The IO threads end once the last sender is dropped, which is in `connection`.
        drop(connection);
        served
    });
    let served = tokio::select! {
        served = &mut server => served,
        never = follow_tools(arguments, &sender, printer) => match never? {},
    };
    let served = served.map_err(|error| CommandError::new(error.to_string()).internal(error))?;
    served.map_err(|error| CommandError::new(error.to_string()).internal(error))?;
    let written = threads.join();
    written.map_err(|error| CommandError::new(error.to_string()).internal(error))?;
    Ok(Exit::Success)
}

/// Sends the current tools, and the new ones whenever a file that they depend on has changed.
async fn follow_tools(
    arguments: &LspArguments,
    sender: &Sender<Arc<PlanTools>>,
    printer: Printer,
) -> Result<std::convert::Infallible, CommandError> {
    loop {
        // The state of the files is read before the tools, so that no change in between is missed.
        let read = states(arguments)?;
        match open(arguments, printer).await {
            Ok(tools) => {
                // If the receiver is gone, the server has ended, so this future is dropped.
                let _ = sender.send(Arc::new(tools));
            }
            // A broken file is no reason to end: the user may be editing it, and a change of it is noticed.
            Err(error) => printer.error(&error),
        }
        changed(&read, || states(arguments)).await?;
    }
}

async fn open(arguments: &LspArguments, printer: Printer) -> Result<PlanTools, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let config = arguments.flow.apply(config);
    let mut toolbox = Toolbox::open(&arguments.tools, None, ServerUse::Lists, printer).await?;
    toolbox.apply_config(&config, None, printer)?;
    let store = store::open_existing(&arguments.store)?;
    toolbox.recall_answers(&config, store.as_ref())?;
    toolbox.servers.close().await;
    let policy = config.restrict(Policy::new());
    Ok(PlanTools {
        catalog: toolbox.catalog,
        policy,
    })
}

/// The states of the files that the tools come from.
fn states(arguments: &LspArguments) -> Result<FileStates, CommandError> {
    let tools = &arguments.tools;
    let mut files: Vec<PathBuf> = tools.simulate.iter().cloned().collect();
    files.extend(settings::candidates(Path::new("."))?);
    if tools.simulate.is_none() {
        files.extend(toolbox::servers_file_candidates(tools)?);
    }
    Ok(states_of(files))
}
