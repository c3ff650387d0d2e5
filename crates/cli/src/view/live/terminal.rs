//! The live view on a terminal.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use planwright::core::check::CheckedPlan;
use planwright::engine::journal::Entry;
use planwright::engine::{RunEvent, RunId, RunStatus, RunSummary, StampedEvent};
use planwright::service::TimeLeft;

use super::plain_lines::PlainLines;
use super::step_lines::{MAX_BUFFERED_LINES, StepLines};
use super::summary::summary_text;
use crate::args::{Progress, RunFormat};
use crate::runs::store;
use crate::system::echo::HiddenControls;
use crate::view::paragraph::{filled, fitted};
use crate::view::printer::{DIM, Printer, styled};

/// The interval at which the lines are drawn.
const REDRAW: Duration = Duration::from_millis(100);

/// The interval at which finished lines are printed.
const PRINT: Duration = Duration::from_millis(50);

/// The progress of a run: a live view on a terminal, else lines. It is empty if events are printed.
pub(crate) struct Live {
    pub(super) view: Option<View>,
    pub(super) lines: Option<PlainLines>,
    pub(super) printer: Printer,
}

pub(super) struct View {
    bar: ProgressBar,
    stage: Arc<Mutex<Stage>>,
    /// Prints the lines that stay on the screen.
    print: Box<dyn Fn(&str) + Send + Sync>,
    /// Hides `^C` while lines are drawn on a real terminal.
    hidden_controls: Mutex<Option<HiddenControls>>,
}

/// The content of the screen.
struct Stage {
    board: StepLines,
    /// The number of open suspensions of the view.
    suspended: usize,
    /// The number of suspensions that no longer hide the view. The run drains, so their questions are withdrawn.
    withdrawn: usize,
    /// Lines about ended steps that are drawn, but not printed yet, because many steps may end within a moment.
    pending: Vec<String>,
    /// The time of the last printing, by the view's clock.
    printed: Duration,
    /// The time between the start of the view and the last moment at which the time of the run was known.
    offset: Duration,
    /// The time of the run at that moment.
    ahead: Duration,
    is_over: bool,
}

