//! The driver: the loop that feeds calls, timers, decisions and commands of the caller into a run. Calls wait for the [write-ahead
//! gate](super::gate) until their intents are stored in the journal.
//!
//! Design: [A call waits for the journal, the step before it does not](https://github.com/planwright/planwright/blob/main/docs/design/journal.md#a-call-waits-for-the-journal-the-step-before-it-does-not).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::Hashing;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::gate::{JournalGate, PendingCall, ReleasedWork, next_commit_of};
use super::handle::RunCommand;
use super::in_flight::{InFlightCalls, OpenQuestions};
use super::timers::{Timers, wait_until};
use crate::approval::{ApprovalRequest, Approver};
use crate::backend::{RetryAdvice, ToolBackend, ToolError};
use crate::durations::{Durations, SharedDurations};
use crate::event::{RunEvent, StampedEvent};
use crate::journal::{JournalError, Record};
use crate::run::{Effect, RunInput, RunMachine, RunStatus, RunSummary};
use crate::schedule::{TaskId, Timer};

/// The time that a run may compute before it yields to other tasks and reads new input.
const TIME_SLICE: Duration = Duration::from_millis(20);

/// The maximum time for which a run that is handed over waits for its calls: a time that the clock can represent.
const MAX_HAND_OVER: Duration = Duration::from_hours(24);

/// The minimum time between two reports of progress to the listeners of a run: a tool may report far more often.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Drives one run to its end.
pub(crate) struct Driver {
    run: RunMachine,
    /// The journal, if the run has one.
    journal: Option<JournalGate>,
    journal_error: Option<JournalError>,
    started: Instant,
    /// The total time for which earlier processes drove the run.
    earlier_time: Duration,
    approver: Arc<dyn Approver>,
    durations: SharedDurations,
    /// Durations to report, if they differ from those that the run decides by. A replay must reach the same decisions,
    /// so the run's own durations include the time that calls waited for the journal; these do not.
    reported_durations: Option<Durations>,
    /// The time that the latest call of each task waited for the journal.
    journal_waits: HashMap<TaskId, Duration, Hashing>,
    events: Vec<mpsc::UnboundedSender<StampedEvent>>,
    commands: mpsc::UnboundedReceiver<RunCommand>,
    calls: InFlightCalls,
    questions: OpenQuestions,
    /// Notified when a question to a person ends, of the run or of a tool.
    question_closed: Arc<Notify>,
    timers: Timers,
    /// The time limits of whole steps: the time when the limit was set, and the limit.
    step_limits: HashMap<TaskId, (Instant, Duration), Hashing>,
    /// True if calls have ended since the timers were last checked.
    calls_ended: bool,
    /// Notified when a call reports progress.
    progress_reported: Arc<Notify>,
    /// The time of the next report of progress to listeners, if a call has reported some.
    progress_due: Option<Instant>,
    /// The time of the latest one.
    progress_sent: Option<Instant>,
    /// The time at which a draining run is cancelled.
    drain_end: Option<Instant>,
    /// The time at which a run that is handed over waits no longer for its calls. Nothing new starts once it is set.
    hand_over_end: Option<Instant>,
    /// The start of the current uninterrupted computation.
    computing_since: Option<Instant>,
    effects: Vec<Effect>,
}

impl Driver {
    pub(crate) fn new(
        run: RunMachine,
        journal: Option<JournalGate>,
        backend: Arc<dyn ToolBackend>,
        approver: Arc<dyn Approver>,
        durations: SharedDurations,
        events: Vec<mpsc::UnboundedSender<StampedEvent>>,
        commands: mpsc::UnboundedReceiver<RunCommand>,
    ) -> Self {
        let question_closed = Arc::new(Notify::new());
        let progress_reported = Arc::new(Notify::new());
        let watched = (!events.is_empty()).then(|| Arc::clone(&progress_reported));
        Self {
            earlier_time: run.now(),
            reported_durations: journal.is_some().then(|| run.durations().clone()),
            journal_waits: HashMap::default(),
            run: run.with_time_slices(),
            journal,
            journal_error: None,
            started: Instant::now(),
            approver,
            durations,
            events,
            commands,
            calls: InFlightCalls::new(backend, Arc::clone(&question_closed), watched),
            questions: OpenQuestions::new(Arc::clone(&question_closed)),
            question_closed,
            timers: Timers::default(),
            step_limits: HashMap::default(),
            calls_ended: false,
            progress_reported,
            progress_due: None,
            progress_sent: None,
            drain_end: None,
            hand_over_end: None,
            computing_since: None,
            effects: Vec::new(),
        }
    }

