//! The driver: the one loop in which calls, timers, decisions and the caller's wishes meet.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use planwright_core::Hashing;
use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use crate::approval::{Approver, Decision};
use crate::backend::{ToolBackend, ToolError, ToolOutput};
use crate::durations::Durations;
use crate::event::{RunEvent, StampedEvent};
use crate::execute;
use crate::options::RunOptions;
use crate::run::{Effect, Input, Run, RunSummary};
use crate::schedule::{TaskId, Timer};

/// What the caller of a run may want while it goes on.
#[derive(Debug)]
pub(crate) enum Wish {
    Extend(CheckedPlan),
    Close,
    Cancel,
}

/// What a call that has ended leaves behind.
type Ended = (TaskId, u32, Result<ToolOutput, ToolError>);

/// Drives a run to its end.
pub(crate) struct Dispatch {
    run: Run,
    started: Instant,
    backend: Arc<dyn ToolBackend>,
    approver: Arc<dyn Approver>,
    durations: SharedDurations,
    events: Vec<mpsc::UnboundedSender<StampedEvent>>,
    wishes: mpsc::UnboundedReceiver<Wish>,
    calls: JoinSet<Ended>,
    call_handles: HashMap<TaskId, AbortHandle, Hashing>,
    questions: FuturesUnordered<BoxFuture<'static, (TaskId, Decision)>>,
    timers: DelayQueue<(TaskId, Timer)>,
    timer_keys: HashMap<(TaskId, Timer), Key, Hashing>,
    effects: Vec<Effect>,
}

impl Dispatch {
    pub(crate) fn new(
        run: Run,
        backend: Arc<dyn ToolBackend>,
        approver: Arc<dyn Approver>,
        durations: SharedDurations,
        events: Vec<mpsc::UnboundedSender<StampedEvent>>,
        wishes: mpsc::UnboundedReceiver<Wish>,
    ) -> Self {
        Self {
            run,
            started: Instant::now(),
            backend,
            approver,
            durations,
            events,
            wishes,
            calls: JoinSet::new(),
            call_handles: HashMap::default(),
            questions: FuturesUnordered::new(),
            timers: DelayQueue::new(),
            timer_keys: HashMap::default(),
            effects: Vec::new(),
        }
    }

    /// Runs to the end, or until only people can help.
    pub(crate) async fn drive(mut self) -> RunSummary {
        self.run.start(&mut self.effects);
        loop {
            self.run.proceed(&mut self.effects);
            self.carry_out();
            if self.run.is_done() {
                break;
            }
            if self.run.waits_for_people() && self.questions.is_empty() {
                break;
            }
            if self.run.is_stuck() {
                self.take_in(Some(Input::GiveUp));
                continue;
            }
            self.listen().await;
        }
        let summary = self.run.summary();
        let event = StampedEvent {
            at: summary.duration,
            event: RunEvent::RunEnded {
                status: summary.status,
            },
        };
        self.tell(&event);
        summary
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until something happens, then takes in all that has happened, so that what starts next is the best of all
    /// that may.
    async fn listen(&mut self) {
        let input = tokio::select! {
            biased;
            wish = self.wishes.recv() => match wish {
                Some(Wish::Extend(plan)) => Some(Input::Extend(plan)),
                Some(Wish::Cancel) => Some(Input::Cancel),
                // Nobody is left who could add steps.
                Some(Wish::Close) | None => Some(Input::Close),
            },
            Some(ended) = self.calls.join_next(), if !self.calls.is_empty() => self.ended(ended),
            Some((task, decision)) = self.questions.next(), if !self.questions.is_empty() => {
                Some(Input::Decided { task, decision })
            }
            Some(expired) = self.timers.next(), if !self.timers.is_empty() => {
                let (task, timer) = expired.into_inner();
                self.timer_keys.remove(&(task, timer));
                Some(Input::TimerFired(task, timer))
            }
        };
        self.take_in(input);
        while let Some(ended) = self.calls.try_join_next() {
            let input = self.ended(ended);
            self.take_in(input);
        }
    }

    fn take_in(&mut self, input: Option<Input>) {
        if let Some(input) = input {
            let now = self.now();
            self.run.handle(input, now, &mut self.effects);
        }
    }

    /// What a call's task came to; nothing where it was given up.
    fn ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) -> Option<Input> {
        let (task, attempt, result) = ended.ok()?;
        self.call_handles.remove(&task);
        Some(Input::AttemptEnded {
            task,
            attempt,
            result,
        })
    }

