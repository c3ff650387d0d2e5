//! Runs on Restate: `planwright run --on restate=URL` submits the run and follows it in the store.

use std::sync::Arc;
use std::time::Duration;

use planwright::Planwright;
use planwright::core::Catalog;
use planwright::core::check::Policy;
use planwright::engine::journal::Record;
use planwright::engine::options::RunOptions;
use planwright::engine::{Backends, RunId};
use planwright::planner::model::Usage;
use planwright::service::Tools;
use planwright::stored::StoredRun;
use planwright_restate::{
    AutomaticDecision, RestateClient, RestateError, RunRequest, RunRequestV1, RunResultV1,
    Submission, WaitNotice,
};
use planwright_store::{Store, StoreError};

use super::session::{FinishedRun, RunSession};
use crate::args::{Approve, RunArguments, ToolArguments};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::serve::worker::explain;
use crate::system::signals::Signals;
use crate::view::live::Live;
use crate::view::printer::Printer;

/// The pause before a store that could not be read is read again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Rejects options that have no meaning on Restate.
pub(super) fn check(arguments: &RunArguments) -> Result<(), CommandError> {
    match (&arguments.on, &arguments.consent.approve) {
        (Some(_), Approve::Plan(_)) => {
            let error = CommandError::new("`--approve plan` does not work with `--on`");
            Err(error.hint(
                "let the calls wait, then approve the plan with `planwright approve --plan RUN`",
            ))
        }
        _ => Ok(()),
    }
}

/// Submits the run of a session to Restate, waits for its end, and reports the outcome.
pub(super) async fn run(
    session: &RunSession<'_>,
    url: &str,
    tools: &ToolArguments,
    options: &RunOptions,
    mut signals: Signals,
) -> Result<Exit, CommandError> {
    let Some(store) = session.store else {
        return Err(CommandError::new("a run on Restate needs a store"));
    };
    let (id, printer) = (session.id, session.printer);
    let request = request(session, url, tools, options)?;
    let client = RestateClient::new(url).map_err(explain)?;
    let client = client.with_notices(move |notice| match notice {
        WaitNotice::Lost(error) => printer.status(&format!("{error}; waiting for it")),
        WaitNotice::Back => printer.status("Restate answers again"),
    });
    tokio::select! {
        submitted = submit(&client, id, &request, printer) => submitted?,
        _ = signals.next() => return Ok(Exit::Interrupted),
    }
    let result = tokio::select! {
        result = client.attach(id) => result.map_err(explain)?,
        never = print_questions(store, id, printer) => match never {},
        _ = signals.next() => {
            let run = store::short_id(id);
            printer.status(&format!("the run {run} continues on Restate"));
            printer.hint(format!("`planwright attach {run}` shows it, `planwright cancel {run}` cancels it"));
            return Ok(Exit::Interrupted);
        }
    };
    signals.leave_on_next();
    report(session, store, &result)
}

fn request(
    session: &RunSession<'_>,
    url: &str,
    tools: &ToolArguments,
    options: &RunOptions,
) -> Result<RunRequestV1, CommandError> {
    let decision = match &session.consent.approve {
        Approve::All => Some(AutomaticDecision::Approve),
        Approve::None => Some(AutomaticDecision::Reject),
        // No question is asked here: the run continues without this process.
        Approve::Ask | Approve::Wait | Approve::Plan(_) => None,
    };
    let text = session.loaded.to_stored();
    let request = RunRequest {
        plan: session.plan,
        text: text.ok_or_else(|| CommandError::new("the plan was read in no dialect"))?,
        options,
        tools: store::sources(tools)?,
        ingress: url,
        decision,
        now: store::now(),
    };
    request
        .encode()
        .map_err(|error| CommandError::new(error.to_string()).hint("run it without `--on`"))
}

async fn submit(
    client: &RestateClient,
    id: &RunId,
    request: &RunRequestV1,
    printer: Printer,
) -> Result<(), CommandError> {
    let submitted = client.submit(id, request).await;
    let submission = submitted.map_err(|error| match &error {
        RestateError::Refused { status: 404, .. } => explain(error)
            .hint("register a worker: `planwright worker --register http://localhost:9070`"),
        RestateError::Unreachable { .. } => explain(error)
            .hint("`--on` takes the address of the ingress of Restate, by default port 8080"),
        RestateError::Refused { .. } | RestateError::Address(_) | RestateError::Unreadable(_) => {
            explain(error)
        }
    })?;
    let run = store::short_id(id);
    match submission {
        Submission::Accepted => printer.status(&format!("run {run} on Restate")),
        Submission::Existing => printer.status(&format!("run {run} is on Restate already")),
    }
    Ok(())
}

/// A value that does not exist.
enum Never {}

/// Prints the commands to decide about each call that waits for a decision, as long as the run lasts, whether or not the store can be read
/// all the time.
async fn print_questions(store: &Store, id: &RunId, printer: Printer) -> Never {
    let (mut printed, mut is_reported) = (0, false);
    loop {
        match print_new_questions(store, id, printer, &mut printed).await {
            Ok(never) => return never,
            Err(_) if is_reported => {}
            Err(error) => {
                printer.status(&format!("{error}; trying again"));
                is_reported = true;
            }
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Does so until the store cannot be read. The first entries of the journal, as many as `printed`, are those of an earlier attempt.
async fn print_new_questions(
    store: &Store,
    id: &RunId,
    printer: Printer,
    printed: &mut usize,
) -> Result<Never, CommandError> {
    let mut changes = store.watch_changes().map_err(store::explain)?;
    // A worker writes the run into the store when it begins.
    while let Err(StoreError::Missing { .. }) = store.run(id.as_str()) {
        changes.next().await.map_err(store::explain)?;
    }
    let no_tools = Planwright::over(Tools {
        catalog: Arc::new(Catalog::default()),
        backend: Arc::new(Backends::new()),
        policy: Policy::new(),
    });
    let mut watch = no_tools.with_store(store).watch(id.as_str())?;
    let mut seen = 0;
    loop {
        for entry in watch.next().await? {
            seen += 1;
            if seen <= *printed {
                continue;
            }
            *printed = seen;
            if let Record::Asked { at, .. } = &entry.record {
                printer.message(&store::waiting_line(id, &at.to_string()));
            }
        }
    }
}

/// Reports the outcome of a run, from its journal in the store.
fn report(
    session: &RunSession<'_>,
    store: &Store,
    result: &RunResultV1,
) -> Result<Exit, CommandError> {
    let stored = match StoredRun::read(store, session.id.as_str()) {
        Ok(stored) => stored,
        Err(planwright::stored::StoredRunError::Store(StoreError::Missing { .. })) => {
            let status = &result.status;
            return Err(CommandError::new(format!(
                "the run has ended as `{status}`, but the store here does not have it"
            ))
            .hint("the worker and this command need the same `--store`"));
        }
        Err(error) => return Err(error.into()),
    };
    let replayed = stored.replayed(session.id).map_err(|error| {
        CommandError::new(format!("the journal of the run cannot be read: {error}"))
    })?;
    session.report(&FinishedRun {
        summary: replayed.summary,
        revisions: Vec::new(),
        revised: None,
        usage: Usage::default(),
        is_stored: true,
        live: Live::new(
            session.plan,
            session.format,
            session.progress,
            session.printer,
        ),
    })
}
