//! `planwright diff RUN RUN`: the differences between two runs, as JSON and as text.

use std::fmt::Write as _;
use std::path::Path;

use planwright::core::Value;
use planwright::format::{DiffV1, RunListingV1, StepDiffV1, StepSideV1};
use planwright::stored::compare_runs;
use planwright::terminal_text;
use planwright_store::Store;

use super::list::{milliseconds_to_duration, plan_name, status_style};
use super::plan_diff::{self, change_lines};
use super::selector::{NEWEST, find_run};
use super::store;
use crate::args::{DiffArguments, Format, RunFormat};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::Printer;
use crate::view::printer::{BOLD, DIM, counted, styled, time};

/// `planwright diff RUN RUN`
pub(crate) fn diff(arguments: &DiffArguments, printer: Printer) -> Result<Exit, CommandError> {
    let file = |name: &Option<String>| {
        let path = Path::new(name.as_deref()?);
        path.is_file().then(|| path.to_owned())
    };
    if let (Some(before), Some(after)) = (file(&arguments.before), file(&arguments.after)) {
        return plan_diff::diff((&before, &after), arguments, printer);
    }
    let store = store::open(&arguments.store, printer)?;
    let before = arguments.before.as_deref().unwrap_or("@2");
    let diff = compared(&store, before, arguments.after.as_deref().unwrap_or(NEWEST))?;
    match arguments.format {
        Format::Json => output::json(&diff, RunFormat::Json, printer)?,
        Format::Text => {
            let name = |run: &RunListingV1| {
                let name = plan_name(&store, &run.id, run.plan.as_deref())?;
                Ok::<_, CommandError>(name.unwrap_or_else(|| "without a name".to_owned()))
            };
            let names = [name(&diff.before)?, name(&diff.after)?];
            printer.pages(&text(&diff, &names, Printer::data_width()));
        }
    }
    Ok(if diff.same {
        Exit::Success
    } else {
        Exit::Failed
    })
}

/// Compares two stored runs.
fn compared(store: &Store, before: &str, after: &str) -> Result<DiffV1, CommandError> {
    let before = find_run(store, Some(before))?;
    let after = find_run(store, Some(after))?;
    Ok(compare_runs(store, &before, &after)?)
}

/// The smallest difference in time that is reported on its own: a factor, and milliseconds.
const NOTABLE: (f64, f64) = (2.0, 1000.0);

/// Formats the differences between two runs of the plans `names`, each line ended, no wider than `width` if possible.
fn text(diff: &DiffV1, names: &[String; 2], width: usize) -> String {
    let (before, after) = (&diff.before, &diff.after);
    let mut text = format!(
        "{} → {}\n",
        styled(BOLD, store::short_id(&before.id)),
        styled(BOLD, store::short_id(&after.id))
    );
    plan(diff, names, &mut text);
    change_lines("inputs", &diff.inputs, 0, width, &mut text);
    if before.status != after.status {
        let word = |status: &str| styled(status_style(status), status);
        let _ = writeln!(
            text,
            "status: {} → {}",
            word(before.status),
            word(after.status)
        );
    }
    if before.calls != after.calls {
        let _ = writeln!(text, "calls: {} → {}", before.calls, after.calls);
    }
    let times = times(
        Some(before.duration_ms),
        Some(after.duration_ms),
        diff.duration_ratio,
    );
    let _ = writeln!(text, "time: {}", times.unwrap_or_default());
    let mut printed = 0;
    for step in &diff.steps {
        if !step.same || is_notable(step) {
            if printed == 0 {
                text.push('\n');
            }
            printed += 1;
            write_step(
                step,
                has_reported_parts(step, &diff.steps),
                width,
                &mut text,
            );
        }
    }
    if printed == 0 && !diff.steps.is_empty() {
        let steps = counted(diff.steps.len(), "step");
        let _ = writeln!(text, "\n{}", styled(DIM, format!("{steps}, all the same")));
    }
    text
}

fn plan(diff: &DiffV1, names: &[String; 2], text: &mut String) {
    let plan = &diff.plan;
    let [before, after] = names.each_ref().map(|name| terminal_text::one_line(name));
    let what = if plan.same {
        "the same".to_owned()
    } else if before == after {
        format!("{before}, changed")
    } else {
        format!("{before} → {after}")
    };
    let _ = writeln!(text, "plan: {what}");
    for (what, steps) in [
        ("added", &plan.added),
        ("removed", &plan.removed),
        ("changed", &plan.changed),
    ] {
        if !steps.is_empty() {
            let steps: Vec<_> = steps
                .iter()
                .map(|step| terminal_text::one_line(step))
                .collect();
            let _ = writeln!(text, "  {what}: {}", steps.join(", "));
        }
    }
}

fn write_step(step: &StepDiffV1, has_parts: bool, width: usize, text: &mut String) {
    let address = styled(BOLD, terminal_text::one_line(&step.address));
    let mut notes = Vec::new();
    match (&step.before, &step.after) {
        (Some(before), Some(after)) => {
            if before.status != after.status {
                notes.push(format!("{} → {}", status(before), status(after)));
            }
            if before.attempts != after.attempts {
                let (before, after) = (before.attempts, after.attempts);
                notes.push(format!("attempts {before} → {after}"));
            }
            notes.extend(times(
                before.duration_ms,
                after.duration_ms,
                step.duration_ratio,
            ));
        }
        (None, Some(after)) => notes.push(format!("only in the second: {}", status(after))),
        (Some(before), None) => notes.push(format!("only in the first: {}", status(before))),
        (None, None) => {}
    }
    let _ = writeln!(text, "{address}  {}", notes.join(", "));
    let error = |side: &Option<StepSideV1>| {
        let error = side.as_ref().and_then(|side| side.error.as_ref())?;
        Some(Value::from(error.message.trim()))
    };
    if step.before.is_none() || step.after.is_none() {
        return;
    }
    change_lines("arguments", &step.args, 2, width, text);
    // The outputs of its parts are reported with them.
    if !has_parts {
        change_lines("output", &step.output, 2, width, text);
        let error =
            planwright::format::changes(error(&step.before).as_ref(), error(&step.after).as_ref());
        change_lines("error", &error, 2, width, text);
    }
}

/// Returns true if a part of a step is reported as well.
fn has_reported_parts(step: &StepDiffV1, steps: &[StepDiffV1]) -> bool {
    steps.iter().any(|part| {
        !part.same
            && part
                .address
                .strip_prefix(step.address.as_str())
                .is_some_and(|rest| rest.starts_with(['/', '[', '#']))
    })
}

fn status(side: &StepSideV1) -> String {
    styled(status_style(side.status), side.status.replace('_', " "))
}

fn times(before: Option<f64>, after: Option<f64>, ratio: Option<f64>) -> Option<String> {
    let (before, after) = (
        time(milliseconds_to_duration(before?)),
        time(milliseconds_to_duration(after?)),
    );
    let ratio = ratio.map_or_else(String::new, |ratio| format!(" (× {ratio:.2})"));
    Some(format!("{before} → {after}{ratio}"))
}

fn is_notable(step: &StepDiffV1) -> bool {
    let took = |side: &Option<StepSideV1>| side.as_ref().and_then(|side| side.duration_ms);
    let (Some(before), Some(after)) = (took(&step.before), took(&step.after)) else {
        return false;
    };
    let (less, more) = (before.min(after), before.max(after));
    let (factor, milliseconds) = NOTABLE;
    less * factor <= more && milliseconds <= more - less
}
