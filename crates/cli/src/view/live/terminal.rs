//! The live view on a terminal, and the outcome of a run in a few lines for the person who watched it.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use planwright::core::Severity;
use planwright::core::check::CheckedPlan;
use planwright::engine::run::StepSummary;
use planwright::engine::{RunEvent, RunId, RunStatus, RunSummary, StampedEvent, StepStatus};
use planwright::terminal_text;

use super::plain_lines::PlainLines;
use super::step_lines::StepLines;
use crate::args::{Progress, RunFormat};
use crate::runs::store;
use crate::view::printer::{BAD, BOLD, DIM, GOOD, ODD, Printer, code, counted, styled, time};

/// The interval at which the lines are drawn.
const REDRAW: Duration = Duration::from_millis(100);

/// The interval at which finished lines are printed, and the largest number that wait for it.
const PRINT: Duration = Duration::from_millis(50);
const MAX_BUFFERED_LINES: usize = 8;

/// The progress of a run: a live view on a terminal, else lines. It is empty if events are printed.
pub(crate) struct Live {
    pub(super) view: Option<View>,
    pub(super) lines: Option<PlainLines>,
    pub(super) printer: Printer,
}

pub(super) struct View {
    bar: ProgressBar,
    stage: Arc<Mutex<Stage>>,
    /// Prints what stays on the screen.
    print: Box<dyn Fn(&str) + Send + Sync>,
}

/// The content of the screen.
struct Stage {
    board: StepLines,
    /// The number of open suspensions of the view.
    suspended: usize,
    /// Lines about ended steps that are drawn, but not printed yet: many steps may end within one blink.
    pending: Vec<String>,
    /// The time of the last printing, by the view's clock.
    printed: Duration,
    /// The time between the start of the view and that of the run.
    offset: Duration,
    is_over: bool,
}

impl Live {
    /// The view of a run of `plan`.
    pub(crate) fn new(
        plan: &CheckedPlan,
        format: RunFormat,
        progress: Progress,
        printer: Printer,
    ) -> Arc<Self> {
        Self::with(StepLines::new(plan), format, progress, printer)
    }

    /// The view of a run whose plan `writer` is still writing.
    pub(crate) fn written_by(writer: &str, format: RunFormat, printer: Printer) -> Arc<Self> {
        Self::with(
            StepLines::written_by(writer),
            format,
            Progress::Auto,
            printer,
        )
    }

    fn with(
        board: StepLines,
        format: RunFormat,
        progress: Progress,
        printer: Printer,
    ) -> Arc<Self> {
        let reports_events = format == RunFormat::Events;
        let is_drawn = progress == Progress::Auto && !reports_events && Printer::is_watched();
        let (view, lines) = if is_drawn {
            let print = Box::new(move |line: &str| printer.status(line));
            let view = View::new(ProgressDrawTarget::stderr(), print, board, printer);
            (Some(view), None)
        } else {
            (None, PlainLines::new(board, progress, reports_events))
        };
        Arc::new(Self {
            view,
            lines,
            printer,
        })
    }

    /// Adds steps to the plan.
    pub(crate) fn grow(&self, plan: &CheckedPlan) {
        self.change(|board| board.grow(plan));
    }

    /// The plan is there.
    pub(crate) fn is_written(&self) {
        self.change(StepLines::is_written);
    }

    /// Restarts the view for another plan that replaces the current one.
    pub(crate) fn begin_again(&self) {
        // Lines of ended steps stay above later messages.
        self.suspend(|| ());
        self.change(StepLines::begin_again);
    }

    fn change(&self, change: impl FnOnce(&mut StepLines)) {
        match (&self.view, &self.lines) {
            (Some(view), _) => change(&mut lock(&view.stage).board),
            (None, Some(lines)) => lines.change(change),
            (None, None) => {}
        }
    }

    /// Takes note of an event. It never waits for a person.
    pub(crate) fn event(&self, event: &StampedEvent) {
        if let Some(view) = &self.view {
            view.event(event);
        }
        for line in self.lines.iter().flat_map(|lines| lines.event(event)) {
            self.printer.status(&line);
        }
    }

    /// Hides the view while `status` has the terminal. Events that arrive meanwhile are shown later.
    pub(crate) fn suspend<T>(&self, status: impl FnOnce() -> T) -> T {
        match &self.view {
            Some(view) => view.suspend(status),
            None => status(),
        }
    }

