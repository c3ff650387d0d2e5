//! The scheduler alone, with graphs of calls.

use std::collections::VecDeque;
use std::sync::Arc;

use planwright_core::plan::RetryPolicy;
use planwright_engine::schedule::{
    AttemptEnd, CallTerms, ConcurrencyLimits, LaneId, Prepared, Scheduler, SchedulerCommand,
    SchedulerEvent, TaskId, UNIT, ranks,
};

/// Schedules a call for each entry of `waits`, which lists its dependencies, and returns the number of calls. Calls end in the order
/// in which they began.
///
/// # Panics
///
/// If the scheduler does not finish.
pub fn schedule(waits: &[Vec<u32>]) -> usize {
    let (mut scheduler, lane, mut commands) = set_up(waits);
    let mut in_flight = VecDeque::new();
    let mut todo = Vec::new();
    let mut calls = 0;
    loop {
        while !commands.is_empty() {
            std::mem::swap(&mut commands, &mut todo);
            for command in todo.drain(..) {
                match command {
                    SchedulerCommand::Prepare(task) => scheduler.handle(
                        SchedulerEvent::Prepared(task, Prepared::Call(terms(lane))),
                        &mut commands,
                    ),
                    SchedulerCommand::Call { task, attempt } => {
                        calls += 1;
                        in_flight.push_back((task, attempt));
                    }
                    _ => {}
                }
            }
        }
        scheduler.start_ready(&mut commands);
        if !commands.is_empty() {
            continue;
        }
        let Some((task, attempt)) = in_flight.pop_front() else {
            break;
        };
        let end = AttemptEnd::Final;
        scheduler.handle(
            SchedulerEvent::AttemptEnded { task, attempt, end },
            &mut commands,
        );
    }
    assert!(scheduler.is_done());
    calls
}

/// Creates a scheduler with a task for each entry of `waits`. Returns it with the lane of the calls and its first commands.
pub fn set_up(waits: &[Vec<u32>]) -> (Scheduler, LaneId, Vec<SchedulerCommand>) {
    let mut scheduler = Scheduler::new(ConcurrencyLimits::default());
    let lane = scheduler.lane(&"server".into(), &Arc::from("tool"));
    for rank in ranks(&vec![UNIT; waits.len()], waits) {
        scheduler.add(None, rank);
    }
    let mut commands = Vec::new();
    let mut on = Vec::new();
    for (task, waits) in (0..).zip(waits) {
        on.clear();
        on.extend(waits.iter().map(|task| TaskId(*task)));
        scheduler.start(TaskId(task), &on, &mut commands);
    }
    (scheduler, lane, commands)
}

fn terms(lane: LaneId) -> CallTerms {
    CallTerms {
        lane,
        is_exclusive: false,
        approval: false,
        retry: RetryPolicy::default(),
        attempt_timeout: None,
        step_timeout: None,
        retry_uncertain: false,
    }
}
