//! Messages to the person while a model writes a plan, and about the result.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use planwright::planner::create::{PlanAttempt, PlanRepair, PlanResponse};
use planwright::planner::model::{ModelError, Usage};
use planwright::terminal_text;

use crate::view::printer::Printer;

/// A line that names the pending model.
pub(crate) struct Waiting {
    bar: ProgressBar,
}

impl Waiting {
    /// Shows that `what` is pending.
    pub(crate) fn new(what: &str) -> Self {
        // Nothing is drawn if standard error is not a terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(terminal_text::one_line(what).into_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar }
    }

    /// Hides the line while `print` uses the terminal.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the line, since the model has answered.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Reports the result: repairs, problems, the reason why there is no plan.
pub(crate) fn report_response(created: &PlanResponse, model: &str, printer: Printer) {
    report_attempts(&created.attempts, printer);
    report_missing_plan(created, model, printer);
}

/// Reports the repairs and the problems of the answers so far.
pub(crate) fn report_attempts(attempts: &[PlanAttempt], printer: Printer) {
    let last = attempts.len();
    for (index, attempt) in attempts.iter().enumerate() {
        let is_last = index + 1 == last;
        let number = index + 1;
        if attempt.diagnostics.has_errors() {
            printer.status(&format!("reply {number} of {last} has errors:"));
            print_diagnostics(attempt, printer);
            if !attempt.contains_plan {
                quote_reply(attempt.words(), printer);
            }
        } else if is_last {
            if number > 1 && (!attempt.repairs.is_empty() || attempt.diagnostics.has_problems()) {
                printer.status(&format!("reply {number} of {last} has no errors:"));
            }
            print_diagnostics(attempt, printer);
        }
        for repair in &attempt.repairs {
            printer.quote(&repair_line(repair));
        }
    }
}

/// Reports why there is no plan, if so.
pub(crate) fn report_missing_plan(created: &PlanResponse, model: &str, printer: Printer) {
    if let Some(error) = &created.failure {
        let last = created.attempts.last();
        let is_reported =
            last.is_some_and(|last| !last.contains_plan && last.words() == &*error.reply);
        report_model_error("error", error, !is_reported, printer);
    } else if let Some(declined) = &created.declined {
        printer.quote(&format!("{model} {declined}"));
    } else if created.plan.is_none() {
        printer.status(
            "no reply was a valid plan; rephrase the goal, or allow more replies with `--tries`",
        );
    }
}

/// Reports why a model did not reply. `with_words` adds its partial reply, unless that was printed already.
pub(crate) fn report_model_error(
    what: &str,
    error: &ModelError,
    with_words: bool,
    printer: Printer,
) {
    printer.quote(&format!("{what}: {error}"));
    if with_words {
        quote_reply(&error.reply, printer);
    }
    if let Some(help) = &error.help {
        printer.hint(help);
    }
}

fn quote_reply(words: &str, printer: Printer) {
    if !words.is_empty() {
        printer.quote(&format!("  it said: {words}"));
    }
}

/// Prints the tokens and the cost of answers, if they are known.
pub(crate) fn print_usage(usage: Usage, printer: Printer) {
    if let Some(text) = usage_text(usage) {
        printer.status(&text);
    }
}

fn print_diagnostics(attempt: &PlanAttempt, printer: Printer) {
    // The notes are about the form of the text, which a model writes anew each time.
    for diagnostic in attempt.diagnostics.iter().filter(|found| !found.is_note()) {
        printer.quote(&format!("  {diagnostic}"));
    }
}

fn repair_line(repair: &PlanRepair) -> String {
    format!(
        "  fixed at {}: `{}` is now `{}`",
        repair.pointer, repair.before, repair.after
    )
}

/// Returns the tokens and the cost of answers as text; `None` if the provider did not state them.
fn usage_text(usage: Usage) -> Option<String> {
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
