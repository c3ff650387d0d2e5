//! The second half of the corridor, which `run` and `resume` share: drive, report, say how to go on.

use std::path::Path;
use std::sync::Arc;

use planwright::core::check::CheckedPlan;
use planwright::engine::options::RunOptions;
use planwright::engine::{Engine, RunStatus, RunSummary, Start};
use planwright::reading::Reading;
use planwright::telemetry::Telemetry;
use planwright::wire::RevisionV1;
use planwright_store::Store;

use super::adapting::{Adapting, Going};
use super::approvals::{Subject, approver};
use super::args::{Approve, ConsentArguments, RunFormat};
use super::error::CommandError;
use super::exit::Exit;
use super::live::Live;
use super::printer::Printer;
use super::signals::Signals;
use super::toolbox::Toolbox;
use super::watch::{Watch, watch};
use super::{consent, durations, keeping, output, telemetry};

/// Asks about the whole plan, where that is wanted: its digest where it was approved, nothing where it was refused.
#[expect(
    clippy::option_option,
    reason = "whether it may run is one question, whether anybody was asked another"
)]
pub(crate) fn approved(
    consent: &ConsentArguments,
    plan: &CheckedPlan,
    printer: Printer,
) -> Result<Option<Option<String>>, CommandError> {
    let Approve::Plan(digest) = &consent.approve else {
        return Ok(Some(None));
    };
    if consent::to_plan(plan, digest.as_deref(), printer)? {
        return Ok(Some(Some(plan.digest().to_owned())));
    }
    printer.talk("the plan was not approved; nothing was called");
    Ok(None)
}

/// A run that is about to be driven, and what is done with what it comes to.
pub(crate) struct Course<'a> {
    pub(crate) id: &'a str,
    pub(crate) plan: &'a CheckedPlan,
    pub(crate) reading: &'a Reading,
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
}

impl Course<'_> {
    /// Drives the run to its end, and reports what it came to.
    pub(crate) async fn drive(
        self,
        start: Start,
        options: RunOptions,
        mut signals: Signals,
    ) -> Result<Exit, CommandError> {
        let known = options.durations.clone();
        let mut live = Live::new(self.plan, self.format, self.printer);
        let mut summary = self
            .follow(
                start,
                options.clone(),
                &live,
                self.is_approved,
                &mut signals,
            )
            .await?;
        let mut revisions = Vec::new();
        let mut revised: Option<Going> = None;
        if let Some(mut adapting) = self.adapting.as_ref().map(Adapting::begin) {
            while let Some(failed) = summary.as_ref().filter(|summary| is_adaptable(summary)) {
                let plan = revised.as_ref().map_or(self.plan, |going| &going.plan);
                let next = tokio::select! {
                    next = adapting.next(&self, plan, failed, options.clone()) => next?,
                    () = signals.next() => None,
                };
                let Some((going, start, options)) = next else {
                    break;
                };
                revisions.push(going.revision.clone());
                live = Live::new(&going.plan, self.format, self.printer);
                summary = self
                    .follow(start, options, &live, going.is_approved, &mut signals)
                    .await?;
                revised = Some(going);
            }
        }
        signals.leave_on_next();
        telemetry::close(self.telemetry.clone()).await;
        let Some(summary) = summary else {
            keeping::left(self.id, self.store.is_some(), self.printer);
            return Ok(Exit::Interrupted);
        };
        match (self.durations, self.store) {
            (Some(path), _) => durations::save(path, &summary.durations)?,
            (None, Some(store)) => keeping::learn(store, &known, &summary, self.printer),
            (None, None) => {}
        }
        let reading = revised
            .as_ref()
            .map_or(self.reading, |going| &going.reading);
        let exit = self.report(&summary, reading, &revisions, &live);
        self.toolbox.close().await;
        exit
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

    fn report(
        &self,
        summary: &RunSummary,
        reading: &Reading,
        revisions: &[RevisionV1],
        live: &Live,
    ) -> Result<Exit, CommandError> {
        output::report(
            summary,
            reading,
            self.format,
            self.max_output,
            revisions,
            live,
            self.printer,
        )?;
        let is_kept = self.store.is_some();
        Ok(keeping::end(summary, is_kept, self.format, self.printer))
    }
}

/// Whether another plan may help.
fn is_adaptable(summary: &RunSummary) -> bool {
    summary.status == RunStatus::Failed && summary.unkept.is_none()
}
