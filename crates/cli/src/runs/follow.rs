//! Stored runs in progress of any process: `planwright attach` and `planwright logs --follow` follow their journals, `planwright cancel` asks
//! their process to cancel them.

use std::sync::Arc;
use std::time::Duration;

use planwright::core::check::Policy;
use planwright::core::{Catalog, StepId};
use planwright::engine::event::Address;
use planwright::engine::journal::{Entry, Record};
use planwright::engine::{Backends, RunId};
use planwright::format::{EntryV1, LogStream, RunClock};
use planwright::service::{RunWatch, TimeLeft, Tools};
use planwright::stored::{StoredRun, StoredRunError, listing};
use planwright::{Planwright, terminal_text};
use planwright_store::{RunInfo, Store, StoreError};

use super::logs::{address, line_text};
use super::selector::find_run;
use super::{list, store};
use crate::args::{AttachArguments, CancelArguments, LogsArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::system::environment;
use crate::system::signals::Signals;
use crate::view::live::Live;
use crate::view::output;
use crate::view::printer::{Printer, counted, styled};

/// The interval at which the process of a followed run is checked, because a process that dies writes no entry to the journal.
const CHECK: Duration = Duration::from_millis(250);

/// A stored run that is followed until no process drives it.
struct FollowedRun<'a> {
    store: &'a Store,
    watch: RunWatch,
    /// True if no process drives the run, so that nothing is written after the entries that are read next.
    is_over: bool,
}

impl<'a> FollowedRun<'a> {
    fn open(store: &'a Store, run: &RunId) -> Result<Self, CommandError> {
        let watch = without_tools(store).watch(run.as_str());
        Ok(Self {
            store,
            watch: watch?,
            is_over: false,
        })
    }

    /// Waits for the next entries; `None` once no process drives the run and all entries were read. Dropping the future loses no entry.
    async fn next(&mut self) -> Result<Option<Vec<Entry>>, CommandError> {
        loop {
            tokio::select! {
                biased;
                entries = self.watch.next() => return Ok(Some(entries?)),
                () = tokio::time::sleep(CHECK) => {
                    if self.is_over {
                        return Ok(None);
                    }
                    match self.store.run(self.watch.run().as_str()) {
                        Ok(run) => self.is_over = run.holder.is_none(),
                        // The process that drives the run waits for the store, too.
                        Err(error) if error.is_transient() => {}
                        Err(error) => return Err(store::explain(error)),
                    }
                }
            }
        }
    }

    /// The exit status of the run: that of its latest process, or `Interrupted` if that died.
    fn exit(&self) -> Exit {
        let status = self.watch.view().status;
        status.map_or(Exit::Interrupted, Exit::of_run)
    }
}

/// Reads from the store, and waits while its server cannot be reached.
async fn patient<T>(
    mut read: impl FnMut() -> Result<T, StoredRunError>,
) -> Result<T, StoredRunError> {
    loop {
        match read() {
            Err(StoredRunError::Store(error)) if error.is_transient() => {
                tokio::time::sleep(CHECK).await;
            }
            read => return read,
        }
    }
}

/// The text of `planwright resume` for a run whose process died.
fn resume_hint(run: &RunId) -> String {
    format!(
        "its process died; resume with `planwright resume {}`",
        store::short_id(run)
    )
}

/// `planwright attach RUN`
pub(crate) async fn attach(
    arguments: &AttachArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let info = find_run(&store, arguments.run.as_deref())?;
    let mut signals = Signals::new()?;
    let watched = WatchedRun::open(&store, &info, printer)?;
    tokio::select! {
        exit = watched.show() => exit,
        _ = signals.next() => {
            watched.live.finish();
            printer.status(&format!("the run {} continues", store::short_id(&info.id)));
            Ok(Exit::Interrupted)
        }
    }
}

/// The view of a run of another process.
struct WatchedRun<'a> {
    store: &'a Store,
    info: &'a RunInfo,
    /// The name of its plan.
    plan: Option<String>,
    live: Arc<Live>,
    printer: Printer,
}

