//! The second half of the corridor, which `run` and `resume` share: drive, report, say how to go on.

use std::path::Path;
use std::sync::Arc;

use planwright::core::check::CheckedPlan;
use planwright::engine::journal::Journal;
use planwright::engine::options::RunOptions;
use planwright::engine::{Engine, RunStatus, RunSummary, Start};
use planwright::format::RevisionV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::model::Usage;
use planwright::stored::{self, NewStoredRun};
use planwright::telemetry::Telemetry;
use planwright_store::Store;

use super::adapting::{Adapting, Going, Kept};
use super::approvals::{Subject, approver};
use super::args::{Approve, ConsentArguments, RunFormat, ToolArguments};
use super::error::CommandError;
use super::exit::Exit;
use super::live::Live;
use super::passphrase::PassphraseCheck;
use super::printer::Printer;
use super::signals::Signals;
use super::toolbox::Toolbox;
use super::watch::{Watch, watch};
use super::{consent, durations, keeping, output, store, telemetry};

/// Asks about the whole plan, where that is wanted: its digest where it was approved, nothing where it was refused.
#[expect(
    clippy::option_option,
    reason = "whether it may run is one question, whether anybody was asked another"
)]
pub(crate) fn approved(
    consent: &ConsentArguments,
    plan: &CheckedPlan,
    options: &RunOptions,
    store: Option<&Store>,
    printer: Printer,
) -> Result<Option<Option<String>>, CommandError> {
    let Approve::Plan(digest) = &consent.approve else {
        return Ok(Some(None));
    };
    let own = stored::plan_consent(plan, options);
    let passphrase = PassphraseCheck::open(store)?;
    if consent::to_plan(plan, &own, digest.as_deref(), &passphrase, printer)? {
        return Ok(Some(Some(own)));
    }
    printer.talk("the plan was not approved; nothing was called");
    Ok(None)
}

/// A run that is about to be driven, and what is done with what it comes to.
pub(crate) struct Course<'a> {
    pub(crate) id: &'a str,
    pub(crate) plan: &'a CheckedPlan,
    pub(crate) loaded: &'a LoadedPlan,
    pub(crate) toolbox: &'a Toolbox,
    /// Where it is kept.
    pub(crate) store: Option<&'a Store>,
    /// Where what was learned of durations goes, if not into the store.
    pub(crate) durations: Option<&'a Path>,
    pub(crate) consent: &'a ConsentArguments,
    /// Whether a person has approved the plan as a whole.
    pub(crate) is_approved: bool,
    pub(crate) format: RunFormat,
    /// The most bytes that are shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
    /// Who is told of it.
    pub(crate) telemetry: Telemetry,
    /// Who may write another plan where this one fails.
    pub(crate) adapting: Option<Adapting<'a>>,
    /// Why it goes on with other plans than it began with, where it was begun earlier.
    pub(crate) revisions: Vec<RevisionV1>,
}

