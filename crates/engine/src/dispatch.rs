//! The driver: the one loop in which calls, timers, decisions and the caller's wishes meet.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::stream::StreamExt;
use planwright_core::Hashing;
use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::{Expired, Key};

use crate::approval::{ApprovalRequest, Approver};
use crate::backend::ToolBackend;
use crate::calls::{Calls, Ended};
use crate::durations::Durations;
use crate::engine::SharedDurations;
use crate::event::{RunEvent, StampedEvent};
use crate::execute;
use crate::journal::{JournalError, Record};
use crate::keeping::{HeldCall, Keeping, Released};
use crate::questions::Questions;
use crate::run::{Effect, Input, Run, RunStatus, RunSummary};
use crate::schedule::{TaskId, Timer};

/// What the caller of a run may want while it goes on.
#[derive(Debug)]
pub(crate) enum Wish {
    Extend(CheckedPlan),
    Close,
    Cancel,
}

/// The longest that a timer is set for at once. The queue takes some two years from when it last fired, and panics beyond
/// that; of a longer time the rest is set once this much of it is over.
const LONGEST_TIMER: Duration = Duration::from_hours(30 * 24);

/// How long a run computes before it lets others have their turn, and looks at what has happened meanwhile.
const TURN: Duration = Duration::from_millis(20);

/// Drives a run to its end.
pub(crate) struct Dispatch {
    run: Run,
    /// Where what happens is kept, if anywhere.
    keeping: Option<Keeping>,
    unkept: Option<JournalError>,
    started: Instant,
    /// How long earlier processes had driven the run.
    before: Duration,
    approver: Arc<dyn Approver>,
    durations: SharedDurations,
    /// What the run tells of durations, where that is not what it goes by: it must decide the same when it is told the same, so what it
    /// goes by includes how long calls waited for the journal.
    learned: Option<Durations>,
    /// How long the latest call of each task waited for the journal.
    waited: HashMap<TaskId, Duration, Hashing>,
    events: Vec<mpsc::UnboundedSender<StampedEvent>>,
    wishes: mpsc::UnboundedReceiver<Wish>,
    calls: Calls,
    questions: Questions,
    /// Each with what is left of its time after it fires.
    timers: DelayQueue<(TaskId, Timer, Duration)>,
    timer_keys: HashMap<(TaskId, Timer), Key, Hashing>,
    /// Whether calls have ended since timers were looked at.
    heard_calls: bool,
    /// Since when the run has been computing without a break, where that has taken a while.
    computing: Option<Instant>,
    effects: Vec<Effect>,
}

impl Dispatch {
    pub(crate) fn new(
        run: Run,
        keeping: Option<Keeping>,
        backend: Arc<dyn ToolBackend>,
        approver: Arc<dyn Approver>,
        durations: SharedDurations,
        events: Vec<mpsc::UnboundedSender<StampedEvent>>,
        wishes: mpsc::UnboundedReceiver<Wish>,
    ) -> Self {
        Self {
            before: run.now(),
            learned: keeping.is_some().then(|| run.durations().clone()),
            waited: HashMap::default(),
            run: run.in_stretches(),
            keeping,
            unkept: None,
            started: Instant::now(),
            approver,
            durations,
            events,
            wishes,
            calls: Calls::new(backend),
            questions: Questions::default(),
            timers: DelayQueue::new(),
            timer_keys: HashMap::default(),
            heard_calls: false,
            computing: None,
            effects: Vec::new(),
        }
    }

    /// Runs to the end, or until only people can help. A run that `is_cancelled` starts nothing.
    pub(crate) async fn drive(mut self, is_cancelled: bool) -> RunSummary {
        self.events.retain(|listener| !listener.is_closed());
        self.run.unheard = self.events.is_empty();
        self.run.start(&mut self.effects);
        self.take_in(is_cancelled.then_some(Input::Cancel));
        loop {
            self.proceed();
            self.carry_out();
            if self.run.is_busy() {
                self.pause().await;
                continue;
            }
            if self.run.is_done() {
                break;
            }
            let holds_questions = self.keeping.as_ref().is_some_and(Keeping::holds_questions);
            if self.run.waits_for_people() && !self.questions.are_open() && !holds_questions {
                break;
            }
            if self.run.is_stuck() {
                self.take_in(Some(Input::GiveUp));
                continue;
            }
            self.listen().await;
        }
        // Steps that come from now on would never run: whoever brings them is told so.
        self.wishes.close();
        self.calls.leave().await;
        let mut summary = self.run.summary();
        if let Some(learned) = self.learned.take() {
            summary.durations = learned;
        }
        self.keep_end(&mut summary).await;
        let event = StampedEvent {
            at: summary.duration,
            event: RunEvent::RunEnded {
                status: summary.status,
            },
        };
        self.tell(&event);
        summary
    }

