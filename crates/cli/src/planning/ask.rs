//! `planwright ask QUESTION`: a model writes a plan, the plan runs, statistics are computed, a model summarizes them. With `--stream`, the
//! plan runs while it is written.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright::config::Config;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::plan::Mode;
use planwright::engine::RunId;
use planwright::engine::options::RunOptions;
use planwright::engine::{Canceller, MemoryJournal, RunEvent, SecretValues};
use planwright::format::AnswerV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::create::{CreatedPlan, PlanAttempt};
use planwright::planner::document;
use planwright::planner::model::{Model, Usage};
use planwright::planner::stream::{StreamEvent, StreamOutcome};
use planwright::service::{EventObserver, ObservedRun, RecordedRun, run_time};
use planwright::telemetry::Telemetry;
use planwright_store::Store;

use super::create::{self, PlanRequirements, RunAhead};
use super::dates::{Known, PlanningDay};
use super::{model, progress};
use crate::approval::approver::{ApprovalSubject, approver};
use crate::args::{AdaptArguments, AskArguments, Progress, RunFormat};
use crate::error::{CommandError, Exit};
use crate::run::early_run::{EarlyRunStore, created, in_vain};
use crate::run::session::{RunOutputs, RunSession, approved};
use crate::run::stopping::{CANCELLING, Reaction, Stopping};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::limits;
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::live::Live;
use crate::view::output::{self, FinishedRun};
use crate::view::printer::Printer;

/// The name of the plan in messages.
const SOURCE: &str = "answer";

/// `planwright ask QUESTION`
pub(crate) async fn command(
    arguments: &AskArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let is_streamed = arguments.stream.is_wanted(&arguments.consent)?;
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let known = Known::read(&arguments.planning, &config)?;
    let model = model::open(&arguments.model, &config)?;
    let mut signals = Signals::new()?;
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&arguments.tools, None, ServerUse::OnDemand, printer) => toolbox?,
        _ = signals.next() => return Ok(Exit::Interrupted),
    };
    let pins = if arguments.no_store || !toolbox.needs_store(&config) {
        None
    } else {
        Some(store::open(&arguments.store, printer)?)
    };
    toolbox.add_extraction(Arc::clone(&model));
    toolbox.apply_config(&config, pins.as_ref(), printer)?;
    if let Some(note) = toolbox.note_without_source() {
        printer.status(note);
    }
    let durations = create::durations(&arguments.store, arguments.no_store, &toolbox)?;
    known.mention_unclear_times(&arguments.question, printer);
    let day = known.day(&arguments.question);
    let requirements =
        PlanRequirements::new(&arguments.question, &toolbox, &known, durations, &config);
    let asking = AskSession {
        arguments,
        config: &config,
        toolbox: &toolbox,
        model: &model,
        day,
        printer,
    };
    let outcome = if is_streamed {
        Box::pin(asking.stream(&requirements, &mut signals)).await
    } else {
        asking.write(&requirements, &mut signals).await
    };
    toolbox.close().await;
    match outcome? {
        AskOutcome::CompletedRun(ran) => asking.answer(*ran, signals).await,
        AskOutcome::Nothing(exit) => Ok(exit),
    }
}

/// A question.
pub(super) struct AskSession<'a> {
    pub(super) arguments: &'a AskArguments,
    pub(super) config: &'a Config,
    pub(super) toolbox: &'a Toolbox,
    pub(super) model: &'a Arc<dyn Model>,
    pub(super) day: PlanningDay,
    pub(super) printer: Printer,
}

/// The outcome of the plan.
pub(crate) enum AskOutcome {
    /// The plan ran.
    CompletedRun(Box<CompletedRun>),
    /// No answer: everything is reported already.
    Nothing(Exit),
}

/// A plan that ran.
pub(crate) struct CompletedRun {
    /// The answer so far.
    pub(super) answer: AnswerV1,
    pub(super) ended: FinishedRun,
    pub(super) loaded: LoadedPlan,
    /// The tokens and the cost of the plan.
    pub(super) usage: Usage,
}

