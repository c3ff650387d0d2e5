//! The effects of a run: calls, questions, timers, events and records.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::time::Instant;

use super::Driver;
use crate::approval::{ApprovalRequest, Approver, Decision};
use crate::driver::in_flight::panic_message;
use crate::driver::journal_gate::PendingCall;
use crate::event::StampedEvent;
use crate::run::Effect;
use crate::schedule::{TaskId, Timer};

impl Driver {
    /// Executes the effects that the run has asked for, in order.
    pub(super) fn execute_effects(&mut self) {
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
                    None => self.calls.start(task, attempt, *call),
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
    pub(super) fn broadcast(&mut self, event: &StampedEvent) {
        self.events
            .retain(|listener| listener.send(event.clone()).is_ok());
        self.run.set_no_listeners(self.events.is_empty());
    }

    /// Sends a call whose intent is stored. Its time limit starts now.
    pub(super) fn send_pending(&mut self, task: TaskId, pending: PendingCall) {
        // The time that the journal took must not count as a duration of the tool.
        let waited = self.now().saturating_sub(pending.decided);
        self.journal_waits.insert(task, waited);
        self.calls.start(task, pending.attempt, *pending.call);
        if let Some(after) = pending.timeout
            && !self.calls.completed_inline(task)
        {
            let timer = Timer::Attempt(pending.attempt);
            self.effects.push(Effect::SetTimer { task, timer, after });
        }
    }

    pub(super) fn ask(&mut self, task: TaskId, request: ApprovalRequest) {
        let approver = Arc::clone(&self.approver);
        let decision = request_decision(approver, request);
        self.questions.ask(task, decision.boxed());
    }
}

/// Requests one decision. A panic of the approver counts as a rejection.
async fn request_decision(approver: Arc<dyn Approver>, request: ApprovalRequest) -> Decision {
    let decided = AssertUnwindSafe(async move { approver.decide(request).await }).catch_unwind();
    decided.await.unwrap_or_else(|panic| Decision::Reject {
        because: Some(format!("the approver panicked: {}", panic_message(&*panic))),
    })
}