impl<'a> WatchedRun<'a> {
    fn open(store: &'a Store, info: &'a RunInfo, printer: Printer) -> Result<Self, CommandError> {
        let stored = StoredRun::read(store, info.id.as_str())?;
        let plan = stored.latest_plan()?;
        let live = Live::watching(&plan, printer);
        let options = stored.options();
        let learned = store.durations().map_err(store::explain)?;
        live.expect(TimeLeft::new(&plan, &learned, &options.limits));
        Ok(Self {
            store,
            info,
            plan: list::plan_name(store, &info.id, info.plan.as_deref())?,
            live,
            printer,
        })
    }

    /// Shows the run until no process drives it.
    async fn show(&self) -> Result<Exit, CommandError> {
        let id = &self.info.id;
        let mut followed = FollowedRun::open(self.store, id)?;
        let mut clock = RunClock::new(self.info.created);
        let mut is_past = true;
        while let Some(entries) = followed.next().await? {
            let extends = |entry: &Entry| entry.record.may_change_plan();
            if !is_past && entries.iter().any(extends) {
                let stored = patient(|| StoredRun::read(self.store, id.as_str())).await?;
                self.live.grow(&stored.latest_plan()?);
            }
            let times = entries.iter().map(|entry| (entry.at, clock.time(entry)));
            // The clock of the run stands still between two processes.
            let now = times.last().map_or(Duration::ZERO, |(at, time)| {
                at + store::now().duration_since(time).unwrap_or_default()
            });
            self.live.entries(id, &entries, now, is_past);
            if is_past {
                self.begin(&followed);
            } else {
                self.print_questions(&entries);
            }
            is_past = false;
        }
        self.live.finish();
        let info = patient(|| Ok(self.store.run(id.as_str())?)).await?;
        let run = listing(&info);
        let status = styled(list::status_style(run.status), run.status);
        self.printer.status(&format!(
            "run {}: {status}, {} of {} done",
            store::short_id(id),
            run.done,
            counted(run.steps, "step")
        ));
        if followed.watch.view().status.is_none() {
            self.printer.quote(&resume_hint(id));
        }
        Ok(followed.exit())
    }

    /// Prints which run is shown, and the calls that wait for a decision.
    fn begin(&self, followed: &FollowedRun<'_>) {
        if self.info.holder.is_none() {
            return;
        }
        let view = followed.watch.view();
        let plan = self.plan.as_deref().map(terminal_text::one_line);
        let plan = plan.map_or_else(String::new, |plan| format!(" of `{plan}`"));
        self.live.suspend(|| {
            self.printer.message(&format!(
                "run {}{plan}, in another process: {} of {} done; Ctrl-C leaves it running",
                store::short_id(&self.info.id),
                view.ended,
                counted(view.steps, "step")
            ));
        });
        for step in view.questions.keys() {
            self.print_waiting_call(step);
        }
    }

    /// Prints the commands to decide about each call that newly waits for a decision.
    fn print_questions(&self, entries: &[Entry]) {
        for entry in entries {
            if let Record::Asked { at, .. } = &entry.record {
                self.print_waiting_call(&at.to_string());
            }
        }
    }

    fn print_waiting_call(&self, step: &str) {
        let line = store::waiting_line(&self.info.id, step);
        self.live.suspend(|| self.printer.message(&line));
    }
}

/// `planwright logs RUN --follow`
pub(crate) async fn logs(
    arguments: &LogsArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let info = find_run(&store, arguments.run.as_deref())?;
    let mut signals = Signals::new()?;
    tokio::select! {
        exit = follow_log(arguments, &store, &info, printer) => exit,
        _ = signals.next() => Ok(Exit::Interrupted),
    }
}

