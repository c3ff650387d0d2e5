//! The run: the scheduler, the frames, and the rules that turn steps into tasks. As pure as the scheduler: time comes in
//! from outside, and whatever is to be done goes out.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::Step;
use planwright_core::{Diagnostic, Hashing, StepId, Tool};

use super::bind::Scope;
use super::effect::{Effect, Input};
use super::frame::{Frame, shared_slots};
use super::history::History;
use super::made::Made;
use super::redact::{Redactor, secret_inputs};
use super::work::{CallRecord, Work};
use crate::approval::Decision;
use crate::backend::{ErrorKind, ToolError};
use crate::durations::Durations;
use crate::event::{Address, RunEvent, StampedEvent};
use crate::guard::{Guard, WrittenBudget, written_bytes};
use crate::journal::Record;
use crate::options::{Arrival, RunOptions};
use crate::schedule::{Command, Event, Scheduler, TaskId, TaskState};

/// A run in progress, without clock and without IO.
#[derive(Debug)]
pub struct Run {
    pub(super) id: Arc<str>,
    pub(super) options: RunOptions,
    pub(super) scheduler: Scheduler,
    pub(super) frames: Vec<Frame>,
    /// How many of the frames are the run's own plan: one, or one for each instance.
    pub(super) roots: usize,
    pub(super) work: Vec<Work>,
    /// How many tasks there are, those of loops that have begun included that are yet to come.
    pub(super) promised: usize,
    pub(super) calls: Vec<CallRecord>,
    pub(super) warnings: RefCell<Vec<Diagnostic>>,
    pub(super) made: Made,
    /// The tools of which it was said that they do not give what they say that they give.
    pub(super) doubted: Vec<Arc<Tool>>,
    pub(super) shared: Arc<super::slots::Slots>,
    pub(super) growing: bool,
    /// Whether the plan may turn out to be none, so that only what changes nothing may start.
    pub(super) tentative: bool,
    pub(super) cancelled: bool,
    pub(super) given_up: bool,
    pub(super) guard: Guard,
    pub(super) written: WrittenBudget,
    /// Why the run ended before it was done, where its time was up.
    pub(super) out_of_time: Option<ToolError>,
    /// The step whose failure stopped the run.
    pub(super) stopped_by: Option<StepId>,
    pub(super) now: Duration,
    pub(super) redactor: Redactor,
    /// The digests of the definitions of tools that a person was asked about.
    pub(super) definitions: RefCell<Vec<(Arc<Tool>, Arc<str>)>>,
    /// In a replay: the places that the process asked about.
    pub(super) replayed_questions: Option<HashSet<Arc<Address>, Hashing>>,
    /// Whether nobody wants to hear what happens.
    pub(crate) unheard: bool,
    /// Whether what happens is to be kept in a journal.
    pub(super) remembers: bool,
    /// What earlier processes did.
    pub(super) history: Option<Arc<History>>,
    queue: VecDeque<Command>,
    scratch: Vec<Command>,
    /// How much is carried out in one go.
    pub(super) stretch: Stretch,
    /// How many commands were carried out since the run was last told something.
    carried: u64,
    /// Whether nothing is carried out now, since it is being told what happened meanwhile.
    paused: bool,
}

/// How much of what is to be done a run does in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stretch {
    /// All of it.
    All,
    /// A few commands, and of those that compute much one at a time, so that its driver can look at the clock.
    Short,
    /// Until so many commands were carried out since the run was last told something.
    Until(u64),
}

/// How many commands are carried out before the driver looks at the clock, where they compute little.
const SHORT: u64 = 16;

impl Run {
    /// A run of `plan`, not yet begun.
    pub fn new(id: impl Into<Arc<str>>, plan: CheckedPlan, options: RunOptions) -> Self {
        let secrets = secret_inputs(&plan)
            .into_iter()
            .chain(options.masked_texts());
        let redactor = Redactor::new(secrets);
        let mut written =
            WrittenBudget::new(options.guards.written_bytes.clone(), options.meter.clone());
        for value in plan.inputs().values() {
            written.receive(written_bytes(value));
        }
        let mut run = Self {
            id: id.into(),
            scheduler: Scheduler::new(options.limits.clone()),
            growing: options.arrival != Arrival::Complete,
            tentative: options.arrival == Arrival::Tentative,
            guard: Guard::new(options.guards.clone()),
            written,
            out_of_time: None,
            made: Made::new(options.computed_bytes),
            options,
            frames: Vec::new(),
            roots: 0,
            work: Vec::new(),
            promised: 0,
            calls: Vec::new(),
            warnings: RefCell::new(Vec::new()),
            doubted: Vec::new(),
            shared: Arc::new(shared_slots(&plan)),
            cancelled: false,
            given_up: false,
            stopped_by: None,
            now: Duration::ZERO,
            redactor,
            definitions: RefCell::new(Vec::new()),
            replayed_questions: None,
            unheard: false,
            remembers: false,
            history: None,
            queue: VecDeque::new(),
            scratch: Vec::new(),
            stretch: Stretch::All,
            carried: 0,
            paused: false,
        };
        run.open_roots(plan);
        run.promised = run.work.len();
        run
    }