    /// Writes down how the run stands, and waits until everything is kept.
    async fn keep_end(&mut self, summary: &mut RunSummary) {
        if let Some(keeping) = &mut self.keeping {
            let status = summary.status;
            keeping.remember(summary.duration, Record::Ended { status });
            keeping.end_turn();
            if let Err(error) = keeping.finish().await {
                self.unkept.get_or_insert(error);
            }
        }
        if let Some(error) = self.unkept.take() {
            summary.status = RunStatus::Failed;
            summary.unkept = Some(error);
        }
    }

    fn now(&self) -> Duration {
        self.before + self.started.elapsed()
    }

    /// Lets the run do what it can, for a while.
    fn proceed(&mut self) {
        loop {
            self.run.proceed(&mut self.effects);
            if !self.run.is_busy() || self.has_computed_long() {
                return;
            }
        }
    }

    fn has_computed_long(&mut self) -> bool {
        let since = self.computing.get_or_insert_with(Instant::now);
        since.elapsed() >= TURN
    }

    /// Lets others have their turn, then tells the run what has happened while it was computing.
    async fn pause(&mut self) {
        self.computing = None;
        tokio::task::yield_now().await;
        let mut is_paused = false;
        while let Some(input) = self.next(false).await {
            if !is_paused {
                self.run.pause(&mut self.effects);
                is_paused = true;
            }
            self.take_in(Some(input));
        }
        if is_paused {
            self.run.go_on(&mut self.effects);
        }
    }

    /// Waits until something happens, then takes in all that has happened, so that what starts next is the best of all
    /// that may.
    async fn listen(&mut self) {
        self.computing = None;
        // An answer that is there goes before a timer that has run out. But where each turn brings more that are done at once, some
        // are always there.
        if std::mem::take(&mut self.heard_calls)
            && let Some(input) = self.due().await
        {
            self.take_in(Some(input));
            return;
        }
        let input = self.next(true).await;
        self.take_in(input);
        if self.keeping.is_some() {
            // Each turn costs a commit: calls that are about to end as well had better share it.
            tokio::task::yield_now().await;
        }
        // One thing after the other, unless that takes too long: then there is a better time to be told of the others.
        while !self.run.is_busy()
            && let Some(ended) = self.calls.try_next()
        {
            self.take_in(Some(Input::from(ended)));
        }
    }

    /// What happens next, or what has happened already. Nothing where that is nothing which the run has to be told.
    async fn next(&mut self, waits: bool) -> Option<Input> {
        tokio::select! {
            biased;
            wish = self.wishes.recv() => match wish {
                Some(Wish::Extend(plan)) => Some(Input::Extend(plan)),
                Some(Wish::Cancel) => Some(Input::Cancel),
                // Nobody is left who could add steps, or say that the plan is whole.
                None if !waits => None,
                None if self.run.is_tentative() => Some(Input::Cancel),
                Some(Wish::Close) | None => Some(Input::Close),
            },
            released = kept(self.keeping.as_mut()) => self.send(released),
            ended = self.calls.next(), if !self.calls.is_empty() => ended.map(Input::from),
            decided = self.questions.next(), if !self.questions.is_empty() => {
                decided.map(|(task, decision)| Input::Decided { task, decision })
            }
            Some(expired) = self.timers.next(), if !self.timers.is_empty() => {
                self.fired(expired)
            }
            () = std::future::ready(()), if !waits => None,
        }
    }

    /// A timer that has run out already.
    async fn due(&mut self) -> Option<Input> {
        if self.timers.is_empty() {
            return None;
        }
        let looked = poll_fn(|context| match self.timers.poll_expired(context) {
            Poll::Ready(expired) => Poll::Ready(expired),
            Poll::Pending => Poll::Ready(None),
        });
        looked.await.and_then(|expired| self.fired(expired))
    }

    /// What a timer that has run out means; nothing where it had been set for a part of its time.
    fn fired(&mut self, expired: Expired<(TaskId, Timer, Duration)>) -> Option<Input> {
        let (task, timer, rest) = expired.into_inner();
        self.timer_keys.remove(&(task, timer));
        let rest = if rest.is_zero() {
            self.left(task, timer)
        } else {
            rest
        };
        if rest.is_zero() {
            return Some(Input::TimerFired(task, timer));
        }
        self.set_timer(task, timer, rest);
        None
    }

    /// The least time until a limit whose timer has run out may be exceeded: progress of a tool restarts the limit of its call, and no
    /// limit counts the time in which a person is asked.
    fn left(&mut self, task: TaskId, timer: Timer) -> Duration {
        match timer {
            Timer::Attempt(_) => {
                let limit = self.run.attempt_timeout().unwrap_or_default();
                self.calls.left(task, limit)
            }
            Timer::Step => self.calls.take_paused(task),
            Timer::Pause(_) | Timer::Run => Duration::ZERO,
        }
    }

