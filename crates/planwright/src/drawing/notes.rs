//! The notes about a step beside its id and tool.

use planwright_core::plan::Method;

use super::Symbols;
use super::graph::{Does, Failing, GraphStep};
use crate::terminal_text;

/// The longest that a value or condition may be in a note, in columns.
const MAX_VALUE_WIDTH: usize = 48;

/// Returns the tool that `step` calls, or the plan that it runs.
pub(super) fn action_text(step: &GraphStep) -> String {
    match &step.does {
        Does::Tool(name) => terminal_text::one_line(name).into_owned(),
        Does::Plan(name) => format!("plan {}", terminal_text::one_line(name)),
        Does::Inline(_) => "plan".into(),
        Does::Value => "value".into(),
    }
}

/// Short notes about `step`, the condition first.
pub(super) fn notes(step: &GraphStep, symbols: Symbols) -> Vec<String> {
    let short = |text: &str| {
        terminal_text::shortened(
            &terminal_text::one_line(text),
            MAX_VALUE_WIDTH,
            symbols.ellipsis(),
        )
        .into_owned()
    };
    let mut notes = states(step, symbols);
    if let Some(when) = &step.when {
        notes.push(format!("when {}", short(when)));
    }
    notes.extend(notes_without_condition(step, &short, symbols));
    notes
}

/// As [`notes`], for pictures that draw the condition apart.
pub(super) fn notes_beside_condition(step: &GraphStep) -> Vec<String> {
    let symbols = Symbols::Unicode;
    let short = |text: &str| {
        terminal_text::shortened(
            &terminal_text::one_line(text),
            MAX_VALUE_WIDTH,
            symbols.ellipsis(),
        )
        .into_owned()
    };
    let mut notes = states(step, symbols);
    notes.extend(notes_without_condition(step, &short, symbols));
    notes
}

/// The id of `step`, behind the mark of how it stands in a drawn run.
pub(super) fn marked_id(step: &GraphStep) -> String {
    let id = terminal_text::one_line(&step.id);
    match &step.state {
        Some(state) => format!("{} {id}", Symbols::Unicode.step(Some(state.mark))),
        None => id.into_owned(),
    }
}

fn states(step: &GraphStep, symbols: Symbols) -> Vec<String> {
    let state = step.state.as_ref();
    state.map_or_else(Vec::new, |state| state.notes(symbols))
}

/// The condition of `step`, shortened.
pub(super) fn condition(step: &GraphStep) -> Option<String> {
    let when = terminal_text::one_line(step.when.as_ref()?);
    Some(terminal_text::shortened(&when, MAX_VALUE_WIDTH, Symbols::Unicode.ellipsis()).into_owned())
}

fn notes_without_condition(
    step: &GraphStep,
    short: &dyn Fn(&str) -> String,
    symbols: Symbols,
) -> Vec<String> {
    let mut notes: Vec<String> = step
        .violations
        .iter()
        .map(|violation| short(&violation.note()))
        .collect();
    if let Some(over) = &step.for_each {
        let at_a_time = step
            .max_parallel
            .map_or_else(String::new, |most| format!(", {most} at a time"));
        notes.push(format!("for each of {}{at_a_time}", short(over)));
    }
    if let Some((until, max)) = &step.repeat {
        notes.push(format!("repeat until {} (max {max})", short(until)));
    }
    if step.asks {
        notes.push("asks first".into());
    }
    if step.alone {
        notes.push("alone".into());
    }
    if let Some(attempts) = step.attempts.filter(|attempts| *attempts > 1) {
        notes.push(format!("up to {attempts} attempts"));
    }
    if let Some(timeout) = step.timeout {
        notes.push(format!("within {timeout:?}"));
    }
    match &step.on_error {
        Failing::Fails => {}
        Failing::Continues => notes.push("may fail".into()),
        Failing::Gives(output) => notes.push(format!("on error {}", short(output))),
    }
    if let Some(instance) = &step.instance {
        notes.push(format!("only for {}", short(instance)));
    }
    if !step.writes.is_empty() {
        let between = if step.writes_one { " or " } else { " and " };
        let method = method_note(step.method);
        let slots = short(&step.writes.join(between));
        notes.push(format!("{} {slots}{method}", symbols.gives()));
    }
    if let Some(title) = &step.title {
        notes.push(short(title));
    }
    notes
}

fn method_note(method: Method) -> &'static str {
    match method {
        Method::Set => "",
        Method::Merge => " (merge)",
        Method::Assign => " (assign)",
        Method::Push => " (push)",
        Method::Concat => " (concat)",
    }
}