    /// Drives the run until it ends or only people can continue it. A run that `is_cancelled` starts nothing.
    pub(crate) async fn drive(mut self, is_cancelled: bool) -> RunSummary {
        // If the caller has dropped its receiver, no events are created.
        self.events.retain(|listener| !listener.is_closed());
        if self.events.is_empty() {
            self.run.set_no_listeners(true);
            self.calls.ignore_progress();
        }
        self.run.start(&mut self.effects);
        self.apply(is_cancelled.then_some(RunInput::Cancel));
        loop {
            self.proceed();
            self.execute_effects();
            if self.run.is_busy() {
                self.pause().await;
                continue;
            }
            if self.run.is_done() {
                break;
            }
            if self
                .hand_over_end
                .is_some_and(|end| end <= Instant::now() || !self.has_calls())
            {
                return self.leave().await;
            }
            // Pending questions are asked once they are stored, so the run is not done with them.
            let has_pending_questions = self
                .journal
                .as_ref()
                .is_some_and(JournalGate::has_pending_questions);
            // They are asked together, once the run has nothing to compute: a person decides about all items of a loop, not about those that
            // came first.
            if !has_pending_questions {
                self.questions.begin();
            }
            if self.run.waits_for_people() && !self.questions.any_open() && !has_pending_questions {
                break;
            }
            // A checked plan never gets stuck. If a defect causes it nevertheless, an error is better than waiting forever.
            if self.run.is_stuck() {
                self.apply(Some(RunInput::EndAsStuck));
                continue;
            }
            self.wait_for_input().await;
        }
        // Steps that arrive from here on would never run, so `extend` must fail.
        self.commands.close();
        self.calls.shutdown().await;
        let mut summary = self.run.summary();
        if let Some(durations) = self.reported_durations.take() {
            summary.durations = durations;
        }
        self.finish_journal(&mut summary).await;
        let event = StampedEvent {
            at: summary.duration,
            event: RunEvent::RunEnded {
                status: summary.status,
            },
        };
        self.broadcast(&event);
        summary
    }

    /// Returns true if calls are in flight, or wait for the store: their intents may be stored already, and a stored intent without an outcome
    /// is a call in doubt.
    fn has_calls(&self) -> bool {
        let journal = self.journal.as_ref();
        !self.calls.is_empty() || journal.is_some_and(JournalGate::has_pending_calls)
    }

    /// Leaves the run to another process: what is known is stored, without an end.
    async fn leave(mut self) -> RunSummary {
        self.commands.close();
        self.calls.shutdown().await;
        let mut summary = self.run.summary();
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.finish().await
        {
            self.journal_error.get_or_insert(error);
        }
        summary.is_handed_over = true;
        summary.journal_error = self.journal_error.take();
        summary
    }

    /// Records the final status and waits until everything is stored.
    async fn finish_journal(&mut self, summary: &mut RunSummary) {
        if let Some(journal) = &mut self.journal {
            let status = summary.status;
            journal.add_record(summary.duration, Record::Ended { status });
            journal.end_turn();
            if let Err(error) = journal.finish().await {
                self.journal_error.get_or_insert(error);
            }
        }
        if let Some(error) = self.journal_error.take() {
            summary.status = RunStatus::Failed;
            summary.journal_error = Some(error);
        }
    }