impl Course<'_> {
    /// Begins to keep a new run, in the store or as far as another plan may need it. `approved` is the digest of the plan, where a person
    /// approved it as a whole.
    pub(crate) fn begin(
        &mut self,
        tools: &ToolArguments,
        options: &RunOptions,
        approved: Option<String>,
    ) -> Result<Start, CommandError> {
        self.is_approved = approved.is_some();
        let start = Start::new(self.id, self.plan.clone());
        let mut process = stored::process(self.plan, options, keeping::now());
        process.approved_plan = approved;
        let Some(store) = self.store else {
            return Ok(match &self.adapting {
                Some(adapting) => {
                    start.with_journal(adapting.journal.as_journal(), process.to_value())
                }
                None => start,
            });
        };
        let begin = NewStoredRun {
            id: self.id,
            plan: self.plan,
            loaded: self.loaded,
            sources: keeping::sources(tools)?,
            client: None,
            secrets: &options.masked_texts(),
            now: keeping::now(),
        };
        let journal: Arc<dyn Journal> = Arc::new(begin.keep(store, &store::this_process())?);
        if let Some(adapting) = &mut self.adapting {
            adapting.journal = Kept::InStore(Arc::clone(&journal));
        }
        Ok(start.with_journal(journal, process.to_value()))
    }

    /// Drives the run to its end, and reports what it came to.
    pub(crate) async fn drive(
        self,
        start: Start,
        options: RunOptions,
        mut signals: Signals,
    ) -> Result<Exit, CommandError> {
        let ended = self.go(start, options, &mut signals).await?;
        signals.leave_on_next();
        let Some(ended) = ended else {
            return Ok(Exit::Interrupted);
        };
        let exit = self.report(&ended);
        self.toolbox.close().await;
        exit
    }

    /// Drives the run to its end, other plans included; nothing where it was left.
    pub(crate) async fn go(
        &self,
        start: Start,
        options: RunOptions,
        signals: &mut Signals,
    ) -> Result<Option<Ended>, CommandError> {
        let live = Live::new(self.plan, self.format, self.printer);
        let summary = self
            .follow(start, options.clone(), &live, self.is_approved, signals)
            .await?;
        self.settle(summary, live, options, signals).await
    }

    /// Goes on from what the first plan came to, with other plans where that may help; nothing where the run was left.
    pub(crate) async fn settle(
        &self,
        mut summary: Option<RunSummary>,
        mut live: Arc<Live>,
        options: RunOptions,
        signals: &mut Signals,
    ) -> Result<Option<Ended>, CommandError> {
        let known = options.durations.clone();
        let mut revisions = self.revisions.clone();
        let mut revised: Option<Going> = None;
        let mut usage = Usage::default();
        if let Some(mut adapting) = self.adapting.as_ref().map(Adapting::begin) {
            while let Some(failed) = summary.as_ref().filter(|summary| is_adaptable(summary)) {
                let plan = revised.as_ref().map_or(self.plan, |going| &going.plan);
                let next = tokio::select! {
                    next = adapting.next(self, plan, failed, options.clone()) => next?,
                    () = signals.next() => None,
                };
                let Some((going, start, options)) = next else {
                    break;
                };
                revisions.push(going.revision.clone());
                live = Live::new(&going.plan, self.format, self.printer);
                summary = self
                    .follow(start, options, &live, going.is_approved, signals)
                    .await?;
                revised = Some(going);
            }
            usage = adapting.usage;
        }
        telemetry::close(self.telemetry.clone()).await;
        let Some(summary) = summary else {
            keeping::left(self.id, self.store.is_some(), self.printer);
            return Ok(None);
        };
        match (self.durations, self.store) {
            (Some(path), _) => durations::save(path, &summary.durations)?,
            (None, Some(store)) => keeping::learn(store, &known, &summary, self.printer),
            (None, None) => {}
        }
        Ok(Some(Ended {
            summary,
            revisions,
            revised: revised.map(|going| going.loaded),
            usage,
            is_stored: self.store.is_some(),
            live,
        }))
    }

    /// Drives the run as far as its plan goes.
    async fn follow(
        &self,
        start: Start,
        options: RunOptions,
        live: &Arc<Live>,
        is_approved: bool,
        signals: &mut Signals,
    ) -> Result<Option<RunSummary>, CommandError> {
        let subject = Subject {
            toolbox: self.toolbox,
            kept: self.store.map(|store| (store.clone(), self.id)),
            is_approved,
            live,
        };
        let engine = Engine::new(self.toolbox.backends.clone())
            .with_options(options)
            .with_approver(approver(self.consent, subject, self.printer)?);
        let (handle, events) = engine.launch(start);
        let to = Watch {
            live: Arc::clone(live),
            format: self.format,
            max_output: self.max_output,
            printer: self.printer,
            spans: self.telemetry.run(telemetry::parent().as_ref()),
        };
        Ok(watch(handle, events, signals, to).await)
    }

    fn report(&self, ended: &Ended) -> Result<Exit, CommandError> {
        output::report(
            ended,
            self.loaded,
            self.format,
            self.max_output,
            self.printer,
        )?;
        let is_kept = self.store.is_some();
        Ok(keeping::end(
            &ended.summary,
            is_kept,
            self.format,
            self.printer,
        ))
    }
}

/// A run that has come to its end.
pub(crate) struct Ended {
    pub(crate) summary: RunSummary,
    /// Why it went on with other plans.
    pub(crate) revisions: Vec<RevisionV1>,
    /// The last of these plans.
    pub(crate) revised: Option<LoadedPlan>,
    /// What the model's answers cost that other plans were asked for with.
    pub(crate) usage: Usage,
    /// Whether other processes find it in the store.
    pub(crate) is_stored: bool,
    pub(crate) live: Arc<Live>,
}

impl Ended {
    /// A run that was never revised and is not stored.
    pub(crate) fn of(summary: RunSummary, live: Arc<Live>) -> Self {
        Self {
            summary,
            revisions: Vec::new(),
            revised: None,
            usage: Usage::default(),
            is_stored: false,
            live,
        }
    }
}

/// Whether another plan may help.
fn is_adaptable(summary: &RunSummary) -> bool {
    summary.status == RunStatus::Failed && summary.unkept.is_none()
}
