//! `planwright show RUN`: the graph of a run's plan, with the status of each step.

use std::path::Path;

use planwright::core::check::CheckedPlan;
use planwright::drawing::{Drawing, DrawnRunV1, GraphV1, StepState, Style, Symbols};
use planwright::engine::event::Address;
use planwright::engine::run::History;
use planwright::format::{RevisionV1, RunListingV1};
use planwright::stored::{PlanChange, StoredRun};
use planwright::terminal_text;
use planwright_store::{Store, StoreError};

use super::{run_storage, store};
use crate::approval::question::OpenCall;
use crate::args::{Picture, RunFormat, ShowArguments};
use crate::error::{CommandError, Exit};
use crate::inspect::flow;
use crate::runs::list::{described, span, status_style};
use crate::setup::settings::{self, Settings};
use crate::view::live::words::{BOLD, counted, styled, time};
use crate::view::output;
use crate::view::printer::Printer;

/// Returns the run with this name; `None` if there is a file of that name, or no such run.
pub(crate) fn find(arguments: &ShowArguments) -> Result<Option<(Store, String)>, CommandError> {
    let text = &arguments.plan.text;
    let path: &Path = &text.plan;
    let Some(selector) = path.to_str().filter(|_| !path.exists()) else {
        return Ok(None);
    };
    let Some(store) = store::open_if_there(&text.store)? else {
        return Ok(None);
    };
    match store.run(selector) {
        Ok(run) => Ok(Some((store, run.id))),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(store::explain(error)),
    }
}

/// Draws a run.
pub(crate) fn show(
    store: &Store,
    id: &str,
    arguments: &ShowArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let stored = revision(StoredRun::read(store, id)?, arguments)?;
    let run = described(&store.run(id).map_err(store::explain)?);
    if arguments.picture == Picture::Source {
        printer.data(&stored.plan.text);
        return Ok(Exit::Success);
    }
    let plan = stored.latest_plan()?;
    let mut drawing = drawing(id, &stored, &run, &plan);
    if arguments.flow().is_on() {
        let Settings { config, .. } = settings::load(Path::new("."))?;
        let config = arguments.flow().apply(stored.with_flow(config));
        flow::mark(&mut drawing, &plan, &config);
    }
    if let Picture::Text | Picture::Ascii = arguments.picture {
        printer.data_line(&headline(&run));
        for line in revised(&stored) {
            printer.data_line(&terminal_text::lines(&line));
        }
    }
    let drawn = DrawnRunV1 {
        id: run.id.clone(),
        status: run.status.to_owned(),
        duration_ms: run.duration_ms,
    };
    draw(&drawing, arguments.picture, Some(drawn), printer)?;
    if let Picture::Text | Picture::Ascii = arguments.picture {
        for call in OpenCall::of(id, &stored.history()?) {
            printer.data_line(&format!("\n{}", call.text()));
        }
    }
    Ok(Exit::Success)
}

/// The run as it stood with the plan that the arguments name.
fn revision(stored: StoredRun, arguments: &ShowArguments) -> Result<StoredRun, CommandError> {
    let Some(number) = arguments.revision else {
        return Ok(stored);
    };
    let count = stored.changes().len() + 1;
    stored.with_plan(number.get() - 1)?.ok_or_else(|| {
        CommandError::new(format!("the run has no plan number {number}"))
            .hint(format!("it had {}", counted(count, "plan")))
    })
}

/// Returns the lines about revised plans of the run.
fn revised(stored: &StoredRun) -> Vec<String> {
    let changes = stored.changes();
    let count = changes.len() + 1;
    let line = |(index, change): (usize, &PlanChange)| {
        let why = match &change.revision {
            Some(RevisionV1 {
                kind,
                step,
                error,
                model,
            }) => format!("{kind} by {model}, since `{step}` failed ({error})"),
            None if change.ends_beginning => {
                "the previous one ran while it was written, and was replaced".to_owned()
            }
            None => "given when the run was resumed".to_owned(),
        };
        format!("plan {} of {count}: {why}", index + 2)
    };
    changes.iter().enumerate().map(line).collect()
}

fn drawing(id: &str, stored: &StoredRun, run: &RunListingV1, plan: &CheckedPlan) -> Drawing {
    let is_running = run.status == "running";
    let mut drawing = Drawing::of(plan);
    match stored.replayed(id) {
        Ok(replayed) => drawing.set_states(&replayed.summary.steps, is_running),
        // The journal has the actual decisions; those of a replay do not matter here.
        Err(_) => by_history(
            plan,
            &History::new(&stored.entries),
            is_running,
            &mut drawing,
        ),
    }
    drawing
}

fn by_history(plan: &CheckedPlan, history: &History, is_running: bool, drawing: &mut Drawing) {
    for step in &plan.plan().steps {
        let at = Address {
            inside: None,
            instance: None,
            step: step.id.clone(),
            item: None,
            round: None,
        };
        if let Some(past) = history.past(&at) {
            drawing.set_state(step.id.as_str(), &StepState::of_past(past, is_running));
        }
    }
}

fn headline(run: &RunListingV1) -> String {
    let imported = if run.imported { ", imported" } else { "" };
    format!(
        "run {}: {}{imported} after {}, {} of {} done, {}",
        styled(BOLD, run_storage::short(&run.id)),
        styled(status_style(run.status), run.status),
        time(span(run.duration_ms)),
        run.done,
        counted(run.steps, "step"),
        counted(run.calls, "call")
    )
}

/// Prints a picture.
pub(crate) fn draw(
    drawing: &Drawing,
    picture: Picture,
    run: Option<DrawnRunV1>,
    printer: Printer,
) -> Result<(), CommandError> {
    match picture {
        Picture::Text | Picture::Source => printer.data(&drawing.text(&printer.style())),
        Picture::Ascii => printer.data(&drawing.text(&Style {
            symbols: Symbols::Ascii,
            ..printer.style()
        })),
        Picture::Mermaid => printer.data(&drawing.mermaid()),
        Picture::Dot => printer.data(&drawing.dot()),
        Picture::Json => {
            let graph = GraphV1 {
                run,
                ..drawing.json()
            };
            output::json(&graph, RunFormat::Json, printer)?;
        }
    }
    Ok(())
}
