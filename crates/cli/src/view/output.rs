//! Dry runs, for people and for programs, and the JSON of all commands.

use planwright::core::PlanConsent;
use planwright::core::check::CheckedPlan;
use planwright::core::expression::EvaluationLimits;
use planwright::drawing;
use planwright::engine::run::preview;
use planwright::format::{ReportStatus, ReportV1, StepV1};
use planwright::loaded_plan::LoadedPlan;
use serde::Serialize;

use super::diagnostics;
use super::printer::Printer;
use super::printer::indented;
use crate::args::RunFormat;
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::view::text_report;

/// Prints a dry run. `consent` is the digest that approves the plan as a whole.
pub(crate) fn dry_run(
    plan: &CheckedPlan,
    consent: &PlanConsent,
    loaded: &LoadedPlan,
    format: RunFormat,
    printer: Printer,
) -> Result<Exit, CommandError> {
    diagnostics::show_for(loaded, format, printer);
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