    /// Ends the view; the lines of ended steps stay.
    pub(crate) fn finish(&self) {
        if let Some(view) = &self.view {
            view.finish();
        }
    }

    /// Names a stored run at its start, by as much of its id as other commands need.
    pub(crate) fn announce(&self, id: &RunId) {
        if self.view.is_some() {
            let line = styled(DIM, format!("run {}", store::short(id)));
            self.suspend(|| self.printer.status(&line));
        }
    }

    /// Prints the summary of the run; `is_stored` is true if other processes can decide about it.
    pub(crate) fn summary(&self, summary: &RunSummary, is_stored: bool) {
        self.finish();
        self.printer
            .status(summary_text(summary, is_stored).trim_end());
        // Other outcomes end with a command that names the run.
        if is_stored && self.view.is_some() && summary.status == RunStatus::Succeeded {
            let line = format!("run {}", store::short(&summary.run));
            self.printer.status(&styled(DIM, line));
        }
    }
}

impl View {
    pub(super) fn new(
        target: ProgressDrawTarget,
        print: Box<dyn Fn(&str) + Send + Sync>,
        board: StepLines,
        printer: Printer,
    ) -> Self {
        let stage = Arc::new(Mutex::new(Stage {
            board,
            suspended: 0,
            pending: Vec::new(),
            printed: Duration::ZERO,
            offset: Duration::ZERO,
            is_over: false,
        }));
        let coloured = printer.colours_status();
        let drawn = Arc::clone(&stage);
        let lines = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let stage = lock(&drawn);
            if stage.suspended == 0 && !stage.is_over {
                let now = state.elapsed().saturating_sub(stage.offset);
                let mut lines = stage.pending.clone();
                lines.extend(stage.board.lines(now, Printer::status_width()));
                let _ = out.write_str(&shown(&lines.join("\n"), coloured));
            }
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{steps}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .with_key("steps", lines);
        bar.set_style(style);
        bar.enable_steady_tick(REDRAW);
        Self { bar, stage, print }
    }

    fn event(&self, event: &StampedEvent) {
        // The bar asks for the stage while it draws: never ask the bar while holding the stage.
        let now = self.bar.elapsed();
        let mut stage = lock(&self.stage);
        if matches!(event.event, RunEvent::RunStarted { .. }) {
            stage.offset = now.saturating_sub(event.at);
        }
        let line = stage.board.event(event);
        stage.pending.extend(line);
        let is_due = stage.pending.len() >= MAX_BUFFERED_LINES || now >= stage.printed + PRINT;
        if stage.suspended == 0 && !stage.pending.is_empty() && is_due {
            stage.printed = now;
            self.print(stage);
        }
    }

    fn suspend<T>(&self, status: impl FnOnce() -> T) -> T {
        lock(&self.stage).suspended += 1;
        self.bar.disable_steady_tick();
        // The view is empty now, so drawing it erases the previous lines.
        self.bar.suspend(|| ());
        let answer = status();
        let mut stage = lock(&self.stage);
        stage.suspended -= 1;
        if stage.suspended == 0 && !stage.is_over {
            self.print(stage);
            self.bar.enable_steady_tick(REDRAW);
        }
        answer
    }

    fn finish(&self) {
        let mut stage = lock(&self.stage);
        if std::mem::replace(&mut stage.is_over, true) {
            return;
        }
        // The ticker draws, and drawing asks for the stage.
        drop(stage);
        self.bar.disable_steady_tick();
        self.print(lock(&self.stage));
        self.bar.finish_and_clear();
    }

    /// Prints the lines that are held, above those that are drawn.
    fn print(&self, mut stage: MutexGuard<'_, Stage>) {
        let pending = std::mem::take(&mut stage.pending);
        // Drawing asks for the stage.
        drop(stage);
        self.bar.suspend(|| {
            if !pending.is_empty() {
                (self.print)(&pending.join("\n"));
            }
        });
    }
}

/// Locks the screen, also after a panic of another thread: it holds no invariant that a panic could break.
fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn shown(text: &str, coloured: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    if coloured {
        shown.push_str(text);
    } else {
        let _ = write!(shown, "{}", anstream::adapter::strip_str(text));
    }
    shown
}