    fn carry_out(&mut self) {
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Emit(event) => self.tell(&event),
                Effect::Learn { tool, took } => {
                    self.durations
                        .lock()
                        .observe(&tool.server, &tool.name, took);
                }
                Effect::Call { task, call } => {
                    let backend = Arc::clone(&self.backend);
                    let handle = self.calls.spawn(async move {
                        let attempt = call.attempt;
                        (task, attempt, execute::attempt(backend, *call).await)
                    });
                    self.call_handles.insert(task, handle);
                }
                Effect::Abort(task) => {
                    if let Some(handle) = self.call_handles.remove(&task) {
                        handle.abort();
                    }
                }
                Effect::Ask { task, request } => {
                    let approver = Arc::clone(&self.approver);
                    self.questions.push(Box::pin(async move {
                        let decision = approver.decide(*request).await;
                        (task, decision)
                    }));
                }
                Effect::SetTimer { task, timer, after } => {
                    let key = self.timers.insert((task, timer), after);
                    if let Some(old) = self.timer_keys.insert((task, timer), key) {
                        self.timers.try_remove(&old);
                    }
                }
                Effect::ClearTimer(task, timer) => {
                    if let Some(key) = self.timer_keys.remove(&(task, timer)) {
                        self.timers.try_remove(&key);
                    }
                }
            }
        }
    }

    fn tell(&mut self, event: &StampedEvent) {
        self.events
            .retain(|listener| listener.send(event.clone()).is_ok());
    }
}

/// What an engine has learned in all its runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedDurations(Arc<Mutex<Durations>>);

impl SharedDurations {
    fn new(durations: Durations) -> Self {
        Self(Arc::new(Mutex::new(durations)))
    }

    fn lock(&self) -> MutexGuard<'_, Durations> {
        // Nothing that may panic happens while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that goes on by itself.
#[derive(Debug)]
pub struct RunHandle {
    wishes: mpsc::UnboundedSender<Wish>,
    task: tokio::task::JoinHandle<RunSummary>,
}

impl RunHandle {
    /// Adds the further steps of `plan` to the run: it must be the running plan,
    /// [extended](CheckedPlan::extend).
    ///
    /// # Errors
    ///
    /// The plan comes back where the run has already ended.
    pub fn extend(&self, plan: CheckedPlan) -> Result<(), CheckedPlan> {
        match self.wishes.send(Wish::Extend(plan)) {
            Err(mpsc::error::SendError(Wish::Extend(plan))) => Err(plan),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Says that no further steps will come: a [growing](crate::options::Arrival::Growing) run ends with its last step.
    pub fn close(&self) {
        // A run that has ended needs no telling.
        let _ = self.wishes.send(Wish::Close);
    }

    /// Somebody else's means to cancel the run.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.wishes.clone())
    }

    /// Ends the run now: calls under way are cancelled, nothing new starts.
    pub fn cancel(&self) {
        self.canceller().cancel();
    }
}

/// Cancels a run.
#[derive(Clone, Debug)]
pub struct Canceller(mpsc::UnboundedSender<Wish>);

impl Canceller {
    /// Ends the run now: calls under way are cancelled, nothing new starts.
    pub fn cancel(&self) {
        // A run that has ended needs no telling.
        let _ = self.0.send(Wish::Cancel);
    }
}

impl Future for RunHandle {
    type Output = RunSummary;

    /// Waits for the end of the run. Resumes a panic of the run's own task: there is nothing to report then.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RunSummary> {
        match Pin::new(&mut self.task).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(summary)) => Poll::Ready(summary),
            Poll::Ready(Err(error)) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for RunHandle {
    /// A run that nobody waits for any more is given up, and its calls with it.
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs plans over one set of tools.
#[derive(Clone)]
pub struct Engine {
    backend: Arc<dyn ToolBackend>,
    approver: Arc<dyn Approver>,
    options: RunOptions,
    durations: SharedDurations,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine that calls tools through `backend`. Calls that need a person's consent wait until somebody
    /// [decides](Self::with_approver).
    pub fn new(backend: impl ToolBackend) -> Self {
        Self {
            backend: Arc::new(backend),
            approver: Arc::new(crate::approval::Always(Decision::Later)),
            options: RunOptions::default(),
            durations: SharedDurations::default(),
        }
    }

    /// Who decides about calls that need a person's consent.
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = approver;
        self
    }

    /// How runs go about their work. The engine goes on learning from the durations that the options bring.
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.durations = SharedDurations::new(options.durations.clone());
        self.options = options;
        self
    }

    /// How long calls take: what the engine was given, and what it has learned in all its runs.
    pub fn durations(&self) -> Durations {
        self.durations.lock().clone()
    }

    /// Starts a run, and gives its events as they happen. It must be called within a tokio runtime with time enabled.
    /// Dropping the handle gives the run up.
    pub fn start(
        &self,
        run: impl Into<Arc<str>>,
        plan: CheckedPlan,
    ) -> (RunHandle, mpsc::UnboundedReceiver<StampedEvent>) {
        let (sender, events) = mpsc::unbounded_channel();
        let (wishes, heard) = mpsc::unbounded_channel();
        let options = RunOptions {
            durations: self.durations(),
            ..self.options.clone()
        };
        let dispatch = Dispatch::new(
            Run::new(run, plan, options),
            Arc::clone(&self.backend),
            Arc::clone(&self.approver),
            self.durations.clone(),
            vec![sender],
            heard,
        );
        let task = tokio::spawn(dispatch.drive());
        (RunHandle { wishes, task }, events)
    }

    /// Runs a plan to its end.
    pub async fn run(&self, run: impl Into<Arc<str>>, plan: CheckedPlan) -> RunSummary {
        let (handle, events) = self.start(run, plan);
        drop(events);
        handle.await
    }
}
