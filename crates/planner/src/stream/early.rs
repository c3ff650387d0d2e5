//! What was called before its plan was whole, as the run's events tell.

use std::sync::Arc;

use planwright_core::{StepId, Value};
use planwright_engine::event::Address;
use planwright_engine::{RunEvent, ToolError};

/// A call that was sent before the plan was whole. Its tool merely reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EarlyCall {
    /// Who called.
    pub at: Arc<Address>,
    /// The tool, as the plan names it.
    pub tool: Arc<str>,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The arguments.
    pub args: Value,
    /// Why it failed, or that it was given up.
    pub error: Option<ToolError>,
    /// Whether the run of the whole plan goes on from it; otherwise it was in vain.
    pub counts: bool,
}

/// Listens to a run, and notes down what is sent early.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) calls: Vec<EarlyCall>,
    /// How often the plan grew.
    grown: usize,
    /// After which time it is whole.
    whole_after: Option<usize>,
}

impl Notes {
    /// The plan is whole once it has grown `times`.
    pub(super) fn whole_after(&mut self, times: usize) {
        self.whole_after = Some(times);
    }

    fn is_whole(&self) -> bool {
        self.whole_after.is_some_and(|times| self.grown >= times)
    }

    /// Takes in an event; says whether a call was sent early.
    pub(super) fn hear(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::PlanExtended { .. } => self.grown += 1,
            RunEvent::AttemptStarted {
                at,
                tool,
                attempt,
                args,
            } if !self.is_whole() => {
                self.calls.push(EarlyCall {
                    at: Arc::clone(at),
                    tool: Arc::clone(tool),
                    attempt: *attempt,
                    args: args.clone(),
                    error: None,
                    counts: false,
                });
                return true;
            }
            RunEvent::AttemptEnded {
                at, attempt, error, ..
            } => {
                let mut calls = self.calls.iter_mut();
                if let Some(call) = calls.find(|call| call.at == *at && call.attempt == *attempt) {
                    call.error.clone_from(error);
                }
            }
            _ => {}
        }
        false
    }

    /// The run goes on from all of them.
    pub(super) fn all_count(&mut self) {
        for call in &mut self.calls {
            call.counts = true;
        }
    }

    /// The run goes on from those that were answered, but not from those of these steps.
    pub(super) fn answers_count(&mut self, forgotten: &[StepId]) {
        for call in &mut self.calls {
            call.counts = call.error.is_none() && !forgotten.contains(call.at.outermost());
        }
    }
}
