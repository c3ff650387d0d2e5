//! A run for people on standard output: the output of the plan, and for a dry run its calls.

mod layout;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use planwright::core::Value;
use planwright::engine::RunSummary;
use planwright::engine::run::StepPreview;
use planwright::media::Media;
use planwright::terminal_text;

use self::layout::Room;
use super::printer::Printer;

/// The largest number of lines of one value on a terminal. Output to a file or another program is whole.
const MAX_LINES: usize = 100;

/// The default limit for the bytes of one value: a person reads no more, and no model takes more in.
const MAX_BYTES: usize = 256 * 1024;

/// Returns the output of the plan as lines; empty if it has none.
pub(crate) fn text(summary: &RunSummary, max_bytes: Option<u64>) -> String {
    let room = Room {
        bytes: max_bytes.map_or(MAX_BYTES, |most| {
            usize::try_from(most).unwrap_or(usize::MAX)
        }),
        width: Printer::data_width(),
        lines: if Printer::shows_data() {
            MAX_LINES
        } else {
            usize::MAX
        },
    };
    output(&summary.output, room) + &beside(summary)
}

/// Returns a line for each non-text output of steps that the output names.
fn beside(summary: &RunSummary) -> String {
    let mut text = String::new();
    for step in &summary.steps {
        let shown = summary.output.get(step.at.step.as_str());
        if shown.is_none() || shown == Some(&Value::from(step.content.clone())) {
            continue;
        }
        for media in step.content.iter().filter_map(Media::of) {
            let (at, label) = (step.at.to_string(), media.label());
            let (at, label) = (
                terminal_text::one_line(&at),
                terminal_text::one_line(&label),
            );
            let _ = writeln!(text, "{at}: [{label}] (`--format json` has it)");
        }
    }
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    text
}

fn output(value: &Value, room: Room) -> String {
    let is_empty = match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    if is_empty {
        return String::new();
    }
    layout::lay_out(value, room)
}

/// Returns a paragraph for each step that a run would perform.
pub(crate) fn dry_run(steps: &[StepPreview]) -> String {
    let mut text = "\nWhat it would call, as far as that is known:\n\n".to_owned();
    previews(steps, 0, &mut text);
    text
}

fn previews(steps: &[StepPreview], depth: usize, text: &mut String) {
    let margin = "  ".repeat(depth);
    for step in steps {
        let mut line = format!("{margin}{}", terminal_text::one_line(step.step.as_str()));
        if let Some(instance) = &step.instance {
            let _ = write!(line, " of {}", terminal_text::one_line(instance));
        }
        if let Some(tool) = &step.tool {
            let _ = write!(line, ": {}", terminal_text::one_line(tool));
        }
        let mut notes = Vec::new();
        if step.approval {
            notes.push("asks first".to_owned());
        }
        if !step.after.is_empty() {
            let after: Vec<_> = step
                .after
                .iter()
                .map(|id| terminal_text::one_line(id.as_str()))
                .collect();
            notes.push(format!("after {}", after.join(", ")));
        }
        if !notes.is_empty() {
            let _ = write!(line, " ({})", notes.join("; "));
        }
        text.push_str(&line);
        text.push('\n');
        if let Some(args) = step.args.as_object() {
            for (name, value) in args {
                let value = value.to_json();
                let (name, value) = (
                    terminal_text::one_line(name),
                    terminal_text::one_line(&value),
                );
                let _ = writeln!(text, "{margin}    {name} = {value}");
            }
        }
        previews(&step.parts, depth + 1, text);
    }
}