    /// Lets [`proceed`](Self::proceed) return after a while though there is [more to do](Self::is_busy), so that the run can be
    /// [paused](Self::pause) while it computes.
    #[must_use]
    pub fn in_stretches(mut self) -> Self {
        self.stretch = Stretch::Short;
        self
    }

    /// Begins.
    pub fn start(&mut self, effects: &mut Vec<Effect>) {
        if let Some(frame) = self.frames.first() {
            let plan = frame.plan.clone();
            self.emit(effects, || RunEvent::RunStarted {
                run: Arc::clone(&self.id),
                plan: plan.plan().name.clone(),
                digest: Arc::from(plan.digest()),
                steps: plan.steps().len(),
            });
        }
        self.watch_time(effects);
        for frame in 0..self.roots {
            self.start_steps(frame, 0);
        }
        self.drain(effects);
    }

    /// Takes in what happened at `now`, counted from the start of the run. Call [`proceed`](Self::proceed) when all that
    /// happened at about the same time was taken in.
    pub fn handle(&mut self, input: Input, now: Duration, effects: &mut Vec<Effect>) {
        if self.matters(&input) {
            self.now = now;
        }
        if !self.paused {
            self.carried = 0;
        }
        match input {
            Input::AttemptEnded {
                task,
                attempt,
                result,
            } => self.attempt_ended(task, attempt, result, effects),
            Input::Decided { task, decision } => self.decided(task, decision, effects),
            Input::TimerFired(task, timer) => self.timer_fired(task, timer, effects),
            Input::Extend(plan) => {
                self.remember(effects, || {
                    Some(Record::Extended {
                        digest: Arc::from(plan.digest()),
                        steps: plan.steps().len(),
                    })
                });
                self.extend(plan, effects);
            }
            Input::Close => {
                if self.growing {
                    self.remember(effects, || Some(Record::Closed));
                }
                self.growing = false;
                self.start_held();
            }
            Input::Cancel => {
                self.remember(effects, || Some(Record::Cancelled));
                self.cancelled = true;
                self.growing = false;
                self.tell(Event::Cancel);
            }
            Input::GiveUp => {
                self.given_up = true;
                self.tell(Event::Cancel);
            }
        }
        self.drain(effects);
    }

    /// Whether anything follows from `input`. What nothing follows from is not kept, so no time that is may depend on it.
    fn matters(&self, input: &Input) -> bool {
        match input {
            Input::AttemptEnded { task, attempt, .. } => self.is_under_way(*task, *attempt),
            Input::Decided { task, decision } => {
                *decision != Decision::Later && self.scheduler.state(*task) == TaskState::Asking
            }
            Input::Close => self.growing,
            Input::TimerFired(..) | Input::Extend(_) | Input::Cancel | Input::GiveUp => true,
        }
    }

    /// Goes on with what is to be done, and starts whatever may start once all that is known. There may be [more](Self::is_busy)
    /// afterwards.
    pub fn proceed(&mut self, effects: &mut Vec<Effect>) {
        loop {
            self.drain(effects);
            if self.is_busy() {
                return;
            }
            self.scheduler.start_ready(&mut self.scratch);
            if self.scratch.is_empty() {
                return;
            }
            let calls = self.scratch.len();
            self.queue.extend(self.scratch.drain(..));
            // Whatever is said to start does, so that nothing can end it in between. A call that the guard does not let through gives its
            // place to another.
            for _ in 0..calls {
                self.carry_out_next(effects);
            }
        }
    }

    /// Whether there is more to do at once, without anything that it would have to be told.
    pub fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether what is to be done was [put off](Self::pause).
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Puts off what is to be done at once, so that the run can be told what has happened meanwhile. Where in its work that was is
    /// kept, since the same must be decided by whoever runs its journal again.
    pub fn pause(&mut self, effects: &mut Vec<Effect>) {
        let after = std::mem::take(&mut self.carried);
        self.remember(effects, || Some(Record::Paused { after }));
        self.paused = true;
    }

    /// Takes up again what was put off. Call [`proceed`](Self::proceed) then.
    pub fn go_on(&mut self, effects: &mut Vec<Effect>) {
        self.remember(effects, || Some(Record::WentOn));
        self.paused = false;
    }

    /// Whether the run has ended.
    pub fn is_done(&self) -> bool {
        self.scheduler.is_done() && !self.growing
    }

    /// Whether the plan may still turn out to be none.
    pub fn is_tentative(&self) -> bool {
        self.tentative
    }

    /// Whether nothing can happen before a person decides. Further steps may always happen to a run that grows.
    pub fn waits_for_people(&self) -> bool {
        self.scheduler.waits_for_people() && !self.growing
    }

