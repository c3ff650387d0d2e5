//! Words for times, reasons and failures.

use anstyle::{AnsiColor, Style};
use planwright::core::Value;
use planwright::engine::ToolError;
use planwright::engine::run::{SkipKind, SkipReason};
use planwright::terminal_text;

pub(crate) use planwright::terminal_text::time;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
pub(crate) const BUSY: Style = AnsiColor::Blue.on_default();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// Returns `text` in `style`. The printer removes the colours if they are not wanted.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// `1 step`, `2 steps`.
pub(crate) fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Returns the reason why a step did not run.
pub(crate) fn reason(reason: &SkipReason) -> String {
    let of = terminal_text::one_line(&reason.of);
    match reason.because {
        SkipKind::Step => format!("`{of}` gave no output"),
        SkipKind::Branch => format!("nothing filled `{of}`"),
        SkipKind::Condition => "its condition is false".to_owned(),
        SkipKind::Stopped => format!("stopped after `{of}` failed"),
        SkipKind::Person => format!("because of `{of}`"),
    }
}

/// The code of a failure, if its origin gave one.
pub(crate) fn code(error: &ToolError) -> Option<String> {
    match error.data.get("code")? {
        Value::Null => None,
        code => Some(terminal_text::one_line(&code.to_inserted_text()).into_owned()),
    }
}

/// The first line of a failure's message.
pub(crate) fn first_line(error: &ToolError) -> String {
    let line = error.message.trim().lines().next().unwrap_or_default();
    terminal_text::one_line(line).into_owned()
}