    /// Sends the calls that had to wait for the journal. Where the journal cannot keep what happens, nothing more may.
    fn send(&mut self, released: Result<Released, JournalError>) -> Option<Input> {
        match released {
            Ok(released) => {
                for (task, held) in released.calls {
                    self.send_held(task, held);
                }
                for (task, request) in released.questions {
                    self.ask(task, *request);
                }
                None
            }
            Err(error) => {
                self.keeping = None;
                self.unkept = Some(error);
                Some(Input::Cancel)
            }
        }
    }

    /// Sends a call that is kept now: from here on it takes time.
    fn send_held(&mut self, task: TaskId, held: HeldCall) {
        let waited = self.now().saturating_sub(held.decided);
        self.waited.insert(task, waited);
        self.calls.begin(task, held.attempt, *held.call);
        if let Some(after) = held.timeout
            && !self.calls.is_just_done(task)
        {
            let timer = Timer::Attempt(held.attempt);
            self.effects.push(Effect::SetTimer { task, timer, after });
        }
    }

    fn ask(&mut self, task: TaskId, request: ApprovalRequest) {
        let approver = Arc::clone(&self.approver);
        let decision = execute::decision(approver, request);
        self.questions.ask(task, decision.boxed());
    }

    fn take_in(&mut self, input: Option<Input>) {
        if let Some(input) = input {
            let now = self.now();
            self.heard_calls |= matches!(input, Input::AttemptEnded { .. });
            self.run.handle(input, now, &mut self.effects);
            while self.run.is_busy() && !self.run.is_paused() && !self.has_computed_long() {
                self.run.drain(&mut self.effects);
            }
        }
    }

    fn carry_out(&mut self) {
        // Its room is used again.
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Emit(event) => self.tell(&event),
                Effect::Learn { task, tool, took } => {
                    let waited = self.waited.remove(&task).unwrap_or_default();
                    let took = took.saturating_sub(waited);
                    self.durations
                        .lock()
                        .observe(&tool.server, &tool.name, took);
                    if let Some(learned) = &mut self.learned {
                        learned.observe(&tool.server, &tool.name, took);
                    }
                }
                Effect::Remember { at, record } => {
                    if let Some(keeping) = &mut self.keeping {
                        keeping.remember(at, *record);
                    }
                }
                Effect::Call {
                    task,
                    attempt,
                    call,
                } => match &mut self.keeping {
                    Some(keeping) => keeping.hold(task, attempt, call, self.run.now()),
                    None => self.calls.begin(task, attempt, *call),
                },
                Effect::Abort(task) => {
                    if let Some(keeping) = &mut self.keeping {
                        keeping.withdraw(task);
                    }
                    self.calls.abort(task);
                    self.questions.withdraw(task);
                }
                Effect::Ask { task, request } => match &mut self.keeping {
                    Some(keeping) => keeping.hold_question(task, request),
                    None => self.ask(task, *request),
                },
                // A call that is done as soon as it is made cannot take too long.
                Effect::SetTimer {
                    task,
                    timer: Timer::Attempt(_),
                    ..
                } if self.calls.is_just_done(task) => {}
                // Nor one that is not sent yet.
                Effect::SetTimer {
                    task,
                    timer: Timer::Attempt(_),
                    after,
                } if self
                    .keeping
                    .as_mut()
                    .is_some_and(|keeping| keeping.hold_timer(task, after)) => {}
                Effect::SetTimer { task, timer, after } => self.set_timer(task, timer, after),
                Effect::ClearTimer(task, timer) => {
                    if let Some(key) = self.timer_keys.remove(&(task, timer)) {
                        self.timers.try_remove(&key);
                    }
                }
            }
        }
        self.effects = effects;
        if let Some(keeping) = &mut self.keeping {
            keeping.end_turn();
        }
    }

    fn set_timer(&mut self, task: TaskId, timer: Timer, after: Duration) {
        let now = after.min(LONGEST_TIMER);
        let rest = after.saturating_sub(now);
        let key = self.timers.insert((task, timer, rest), now);
        if let Some(old) = self.timer_keys.insert((task, timer), key) {
            self.timers.try_remove(&old);
        }
    }

    fn tell(&mut self, event: &StampedEvent) {
        self.events
            .retain(|listener| listener.send(event.clone()).is_ok());
        self.run.unheard = self.events.is_empty();
    }
}

impl From<Ended> for Input {
    fn from(ended: Ended) -> Self {
        Self::AttemptEnded {
            task: ended.task,
            attempt: ended.attempt,
            result: ended.result,
        }
    }
}

/// Waits for the journal, for ever where there is nothing to wait for.
async fn kept(keeping: Option<&mut Keeping>) -> Result<Released, JournalError> {
    match keeping {
        Some(keeping) if keeping.is_busy() => keeping.next().await,
        _ => std::future::pending().await,
    }
}
