//! `ask` with a plan that runs while the model writes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright::engine::RunId;
use planwright::engine::{Canceller, MemoryJournal, RunEvent};
use planwright::format::AnswerV1;
use planwright::planner::create::PlanAttempt;
use planwright::planner::document;
use planwright::planner::stream::{StreamEvent, StreamOutcome};
use planwright::service::StreamedRunLauncher;
use planwright::telemetry::Telemetry;
use planwright_store::Store;

use super::ask::{AskOutcome, AskSession, CompletedRun, SOURCE};
use super::create::{self, EarlyRunServices, PlanRequirements};
use super::progress;
use crate::approval::approver::{ApprovalSubject, approver};
use crate::error::{CommandError, Exit};
use crate::run::early_run::{EarlyRunStore, abandoned_calls};
use crate::run::session::RunOutputs;
use crate::run::stopping::{CANCELLING, Reaction, Stopping};
use crate::runs::store;
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::view::live::Live;

impl AskSession<'_> {
    /// Asks the model for the plan, and runs it while it is being written.
    pub(crate) async fn stream(
        &self,
        requirements: &PlanRequirements<'_>,
        signals: &mut Signals,
    ) -> Result<AskOutcome, CommandError> {
        let id = RunId::random();
        let store = self.store()?;
        let telemetry = telemetry::open(self.config)?;
        let sources = store::sources(&self.arguments.tools)?;
        let live = Live::written_by(self.model.name(), self.arguments.format, self.printer);
        let launcher = self
            .launcher(&id, store.as_ref(), &live, &telemetry)
            .inspect_err(|_| live.finish())?;
        let run_store = EarlyRunStore {
            id: &id,
            source: SOURCE,
            store: store.as_ref(),
            sources,
            options: launcher.options(),
            config: self.config,
            memory: MemoryJournal::new(),
            state: Mutex::default(),
        };
        let streamed = self
            .follow(requirements, &launcher, &run_store, &live, signals)
            .await
            .inspect_err(|_| live.finish())?;
        let Some(streamed) = streamed else {
            telemetry::close(telemetry).await;
            return Ok(AskOutcome::Nothing(Exit::Interrupted));
        };
        let early = document::streamed(&streamed, self.max_output());
        let StreamOutcome {
            created,
            summary,
            error,
            ..
        } = streamed;
        if let Some(error) = error {
            live.finish();
            telemetry::close(telemetry).await;
            return Err(run_store.launch_error(&error));
        }
        let answer = AnswerV1::new(
            &self.arguments.question,
            document::created(&created, self.model.name()),
        )
        .with_streamed(early);
        let (Some(summary), Some(plan)) = (summary, &created.plan) else {
            live.finish();
            telemetry::close(telemetry).await;
            progress::report_response(&created, self.model.name(), self.printer);
            progress::print_usage(created.usage, self.printer);
            if let Some(plan) = &created.plan {
                self.is_to_run(plan);
            }
            run_store.report_interruption(false, self.printer);
            self.print_document(&answer)?;
            return Ok(AskOutcome::Nothing(create::exit(&created)));
        };
        progress::report_missing_plan(&created, self.model.name(), self.printer);
        let loaded = Self::loaded(&plan.text);
        let mut session = self.session(&id, (&plan.checked, &loaded), store.as_ref(), telemetry)?;
        if let Some(adaptation) = &mut session.adaptation {
            adaptation.memory = run_store.memory.clone();
        }
        let journal = run_store.journal();
        let adapting = session.adapt(
            Some(summary),
            live,
            (launcher.options().clone(), journal),
            signals,
        );
        let ended = Box::pin(adapting).await?;
        Ok(match ended {
            Some(ended) => AskOutcome::CompletedRun(Box::new(CompletedRun {
                answer,
                ended,
                loaded,
                usage: created.usage,
            })),
            None => AskOutcome::Nothing(Exit::Interrupted),
        })
    }

    fn launcher(
        &self,
        id: &RunId,
        store: Option<&Store>,
        live: &Arc<Live>,
        telemetry: &Telemetry,
    ) -> Result<StreamedRunLauncher, CommandError> {
        let subject = ApprovalSubject {
            toolbox: self.toolbox,
            stored: store.map(|store| (store.clone(), id)),
            is_approved: false,
            live,
            turn: Arc::default(),
        };
        let service = self.toolbox.service(self.config, telemetry);
        let options = self.options(store, environment::all(self.config))?;
        let approver = approver(&self.arguments.consent, subject, self.printer)?;
        let launcher =
            StreamedRunLauncher::new(&service, options, approver).traced(telemetry::parent());
        Ok(match store {
            Some(store) => launcher.stored_in(store)?,
            None => launcher,
        })
    }

    /// Follows the model and the run until both have ended; `None` if they were interrupted.
    async fn follow(
        &self,
        requirements: &PlanRequirements<'_>,
        launcher: &StreamedRunLauncher,
        run_store: &EarlyRunStore<'_>,
        live: &Arc<Live>,
        signals: &mut Signals,
    ) -> Result<Option<StreamOutcome>, CommandError> {
        let state = Mutex::new(EarlyRunState::default());
        let mut listener = AskStreamListener {
            watch: RunOutputs {
                live: Arc::clone(live),
                format: self.arguments.format,
                max_output: self.max_output(),
                printer: self.printer,
                drain: self.arguments.drain.limit,
            },
            attempts: Vec::new(),
            state: &state,
        };
        let mut on_event = |event: StreamEvent<'_>| listener.on_event(event);
        let streaming = requirements.run(
            self.model.as_ref(),
            &self.arguments.planning,
            EarlyRunServices {
                launcher,
                run: run_store.id,
                storage: run_store,
                listener: &mut on_event,
            },
        );
        tokio::pin!(streaming);
        let mut stopping = Stopping::new(self.arguments.drain.limit);
        loop {
            tokio::select! {
                streamed = &mut streaming => return Ok(Some(streamed)),
                signal = signals.next() => {
                    let state = lock(&state);
                    let running = state.canceller.as_ref().filter(|_| state.is_planned);
                    match running.map(|run| (run, stopping.on_signal(signal))) {
                        Some((run, Reaction::Drain(limit))) => {
                            live.drain(limit);
                            run.drain(limit);
                        }
                        Some((run, Reaction::Cancel)) => {
                            live.suspend(|| self.printer.status(CANCELLING));
                            run.cancel();
                        }
                        Some((_, Reaction::Leave)) | None => {
                            live.finish();
                            run_store.report_interruption(state.has_called, self.printer);
                            return Ok(None);
                        }
                    }
                }
            }
        }
    }
}

