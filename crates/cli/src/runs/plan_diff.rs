//! `planwright diff PLAN PLAN`: the differences between two plans, which may be in different dialects.

use std::fmt::Write as _;
use std::path::Path;

use indexmap::IndexMap;
use planwright::core::Value;
use planwright::dialects::Dialect;
use planwright::dialects::native::Native;
use planwright::format::{ChangeV1, ChangedStepV1, PlanTextsDiffV1, changes};
use planwright::terminal_text;

use crate::args::{DiffArguments, Format, RunFormat, TextArguments};
use crate::error::{CommandError, Exit};
use crate::run::plan_file;
use crate::view::printer::{BOLD, DIM, Printer, counted, styled};
use crate::view::{diagnostics, output};

/// Compares the plans in two files.
pub(super) fn diff(
    (before, after): (&Path, &Path),
    arguments: &DiffArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let (Some(old), Some(new)) = (
        PlanParts::read(before, arguments, printer)?,
        PlanParts::read(after, arguments, printer)?,
    ) else {
        return Ok(Exit::Rejected);
    };
    let diff = compare(&old, &new);
    match arguments.format {
        Format::Json => output::json(&diff, RunFormat::Json, printer)?,
        Format::Text => {
            let names = [before, after].map(|path| path.display().to_string());
            printer.pages(&text(&names, &diff, old.steps.len(), Printer::data_width()));
        }
    }
    Ok(if diff.same {
        Exit::Success
    } else {
        Exit::Failed
    })
}

/// A plan in the native dialect, which can express every plan.
struct PlanParts {
    steps: IndexMap<String, Value>,
    /// The plan without its steps.
    rest: Value,
}

impl PlanParts {
    /// Reads a plan; `None` if it has problems, which are shown.
    fn read(
        path: &Path,
        arguments: &DiffArguments,
        printer: Printer,
    ) -> Result<Option<Self>, CommandError> {
        let parsed = plan_file::parse_without_tools(&TextArguments {
            plan: path.to_owned(),
            dialect: None,
            max_depth: crate::args::MAX_DEPTH,
            max_size: crate::args::MAX_SIZE,
            store: arguments.store.clone(),
        })?;
        let text = parsed.result.source.to_string();
        let found = &parsed.result.diagnostics;
        diagnostics::show(found, &[(parsed.name, text)], printer);
        let plan = parsed.result.plan.filter(|_| !found.has_errors());
        let written = plan.and_then(|plan| Native.print(&plan).0);
        let written = written.and_then(|text| Value::from_json(&text).ok());
        let Some(mut fields) = written.and_then(|plan| plan.as_object().cloned()) else {
            return Ok(None);
        };
        let steps = fields.shift_remove("steps").unwrap_or(Value::Null);
        let steps = steps.as_list().unwrap_or_default().iter();
        Ok(Some(Self {
            steps: steps
                .filter_map(|step| Some((step.get("id")?.as_text()?.to_owned(), step.clone())))
                .collect(),
            rest: Value::from(fields),
        }))
    }
}

fn compare(before: &PlanParts, after: &PlanParts) -> PlanTextsDiffV1 {
    let lacking = |steps: &IndexMap<String, Value>, other: &IndexMap<String, Value>| {
        let ids = steps.keys().filter(|id| !other.contains_key(*id));
        ids.cloned().collect::<Vec<String>>()
    };
    let changed = after.steps.iter().filter_map(|(id, new)| {
        let changes = changes(before.steps.get(id), Some(new));
        let is_changed = before.steps.contains_key(id) && !changes.is_empty();
        is_changed.then(|| ChangedStepV1 {
            step: id.clone(),
            changes,
        })
    });
    PlanTextsDiffV1::new(
        lacking(&after.steps, &before.steps),
        lacking(&before.steps, &after.steps),
        changed.collect(),
        changes(Some(&before.rest), Some(&after.rest)),
    )
}

/// Formats the differences, each line ended.
fn text(names: &[String; 2], diff: &PlanTextsDiffV1, steps: usize, width: usize) -> String {
    let [before, after] = names;
    let name = |name: &str| styled(BOLD, terminal_text::one_line(name));
    let mut text = format!("{} → {}\n", name(before), name(after));
    for (mark, ids) in [("+", &diff.added), ("-", &diff.removed)] {
        for id in ids {
            let _ = writeln!(text, "{mark} {}", terminal_text::one_line(id));
        }
    }
    for step in &diff.changed {
        let _ = writeln!(text, "~ {}", terminal_text::one_line(&step.step));
        change_lines("", &step.changes, 4, width, &mut text);
    }
    change_lines("plan", &diff.plan, 0, width, &mut text);
    if diff.same {
        let steps = counted(steps, "step");
        let _ = writeln!(text, "{}", styled(DIM, format!("{steps}, all the same")));
    }
    text
}

/// The maximum number of differing places that are shown of one value.
const MAX_PLACES: usize = 10;
/// The minimum width of a value, in columns.
const MIN_ROOM: usize = 16;

/// Writes one line for each of the first changes of a value, which `what` names.
pub(super) fn change_lines(
    what: &str,
    changes: &[ChangeV1],
    margin: usize,
    width: usize,
    text: &mut String,
) {
    let margin = " ".repeat(margin);
    for change in changes.iter().take(MAX_PLACES) {
        let pointer = terminal_text::one_line(&change.pointer);
        let pointer = format!("{what}{pointer}");
        let used = margin.len() + terminal_text::width(&pointer) + 5;
        let room = (width.saturating_sub(used) / 2).max(MIN_ROOM);
        let _ = writeln!(
            text,
            "{margin}{}: {} → {}",
            styled(DIM, &pointer),
            shown(change.before.as_ref(), room),
            shown(change.after.as_ref(), room)
        );
    }
    if MAX_PLACES < changes.len() {
        let more = counted(changes.len() - MAX_PLACES, "place");
        let _ = writeln!(text, "{margin}{}", styled(DIM, format!("and {more} more")));
    }
}

fn shown(value: Option<&Value>, room: usize) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let json = value.to_json();
    terminal_text::shortened(&terminal_text::one_line(&json), room, "…").into_owned()
}
