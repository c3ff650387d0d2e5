//! Everything that is open during a conversation, and how plans are run over it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use indexmap::IndexMap;
use planwright::config::Config;
use planwright::core::check::CheckedPlan;
use planwright::core::{Object, Tool};
use planwright::dialects::{ReadOptions, parse};
use planwright::engine::approval::{ApprovalRequest, Approver};
use planwright::engine::options::RunOptions;
use planwright::engine::{Confidential, Decision, Engine, RunStatus, RunSummary, Start};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::model::Model;
use planwright::stored::{self, NewStoredRun, PreparedResume, ResumeRequest, StoredRun};
use planwright::telemetry::Telemetry;
use planwright_store::{HeldRun, Store, StoreError};

use super::counted::Counted;
use super::delegates::Delegates;
use super::offers;
use super::shown::Shown;
use crate::approvals::{Subject, approver};
use crate::args::{Approve, ChatArguments, ConsentArguments, RunFormat};
use crate::create::Known;
use crate::error::CommandError;
use crate::live::{Lines, Live};
use crate::printer::Printer;
use crate::toolbox::Toolbox;
use crate::{keeping, outside, store, telemetry};

/// How long one attempt at a call may take.
const ATTEMPT: Duration = Duration::from_mins(1);

/// Everything that is open during a conversation.
pub(super) struct ChatContext<'a> {
    pub(super) arguments: &'a ChatArguments,
    pub(super) config: &'a Config,
    pub(super) toolbox: Toolbox,
    pub(super) tools: IndexMap<String, Arc<Tool>>,
    pub(super) backend: Counted,
    pub(super) model: Arc<dyn Model>,
    pub(super) known: Known,
    /// Plans that the model may call.
    pub(super) delegates: Delegates,
    pub(super) store: Option<Store>,
    pub(super) shown: Shown,
    pub(super) printer: Printer,
    pub(super) telemetry: Telemetry,
    /// Whether plans run while they are written.
    pub(super) is_streamed: bool,
    /// Whoever has it may ask the person something.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> ChatContext<'a> {
    /// Opens the tools and the store, for a conversation in which so many calls were made.
    pub(super) async fn open(
        arguments: &'a ChatArguments,
        config: &'a Config,
        model: Arc<dyn Model>,
        calls: u64,
        printer: Printer,
    ) -> Result<Self, CommandError> {
        let known = Known::read(&arguments.planning)?;
        let library = arguments.acts.library.as_deref();
        let delegates = library
            .map(Delegates::open)
            .transpose()?
            .unwrap_or_default();
        let store = if arguments.no_store {
            None
        } else {
            Some(store::open(&arguments.store, printer)?)
        };
        let mut toolbox = Toolbox::open(&arguments.tools, None, printer).await?;
        toolbox.govern(config, store.as_ref(), printer)?;
        for note in toolbox.notes() {
            printer.talk(&note);
        }
        Ok(Self {
            arguments,
            config,
            tools: offers::tools(&toolbox.catalog),
            backend: Counted::new(toolbox.backends.clone(), arguments.bounds.calls, calls),
            toolbox,
            model,
            known,
            delegates,
            store,
            shown: Shown::new(arguments.format, printer),
            printer,
            telemetry: telemetry::open(config)?,
            is_streamed: false,
            turn: Arc::default(),
        })
    }

    /// Whether anything is kept.
    pub(super) fn keeps(&self) -> bool {
        self.store.is_some()
    }

    /// Reads a plan that people call `name`.
    pub(super) fn read(&self, name: &str, text: &str, dialect: Option<&str>) -> LoadedPlan {
        let options = ReadOptions {
            dialect,
            ..ReadOptions::new(name)
        };
        let mut loaded = LoadedPlan::new(name, parse(text.as_bytes(), &options));
        loaded.govern(self.config);
        loaded
    }

    /// Runs a plan to its end, and keeps it as every run is kept.
    pub(super) async fn run(
        &self,
        id: &str,
        loaded: &LoadedPlan,
        plan: &CheckedPlan,
        is_approved: bool,
    ) -> Result<RunSummary, CommandError> {
        let mut options = self.options(outside::get(plan, self.config)?);
        let mut start = Start::new(id, plan.clone());
        if let Some(store) = self.store.as_ref().filter(|_| calls(plan)) {
            options.durations = store.durations().map_err(store::explain)?;
            options.seal_key = store::seal_key(Some(store))?;
            let begin = NewStoredRun {
                id,
                plan,
                loaded,
                sources: keeping::sources(&self.arguments.tools)?,
                client: None,
                secrets: &options.masked_texts(),
                now: keeping::now(),
            };
            let run = begin.keep(store, &store::this_process())?;
            let process = stored::process(plan, &options, keeping::now());
            start = start.with_journal(Arc::new(run), process.to_value());
        }
        self.drive(id, plan, start, options, is_approved).await
    }

    /// How a new run is gone about.
    pub(super) fn options(&self, confidential: Confidential) -> RunOptions {
        RunOptions {
            secrets: self.toolbox.secrets(),
            confidential,
            guards: self.config.guards().clone(),
            attempt_timeout: Some(ATTEMPT),
            ..RunOptions::default()
        }
    }

    /// What became of a run that was begun before, after it has gone on; nothing where it was never begun.
    pub(super) async fn resume(&self, id: &str) -> Result<Option<RunSummary>, CommandError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let held = match store.hold(id, &store::this_process()) {
            Ok(held) => held,
            Err(StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(store::explain(error)),
        };
        self.go_on(id, store, held).await.map(Some)
    }

    async fn go_on(
        &self,
        id: &str,
        store: &Store,
        held: HeldRun,
    ) -> Result<RunSummary, CommandError> {
        let run = StoredRun::read(store, id)?;
        if run.status() == Some(RunStatus::Succeeded) {
            return Ok(run
                .replayed(id)
                .map_err(|error| CommandError::new(error.to_string()))?
                .summary);
        }
        let mut loaded = run.loaded(Object::default())?;
        loaded.govern(self.config);
        let plan = loaded.check(&self.toolbox.catalog).ok_or_else(|| {
            CommandError::new(format!(
                "the run `{}` cannot go on: its plan is not sound any more",
                keeping::short(id)
            ))
        })?;
        let mut options = run.options();
        options.secrets = self.toolbox.secrets();
        options.confidential = outside::get(&plan, self.config)?;
        options.seal_key = store::seal_key(Some(store))?;
        let go_on = ResumeRequest {
            id,
            plan: &plan,
            new_plan: None,
            keep: Vec::new(),
            options: &options,
            choices: Vec::new(),
            now: keeping::now(),
        };
        let PreparedResume {
            history, process, ..
        } = go_on.prepare(&run, store)?;
        let start = Start::new(id, plan.clone())
            .after(history)
            .with_journal(Arc::new(held), process.to_value());
        self.drive(id, &plan, start, options, false).await
    }

    async fn drive(
        &self,
        id: &str,
        plan: &CheckedPlan,
        start: Start,
        options: RunOptions,
        is_approved: bool,
    ) -> Result<RunSummary, CommandError> {
        let before = options.durations.clone();
        // Several runs may go on at once: lines are printed as steps end, and nothing is drawn.
        let live = Live::new(plan, RunFormat::Events, self.printer);
        let lines = Lines::new(plan, self.printer);
        let kept = self.store.as_ref().filter(|_| calls(plan));
        let subject = Subject {
            toolbox: &self.toolbox,
            kept: kept.map(|store| (store.clone(), id)),
            is_approved,
            live: &live,
        };
        let engine = self.engine(subject, options)?;
        let mut spans = self.telemetry.run(telemetry::parent().as_ref());
        let (handle, mut events) = engine.launch(start);
        while let Some(event) = events.recv().await {
            spans.event(&event);
            self.shown.run(id, &event);
            if calls(plan) {
                lines.event(&event);
            }
        }
        let summary = handle.await;
        if let Some(store) = kept {
            keeping::learn(store, &before, &summary, self.printer);
        }
        Ok(summary)
    }

    /// What runs plans, for a run that decisions may be about.
    pub(super) fn engine(
        &self,
        subject: Subject<'_>,
        options: RunOptions,
    ) -> Result<Engine, CommandError> {
        let approver = OneAtATime {
            inner: approver(&self.consent(), subject, self.printer)?,
            turn: Arc::clone(&self.turn),
            is_asked: !matches!(self.arguments.consent.approve, Approve::Wait),
        };
        Ok(Engine::new(self.backend.clone())
            .with_options(options)
            .with_approver(Arc::new(approver)))
    }

    /// Who decides about single calls. Plans are approved as a whole before; what is left is asked.
    fn consent(&self) -> ConsentArguments {
        let mut consent = self.arguments.consent.clone();
        if matches!(consent.approve, Approve::Plan(_)) {
            consent.approve = Approve::Ask;
        }
        consent
    }
}

/// Whether anything is called; what only reads the state is not worth a line, and not kept.
fn calls(plan: &CheckedPlan) -> bool {
    let mut steps = plan.steps().iter();
    steps.any(|step| step.tool.is_some() || step.plan.is_some())
}

/// Several runs may ask at once, and a person reads one question at a time.
struct OneAtATime {
    inner: Arc<dyn Approver>,
    turn: Arc<tokio::sync::Mutex<()>>,
    is_asked: bool,
}

impl Approver for OneAtATime {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        if !self.is_asked {
            return self.inner.decide(request);
        }
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            self.inner.decide(request).await
        })
    }
}