impl AskSession<'_> {
    /// Has the plan written, then runs it.
    pub(super) async fn write(
        &self,
        requirements: &PlanRequirements<'_>,
        signals: &mut Signals,
    ) -> Result<AskOutcome, CommandError> {
        let arguments = self.arguments;
        let created = tokio::select! {
            created = requirements.ask(self.model.as_ref(), &arguments.planning) => created,
            _ = signals.next() => return Ok(AskOutcome::Nothing(Exit::Interrupted)),
        };
        progress::tell(&created, self.model.name(), self.printer);
        let exit = create::exit(&created);
        let usage = created.usage;
        let answer = AnswerV1::new(
            &arguments.question,
            document::created(&created, self.model.name()),
        );
        let Some(written) = created.plan.filter(|plan| self.is_to_run(plan)) else {
            progress::usage(usage, self.printer);
            self.print_document(&answer)?;
            return Ok(AskOutcome::Nothing(exit));
        };
        let loaded = Self::loaded(&written.text);
        // It was sound against the same tools a moment ago.
        let policy = self.config.restrict(Policy::new());
        let (plan, loaded) = loaded.check(&self.toolbox.catalog, &policy);
        let Some(plan) = plan else {
            output::diagnostics(&loaded, RunFormat::Text, self.printer);
            return Ok(AskOutcome::Nothing(Exit::Rejected));
        };
        let store = self.store()?;
        let options = self.options(store.as_ref(), environment::get(&plan, self.config)?)?;
        let Some(approved) = approved(
            &arguments.consent,
            &plan,
            &options,
            store.as_ref(),
            self.printer,
        )?
        else {
            return Ok(AskOutcome::Nothing(Exit::Rejected));
        };
        let id = RunId::random();
        let session = self.session(
            &id,
            (&plan, &loaded),
            store.as_ref(),
            telemetry::open(self.config)?,
        )?;
        let segment = session.first_segment(&arguments.tools, options, approved)?;
        let ended = session.run(segment, signals).await?;
        Ok(match ended {
            Some(ended) => AskOutcome::CompletedRun(Box::new(CompletedRun {
                answer,
                ended,
                loaded,
                usage,
            })),
            None => AskOutcome::Nothing(Exit::Interrupted),
        })
    }

    /// Returns true if the plan asks to be run.
    fn is_to_run(&self, plan: &CreatedPlan) -> bool {
        let is_to_run = plan.checked.plan().mode == Mode::Run;
        if !is_to_run {
            self.printer
                .status("the plan says that it is only to be shown, so it is not run");
        }
        is_to_run
    }

    pub(super) fn store(&self) -> Result<Option<Store>, CommandError> {
        if self.arguments.no_store {
            return Ok(None);
        }
        store::open(&self.arguments.store, self.printer).map(Some)
    }

    pub(super) fn options(
        &self,
        store: Option<&Store>,
        secret_values: SecretValues,
    ) -> Result<RunOptions, CommandError> {
        let overrides = limits::overrides(&self.arguments.guards, RunOptions::default());
        let mut options = RunOptions {
            secrets: self.toolbox.secrets(),
            secret_values,
            seal_key: store::seal_key(store)?,
            ..overrides.options(self.config)
        };
        options.evaluation.now = Some(run_time());
        if let Some(store) = store {
            options.durations = store.durations().map_err(store::explain)?;
        }
        Ok(options)
    }

    /// The session of the run, with the model that may revise its plan.
    pub(super) fn session<'c>(
        &'c self,
        id: &'c RunId,
        (plan, loaded): (&'c CheckedPlan, &'c LoadedPlan),
        store: Option<&'c Store>,
        telemetry: Telemetry,
    ) -> Result<RunSession<'c>, CommandError> {
        let adapting = AdaptArguments {
            replan: self.arguments.replan,
            repair: self.arguments.repair,
            model: self.arguments.model.clone(),
        };
        let moment = &self.arguments.planning.moment;
        let adapting = adapting.with(self.model, self.config, moment)?;
        Ok(RunSession {
            service: self.toolbox.service(self.config, &telemetry),
            id,
            plan,
            loaded,
            toolbox: self.toolbox,
            store,
            durations: None,
            consent: &self.arguments.consent,
            format: self.arguments.format,
            progress: Progress::Auto,
            drain: self.arguments.drain.limit,
            max_output: self.max_output(),
            printer: self.printer,
            telemetry,
            adapting,
            revisions: Vec::new(),
        })
    }

    /// The most bytes that are shown of one value.
    pub(super) fn max_output(&self) -> Option<u64> {
        limits::max_output(&self.arguments.guards, self.config)
    }

    /// A created plan as it is read and stored.
    pub(super) fn loaded(text: &str) -> LoadedPlan {
        created(SOURCE, text)
    }

    pub(super) fn print_document(&self, answer: &AnswerV1) -> Result<(), CommandError> {
        match self.arguments.format {
            RunFormat::Text => Ok(()),
            format @ (RunFormat::Json | RunFormat::Events) => {
                output::json(answer, format, self.printer)
            }
        }
    }
}

