//! `planwright show RUN`: the graph of a run's plan, with the status of each step. `planwright show --step STEP`: one step of a plan or a run
//! in full, as text or as JSON.

use std::path::Path;

use planwright::core::check::CheckedPlan;
use planwright::dialects::document::nearest;
use planwright::drawing::{
    Drawing, DrawnRunV1, GraphV1, RunRecord, StepDetailV1, StepState, Symbols,
};
use planwright::engine::RunId;
use planwright::engine::event::Address;
use planwright::engine::run::{History, StepSummary};
use planwright::format::{LogV1, RevisionV1, RunListingV1};
use planwright::stored::{PlanChange, StoredRun, listing, reverts_of};
use planwright::terminal_text;
use planwright_store::{RunInfo, Store, StoreError};
use serde::Serialize;

use super::list::{milliseconds_to_duration, plan_name, status_style};
use super::{logs, selector, store};
use crate::approval::decide::OpenCall;
use crate::args::{DrawingFormat, Format, RunFormat, ShowArguments};
use crate::error::{CommandError, Exit};
use crate::inspect::flow;
use crate::setup::settings::{self, Settings};
use crate::view::output;
use crate::view::printer::{BOLD, Printer, counted, styled, time};

/// Returns the run with this name; `None` if there is a file of that name, or no such run.
pub(crate) fn find(arguments: &ShowArguments) -> Result<Option<(Store, RunId)>, CommandError> {
    let text = &arguments.plan.text;
    let path: &Path = &text.plan;
    let Some(name) = path.to_str().filter(|_| !path.exists()) else {
        return Ok(None);
    };
    let Some(store) = store::open_existing(&text.store)? else {
        return Ok(None);
    };
    if selector::position(name).is_some() {
        let run = selector::find_run(&store, Some(name))?;
        return Ok(Some((store, run.id)));
    }
    match store.run(name) {
        Ok(run) => Ok(Some((store, run.id))),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(store::explain(error)),
    }
}

/// Draws a run.
pub(crate) fn show(
    store: &Store,
    id: &RunId,
    arguments: &ShowArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let stored = revision(StoredRun::read(store, id.as_str())?, arguments)?;
    let run = listing(&store.run(id.as_str()).map_err(store::explain)?);
    if arguments.picture() == DrawingFormat::Source {
        printer.untrusted_data(&stored.plan.text);
        return Ok(Exit::Success);
    }
    let plan = stored.latest_plan()?;
    let history = stored.history()?;
    let replayed = stored.replayed(id).ok();
    let steps = replayed
        .as_ref()
        .map_or(&[][..], |replayed| &replayed.summary.steps);
    let mut drawing = drawing(&plan, steps, &history, run.status == "running");
    if let Some(step) = &arguments.step {
        let info = store.run(id.as_str()).map_err(store::explain)?;
        let name = plan_name(store, id, info.plan.as_deref())?;
        let plan = (&stored, name.as_deref());
        return show_step(&info, plan, &drawing, (step, arguments.format), printer);
    }
    if arguments.flow().is_on() {
        let Settings { config, .. } = settings::load(Path::new("."))?;
        let config = arguments.flow().apply(stored.with_flow(config));
        flow::mark(&mut drawing, &plan, &stored.labels(), &config);
    }
    if let DrawingFormat::Text | DrawingFormat::Ascii | DrawingFormat::List = arguments.picture() {
        printer.data_line(&headline(&run));
        for line in revert_lines(store, id, &stored)? {
            printer.data_line(&line);
        }
        for line in revision_lines(&stored) {
            printer.data_line(&terminal_text::lines(&line));
        }
        for retained in stored.retained.iter() {
            printer.data_line(&terminal_text::one_line(&retained.shown()));
        }
    }
    let drawn = DrawnRunV1 {
        id: run.id.clone(),
        status: run.status.to_owned(),
        duration_ms: run.duration_ms,
        retained: stored.retained.iter().cloned().collect(),
    };
    let has_ended = !matches!(run.status, "running" | "interrupted");
    let record = RunRecord {
        run: &drawn,
        steps,
        history: &history,
        entries: &stored.entries,
        output: (replayed.as_ref())
            .filter(|_| has_ended)
            .map(|replayed| &replayed.summary.output),
    };
    draw(&drawing, arguments.picture(), Some(&record), printer)?;
    if let DrawingFormat::Text | DrawingFormat::Ascii | DrawingFormat::List = arguments.picture() {
        let asked = OpenCall::of(id, &history).len();
        let undecided = OpenCall::undecided(store, id)?;
        for call in &undecided {
            printer.data_line(&format!("\n{}", call.text()));
        }
        if undecided.len() < asked {
            printer.data_line(&format!(
                "\n{} decided; `planwright resume {}` continues the run",
                counted(asked - undecided.len(), "call"),
                store::short_id(id)
            ));
        }
    }
    Ok(Exit::Success)
}

