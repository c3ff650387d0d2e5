//! A run that is driven by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use planwright_core::Plan;
use planwright_engine::backend::{ToolCall, ToolError, ToolOutput};
use planwright_engine::run::{Effect, RunInput, RunMachine};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{RunOptions, RunSummary};

use crate::drive::sound;

/// A run by hand in virtual time: the test decides what ends next, and when time passes.
pub(super) struct Hand {
    run: RunMachine,
    now: Duration,
    calls: Vec<(TaskId, ToolCall)>,
    timers: BTreeMap<(Duration, TaskId), Timer>,
    sent: Vec<(Duration, String)>,
}

impl Hand {
    pub(super) fn drive(
        plan: Plan,
        options: RunOptions,
        answer: &mut dyn FnMut(&ToolCall) -> Result<ToolOutput, ToolError>,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> (RunSummary, Vec<(Duration, String)>) {
        let mut hand = Self {
            run: RunMachine::new("run", sound(plan), options),
            now: Duration::ZERO,
            calls: Vec::new(),
            timers: BTreeMap::new(),
            sent: Vec::new(),
        };
        let mut effects = Vec::new();
        hand.run.start(&mut effects);
        loop {
            hand.run.proceed(&mut effects);
            for effect in std::mem::take(&mut effects) {
                hand.carry_out(effect);
            }
            if hand.run.is_done() {
                return (hand.run.summary(), hand.sent);
            }
            let choice = choose(hand.calls.len() + usize::from(!hand.timers.is_empty()));
            let input = if choice < hand.calls.len() {
                let (task, call) = hand.calls.remove(choice);
                RunInput::AttemptEnded {
                    task,
                    attempt: call.context.attempt,
                    result: answer(&call),
                }
            } else {
                let ((at, task), timer) = hand.timers.pop_first().expect("the run is stuck");
                hand.now = hand.now.max(at);
                RunInput::TimerFired(task, timer)
            };
            hand.run.handle(input, hand.now, &mut effects);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Call { task, call, .. } => {
                self.sent.push((self.now, call.tool.qualified_name()));
                self.calls.push((task, *call));
            }
            Effect::Abort(task) => self.calls.retain(|(other, _)| *other != task),
            Effect::SetTimer { task, timer, after } => {
                self.timers.insert((self.now + after, task), timer);
            }
            Effect::ClearTimer(task, timer) => {
                self.timers
                    .retain(|(_, other), set| *other != task || *set != timer);
            }
            _ => {}
        }
    }
}
