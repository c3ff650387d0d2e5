//! Output of `run`, for people and for programs.

use std::sync::Arc;

use planwright::core::PlanConsent;
use planwright::core::check::CheckedPlan;
use planwright::core::expression::EvaluationLimits;
use planwright::drawing;
use planwright::engine::RunSummary;
use planwright::engine::run::preview;
use planwright::format::{ReportStatus, ReportV1, RevisionV1, StepV1, Trim};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::model::Usage;
use serde::Serialize;

use super::diagnostics;
use super::live::Live;
use super::printer::Printer;
use super::printer::indented;
use crate::args::RunFormat;
use crate::error::{CommandError, Exit};
use crate::planning::progress;
use crate::runs::store;
use crate::view::text_report;

/// Shows the diagnostics of the plan; programs find them in the report instead.
pub(crate) fn diagnostics(loaded: &LoadedPlan, format: RunFormat, printer: Printer) {
    if format == RunFormat::Text {
        diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
    }
}

/// Prints the results of a run that began with the plan `loaded`.
pub(crate) fn report(
    ended: &FinishedRun,
    loaded: &LoadedPlan,
    format: RunFormat,
    max_output: Option<u64>,
    printer: Printer,
) -> Result<(), CommandError> {
    let summary = &ended.summary;
    let loaded = ended.revised.as_ref().unwrap_or(loaded);
    match format {
        RunFormat::Text => {
            ended.live.summary(summary, ended.is_stored);
            progress::print_usage(ended.usage, printer);
            if Printer::shows_both() {
                printer.status("");
            }
            printer.data(&text_report::text(summary, max_output));
            Ok(())
        }
        RunFormat::Json => {
            let diagnostics = loaded.diagnostics.iter().cloned();
            let mut report = ReportV1::of_run(summary, loaded.dialect, diagnostics)
                .revised(&ended.revisions, ended.usage.into());
            if let Some(bytes) = max_output {
                report = Trim::to(bytes).report(report);
            }
            json(&report, format, printer)
        }
        RunFormat::Events => Ok(()),
    }
}

/// Prints a dry run. `consent` is the digest that approves the plan as a whole.
pub(crate) fn dry_run(
    plan: &CheckedPlan,
    consent: &PlanConsent,
    loaded: &LoadedPlan,
    format: RunFormat,
    printer: Printer,
) -> Result<Exit, CommandError> {
    diagnostics(loaded, format, printer);
    let steps = preview(plan, &EvaluationLimits::default());
    if format == RunFormat::Text {
        printer.data(&drawing::text(plan, &printer.style()));
        printer.data(&text_report::dry_run(&steps));
        let digest = store::short_digest(consent);
        printer.data(&format!(
            "\nIts digest, for `--approve plan:DIGEST`: {digest}\n"
        ));
        return Ok(Exit::Success);
    }
    let mut report = ReportV1::without_run(
        ReportStatus::DryRun,
        loaded.dialect,
        loaded.diagnostics.iter().cloned(),
    );
    report.plan.name.clone_from(&plan.plan().name);
    report.plan.digest = Some(consent.text().clone());
    report.steps = steps.iter().map(StepV1::from).collect();
    json(&report, format, printer)?;
    Ok(Exit::Success)
}

/// Prints JSON: indented as a report, in one line among events and if it is large.
pub(crate) fn json(
    value: &impl Serialize,
    format: RunFormat,
    printer: Printer,
) -> Result<(), CommandError> {
    let text = match format {
        RunFormat::Events => None,
        RunFormat::Text | RunFormat::Json => indented(value).map_err(|error| {
            CommandError::new(format!("the report cannot be written: {error}")).internal(error)
        })?,
    };
    match text {
        Some(text) => printer.document(&text),
        None => printer.json_line(value),
    }
    Ok(())
}

/// A run that has ended.
pub(crate) struct FinishedRun {
    pub(crate) summary: RunSummary,
    /// The revisions of the plan, with their reasons.
    pub(crate) revisions: Vec<RevisionV1>,
    /// The last revised plan.
    pub(crate) revised: Option<LoadedPlan>,
    /// The tokens and the cost of revisions.
    pub(crate) usage: Usage,
    /// True if the run is in the store.
    pub(crate) is_stored: bool,
    pub(crate) live: Arc<Live>,
}

impl FinishedRun {
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
