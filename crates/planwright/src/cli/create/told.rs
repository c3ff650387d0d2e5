//! What a person is told while a model writes a plan, and of how it went.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use planwright::legible;
use planwright::planner::create::{Attempt, Created, Repair};
use planwright::planner::model::Usage;

use crate::cli::printer::Printer;

/// A line that says who is waited for.
pub(crate) struct Waiting {
    bar: ProgressBar,
}

impl Waiting {
    /// Says `what` is waited for.
    pub(crate) fn new(what: &str) -> Self {
        // Nothing is drawn where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(legible::one_line(what).into_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar }
    }

    /// Takes the line away while `talk` has the terminal.
    pub(crate) fn suspend<T>(&self, talk: impl FnOnce() -> T) -> T {
        self.bar.suspend(talk)
    }

    /// It has answered.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Tells how it went: what was mended, what was wrong, what it cost.
pub(crate) fn tell(created: &Created, printer: Printer) {
    attempts(&created.attempts, printer);
    end(created, printer);
}

/// Tells what was mended in the answers so far, and what was wrong.
pub(crate) fn attempts(attempts: &[Attempt], printer: Printer) {
    let last = attempts.len();
    for (index, attempt) in attempts.iter().enumerate() {
        let is_last = index + 1 == last;
        let number = index + 1;
        if attempt.diagnostics.has_errors() {
            printer.talk(&format!("answer {number} of {last} was no sound plan:"));
            findings(attempt, printer);
        } else if is_last {
            findings(attempt, printer);
        }
        for repair in &attempt.repairs {
            printer.quote(&mended(repair));
        }
    }
}

/// Tells why there is no plan, where there is none, and what it cost.
pub(crate) fn end(created: &Created, printer: Printer) {
    if let Some(error) = &created.failure {
        printer.quote(&format!("error: {error}"));
        if let Some(help) = &error.help {
            printer.quote(&format!("  hint: {help}"));
        }
    }
    if created.plan.is_none() && created.failure.is_none() {
        printer.talk(
            "no answer was a sound plan; ask in other words, or allow more of them with --tries",
        );
    }
    if let Some(cost) = cost(created.usage) {
        printer.talk(&cost);
    }
}

fn findings(attempt: &Attempt, printer: Printer) {
    for finding in &attempt.diagnostics {
        printer.quote(&format!("  {finding}"));
    }
}

fn mended(repair: &Repair) -> String {
    format!(
        "  mended at {}: `{}` is `{}`",
        repair.pointer, repair.before, repair.after
    )
}

/// What the answers cost, where anybody counted.
pub(crate) fn cost(usage: Usage) -> Option<String> {
    if usage.input_tokens + usage.output_tokens == 0 {
        return None;
    }
    let tokens = format!(
        "{} tokens read, {} written",
        usage.input_tokens, usage.output_tokens
    );
    Some(match usage.cost {
        Some(cost) => format!("{tokens}, ${cost:.4}"),
        None => tokens,
    })
}
