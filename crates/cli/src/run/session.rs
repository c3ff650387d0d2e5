//! A run of one command: launch, follow, adapt, report.

use std::path::Path;
use std::sync::Arc;

use planwright::config::Config;
use planwright::core::check::CheckedPlan;
use planwright::engine::journal::{Journal, MemoryJournal};
use planwright::engine::options::RunOptions;
use planwright::engine::{RunSummary, StampedEvent};
use planwright::format::{EventV1, RevisionV1, Trim};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::dates::{Now, Zone};
use planwright::planner::model::Model;
use planwright::service::{RunSpec, RunStorage};
use planwright::stored::{self, NewStoredRun};
use planwright::telemetry::Telemetry;
use planwright::{Planwright, Run};
use planwright_store::Store;

use crate::approval::approver;
use crate::approval::approver::{ApprovalSubject, approver};
use crate::approval::passphrase::PassphraseCheck;
use crate::args::{Approve, ConsentArguments, Progress, RunFormat, ToolArguments};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::system::signals::Signals;
use crate::system::telemetry;
use crate::tools::toolbox::Toolbox;
use crate::view::live::Live;
use crate::view::output::{self, FinishedRun};
use crate::view::printer::Printer;

/// Asks for approval of the whole plan, if required. Returns its digest if it was approved, `None` if it was refused.
#[expect(
    clippy::option_option,
    reason = "the outer option says whether the plan may run, the inner one whether a person was asked"
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
    if approver::to_plan(plan, &own, digest.as_deref(), &passphrase, printer)? {
        return Ok(Some(Some(own)));
    }
    printer.status("the plan was not approved; nothing was called");
    Ok(None)
}

/// The model that may revise the plan of a failed run, and the number of revisions.
pub(crate) struct AdaptationSettings<'a> {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) config: &'a Config,
    /// The moment of the run, in the time zone of the phrases of time in its goal.
    pub(crate) now: Now,
    pub(crate) zone: Zone,
    /// The number of times that it may write the next steps.
    pub(crate) replans: u32,
    /// True if it may correct arguments that a tool refused.
    pub(crate) repairs: bool,
    /// The journal of a run that is not stored.
    pub(crate) memory: MemoryJournal,
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
    pub(crate) progress: Progress,
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
                    ..NewStoredRun::of(self.loaded, store::sources(tools)?, store::now())
                }),
            },
            (None, Some(adapting)) => RunStorage::Journal {
                journal: Arc::new(adapting.memory.clone()),
                header: stored::process(self.plan, &options, store::now()).to_value(),
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

    /// Runs one plan to its end. Besides the summary it gives the journal, which holds the lease until it is dropped.
    pub(super) async fn run_leg(
        &self,
        leg: Leg,
        live: &Arc<Live>,
        signals: &mut Signals,
    ) -> Result<(Option<RunSummary>, Option<Arc<dyn Journal>>), CommandError> {
        let subject = ApprovalSubject {
            toolbox: self.toolbox,
            stored: self.store.map(|store| (store.clone(), &**self.id)),
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

    pub(super) fn report(&self, ended: &FinishedRun) -> Result<Exit, CommandError> {
        output::report(
            ended,
            self.loaded,
            self.format,
            self.max_output,
            self.printer,
        )?;
        let is_stored = self.store.is_some();
        Ok(store::end(
            &ended.summary,
            is_stored,
            self.format,
            self.printer,
        ))
    }
}

/// The message at the first Ctrl-C.
pub(crate) const INTERRUPTED: &str =
    "interrupted: ending the calls under way, press Ctrl-C again to leave at once";

/// The outputs that show a run while it is in progress.
pub(crate) struct Watch {
    pub(crate) live: Arc<Live>,
    pub(crate) format: RunFormat,
    /// The largest number of bytes that is shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
}

impl Watch {
    /// Shows an event.
    pub(crate) fn event(&self, event: &StampedEvent) {
        self.live.event(event);
        if self.format == RunFormat::Events {
            let mut event = EventV1::from(event);
            if let Some(bytes) = self.max_output {
                event = Trim::to(bytes).event(event);
            }
            self.printer.json_line(&event);
        }
    }
}

/// Shows a run until it ends. The first Ctrl-C cancels it and keeps its results; the second one abandons it, and there is no summary.
pub(crate) async fn watch(mut run: Run, signals: &mut Signals, watch: Watch) -> Option<RunSummary> {
    let mut is_interrupted = false;
    loop {
        tokio::select! {
            event = run.next_event() => match event {
                Some(event) => watch.event(&event),
                None => break,
            },
            () = signals.next() => {
                if is_interrupted {
                    watch.live.finish();
                    return None;
                }
                is_interrupted = true;
                watch.live.suspend(|| watch.printer.status(INTERRUPTED));
                run.cancel();
            }
        }
    }
    let summary = run.finish().await;
    watch.live.finish();
    Some(summary)
}
