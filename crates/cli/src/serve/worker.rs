//! `planwright worker`: executes runs and calls of tools for a Restate server.

use std::path::Path;

use planwright_restate::{RestateClient, RestateError, Worker};
use tokio::net::TcpListener;

use crate::args::WorkerArguments;
use crate::error::{CommandError, Exit, reason};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::telemetry;
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::Printer;

/// `planwright worker`
pub(crate) async fn worker(
    arguments: &WorkerArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let telemetry = telemetry::open(&config)?;
    let mut signals = Signals::new()?;
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&arguments.tools, None, ServerUse::Calls, printer) => toolbox?,
        _ = signals.next() => return Ok(Exit::Interrupted),
    };
    toolbox.apply_config(&config, Some(&store), printer)?;
    let worker = Worker::new(
        toolbox.service(&config, &telemetry),
        store,
        toolbox.secrets(),
    );
    let served = serve(worker, arguments, signals, printer).await;
    toolbox.servers.close().await;
    telemetry::close(telemetry).await;
    served.map(|()| Exit::Success)
}

/// Serves until a signal arrives.
async fn serve(
    worker: Worker,
    arguments: &WorkerArguments,
    mut signals: Signals,
    printer: Printer,
) -> Result<(), CommandError> {
    let listen = arguments.listen;
    let cannot_listen = |error| {
        CommandError::new(format!("cannot listen at {listen}: {}", reason(&error)))
            .hint("choose another address with `--listen`")
    };
    let listener = TcpListener::bind(listen).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    printer.status(&format!("listening on http://{address}"));
    let end = async move {
        signals.next().await;
        signals.leave_on_next();
    };
    let served = worker.serve(listener, end);
    tokio::pin!(served);
    if let Some(admin) = &arguments.register {
        let own = format!("http://{address}");
        let url = arguments.advertise.as_deref().unwrap_or(&own);
        tokio::select! {
            registered = register(admin, url) => registered?,
            () = &mut served => return Ok(()),
        }
        printer.status(&format!("registered with Restate at {admin}"));
    }
    served.await;
    Ok(())
}

async fn register(admin: &str, url: &str) -> Result<(), CommandError> {
    let client = RestateClient::new(admin).map_err(explain)?;
    client.register(url).await.map_err(|error| match &error {
        RestateError::Refused { .. } => explain(error)
            .hint("`--advertise URL` sets the address at which Restate reaches the worker"),
        RestateError::Unreachable { .. } => explain(error)
            .hint("`--register` takes the address of the admin interface, by default port 9070"),
        RestateError::Address(_) | RestateError::Unreadable(_) => explain(error),
    })
}

/// Returns the error of a request to Restate.
pub(crate) fn explain(error: RestateError) -> CommandError {
    CommandError::new(error.to_string())
}