    /// Whether nothing can ever happen any more though steps are left. It would be a defect of ours: the run then
    /// says so in place of waiting for ever.
    pub fn is_stuck(&self) -> bool {
        self.scheduler.is_stuck() && !self.growing && !self.is_busy()
    }

    /// The run's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The time of what the run was last told that mattered, counted from its start.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The limit of one attempt of a call.
    pub(crate) fn attempt_timeout(&self) -> Option<Duration> {
        self.options.attempt_timeout
    }

    /// How long calls take, for all that the run knows.
    pub(crate) fn durations(&self) -> &Durations {
        &self.options.durations
    }

    /// The plan as it is now.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.frames.first().map(|frame| &frame.plan)
    }

    /// Carries out what the scheduler asks for, and tells it what comes of it: all of it, or a stretch.
    pub(crate) fn drain(&mut self, effects: &mut Vec<Effect>) {
        if self.paused {
            return;
        }
        let most = match self.stretch {
            Stretch::All => u64::MAX,
            Stretch::Short => self.carried.saturating_add(SHORT),
            Stretch::Until(most) => most,
        };
        while self.carried < most && self.is_busy() {
            self.carry_out_next(effects);
            if self.made.took_long() && self.stretch == Stretch::Short {
                return;
            }
        }
    }

    fn carry_out_next(&mut self, effects: &mut Vec<Effect>) {
        let Some(command) = self.queue.pop_front() else {
            return;
        };
        self.carried += 1;
        match command {
            Command::Prepare(task) => self.prepare(task, effects),
            Command::Ask(task) => self.ask(task, effects),
            Command::Call { task, attempt } => self.call(task, attempt, effects),
            Command::Abort { task, attempt } => self.abort(task, attempt, effects),
            Command::RetryLater {
                task,
                attempt,
                pause,
            } => {
                if let Some(at) = self.address(task) {
                    self.emit(effects, || RunEvent::RetryScheduled { at, attempt, pause });
                }
            }
            Command::SetTimer { task, timer, after } => {
                effects.push(Effect::SetTimer { task, timer, after });
            }
            Command::ClearTimer(task, timer) => effects.push(Effect::ClearTimer(task, timer)),
            Command::ChildSettled { group, .. } => self.next_part(group),
            Command::Close(task) => self.close(task),
            Command::Settled(task, by) => self.settled(task, by, effects),
        }
    }

    /// Tells the scheduler something; what it wants in return is carried out later, in order.
    pub(super) fn tell(&mut self, event: Event) {
        self.scheduler.handle(event, &mut self.scratch);
        self.queue.extend(self.scratch.drain(..));
    }

    /// Lets a task that was just added wait for others.
    pub(super) fn start_task(&mut self, task: TaskId, waits: &[TaskId]) {
        self.scheduler.start(task, waits, &mut self.scratch);
        self.queue.extend(self.scratch.drain(..));
    }

    /// Makes room for `more` tasks, if the run may come to as many.
    pub(super) fn promise(&mut self, more: usize) -> Result<(), ToolError> {
        let max = self.options.max_tasks;
        let promised = self.promised.saturating_add(more);
        if promised > max {
            return Err(ToolError::new(
                ErrorKind::Budget,
                format!(
                    "the run comes to {promised} tasks (steps, items, rounds), more than the {max} that are allowed"
                ),
            ));
        }
        self.promised = promised;
        Ok(())
    }

    /// Tells whoever listens what happened; where nobody does, `event` is not even made.
    pub(super) fn emit(&self, effects: &mut Vec<Effect>, event: impl FnOnce() -> RunEvent) {
        if self.unheard {
            return;
        }
        let mut event = event();
        self.redactor.event(&mut event);
        effects.push(Effect::Emit(StampedEvent {
            at: self.now,
            event,
        }));
    }

    pub(super) fn work(&self, task: TaskId) -> Option<&Work> {
        self.work.get(task.0 as usize)
    }

    pub(super) fn work_mut(&mut self, task: TaskId) -> Option<&mut Work> {
        self.work.get_mut(task.0 as usize)
    }

    pub(super) fn address(&self, task: TaskId) -> Option<Arc<Address>> {
        self.work(task).map(|work| Arc::clone(&work.address))
    }

    /// The frame and the step that a task belongs to.
    pub(super) fn step_of(&self, task: TaskId) -> Option<(&Frame, &Step)> {
        let work = self.work(task)?;
        let frame = self.frames.get(work.frame)?;
        let step = frame.plan.plan().steps.get(work.step as usize)?;
        Some((frame, step))
    }

    /// What the references of a task may look at.
    pub(super) fn scope<'a>(&'a self, work: &'a Work, frame: &'a Frame) -> Scope<'a> {
        let turn = work.turn.as_deref();
        Scope {
            frame,
            item: turn.and_then(|turn| turn.item.as_ref()),
            index: turn.map(|turn| turn.index),
            last: turn.and_then(|turn| turn.last.as_ref()),
            own: None,
            outside: &self.options.confidential,
            limits: &self.options.evaluation,
            warnings: &self.warnings,
            made: &self.made,
        }
    }
}
