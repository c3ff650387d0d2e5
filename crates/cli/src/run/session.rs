//! A run of one command: launch, follow, adapt, report.

use std::path::Path;
use std::sync::Arc;

use planwright::Planwright;
use planwright::core::check::CheckedPlan;
use planwright::engine::journal::Journal;
use planwright::engine::options::RunOptions;
use planwright::engine::{RunStatus, RunSummary};
use planwright::format::RevisionV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::model::Usage;
use planwright::service::{RunSpec, RunStorage};
use planwright::stored::{self, NewStoredRun};
use planwright::telemetry::Telemetry;
use planwright_store::Store;

use crate::approvals::{Subject, approver};
use crate::args::{Approve, ConsentArguments, RunFormat, ToolArguments};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::passphrase::PassphraseCheck;
use crate::printer::Printer;
use crate::run::adaptation::{AdaptationSettings, RevisedPlan};
use crate::run::watch::{Watch, watch};
use crate::signals::Signals;
use crate::toolbox::Toolbox;
use crate::view::live::Live;
use crate::view::output;
use crate::{consent, durations, run_storage, store, telemetry};

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

/// A run of one command, from its start to its report.
pub(crate) struct RunSession<'a> {
    pub(crate) id: &'a Arc<str>,
    pub(crate) plan: &'a CheckedPlan,
    pub(crate) loaded: &'a LoadedPlan,
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) service: Planwright,
    /// The store, unless nothing is stored.
    pub(crate) store: Option<&'a Store>,
    /// The file of durations that takes the place of the store's.
    pub(crate) durations: Option<&'a Path>,
    pub(crate) consent: &'a ConsentArguments,
    pub(crate) format: RunFormat,
    /// The largest number of bytes that is shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
    pub(crate) telemetry: Telemetry,
    /// The model that may write another plan if this one fails.
    pub(crate) adapting: Option<AdaptationSettings<'a>>,
    /// The revisions of the plan in earlier processes.
    pub(crate) revisions: Vec<RevisionV1>,
}

/// A plan of a session: a run is continued with another one if a model revises it.
pub(crate) struct Leg {
    pub(crate) plan: CheckedPlan,
    pub(crate) options: RunOptions,
    pub(crate) storage: RunStorage,
    /// True if a person has approved the plan as a whole.
    pub(crate) is_approved: bool,
}

