//! The driver of one run in a workflow: feeds what Restate has recorded into the state machine, and executes its effects as operations of
//! Restate.
//!
//! Every decision of this module is a function of the request and of recorded results, in the order in which Restate has recorded them.
//! It reads no clock: the time of a result is recorded with it.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright::service::{RequestWatch, RunRequests};
use planwright::stored::StoreApprover;
use planwright_engine::approval::ApprovalRequest;
use planwright_engine::journal::Record;
use planwright_engine::run::{Effect, RunInput, RunMachine};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{Approver, Decision, Durations, RunId, ToolCall, ToolError};
use restate_sdk::context::{DurableFuture, RequestTarget};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::task::AbortHandle;

use crate::calls::unix_time;
use crate::client::RestateClient;
use crate::message::{CallKey, CallReplyV1, CallRequestV1, DecisionV1, ServiceOutcome};
use crate::projection::{Projection, ProjectionError};
use crate::request::{AutomaticDecision, RunRequestV1};
use crate::services::{IntentMark, RunResultV1, TOOLS, WorkerState};
use crate::timers::DurableTimers;

/// The start of a run, as Restate records it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct StartV1 {
    /// The time since 1970.
    at_ns: u64,
}

/// Runs a plan to its end, from the beginning or, after a crash, from what Restate has recorded.
pub(crate) fn run<'a>(
    worker: Arc<WorkerState>,
    ctx: &'a WorkflowContext<'a>,
    request: RunRequestV1,
) -> BoxFuture<'a, HandlerResult<RunResultV1>> {
    Box::pin(async move {
        let mut driver = Driver::begin(worker, ctx, &request).await?;
        driver.refuse_calls_if_cancelled()?;
        let _watch = driver.watch_for_cancellation();
        driver.drive().await?;
        let (worker, id) = (Arc::clone(&driver.worker), driver.id.clone());
        let finished = driver.finish().await;
        worker.calls.forget(&id);
        finished
    })
}

/// An action of a workflow, whose result Restate records.
fn action<'a, T>(
    ctx: &'a WorkflowContext<'a>,
    name: &str,
    action: BoxFuture<'static, HandlerResult<T>>,
) -> BoxFuture<'a, Result<T, TerminalError>>
where
    T: restate_sdk::serde::Serialize + restate_sdk::serde::Deserialize + Send + 'static,
{
    Box::pin(ctx.run(move || action).name(name))
}

/// An operation of a run that has completed.
enum Completion {
    Called {
        task: TaskId,
        attempt: u32,
        reply: Result<Json<CallReplyV1>, TerminalError>,
    },
    Slept(Duration),
    Decided {
        task: TaskId,
        question: u64,
        decision: Result<Json<DecisionV1>, TerminalError>,
    },
    CancelRequested,
}

/// A future that Restate completes.
type Pending<'a> = Pin<Box<dyn DurableFuture<Output = Completion> + Send + 'a>>;

/// Drives one run to its end.
struct Driver<'a> {
    worker: Arc<WorkerState>,
    ctx: &'a WorkflowContext<'a>,
    client: RestateClient,
    id: RunId,
    requests: RunRequests,
    approver: Arc<dyn Approver>,
    decision: Option<AutomaticDecision>,
    run: RunMachine,
    projection: Projection,
    /// The start of the run since 1970.
    began: Duration,
    /// The latest recorded time, since the start of the run.
    now: Duration,
    effects: Vec<Effect>,
    /// The calls that start at the end of the turn.
    starting: Vec<(TaskId, u32, ToolCall)>,
    pending: DurableFuturesUnordered<Pending<'a>>,
    /// The attempt in flight of each task.
    calls: HashMap<TaskId, u32>,
    questions: Questions,
    /// The automatic decisions that are not applied yet.
    decided: VecDeque<(TaskId, Decision)>,
    timers: DurableTimers,
    /// The time limits of whole steps: the time when the limit was set, and the limit.
    step_limits: HashMap<TaskId, (Duration, Duration)>,
    /// The durations of calls that the store had before the run, and those with what the run has taught.
    durations: Durations,
    learned: Durations,
}