impl AskSession<'_> {
    /// Has the plan written, and runs it meanwhile.
    pub(crate) async fn stream(
        &self,
        requirements: &PlanRequirements<'_>,
        signals: &mut Signals,
    ) -> Result<AskOutcome, CommandError> {
        let id = RunId::random();
        let store = self.store()?;
        let options = self.options(store.as_ref(), environment::all(self.config))?;
        let telemetry = telemetry::open(self.config)?;
        let keeper = EarlyRunStore {
            id: &id,
            source: SOURCE,
            store: store.as_ref(),
            sources: store::sources(&self.arguments.tools)?,
            options: &options,
            config: self.config,
            memory: MemoryJournal::new(),
            recorded: RecordedRun::default(),
            state: Mutex::default(),
        };
        let live = Live::written_by(self.model.name(), self.arguments.format, self.printer);
        let streamed = self
            .follow(requirements, &keeper, &live, &telemetry, signals)
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
            journal_error,
            ..
        } = streamed;
        if let Some(error) = journal_error {
            live.finish();
            telemetry::close(telemetry).await;
            return Err(keeper.fault(&error));
        }
        let answer = AnswerV1::new(
            &self.arguments.question,
            document::created(&created, self.model.name()),
        )
        .with_streamed(early);
        let (Some(summary), Some(plan)) = (summary, &created.plan) else {
            live.finish();
            telemetry::close(telemetry).await;
            progress::tell(&created, self.model.name(), self.printer);
            progress::usage(created.usage, self.printer);
            if let Some(plan) = &created.plan {
                self.is_to_run(plan);
            }
            keeper.left(false, self.printer);
            self.print_document(&answer)?;
            return Ok(AskOutcome::Nothing(create::exit(&created)));
        };
        progress::end(&created, self.model.name(), self.printer);
        let loaded = Self::loaded(&plan.text);
        keeper.learn(&summary, self.printer);
        let mut session = self.session(&id, (&plan.checked, &loaded), store.as_ref(), telemetry)?;
        if let Some(adapting) = &mut session.adapting {
            adapting.memory = keeper.memory.clone();
        }
        let journal = keeper.journal();
        let ended = session
            .adapt(Some(summary), live, (options.clone(), journal), signals)
            .await?;
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

    /// Follows the model and the run until both have ended; `None` if they were interrupted.
    async fn follow(
        &self,
        requirements: &PlanRequirements<'_>,
        keeper: &EarlyRunStore<'_>,
        live: &Arc<Live>,
        telemetry: &Telemetry,
        signals: &mut Signals,
    ) -> Result<Option<StreamOutcome>, CommandError> {
        let subject = ApprovalSubject {
            toolbox: self.toolbox,
            stored: keeper.store.map(|store| (store.clone(), keeper.id)),
            is_approved: false,
            live,
        };
        let service = self.toolbox.service(self.config, telemetry);
        let engine = service
            .recording_engine(&keeper.recorded)
            .with_options(keeper.options.clone())
            .with_approver(approver(&self.arguments.consent, subject, self.printer)?);
        let state = Mutex::new(EarlyRunState::default());
        let observed = ObservedRun::new(keeper.id.clone(), telemetry::parent());
        let observe = || service.observe(&observed);
        let mut hearing = AskStreamListener {
            watch: RunOutputs {
                live: Arc::clone(live),
                format: self.arguments.format,
                max_output: self.max_output(),
                printer: self.printer,
                drain: self.arguments.drain.limit,
            },
            observers: observe(),
            observe: &observe,
            attempts: Vec::new(),
            state: &state,
        };
        let mut listener = |event: StreamEvent<'_>| hearing.hear(event);
        let streaming = requirements.run(
            self.model.as_ref(),
            &self.arguments.planning,
            RunAhead {
                engine: &engine,
                run: keeper.id,
                keeper,
                listener: &mut listener,
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
                            keeper.left(state.has_called, self.printer);
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
    /// True if the plan is there.
    is_planned: bool,
    has_called: bool,
}

fn lock(state: &Mutex<EarlyRunState>) -> MutexGuard<'_, EarlyRunState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the events of the model and the run.
struct AskStreamListener<'a> {
    watch: RunOutputs,
    observers: Vec<EventObserver>,
    /// Makes the observers of another run.
    observe: &'a (dyn Fn() -> Vec<EventObserver> + Sync),
    /// The model's answers so far.
    attempts: Vec<PlanAttempt>,
    state: &'a Mutex<EarlyRunState>,
}

impl AskStreamListener<'_> {
    fn hear(&mut self, event: StreamEvent<'_>) {
        let (live, printer) = (&self.watch.live, self.watch.printer);
        match event {
            StreamEvent::PlanAttempt(attempt) => self.attempts.push(attempt.clone()),
            StreamEvent::RunStarted(canceller) => {
                lock(self.state).canceller = Some(canceller.clone());
            }
            StreamEvent::PlanGrew(plan) => live.grow(&plan.checked),
            StreamEvent::Planned(plan) => {
                live.grow(&plan.checked);
                live.is_written();
                live.suspend(|| progress::attempts(&self.attempts, printer));
                lock(self.state).is_planned = true;
            }
            StreamEvent::Run(event) => {
                if let RunEvent::AttemptStarted { .. } = event.event {
                    lock(self.state).has_called = true;
                }
                for observer in &mut self.observers {
                    observer(event);
                }
                self.watch.event(event);
            }
            StreamEvent::Abandoned(summary) => {
                live.begin_again();
                if let Some(line) = in_vain(summary) {
                    live.suspend(|| printer.quote(&line));
                }
                self.observers = (self.observe)();
            }
            StreamEvent::Text(_) => {}
        }
    }
}