/// Returns the state of the run with the plan whose number the arguments name.
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

/// Returns the lines about the run that it reverts, and about those that revert it.
fn revert_lines(
    store: &Store,
    id: &RunId,
    stored: &StoredRun,
) -> Result<Vec<String>, CommandError> {
    let of = stored.run.reverts.iter();
    let of = of.map(|reverts| format!("reverts the run {}", store::short_id(&reverts.run)));
    let (by, _) = reverts_of(store, id)?;
    let by = by.into_iter().map(|(by, reverts)| {
        let calls = counted(reverts.calls.len(), "call");
        format!(
            "reverted by the run {}: {calls} to undo",
            store::short_id(&by)
        )
    });
    Ok(of.chain(by).collect())
}

/// Returns the lines about revised plans of the run.
fn revision_lines(stored: &StoredRun) -> Vec<String> {
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

/// Draws the run by its `steps`. A run that cannot be replayed has none, so it is drawn by its history.
fn drawing(
    plan: &CheckedPlan,
    steps: &[StepSummary],
    history: &History,
    is_running: bool,
) -> Drawing {
    let mut drawing = Drawing::of(plan);
    if steps.is_empty() {
        // The journal has the actual decisions; those of a replay do not matter here.
        by_history(plan, history, is_running, &mut drawing);
    } else {
        drawing.set_states(steps, is_running);
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
        styled(BOLD, store::short_id(&run.id)),
        styled(status_style(run.status), run.status),
        time(milliseconds_to_duration(run.duration_ms)),
        run.done,
        counted(run.steps, "step"),
        counted(run.calls, "call")
    )
}

/// Prints a picture.
pub(crate) fn draw(
    drawing: &Drawing,
    picture: DrawingFormat,
    run: Option<&RunRecord<'_>>,
    printer: Printer,
) -> Result<(), CommandError> {
    match picture {
        DrawingFormat::Text | DrawingFormat::Source => {
            printer.pages(&drawing.text(&printer.style()));
        }
        DrawingFormat::List => printer.pages(&drawing.list(&printer.style())),
        DrawingFormat::Ascii => printer.pages(&drawing.text(&planwright::drawing::Style {
            symbols: Symbols::Ascii,
            ..printer.style()
        })),
        DrawingFormat::Mermaid => printer.untrusted_data(&drawing.mermaid()),
        DrawingFormat::Dot => printer.untrusted_data(&drawing.dot()),
        DrawingFormat::Svg => printer.untrusted_data(&drawing.svg(run)),
        DrawingFormat::Html => printer.untrusted_data(&drawing.html(run)),
        DrawingFormat::Json => {
            let graph = GraphV1 {
                run: run.map(|record| record.run.clone()),
                ..drawing.json()
            };
            output::json(&graph, RunFormat::Json, printer)?;
        }
    }
    Ok(())
}

/// Shows a step of a run, whose plan has the name `plan`: its definition in the plan, and its calls.
fn show_step(
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
pub(crate) fn print_step(
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