/// The questions to people.
#[derive(Default)]
struct Questions {
    open: HashMap<TaskId, OpenQuestion>,
    /// The closed questions: the task, the start and the end.
    closed: Vec<(TaskId, Duration, Duration)>,
    asked: u64,
}

struct OpenQuestion {
    number: u64,
    since: Duration,
    /// The task of this process that waits for a decision in the store.
    _watch: TaskGuard,
}

/// A task that ends when this is dropped.
struct TaskGuard(AbortHandle);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<'a> Driver<'a> {
    /// Begins the run, or finds how it began.
    async fn begin(
        worker: Arc<WorkerState>,
        ctx: &'a WorkflowContext<'a>,
        request: &RunRequestV1,
    ) -> HandlerResult<Self> {
        let id = RunId::try_from(ctx.key().to_owned())
            .map_err(|error| TerminalError::new_with_code(400, error.to_string()))?;
        let opened = request.open(&worker);
        let refusal = opened.as_ref().err().map(ToString::to_string);
        // A plan that was refused before it began has called nothing. Later, another worker may still have the right tools, so Restate tries
        // again.
        let start = async move {
            match refusal {
                Some(reason) => Err(TerminalError::new_with_code(400, reason).into()),
                None => Ok(Json(StartV1 {
                    at_ns: nanos(unix_time()),
                })),
            }
        };
        let Json(start) = action(ctx, "begin", Box::pin(start)).await?;
        let (plan, options) = opened?;
        let mut projection = match Projection::open(&worker.store, &id, request, &plan) {
            // Another attempt would fail in the same way.
            Err(error @ ProjectionError::OtherRun(_)) => {
                return Err(TerminalError::new_with_code(409, error.to_string()).into());
            }
            opened => opened?,
        };
        let durations = options.durations.clone();
        let digest = plan.digest().clone();
        let mut machine = RunMachine::new(id.clone(), plan, options).journaled();
        // No process listens: the progress of a run is read from the store.
        machine.set_no_listeners(true);
        projection.add(
            Duration::ZERO,
            Record::Opened {
                run: Some(id.clone()),
                digest,
                header: request.process.to_value(),
            },
        );
        let requests = RunRequests::new(
            worker.store.clone(),
            id.clone(),
            Some(projection.holder().clone()),
            request.process.plan_consent.clone(),
        );
        let approver = StoreApprover::new(worker.store.clone()).waiting();
        Ok(Self {
            client: RestateClient::new(&request.ingress)?,
            approver: requests.approver(Arc::new(approver)),
            requests,
            worker,
            ctx,
            id,
            decision: request.decision,
            run: machine,
            projection,
            began: Duration::from_nanos(start.at_ns),
            now: Duration::ZERO,
            effects: Vec::new(),
            starting: Vec::new(),
            pending: DurableFuturesUnordered::new(),
            calls: HashMap::new(),
            questions: Questions::default(),
            decided: VecDeque::new(),
            timers: DurableTimers::default(),
            step_limits: HashMap::new(),
            learned: durations.clone(),
            durations,
        })
    }

    async fn drive(&mut self) -> HandlerResult<()> {
        self.run.start(&mut self.effects);
        loop {
            self.run.proceed(&mut self.effects);
            self.execute_effects();
            if self.run.is_done() {
                return Ok(());
            }
            // A checked plan never gets stuck. If a defect causes it nevertheless, an error is better than waiting forever.
            if self.run.is_stuck() {
                self.apply(RunInput::EndAsStuck);
                continue;
            }
            // Each decision is an input of a turn of its own, as if a person had made it.
            if let Some((task, decision)) = self.decided.pop_front() {
                self.apply(RunInput::Decided { task, decision });
                continue;
            }
            match self.start_calls().await? {
                Some(input) => self.apply(input),
                None => self.wait_for_input().await?,
            }
        }
    }

    /// Writes the end of the run, and returns its result.
    async fn finish(mut self) -> HandlerResult<RunResultV1> {
        let summary = self.run.summary();
        let status = summary.status;
        self.projection
            .add(summary.duration, Record::Ended { status });
        // An earlier execution has stored what the run has taught.
        let is_new = !self.projection.is_stored();
        self.projection.finish().await?;
        if is_new {
            let (store, before, after) = (self.worker.store.clone(), self.durations, self.learned);
            let saved = tokio::task::spawn_blocking(move || store.save_durations(&before, &after));
            // They only affect the order of later runs.
            if let Ok(Err(error)) = saved.await {
                tracing::warn!(%error, "the durations of calls were not stored");
            }
        }
        Ok(RunResultV1::new(status, summary.duration))
    }