impl RunSession<'_> {
    /// The first leg of a new run: stored, or recorded in memory if a model may revise its plan. `approved` is the digest of the plan if a
    /// person approved it as a whole.
    pub(crate) fn first_leg(
        &self,
        tools: &ToolArguments,
        options: RunOptions,
        approved: Option<String>,
    ) -> Result<Leg, CommandError> {
        let is_approved = approved.is_some();
        let storage = match (self.store, &self.adapting) {
            (Some(store), _) => RunStorage::New {
                store: store.clone(),
                holder: store::this_process(),
                run: Box::new(NewStoredRun {
                    approved_plan: approved,
                    ..NewStoredRun::of(
                        self.loaded,
                        run_storage::sources(tools)?,
                        run_storage::now(),
                    )
                }),
            },
            (None, Some(adapting)) => RunStorage::Journal {
                journal: Arc::new(adapting.memory.clone()),
                header: stored::process(self.plan, &options, run_storage::now()).to_value(),
                history: None,
            },
            (None, None) => RunStorage::Nothing,
        };
        Ok(Leg {
            plan: self.plan.clone(),
            options,
            storage,
            is_approved,
        })
    }

    /// Runs to the end, and reports the outcome.
    pub(crate) async fn drive(self, leg: Leg, mut signals: Signals) -> Result<Exit, CommandError> {
        let ended = self.run(leg, &mut signals).await?;
        signals.leave_on_next();
        let Some(ended) = ended else {
            return Ok(Exit::Interrupted);
        };
        let exit = self.report(&ended);
        self.toolbox.close().await;
        exit
    }

    /// Runs to the end, revised plans included; `None` if the run was abandoned.
    pub(crate) async fn run(
        &self,
        leg: Leg,
        signals: &mut Signals,
    ) -> Result<Option<Ended>, CommandError> {
        let live = Live::new(self.plan, self.format, self.printer);
        let options = leg.options.clone();
        let (summary, journal) = self.run_leg(leg, &live, signals).await?;
        self.adapt(summary, live, (options, journal), signals).await
    }

    /// Continues with revised plans after the first one, as long as that may help; `None` if the run was abandoned. `journal` is the journal of
    /// the first plan, which holds the lease of a stored run.
    pub(crate) async fn adapt(
        &self,
        mut summary: Option<RunSummary>,
        mut live: Arc<Live>,
        (options, mut journal): (RunOptions, Option<Arc<dyn Journal>>),
        signals: &mut Signals,
    ) -> Result<Option<Ended>, CommandError> {
        let mut revisions = self.revisions.clone();
        let mut revised: Option<RevisedPlan> = None;
        let mut usage = Usage::default();
        if let Some(mut adapting) = self.adapting.as_ref().map(AdaptationSettings::begin) {
            while let Some(failed) = summary.as_ref().filter(|summary| is_adaptable(summary)) {
                let plan = revised.as_ref().map_or(self.plan, |revised| &revised.plan);
                let next = tokio::select! {
                    next = adapting.next(self, plan, failed, (&options, journal.as_ref())) => next?,
                    () = signals.next() => None,
                };
                let Some((next, leg)) = next else {
                    break;
                };
                revisions.push(next.revision.clone());
                live = Live::new(&next.plan, self.format, self.printer);
                (summary, journal) = self.run_leg(leg, &live, signals).await?;
                revised = Some(next);
            }
            usage = adapting.usage;
        }
        telemetry::close(self.telemetry.clone()).await;
        let Some(summary) = summary else {
            run_storage::left(self.id, self.store.is_some(), self.printer);
            return Ok(None);
        };
        if let Some(path) = self.durations {
            durations::save(path, &summary.durations)?;
        }
        Ok(Some(Ended {
            summary,
            revisions,
            revised: revised.map(|revised| revised.loaded),
            usage,
            is_stored: self.store.is_some(),
            live,
        }))
    }

    /// Runs one plan to its end. Besides the summary it gives the journal, which holds the lease until it is dropped.
    async fn run_leg(
        &self,
        leg: Leg,
        live: &Arc<Live>,
        signals: &mut Signals,
    ) -> Result<(Option<RunSummary>, Option<Arc<dyn Journal>>), CommandError> {
        let subject = Subject {
            toolbox: self.toolbox,
            kept: self.store.map(|store| (store.clone(), &**self.id)),
            is_approved: leg.is_approved,
            live,
        };
        let run = self.service.launch(RunSpec {
            id: Arc::clone(self.id),
            options: leg.options,
            approver: approver(self.consent, subject, self.printer)?,
            storage: leg.storage,
            trace: telemetry::parent(),
            ..RunSpec::new(leg.plan)
        })?;
        let journal = run.journal();
        let to = Watch {
            live: Arc::clone(live),
            format: self.format,
            max_output: self.max_output,
            printer: self.printer,
        };
        Ok((watch(run, signals, to).await, journal))
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
        Ok(run_storage::end(
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
    /// The reasons for other plans.
    pub(crate) revisions: Vec<RevisionV1>,
    /// The last of these plans.
    pub(crate) revised: Option<LoadedPlan>,
    /// The tokens and the cost of answers about other plans.
    pub(crate) usage: Usage,
    /// True if other processes find it in the store.
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

/// Returns whether another plan may help.
fn is_adaptable(summary: &RunSummary) -> bool {
    summary.status == RunStatus::Failed && summary.journal_error.is_none()
}