/// Prints lines about ended steps only, for several runs in progress at once.
pub(crate) struct EndedStepLines {
    board: Mutex<StepLines>,
    printer: Printer,
}

impl EndedStepLines {
    /// The lines of a run of `plan`.
    pub(crate) fn new(plan: &CheckedPlan, printer: Printer) -> Self {
        let lines = Self::of_nothing(printer);
        lines.grow(plan);
        lines
    }

    /// The lines of a run whose plan is still being written.
    pub(crate) fn of_nothing(printer: Printer) -> Self {
        Self {
            board: Mutex::default(),
            printer,
        }
    }

    /// Adds steps to the plan.
    pub(crate) fn grow(&self, plan: &CheckedPlan) {
        self.board().grow(plan);
    }

    /// Restarts the view for another plan that replaces the current one.
    pub(crate) fn begin_again(&self) {
        self.board().begin_again();
    }

    /// Processes an event, and prints a line if it ends a step.
    pub(crate) fn event(&self, event: &StampedEvent) {
        let line = self.board().event(event);
        if let Some(line) = line {
            self.printer.status(&format!("  {line}"));
        }
    }

    fn board(&self) -> MutexGuard<'_, StepLines> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most failures that are listed one by one, and the most items of one step.
const MAX_ROWS: usize = 10;

/// The most lines of one failure's message.
const MAX_LINES: usize = 8;

/// The most columns of one of them.
const MAX_LINE_WIDTH: usize = 2000;

/// The summary, each line ended.
pub(super) fn summary_text(run: &RunSummary, is_stored: bool) -> String {
    let steps = counted(run.steps.len(), "step");
    let took = time(run.duration);
    let failures: Vec<&StepSummary> = run
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Failed && !step.handled)
        .collect();
    let mut waiting: Vec<&StepSummary> = with(run, StepStatus::Waiting);
    waiting.extend(with(run, StepStatus::Unknown));
    let headline = match run.status {
        RunStatus::Succeeded => format!("{} {steps} in {took}", styled(GOOD, "✓")),
        RunStatus::Waiting => {
            let what = counted(waiting.len(), "step");
            let verb = if waiting.len() == 1 { "waits" } else { "wait" };
            format!(
                "{} {what} of {} {verb} for a decision, after {took}",
                styled(ODD, "○"),
                run.steps.len()
            )
        }
        RunStatus::Cancelled => {
            let done = with(run, StepStatus::Succeeded).len();
            format!(
                "{} interrupted after {took}: {done} of {steps} done",
                styled(ODD, "–")
            )
        }
        RunStatus::Failed if failures.is_empty() => format!(
            "{} {steps} in {took}, but the output cannot be made",
            styled(BAD, "✗")
        ),
        RunStatus::Failed => {
            let count = failures.len();
            format!("{} {count} of {steps} failed in {took}", styled(BAD, "✗"))
        }
    };
    let mut text = format!("{headline}{}\n", counts(run));
    for step in failures.iter().take(MAX_ROWS) {
        failure(step, &mut text);
    }
    if failures.len() > MAX_ROWS {
        let _ = writeln!(text, "  and {} more", failures.len() - MAX_ROWS);
    }
    for step in waiting.iter().take(MAX_ROWS) {
        let id = terminal_text::one_line(step.at.step.as_str()).into_owned();
        let tool = step
            .tool
            .as_deref()
            .map(terminal_text::one_line)
            .unwrap_or_default();
        let note = if step.status == StepStatus::Unknown {
            "  (may or may not have happened)"
        } else {
            ""
        };
        let _ = writeln!(text, "  {}  {tool}{note}", styled(BOLD, id));
    }
    for warning in run.warnings.iter().take(MAX_ROWS) {
        let message = terminal_text::one_line(&warning.message).into_owned();
        let severity = match warning.severity {
            Severity::Error => styled(BAD, "error"),
            Severity::Warning => styled(ODD, "warning"),
            Severity::Note => styled(DIM, "note"),
        };
        let _ = writeln!(text, "{severity} {}: {message}", warning.code);
    }
    if run.warnings.len() > MAX_ROWS {
        let _ = writeln!(
            text,
            "and {} more",
            counted(run.warnings.len() - MAX_ROWS, "warning")
        );
    }
    if let Some(hint) = hint(run, is_stored) {
        let _ = writeln!(text, "{}", styled(DIM, hint));
    }
    text
}