async fn follow_log(
    arguments: &LogsArguments,
    store: &Store,
    info: &RunInfo,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let stored = StoredRun::read(store, info.id.as_str())?;
    let step = arguments.step.as_deref();
    let step = step
        .map(|step| followed_address(step, &stored, info))
        .transpose()?;
    let step = step.as_deref();
    drop(stored);
    let mut followed = FollowedRun::open(store, &info.id)?;
    let mut log = LogStream::new(info.created);
    let mut clock = RunClock::new(info.created);
    let mut last = None;
    let print = |lines: Vec<planwright::format::LogLineV1>| -> Result<(), CommandError> {
        for line in &lines {
            match arguments.format {
                RunFormat::Text => printer.data(&line_text(line, Printer::data_width())),
                RunFormat::Json => output::json(line, RunFormat::Events, printer)?,
                RunFormat::Events => {}
            }
        }
        Ok(())
    };
    while let Some(entries) = followed.next().await? {
        for entry in &entries {
            if arguments.format == RunFormat::Events {
                if let Some(entry) = EntryV1::next(entry, &mut clock, step) {
                    output::json(&entry, RunFormat::Events, printer)?;
                }
            } else {
                print(log.add(entry, step))?;
            }
        }
        last = entries.into_iter().next_back().or(last);
    }
    if let Some(last) = &last {
        print(log.end(last, step))?;
    }
    if followed.watch.view().status.is_none() {
        printer.quote(&resume_hint(&info.id));
    }
    Ok(followed.exit())
}

/// The address that `step` names. A step of the plan, or a part of one, need not have begun.
fn followed_address(
    step: &str,
    stored: &StoredRun,
    info: &RunInfo,
) -> Result<String, CommandError> {
    let whole = step.split(['[', '#', '/', '@']).next().unwrap_or(step);
    let is_planned = stored.step_ids().iter().any(|id| id == whole);
    match address(step, stored, info.created) {
        Ok(at) => Ok(at),
        Err(_) if is_planned => Ok(Address::of_step(StepId::new(whole)).to_string()
            + step.get(whole.len()..).unwrap_or_default()),
        Err(error) => Err(error),
    }
}

/// The run service over a store, without tools.
fn without_tools(store: &Store) -> Planwright {
    let no_tools = Planwright::over(Tools {
        catalog: Arc::new(Catalog::default()),
        backend: Arc::new(Backends::new()),
        policy: Policy::new(),
    });
    no_tools.with_store(store)
}

/// Cancels a run that waits, or that was interrupted, and that no process drives.
async fn cancel_idle(store: &Store, run: &RunId, printer: Printer) -> Result<Exit, CommandError> {
    let run = without_tools(store).cancel_idle(run.as_str())?;
    let id = run.id().clone();
    let short = store::short_id(&id);
    let summary = run.finish().await;
    if let Some(error) = summary.journal_error {
        return Err(CommandError::new(format!(
            "the run `{short}` cannot be cancelled: {error}"
        )));
    }
    printer.status(&format!("the run `{short}` is cancelled"));
    Ok(Exit::Success)
}

/// `planwright cancel RUN`
pub(crate) async fn cancel(
    arguments: &CancelArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let info = find_run(&store, Some(&arguments.run))?;
    let run = info.id;
    let by = environment::variable("USER");
    let short = store::short_id(&run);
    let stored = StoredRun::read(&store, run.as_str());
    if stored.is_ok_and(|stored| stored.driving_engine().is_some()) {
        // Its worker may be lost, and the lease of a lost one may not have expired yet.
        store
            .request_cancel_at_resume(run.as_str(), by, store::now())
            .map_err(store::explain)?;
        printer.status(&match info.holder {
            Some(_) => format!("the worker of the run `{short}` was asked to cancel it; `planwright attach {short}` shows its end"),
            None => format!("no worker drives the run `{short}` now; the next one cancels it without a further call"),
        });
        return Ok(Exit::Success);
    }
    let holder = match store.request_cancel(run.as_str(), by, store::now()) {
        Ok(holder) => holder,
        Err(StoreError::Idle { .. }) => return cancel_idle(&store, &run, printer).await,
        Err(error) => return Err(store::explain(error)),
    };
    printer.status(&format!(
        "{holder} was asked to cancel the run `{short}`; `planwright attach {short}` shows its end"
    ));
    Ok(Exit::Success)
}