/// The progress of plan and run.
#[derive(Default)]
struct EarlyRunState {
    /// The handle that cancels the run.
    canceller: Option<Canceller>,
    /// True if the plan is complete.
    is_planned: bool,
    has_called: bool,
}

fn lock(state: &Mutex<EarlyRunState>) -> MutexGuard<'_, EarlyRunState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the events of the model and the run.
struct AskStreamListener<'a> {
    watch: RunOutputs,
    /// The model's answers so far.
    attempts: Vec<PlanAttempt>,
    state: &'a Mutex<EarlyRunState>,
}

impl AskStreamListener<'_> {
    fn on_event(&mut self, event: StreamEvent<'_>) {
        let (live, printer) = (&self.watch.live, self.watch.printer);
        match event {
            StreamEvent::PlanAttempt(attempt) => self.attempts.push(attempt.clone()),
            StreamEvent::RunStarted(canceller) => {
                lock(self.state).canceller = Some(canceller.clone());
            }
            StreamEvent::PlanGrew(plan) => live.grow(&plan.checked),
            StreamEvent::Planned(plan) => {
                live.grow(&plan.checked);
                live.mark_written();
                live.suspend(|| progress::report_attempts(&self.attempts, printer));
                lock(self.state).is_planned = true;
            }
            StreamEvent::Run(event) => {
                if let RunEvent::AttemptStarted { .. } = event.event {
                    lock(self.state).has_called = true;
                }
                self.watch.event(event);
            }
            StreamEvent::Abandoned(summary) => {
                live.restart();
                if let Some(line) = abandoned_calls(summary) {
                    live.suspend(|| printer.quote(&line));
                }
            }
            StreamEvent::Text(_) => {}
        }
    }
}