    fn apply(&mut self, input: RunInput) {
        self.run.handle(input, self.now, &mut self.effects);
    }

    /// Moves the time of the run to a recorded time, unless that of an earlier result is later: clocks of workers may differ.
    fn advance(&mut self, unix_ns: u64) {
        let at = Duration::from_nanos(unix_ns).saturating_sub(self.began);
        self.now = self.now.max(at);
    }

    /// Executes the effects that the run has asked for, in order, except calls.
    fn execute_effects(&mut self) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Emit(_) => {}
                Effect::Learn { tool, took, .. } => {
                    self.learned.observe(&tool.server, &tool.name, took);
                }
                Effect::AppendRecord { at, record } => self.projection.add(at, *record),
                Effect::Call {
                    task,
                    attempt,
                    call,
                } => {
                    let mut call = *call;
                    // It includes the limit of the step, which is a timer of the run.
                    call.context.time_limit = None;
                    self.starting.push((task, attempt, call));
                }
                Effect::Abort(task) => self.abort(task),
                Effect::Ask { task, request } => self.ask(task, *request),
                // The worker that makes the call limits it, since it knows about its progress.
                Effect::SetTimer {
                    task,
                    timer: Timer::Attempt(_),
                    after,
                } => {
                    let mut starting = self.starting.iter_mut();
                    if let Some((.., call)) = starting.find(|(starting, ..)| *starting == task) {
                        call.context.time_limit = Some(after);
                    }
                }
                Effect::SetTimer { task, timer, after } => {
                    if timer == Timer::Step {
                        self.step_limits.insert(task, (self.now, after));
                    }
                    self.timers.set(task, timer, self.now.saturating_add(after));
                }
                Effect::ClearTimer(task, timer) => {
                    if timer == Timer::Step {
                        self.step_limits.remove(&task);
                    }
                    self.timers.clear(task, timer);
                }
            }
        }
        self.effects = effects;
        self.projection.end_turn();
    }

    fn abort(&mut self, task: TaskId) {
        self.starting.retain(|(starting, ..)| *starting != task);
        if let Some(attempt) = self.calls.remove(&task) {
            self.worker.calls.abort(&self.key(task, attempt));
        }
        self.close_question(task);
    }

    fn key(&self, task: TaskId, attempt: u32) -> CallKey {
        CallKey {
            run: self.id.clone(),
            task: task.0,
            attempt,
        }
    }

    /// Starts the calls of the turn. The only call of a run that waits for nothing else is executed here, and its result is returned: that
    /// saves the way to the service.
    async fn start_calls(&mut self) -> HandlerResult<Option<RunInput>> {
        let is_idle =
            self.calls.is_empty() && self.timers.is_empty() && self.questions.open.is_empty();
        let mut starting = std::mem::take(&mut self.starting);
        if is_idle
            && starting.len() == 1
            && let Some((task, attempt, call)) = starting.pop()
        {
            return self.call_inline(task, attempt, &call).await.map(Some);
        }
        for (task, attempt, call) in starting {
            let request = self.request(task, attempt, &call)?;
            let (service, handler) = TOOLS;
            let call = self
                .ctx
                .request::<_, Json<CallReplyV1>>(
                    RequestTarget::service(service, handler),
                    Json(request),
                )
                .call();
            self.calls.insert(task, attempt);
            self.pending
                .push(Box::pin(call.map(move |reply| Completion::Called {
                    task,
                    attempt,
                    reply,
                })));
        }
        Ok(None)
    }

    fn request(&self, task: TaskId, attempt: u32, call: &ToolCall) -> HandlerResult<CallRequestV1> {
        let request = CallRequestV1::new(self.key(task, attempt), call);
        // The engine bounds the nesting of arguments, so this cannot happen to a checked plan.
        Ok(request.map_err(|error| {
            TerminalError::new(format!("the arguments of a call cannot be stored: {error}"))
        })?)
    }

    async fn call_inline(
        &mut self,
        task: TaskId,
        attempt: u32,
        call: &ToolCall,
    ) -> HandlerResult<RunInput> {
        let request = self.request(task, attempt, call)?;
        let executions = self.worker.executions.clone();
        let _execution = executions.begin().await;
        let intent = IntentMark::default();
        if !request.may_be_repeated {
            let marked = action(self.ctx, "intent", intent.action()).await;
            if marked.is_err() {
                return Ok(RunInput::Cancel);
            }
        }
        let may_call = request.may_be_repeated || intent.is_set();
        let name = call.tool.qualified_name().to_string();
        let reply = Arc::clone(&self.worker).call(request, may_call);
        let reply = async move { Ok(Json(reply.await)) };
        match action(self.ctx, &name, Box::pin(reply)).await {
            Ok(reply) => Ok(self.ended(task, attempt, reply.into_inner())),
            // Restate has cancelled the workflow.
            Err(_) => Ok(RunInput::Cancel),
        }
    }

    /// Waits for the next recorded result, and applies it.
    async fn wait_for_input(&mut self) -> HandlerResult<()> {
        if let Some(end) = self.timers.next_sleep() {
            let sleep = self.ctx.sleep(end.saturating_sub(self.now));
            self.pending
                .push(Box::pin(sleep.map(move |_| Completion::Slept(end))));
        }
        match self.pending.next().await {
            Ok(Some((_, completion))) => self.complete(completion),
            // Restate has cancelled the workflow. A run without anything that could happen is stuck, which was excluded.
            Ok(None) | Err(_) => self.apply(RunInput::Cancel),
        }
        Ok(())
    }

    fn complete(&mut self, completion: Completion) {
        match completion {
            Completion::Called {
                task,
                attempt,
                reply,
            } => {
                // The result of an aborted call is ignored.
                if self.calls.get(&task) != Some(&attempt) {
                    return;
                }
                self.calls.remove(&task);
                let input = match reply {
                    Ok(reply) => self.ended(task, attempt, reply.into_inner()),
                    Err(error) => {
                        let lost = ToolError::lost(format!(
                            "Restate has ended the call: {}",
                            error.message()
                        ));
                        RunInput::AttemptEnded {
                            task,
                            attempt,
                            result: Err(lost),
                        }
                    }
                };
                self.apply(input);
            }
            Completion::Slept(end) => {
                self.timers.sleep_ended(end);
                self.now = self.now.max(end);
                while let Some((task, timer)) = self.timers.next_due(self.now) {
                    if self.is_exceeded(task, timer) {
                        self.apply(RunInput::TimerFired(task, timer));
                    }
                }
            }
            Completion::Decided {
                task,
                question,
                decision,
            } => {
                let open = self.questions.open.get(&task);
                if open.is_none_or(|open| open.number != question) {
                    return;
                }
                let decision = decision
                    .map_err(|error| error.message().to_owned())
                    .and_then(|Json(decision)| {
                        self.advance(decision.at_ns);
                        decision.decode()
                    })
                    .unwrap_or_else(|error| Decision::Reject {
                        because: Some(error),
                    });
                self.close_question(task);
                self.apply(RunInput::Decided { task, decision });
            }
            Completion::CancelRequested => self.apply(RunInput::Cancel),
        }
    }

    /// Returns the input for the end of a call.
    fn ended(&mut self, task: TaskId, attempt: u32, reply: CallReplyV1) -> RunInput {
        self.advance(reply.at_ns);
        match reply.decode() {
            ServiceOutcome::Answered(result) => RunInput::AttemptEnded {
                task,
                attempt,
                result,
            },
            ServiceOutcome::TimedOut => RunInput::TimerFired(task, Timer::Attempt(attempt)),
            // Only a request to cancel the run aborts a call that the run still waits for.
            ServiceOutcome::Aborted => RunInput::Cancel,
        }
    }

    /// Returns true if the time limit of an expired timer is exceeded. Otherwise, the timer is set again, or suspended by an open question.
    fn is_exceeded(&mut self, task: TaskId, timer: Timer) -> bool {
        if timer != Timer::Step {
            return true;
        }
        match self.remaining(task) {
            Some(Duration::ZERO) => {
                self.step_limits.remove(&task);
                true
            }
            Some(rest) => {
                self.timers.set(task, timer, self.now.saturating_add(rest));
                false
            }
            None => {
                self.timers.suspend(task);
                false
            }
        }
    }

    /// Returns the time until the limit of the step `task` is exceeded; `None` while a question about any part of it is open. The time of such
    /// questions does not count. Overlapping questions are subtracted once.
    fn remaining(&self, task: TaskId) -> Option<Duration> {
        let Some((begun, limit)) = self.step_limits.get(&task).copied() else {
            return Some(Duration::ZERO);
        };
        let mut open = self.questions.open.keys();
        if open.any(|part| self.run.is_within(*part, task)) {
            return None;
        }
        let closed = self.questions.closed.iter().copied();
        let mut closed: Vec<_> = closed
            .filter(|(part, _, end)| *end > begun && self.run.is_within(*part, task))
            .map(|(_, start, end)| (start.max(begun), end))
            .collect();
        closed.sort_unstable();
        let (mut paused, mut until) = (Duration::ZERO, begun);
        for (start, end) in closed {
            paused += end.saturating_sub(start.max(until));
            until = until.max(end);
        }
        let counted = self.now.saturating_sub(begun).saturating_sub(paused);
        Some(limit.saturating_sub(counted))
    }

    fn ask(&mut self, task: TaskId, request: ApprovalRequest) {
        if let Some(decision) = self.decision {
            let decision = decision.decision();
            return self.decided.push_back((task, decision));
        }
        self.questions.asked += 1;
        let number = self.questions.asked;
        let (awakeable, decided) = self.ctx.awakeable::<Json<DecisionV1>>();
        self.pending
            .push(Box::pin(decided.map(move |decision| Completion::Decided {
                task,
                question: number,
                decision,
            })));
        let (approver, client) = (Arc::clone(&self.approver), self.client.clone());
        let watch = tokio::spawn(async move {
            let decision = approver.decide(request).await;
            match DecisionV1::new(unix_time(), decision) {
                Ok(Some(decision)) => client.resolve(&awakeable, &decision).await,
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a decision cannot be stored"),
            }
        });
        let question = OpenQuestion {
            number,
            since: self.now,
            _watch: TaskGuard(watch.abort_handle()),
        };
        self.questions.open.insert(task, question);
    }

    /// Closes the question of a task, if there is one.
    fn close_question(&mut self, task: TaskId) {
        let Some(question) = self.questions.open.remove(&task) else {
            return;
        };
        self.questions.closed.push((task, question.since, self.now));
        for step in self.timers.take_suspended() {
            match self.remaining(step) {
                Some(rest) => self
                    .timers
                    .set(step, Timer::Step, self.now.saturating_add(rest)),
                None => self.timers.suspend(step),
            }
        }
    }

    /// Lets a run that was asked to be cancelled while no worker drove it make no further call. The calls before that are recorded.
    fn refuse_calls_if_cancelled(&self) -> HandlerResult<()> {
        let (store, holder) = (&self.worker.store, self.projection.holder());
        if self.projection.is_continued() && store.is_cancel_requested(&self.id, holder)? {
            self.worker.calls.abort_all(&self.id);
        }
        Ok(())
    }

    /// Watches the store for a request to cancel the run, as long as this execution lasts.
    fn watch_for_cancellation(&mut self) -> RequestWatch {
        let (awakeable, cancelled) = self.ctx.awakeable::<Json<bool>>();
        self.pending
            .push(Box::pin(cancelled.map(|_| Completion::CancelRequested)));
        let (worker, run, client) = (
            Arc::clone(&self.worker),
            self.id.clone(),
            self.client.clone(),
        );
        self.requests.clone().watch(move || {
            let (client, awakeable) = (client.clone(), awakeable.clone());
            let (worker, run) = (Arc::clone(&worker), run.clone());
            tokio::spawn(async move {
                client.resolve(&awakeable, &true).await;
                // A call that is executed within the workflow hides the request until it ends.
                worker.calls.abort_all(&run);
            });
        })
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