impl Stage {
    /// The time of the run when the view has run for `elapsed`.
    fn run_time(&self, elapsed: Duration) -> Duration {
        elapsed
            .saturating_sub(self.offset)
            .saturating_add(self.ahead)
    }
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
        mut board: StepLines,
        format: RunFormat,
        progress: Progress,
        printer: Printer,
    ) -> Arc<Self> {
        let reports_events = format == RunFormat::Events;
        let is_drawn = progress == Progress::Auto && !reports_events && Printer::is_watched();
        let (view, lines) = if is_drawn {
            board.limit_columns(Printer::status_width);
            let print = Box::new(move |line: &str| printer.status(line));
            let view = View::new(ProgressDrawTarget::stderr(), print, board, printer);
            *view.hidden_controls() = HiddenControls::new();
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

    /// The plan is complete.
    pub(crate) fn mark_written(&self) {
        self.change(StepLines::mark_written);
    }

    /// Restarts the view for another plan that replaces the current one.
    pub(crate) fn restart(&self) {
        // Lines of ended steps stay above later messages.
        self.suspend(|| ());
        self.change(StepLines::restart);
    }

    fn change(&self, change: impl FnOnce(&mut StepLines)) {
        match (&self.view, &self.lines) {
            (Some(view), _) => change(&mut lock(&view.stage).board),
            (None, Some(lines)) => lines.change(change),
            (None, None) => {}
        }
    }

    /// The view of a run of `plan` that another process drives.
    pub(crate) fn watching(plan: &CheckedPlan, printer: Printer) -> Arc<Self> {
        let mut board = StepLines::new(plan);
        board.watch();
        let progress = if Printer::is_watched() {
            Progress::Auto
        } else {
            Progress::Plain
        };
        Self::with(board, RunFormat::Text, progress, printer)
    }

    /// Sets the expected time that the run has left.
    pub(crate) fn expect(&self, time_left: Option<TimeLeft>) {
        self.change(|board| board.expect(time_left));
    }

    /// Reports that the run drains: nothing new starts, and calls in flight are cancelled after `limit`.
    pub(crate) fn drain(&self, limit: Duration) {
        let in_flight = match (&self.view, &self.lines) {
            (Some(view), _) => view.in_flight(),
            (None, Some(lines)) => lines.in_flight(),
            (None, None) => None,
        };
        let seconds = limit.as_secs_f64();
        let line = match in_flight {
            Some(calls) => format!(
                "interrupted: nothing new starts, and {calls} will be cancelled after {seconds}s; press Ctrl-C again to cancel now"
            ),
            None => {
                "interrupted: nothing new starts; press Ctrl-C again to cancel the calls in flight"
                    .to_owned()
            }
        };
        let line = match &self.view {
            Some(_) => filled(&line, Printer::status_width(), 2),
            None => line,
        };
        // An open question, which is withdrawn now, has left the cursor within a line.
        let is_asking = self.view.as_ref().is_some_and(View::is_suspended);
        if let Some(view) = &self.view
            && !is_asking
        {
            // The steps that have ended stay above the message.
            view.print(lock(&view.stage));
        }
        let start = if is_asking { "\n" } else { "" };
        self.suspend(|| self.printer.quote(&format!("{start}{line}")));
        if let Some(view) = &self.view {
            view.drain(limit);
        }
    }

    /// Applies entries of the journal of `run`, which another process drives. `now` is the time of the run. `is_past` is true if the
    /// entries were written before the view began.
    pub(crate) fn entries(&self, run: &RunId, entries: &[Entry], now: Duration, is_past: bool) {
        if let Some(view) = &self.view {
            view.entries(run, entries, now, is_past);
        }
        for entry in entries {
            let line = self
                .lines
                .as_ref()
                .and_then(|lines| lines.entry(run, entry));
            if let Some(line) = line.filter(|_| !is_past) {
                self.printer.status(&line);
            }
        }
    }

    /// Applies an event. Never waits for a person.
    pub(crate) fn event(&self, event: &StampedEvent) {
        if let Some(view) = &self.view {
            view.event(event);
        }
        for line in self.lines.iter().flat_map(|lines| lines.event(event)) {
            self.printer.status(&line);
        }
    }

    /// Hides the view while `status` uses the terminal. Events that arrive meanwhile are shown afterwards.
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

    /// Prints the short id of a stored run at its start, which other commands take.
    pub(crate) fn announce(&self, id: &RunId) {
        if self.view.is_some() {
            let line = styled(DIM, format!("run {}", store::short_id(id)));
            self.suspend(|| self.printer.status(&line));
        }
    }

    /// Prints the summary of the run; `is_stored` is true if other processes can decide about it.
    pub(crate) fn summary(&self, summary: &RunSummary, is_stored: bool) {
        self.finish();
        let text = summary_text(summary, is_stored);
        let text = text.trim_end();
        match &self.view {
            Some(_) => self.printer.status(&fitted(text, Printer::status_width())),
            None => self.printer.status(text),
        }
        // Other outcomes end with a command that names the run.
        if is_stored && summary.status == RunStatus::Succeeded {
            let line = format!("run {}", store::short_id(&summary.run));
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
            withdrawn: 0,
            pending: Vec::new(),
            printed: Duration::ZERO,
            offset: Duration::ZERO,
            ahead: Duration::ZERO,
            is_over: false,
        }));
        let coloured = printer.colours_status();
        let drawn = Arc::clone(&stage);
        let lines = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let stage = lock(&drawn);
            if stage.suspended <= stage.withdrawn && !stage.is_over {
                let now = stage.run_time(state.elapsed());
                let mut lines = stage.pending.clone();
                let (width, rows) = (Printer::status_width(), Printer::status_height());
                lines.extend(stage.board.lines(now, width, rows));
                let _ = out.write_str(&shown(&lines.join("\n"), coloured));
            }
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{steps}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .with_key("steps", lines);
        bar.set_style(style);
        bar.enable_steady_tick(REDRAW);
        Self {
            bar,
            stage,
            print,
            hidden_controls: Mutex::default(),
        }
    }

    fn hidden_controls(&self) -> MutexGuard<'_, Option<HiddenControls>> {
        self.hidden_controls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn is_suspended(&self) -> bool {
        0 < lock(&self.stage).suspended
    }

    /// The calls in flight, if there are any.
    fn in_flight(&self) -> Option<String> {
        let stage = lock(&self.stage);
        (0 < stage.board.calls()).then(|| stage.board.in_flight())
    }

    /// Shows that the run drains for `limit` from now.
    fn drain(&self, limit: Duration) {
        let now = self.bar.elapsed();
        let mut stage = lock(&self.stage);
        let end = stage.run_time(now).saturating_add(limit);
        stage.board.drain(end);
        stage.withdrawn = stage.suspended;
        drop(stage);
        self.bar.enable_steady_tick(REDRAW);
    }

    /// Applies entries of the journal of `run`, whose time is `now`. `is_past` is true if they are older than the view.
    fn entries(&self, run: &RunId, entries: &[Entry], now: Duration, is_past: bool) {
        let elapsed = self.bar.elapsed();
        let mut stage = lock(&self.stage);
        (stage.offset, stage.ahead) = (elapsed, now);
        for entry in entries {
            let line = stage.board.entry(run, entry);
            stage.pending.extend(line.filter(|_| !is_past));
        }
        self.print(stage);
    }

    fn event(&self, event: &StampedEvent) {
        // The bar locks the stage while it draws, so the bar must not be called while the stage is locked.
        let now = self.bar.elapsed();
        let mut stage = lock(&self.stage);
        if matches!(event.event, RunEvent::RunStarted { .. }) {
            // A resumed run goes on from the time that it has used.
            (stage.offset, stage.ahead) = (now, event.at);
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
        stage.withdrawn = stage.withdrawn.min(stage.suspended);
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
        self.hidden_controls().take();
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

/// Locks the screen. A panic of another thread is ignored, because the state has no invariant that it could break.
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
        let lines = Self::without_plan(printer);
        lines.grow(plan);
        lines
    }

    /// The lines of a run whose plan is still being written.
    pub(crate) fn without_plan(printer: Printer) -> Self {
        let mut board = StepLines::default();
        if Printer::is_watched() {
            board.limit_columns(|| Printer::status_width().saturating_sub(2));
        }
        Self {
            board: Mutex::new(board),
            printer,
        }
    }

    /// Adds steps to the plan.
    pub(crate) fn grow(&self, plan: &CheckedPlan) {
        self.board().grow(plan);
    }

    /// Restarts the view for another plan that replaces the current one.
    pub(crate) fn restart(&self) {
        self.board().restart();
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
