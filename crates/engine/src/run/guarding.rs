//! Where the run asks its guard: before it asks a person, before it sends a call, after one has ended.

use std::sync::Arc;

use planwright_core::{Tool, Value};

use super::effect::Effect;
use super::history::History;
use super::outcome::{Outcome, StepStatus};
use super::state::Run;
use super::work::Work;
use crate::backend::{ToolError, ToolOutput};
use crate::journal::Record;
use crate::schedule::{AttemptEnd, Event, TaskId, Timer};

/// Whose timer the run's own is: no task has this id.
pub(super) const NO_TASK: TaskId = TaskId(u32::MAX);

impl Run {
    /// Whether an attempt may be sent now, which then counts. One that may not is told to the scheduler: it fails, or it
    /// comes again later.
    pub(super) fn may_send(&mut self, task: TaskId, attempt: u32) -> bool {
        if self.guard.is_idle() {
            return true;
        }
        let Some(work) = self.work(task) else {
            return false;
        };
        let (Some(tool), Some(args)) = (work.tool.clone(), work.args.clone()) else {
            return false;
        };
        let has_waited = work.postponed;
        let number = work.attempts_before.saturating_add(attempt);
        // One that is refused anyway does not wait for its turn.
        let looked = self.guard.look(&tool);
        let refused = looked
            .and_then(|()| self.guard.look_at_same(&tool, &args, number))
            .err();
        if refused.is_none()
            && let Some(pause) = self.guard.wait(&tool, self.now, has_waited)
        {
            if let Some(work) = self.work_mut(task) {
                work.postponed = true;
            }
            self.tell(Event::Postponed {
                task,
                attempt,
                pause,
            });
            return false;
        }
        let error = refused.or_else(|| self.guard.reserve(&tool, &args, number).err());
        if let Some(work) = self.work_mut(task) {
            work.postponed = false;
            if let Some(mut error) = error {
                if let Some(before) = work.last_error.take() {
                    error = after_failure(error, &before);
                }
                work.last_error = Some(Box::new(error));
                let end = AttemptEnd::Final;
                self.tell(Event::AttemptEnded { task, attempt, end });
                return false;
            }
        }
        true
    }

    /// Counts what earlier processes did. Their failures in a row are forgotten: whoever lets a run go on has seen them.
    pub(super) fn recall(&mut self, history: &History) {
        if self.options.guards.is_empty() {
            return;
        }
        let known = history.steps().flat_map(|(_, past)| &past.calls);
        let gone = history.forgotten_calls().map(|(_, call)| call);
        for call in known.chain(gone) {
            let tool = Tool::new(Arc::clone(&call.server), Arc::clone(&call.tool));
            let output = call.answer.as_ref().and_then(|answer| answer.as_ref().ok());
            self.guard.recall(&tool, &call.args, call.attempt, output);
        }
        if self.guard.has_rates() {
            self.guard
                .restore_rates(history.paused(), history.sent_calls());
        }
    }

    /// Why nobody needs to be asked about a call: it would be refused even so.
    pub(super) fn needless_question(&self, work: &Work) -> Option<ToolError> {
        self.guard.look(work.tool.as_ref()?).err()
    }

    /// What a good answer comes to, now that its bytes are counted.
    pub(super) fn counted(&mut self, output: ToolOutput) -> Outcome {
        match self.guard.take_in(&output) {
            Ok(()) => Outcome::succeeded(Arc::new(output)),
            Err(error) => Outcome::failed(error),
        }
    }

    /// Sets the run's own timer, where its time is bounded.
    pub(super) fn watch_time(&self, effects: &mut Vec<Effect>) {
        if let Some(most) = self.guard.wall_time() {
            // What earlier processes took of it is gone.
            let after = most.saturating_sub(self.now);
            effects.push(Effect::SetTimer {
                task: NO_TASK,
                timer: Timer::Run,
                after,
            });
        }
    }

    /// Ends everything, since the run's time is up.
    pub(super) fn time_is_up(&mut self, effects: &mut Vec<Effect>) {
        self.remember(effects, || Some(Record::OutOfTime));
        self.out_of_time = self.guard.end_time();
        self.growing = false;
        self.tell(Event::Cancel);
    }

    /// What becomes of a task that the end of the run's time has ended: what had come as far as its call fails, whatever still
    /// waited for others has not run.
    pub(super) fn ended_by_time(work: &Work, error: &ToolError) -> Outcome {
        if work.started.is_some() || work.tool.is_some() {
            Outcome::failed(error.clone())
        } else {
            Outcome::without_output(StepStatus::NotRun, None)
        }
    }
}

/// The error of an attempt that was refused after others had failed: why they did is not lost.
fn after_failure(error: ToolError, before: &ToolError) -> ToolError {
    let known = error.data.as_object().into_iter().flatten();
    let fields = known.map(|(key, value)| (Arc::clone(key), value.clone()));
    let failure = (Arc::from("after"), before.as_value());
    let data = Value::object(fields.chain([failure]));
    error.with_data(data)
}