    /// Executes the effects that the run has asked for, in order.
    fn execute_effects(&mut self) {
        // The buffer is put back afterwards, because every turn needs one.
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Emit(event) => self.broadcast(&event),
                Effect::Learn { task, tool, took } => {
                    let waited = self.journal_waits.remove(&task).unwrap_or_default();
                    // The wait for the journal does not count as a duration of the tool.
                    let took = took.saturating_sub(waited);
                    self.durations
                        .lock()
                        .observe(&tool.server, &tool.name, took);
                    if let Some(durations) = &mut self.reported_durations {
                        durations.observe(&tool.server, &tool.name, took);
                    }
                }
                Effect::AppendRecord { at, record } => {
                    if let Some(journal) = &mut self.journal {
                        journal.add_record(at, *record);
                    }
                }
                Effect::Call {
                    task,
                    attempt,
                    call,
                } => match &mut self.journal {
                    // Write-ahead: the intent must be stored before the call can have an effect.
                    Some(journal) => journal.delay_call(task, attempt, call, self.run.now()),
                    None => self.calls.start(task, attempt, call),
                },
                Effect::Abort(task) => {
                    if let Some(journal) = &mut self.journal {
                        journal.withdraw(task);
                    }
                    self.calls.abort(task);
                    self.questions.withdraw(task);
                }
                Effect::Ask { task, request } => match &mut self.journal {
                    // Another process may decide, and it finds only stored questions.
                    Some(journal) => journal.delay_question(task, request),
                    None => self.ask(task, *request),
                },
                // A call that completed inline needs no timer.
                Effect::SetTimer {
                    task,
                    timer: Timer::Attempt(_),
                    ..
                } if self.calls.completed_inline(task) => {}
                // Neither does a call that is not sent yet: its timer is set when it is sent.
                Effect::SetTimer {
                    task,
                    timer: Timer::Attempt(_),
                    after,
                } if self
                    .journal
                    .as_mut()
                    .is_some_and(|journal| journal.delay_timer(task, after)) => {}
                Effect::SetTimer { task, timer, after } => {
                    if timer == Timer::Step {
                        self.step_limits.insert(task, (Instant::now(), after));
                    }
                    self.timers.set(task, timer, after);
                }
                Effect::ClearTimer(task, timer) => {
                    self.remove_limit(task, timer);
                    self.timers.clear(task, timer);
                }
            }
        }
        self.effects = effects;
        if let Some(journal) = &mut self.journal {
            journal.end_turn();
        }
    }

    /// Sends an event to all listeners, and removes those that were dropped.
    fn broadcast(&mut self, event: &StampedEvent) {
        self.events
            .retain(|listener| listener.send(event.clone()).is_ok());
        self.run.set_no_listeners(self.events.is_empty());
    }

    /// Sends a call whose intent is stored. Its time limit starts now.
    fn send_pending(&mut self, task: TaskId, pending: PendingCall) {
        // The time that the journal took must not count as a duration of the tool.
        let waited = self.now().saturating_sub(pending.decided);
        self.journal_waits.insert(task, waited);
        self.calls.start(task, pending.attempt, pending.call);
        if let Some(after) = pending.timeout
            && !self.calls.completed_inline(task)
        {
            let timer = Timer::Attempt(pending.attempt);
            self.effects.push(Effect::SetTimer { task, timer, after });
        }
    }

    fn ask(&mut self, task: TaskId, request: ApprovalRequest) {
        self.questions
            .add(task, Arc::clone(&self.approver), request);
    }

    fn now(&self) -> Duration {
        self.earlier_time + self.started.elapsed()
    }

    /// Lets the run work until it is idle or its time slice is over.
    fn proceed(&mut self) {
        loop {
            if self.hand_over_end.is_some() {
                // The consequences of outcomes are computed, and no step starts.
                self.run.execute_commands(&mut self.effects);
            } else {
                self.run.proceed(&mut self.effects);
            }
            if !self.run.is_busy() || self.is_slice_over() {
                return;
            }
        }
    }

    fn is_slice_over(&mut self) -> bool {
        let since = self.computing_since.get_or_insert_with(Instant::now);
        since.elapsed() >= TIME_SLICE
    }

    /// Yields to other tasks, then applies the input that arrived while the run was computing.
    async fn pause(&mut self) {
        self.computing_since = None;
        tokio::task::yield_now().await;
        let mut is_paused = false;
        while let Some(input) = self.next_input(false).await {
            // A pause without input is not recorded, because it has no consequence.
            if !is_paused {
                self.run.pause(&mut self.effects);
                is_paused = true;
            }
            self.apply(Some(input));
        }
        if is_paused {
            self.run.resume_work(&mut self.effects);
        }
    }

    /// Waits for the next input, then applies everything that is available, so that the best ready task starts next.
    async fn wait_for_input(&mut self) {
        self.computing_since = None;
        // Completed calls are applied before expired timers. But calls that complete inline may follow each other without end, so after
        // some of them the timers are checked first.
        if std::mem::take(&mut self.calls_ended)
            && let Some((task, timer)) = self.timers.try_next()
            && let Some(input) = self.on_timer_expired(task, timer)
        {
            self.apply(Some(input));
            return;
        }
        let input = if self.has_only_completed_calls() {
            self.calls.next().await.map(RunInput::from)
        } else {
            self.next_input(true).await
        };
        self.apply(input);
        if self.journal.is_some() {
            // Each turn costs a commit, which calls that are about to end can share.
            tokio::task::yield_now().await;
        }
        // If the results take too long to apply, the rest is read when the run pauses.
        while !self.run.is_busy()
            && let Some(ended) = self.calls.try_next()
        {
            self.apply(Some(RunInput::from(ended)));
        }
    }

    /// Returns true if the next input is a call that completed inline. Then nothing else needs to be polled, which would cost about as much
    /// as such a call.
    fn has_only_completed_calls(&self) -> bool {
        self.journal.is_none()
            && self.calls.has_completed_inline()
            && self.commands.is_empty()
            && !self.commands.is_closed()
    }

    /// The next input, or `None` if the event does not concern the run. Without `may_wait`, only input that is already
    /// available is returned.
    async fn next_input(&mut self, may_wait: bool) -> Option<RunInput> {
        tokio::select! {
            // Commands come first, so a flood of results cannot delay a cancellation.
            biased;
            command = self.commands.recv() => match command {
                Some(RunCommand::Extend(plan)) => Some(RunInput::Extend(plan)),
                Some(RunCommand::Drain(limit)) => Some(self.drain(limit)),
                Some(RunCommand::HandOver(limit)) => {
                    self.hand_over(limit);
                    None
                }
                Some(RunCommand::Cancel) => Some(RunInput::Cancel),
                // The handle is gone, so nothing can add steps or complete the plan any more.
                None if !may_wait => None,
                None if self.run.is_provisional() => Some(RunInput::Cancel),
                Some(RunCommand::Close) | None => Some(RunInput::Close),
            },
            released = next_commit_of(self.journal.as_mut()) => self.on_commit(released),
            ended = self.calls.next(), if !self.calls.is_empty() => ended.map(RunInput::from),
            decided = self.questions.next(), if !self.questions.is_empty() => {
                decided.map(|(task, decision)| RunInput::Decided { task, decision })
            }
            () = self.question_closed.notified() => {
                self.resume_timers();
                None
            }
            Some((task, timer)) = self.timers.next(), if !self.timers.is_empty() => {
                self.on_timer_expired(task, timer)
            }
            () = wait_until(self.drain_end), if self.drain_end.is_some() => {
                self.drain_end = None;
                Some(RunInput::Cancel)
            }
            () = wait_until(self.hand_over_end), if self.hand_over_end.is_some() => None,
            () = self.progress_reported.notified(), if self.progress_due.is_none() && !self.events.is_empty() => {
                let now = Instant::now();
                let earliest = self.progress_sent.map_or(now, |sent| sent + PROGRESS_INTERVAL);
                self.progress_due = Some(now.max(earliest));
                None
            }
            () = wait_until(self.progress_due), if self.progress_due.is_some() => {
                self.report_progress();
                None
            }
            () = std::future::ready(()), if !may_wait => None,
        }
    }

    /// Sets the time at which the draining run is cancelled, unless an earlier one is set.
    fn drain(&mut self, limit: Duration) -> RunInput {
        // A limit that the clock cannot represent is no limit.
        if let Some(end) = Instant::now().checked_add(limit) {
            self.drain_end = Some(self.drain_end.map_or(end, |earlier| earlier.min(end)));
        }
        RunInput::Drain
    }

    /// Sets the time at which the run that is handed over waits no longer, unless an earlier one is set.
    fn hand_over(&mut self, limit: Duration) {
        let end = Instant::now() + limit.min(MAX_HAND_OVER);
        self.hand_over_end = Some(self.hand_over_end.map_or(end, |earlier| earlier.min(end)));
    }

    /// Passes the progress of calls in flight to the listeners.
    fn report_progress(&mut self) {
        self.progress_due = None;
        self.progress_sent = Some(Instant::now());
        let now = self.now();
        for (task, progress) in self.calls.take_progress() {
            self.run
                .emit_progress(task, progress, now, &mut self.effects);
        }
    }

    /// Returns the input for an expired timer. Returns `None` if time is left, so that the timer is set again, or if an open question
    /// suspends it.
    fn on_timer_expired(&mut self, task: TaskId, timer: Timer) -> Option<RunInput> {
        match self.remaining(task, timer) {
            Some(Duration::ZERO) => {
                self.remove_limit(task, timer);
                return Some(
                    match timer {
                        Timer::Attempt(attempt) => self.explained_timeout(task, attempt),
                        Timer::Pause(_) | Timer::Step | Timer::Run => None,
                    }
                    .unwrap_or(RunInput::TimerFired(task, timer)),
                );
            }
            Some(rest) => self.timers.set(task, timer, rest),
            None => self.timers.suspend(task, timer),
        }
        None
    }

    /// Ends an attempt that exceeded its limit, if its backend can explain that. The explanation is known in this process alone, so the
    /// journal gets it as the end of the call.
    fn explained_timeout(&mut self, task: TaskId, attempt: u32) -> Option<RunInput> {
        let reason = self.calls.silence(task)?;
        self.calls.abort(task);
        let limit = self.run.attempt_timeout().unwrap_or_default();
        let error = ToolError {
            retry: RetryAdvice::Uncertain,
            ..ToolError::timeout(limit, Some(&reason))
        };
        Some(RunInput::AttemptEnded {
            task,
            attempt,
            result: Err(error),
        })
    }

    /// Sets those suspended timers again that are no longer affected by an open question.
    fn resume_timers(&mut self) {
        for (task, timer) in self.timers.take_suspended() {
            match self.remaining(task, timer) {
                // A limit that is exceeded already fires as soon as the timers are polled.
                Some(rest) => self.timers.set(task, timer, rest),
                None => self.timers.suspend(task, timer),
            }
        }
    }

    /// Returns the minimum time until the limit of an expired timer can be exceeded; `None` while an open question suspends it. Progress of
    /// a tool restarts the limit of its call, and the time of questions to people does not count.
    fn remaining(&self, task: TaskId, timer: Timer) -> Option<Duration> {
        match timer {
            Timer::Attempt(_) => {
                let limit = self.run.attempt_timeout().unwrap_or_default();
                self.calls.remaining(task, limit)
            }
            Timer::Step => self.remaining_step(task),
            Timer::Pause(_) | Timer::Run => Some(Duration::ZERO),
        }
    }

    /// Returns the minimum time until the limit of step `task` can be exceeded; `None` while a question about any part of the step is open.
    /// The time of such questions does not count. Overlapping questions are subtracted once.
    fn remaining_step(&self, task: TaskId) -> Option<Duration> {
        let Some((begun, limit)) = self.step_limits.get(&task).copied() else {
            return Some(Duration::ZERO);
        };
        let mut open = self.calls.paused().chain(self.questions.open());
        if open.any(|part| self.run.is_within(part, task)) {
            return None;
        }
        let now = Instant::now();
        let questions = self.calls.pauses().chain(self.questions.closed());
        let mut questions: Vec<_> = questions
            .filter(|(part, _, end)| *end > begun && self.run.is_within(*part, task))
            .map(|(_, start, end)| (start.max(begun), end))
            .collect();
        questions.sort_unstable();
        let (mut paused, mut until) = (Duration::ZERO, begun);
        for (start, end) in questions {
            paused += end.saturating_duration_since(start.max(until));
            until = until.max(end);
        }
        let counted = now.saturating_duration_since(begun).saturating_sub(paused);
        Some(limit.saturating_sub(counted))
    }

    fn remove_limit(&mut self, task: TaskId, timer: Timer) {
        if timer == Timer::Step {
            self.step_limits.remove(&task);
        }
    }

    /// Sends the calls whose intents are stored now. If the journal has failed, the run is cancelled: no call may be
    /// sent without a stored intent.
    fn on_commit(&mut self, released: Result<ReleasedWork, JournalError>) -> Option<RunInput> {
        match released {
            Ok(released) => {
                for (task, pending) in released.calls {
                    self.send_pending(task, pending);
                }
                for (task, request) in released.questions {
                    self.ask(task, *request);
                }
                None
            }
            Err(error) => {
                self.journal = None;
                self.journal_error = Some(error);
                Some(RunInput::Cancel)
            }
        }
    }

    /// Applies an input, with the commands that follow from it.
    fn apply(&mut self, input: Option<RunInput>) {
        if let Some(input) = input {
            let now = self.now();
            self.calls_ended |= matches!(input, RunInput::AttemptEnded { .. });
            self.run.handle(input, now, &mut self.effects);
            while self.run.is_busy() && !self.run.is_paused() && !self.is_slice_over() {
                self.run.execute_commands(&mut self.effects);
            }
        }
    }
}