fn hint(run: &RunSummary, is_stored: bool) -> Option<&'static str> {
    match run.status {
        RunStatus::Succeeded => None,
        // Each call with an unknown outcome has its own advice.
        RunStatus::Waiting if !asks(&run.steps) => None,
        RunStatus::Waiting if !is_stored => {
            Some("decide with `--approvals FILE` or `--approve all` when you run it again")
        }
        RunStatus::Waiting => {
            Some("decide with `planwright approve`, `--approvals FILE` or `--approve all`")
        }
        RunStatus::Failed | RunStatus::Cancelled => {
            Some("see every step and call with `--format json`")
        }
    }
}

/// Returns whether one of the steps, or a part of one, waits for consent.
fn asks(steps: &[StepSummary]) -> bool {
    let mut steps = steps.iter();
    steps.any(|step| {
        if step.parts.is_empty() {
            step.status == StepStatus::Waiting
        } else {
            asks(&step.parts)
        }
    })
}

fn with(run: &RunSummary, status: StepStatus) -> Vec<&StepSummary> {
    run.steps
        .iter()
        .filter(|step| step.status == status)
        .collect()
}

/// ` (8 calls, 2 skipped)`
fn counts(run: &RunSummary) -> String {
    let mut counts = Vec::new();
    if !run.calls.is_empty() {
        counts.push(counted(run.calls.len(), "call"));
    }
    let others = [
        (StepStatus::Skipped, "skipped"),
        (StepStatus::NotRun, "not run"),
        (StepStatus::Cancelled, "cancelled"),
    ];
    for (status, what) in others {
        let count = with(run, status).len();
        if count > 0 {
            counts.push(format!("{count} {what}"));
        }
    }
    let handled = run
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Failed && step.handled)
        .count();
    if handled > 0 {
        counts.push(format!("{} handled", counted(handled, "failure")));
    }
    if counts.is_empty() {
        String::new()
    } else {
        format!(" ({})", counts.join(", "))
    }
}

/// A failed step, and the items, rounds or inner steps that failed it.
fn failure(step: &StepSummary, text: &mut String) {
    let parts: Vec<&StepSummary> = failed_parts(step);
    if parts.is_empty() {
        one_failure(step, text);
        return;
    }
    for part in parts.iter().take(MAX_ROWS) {
        one_failure(part, text);
    }
    if parts.len() > MAX_ROWS {
        let id = terminal_text::one_line(step.at.step.as_str()).into_owned();
        let _ = writeln!(text, "  and {} more of `{id}`", parts.len() - MAX_ROWS);
    }
}

/// The innermost parts that failed.
fn failed_parts(step: &StepSummary) -> Vec<&StepSummary> {
    step.parts
        .iter()
        .filter(|part| part.status == StepStatus::Failed && !part.handled)
        .flat_map(|part| match failed_parts(part) {
            inner if inner.is_empty() => vec![part],
            inner => inner,
        })
        .collect()
}

fn one_failure(step: &StepSummary, text: &mut String) {
    let at = step.at.to_string();
    let at = terminal_text::one_line(&at).into_owned();
    let tool = step
        .tool
        .as_deref()
        .map(terminal_text::one_line)
        .unwrap_or_default();
    let Some(error) = &step.error else {
        let _ = writeln!(text, "  {}  {tool}", styled(BOLD, at));
        return;
    };
    let mut kind = error.kind.as_str().to_owned();
    if let Some(code) = code(error) {
        kind.push_str(", ");
        kind.push_str(&code);
    }
    let _ = writeln!(
        text,
        "  {}  {tool}  {}",
        styled(BOLD, at),
        styled(DIM, format!("({kind})"))
    );
    let message = terminal_text::lines(error.message.trim()).into_owned();
    let lines: Vec<&str> = message.lines().collect();
    for line in lines.iter().take(MAX_LINES) {
        let line = terminal_text::shortened(line, MAX_LINE_WIDTH, "…");
        let _ = writeln!(text, "    {line}");
    }
    if lines.len() > MAX_LINES {
        let more = counted(lines.len() - MAX_LINES, "line");
        let _ = writeln!(text, "    {}", styled(DIM, format!("and {more} more")));
    }
}
