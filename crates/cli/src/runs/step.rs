//! `planwright show --step STEP`: one step of a plan or a run in full, as text or as JSON.

use planwright::dialects::document::nearest;
use planwright::drawing::{Drawing, StepDetailV1};
use planwright::format::LogV1;
use planwright::stored::StoredRun;
use planwright_store::RunInfo;
use serde::Serialize;

use super::logs;
use crate::args::{Format, RunFormat};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::Printer;

/// Shows a step of a run, whose plan has the name `plan`: its definition in the plan, and its calls.
pub(super) fn show(
    info: &RunInfo,
    (stored, plan): (&StoredRun, Option<&str>),
    drawing: &Drawing,
    (step, format): (&str, Format),
    printer: Printer,
) -> Result<Exit, CommandError> {
    let log = logs::of_step(stored, info, step)?;
    // The plan does not define an item or a round by itself.
    let planned = step.split(['[', '#', '@']).next().unwrap_or(step);
    match format {
        Format::Text => {
            let planned = drawing.step(planned, &printer.style()).unwrap_or_default();
            printer.pages(&format!("{planned}\n{}", logs::whole_text(&log, plan)));
        }
        Format::Json => {
            let detail = drawing.step_detail(planned);
            print_document(detail.as_ref(), Some(&log), printer)?;
        }
    }
    Ok(Exit::Success)
}

/// Prints a step of a plan.
///
/// # Errors
///
/// The plan has no such step.
pub(crate) fn print(
    drawing: &Drawing,
    step: &str,
    format: Format,
    printer: Printer,
) -> Result<(), CommandError> {
    let missing = || {
        let error = CommandError::new(format!("the plan has no step `{step}`"));
        match nearest(step, drawing.step_ids()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    };
    match format {
        Format::Text => {
            let text = drawing.step(step, &printer.style());
            printer.pages(&text.ok_or_else(missing)?);
            Ok(())
        }
        Format::Json => {
            let detail = drawing.step_detail(step).ok_or_else(missing)?;
            print_document(Some(&detail), None, printer)
        }
    }
}

/// The schema's name and version.
const STEP_SCHEMA: &str = "planwright.step/1";

/// The document about a step.
#[derive(Serialize)]
struct StepDocument<'a> {
    schema: &'static str,
    /// The step in its plan; none if the latest plan of a run has no such step.
    planned: Option<&'a StepDetailV1>,
    /// The entries of a run about the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<&'a LogV1>,
}

fn print_document(
    planned: Option<&StepDetailV1>,
    log: Option<&LogV1>,
    printer: Printer,
) -> Result<(), CommandError> {
    let document = StepDocument {
        schema: STEP_SCHEMA,
        planned,
        log,
    };
    output::json(&document, RunFormat::Json, printer)
}
