//! The timeline of a run as data: a bar for each call, for each pause before a further attempt, and for each wait for a person; and the path of
//! steps that determined its duration.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::CheckedPlan;
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::History;
use serde::Serialize;

use crate::format::milliseconds;
use crate::service::StepStates;

/// The maximum number of bars of a timeline.
pub(super) const MAX_BARS: usize = 20_000;

/// The timeline of a run. Times are in milliseconds since its start, without the time between two processes.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineV1 {
    /// The time up to the last journal entry.
    pub total_ms: f64,
    /// The bars, by their start.
    pub bars: Vec<TimelineBarV1>,
    /// The number of further bars.
    pub more_bars: usize,
    /// The steps of the plan that determined the duration, in order: each one waited for the one before it longest.
    pub critical: Vec<String>,
}

/// A bar of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineBarV1 {
    /// The step, item or round.
    pub at: String,
    /// The step of the plan itself that it belongs to, without instances.
    pub step: String,
    /// The tool, for calls.
    pub tool: Option<Arc<str>>,
    /// The attempt: that of the call, or the one after the pause; 0 for waits.
    pub attempt: u32,
    /// `call`, `pause` or `wait`.
    pub kind: &'static str,
    /// The start.
    pub start_ms: f64,
    /// The end; none as long as it lasts.
    pub end_ms: Option<f64>,
    /// `succeeded`, `failed`, `unknown` if no answer came, or `running`.
    pub status: &'static str,
}

/// A call of a run, as pictures show it.
#[derive(Clone, Debug)]
pub(super) struct CallBar<'a> {
    pub(super) at: &'a Arc<Address>,
    pub(super) tool: &'a Arc<str>,
    pub(super) attempt: u32,
    pub(super) sent: Duration,
    pub(super) ended: Option<Duration>,
    /// `succeeded`, `failed`, `unknown` if it ended without an answer, or `running`.
    pub(super) status: &'static str,
}

/// The calls of a run, in no particular order.
pub(super) fn calls(history: &History) -> impl Iterator<Item = CallBar<'_>> {
    history.steps().flat_map(|(at, past)| {
        past.calls.iter().map(move |call| CallBar {
            at,
            tool: &call.tool,
            attempt: call.attempt,
            sent: call.sent,
            ended: call.ended,
            status: match (&call.answer, call.ended) {
                (Some(Ok(_)), _) => "succeeded",
                (Some(Err(_)), _) => "failed",
                (None, Some(_)) => "unknown",
                (None, None) => "running",
            },
        })
    })
}

/// The step of the run's own plan that an address belongs to.
pub(super) fn outermost(at: &Address) -> &Address {
    at.inside.as_deref().map_or(at, outermost)
}

impl TimelineV1 {
    /// The timeline of a run with these journal entries, which `history` and `states` were read from.
    pub fn of(
        plan: Option<&CheckedPlan>,
        entries: &[Entry],
        history: &History,
        states: &StepStates,
    ) -> Self {
        let mut bars = Vec::new();
        let mut last: HashMap<&Address, Vec<CallBar<'_>>> = HashMap::new();
        for call in calls(history) {
            last.entry(call.at).or_default().push(call);
        }
        for calls in last.values_mut() {
            calls.sort_by_key(|call| call.sent);
            for call in &*calls {
                bars.push(TimelineBarV1::new(
                    call.at,
                    "call",
                    call.sent,
                    call.ended,
                    call.status,
                ));
                if let Some(bar) = bars.last_mut() {
                    bar.tool = Some(Arc::clone(call.tool));
                    bar.attempt = call.attempt;
                }
            }
            for pair in calls.windows(2) {
                let [before, after] = pair else { continue };
                if let (Some(ended), "failed") = (before.ended, before.status)
                    && ended < after.sent
                {
                    let mut bar =
                        TimelineBarV1::new(after.at, "pause", ended, Some(after.sent), "succeeded");
                    bar.attempt = after.attempt;
                    bars.push(bar);
                }
            }
        }
        bars.extend(waits(entries).iter().map(|wait| {
            let status = match wait.end {
                Some(_) => "succeeded",
                None => "running",
            };
            TimelineBarV1::new(wait.at, "wait", wait.since, wait.end, status)
        }));
        bars.sort_by(|one, other| {
            let start = one.start_ms.total_cmp(&other.start_ms);
            start.then_with(|| (&one.at, one.kind).cmp(&(&other.at, other.kind)))
        });
        let more_bars = bars.len().saturating_sub(MAX_BARS);
        bars.truncate(MAX_BARS);
        Self {
            total_ms: milliseconds(history.duration()),
            bars,
            more_bars,
            critical: plan.map_or_else(Vec::new, |plan| critical(plan, states)),
        }
    }
}

impl TimelineBarV1 {
    fn new(
        at: &Address,
        kind: &'static str,
        start: Duration,
        end: Option<Duration>,
        status: &'static str,
    ) -> Self {
        let step = Address {
            inside: None,
            instance: None,
            step: outermost(at).step.clone(),
            item: None,
            round: None,
        };
        Self {
            at: at.to_string(),
            step: step.to_string(),
            tool: None,
            attempt: 0,
            kind,
            start_ms: milliseconds(start),
            end_ms: end.map(milliseconds),
            status,
        }
    }
}

/// A wait of a call for a person.
#[derive(Clone, Copy, Debug)]
pub(super) struct PersonWait<'a> {
    pub(super) at: &'a Arc<Address>,
    pub(super) since: Duration,
    /// The end; none as long as it lasts.
    pub(super) end: Option<Duration>,
}

/// Returns the waits for people, by their start. A wait ends with the decision, or with the process that asked.
pub(super) fn waits(entries: &[Entry]) -> Vec<PersonWait<'_>> {
    let mut open: HashMap<&Arc<Address>, Duration> = HashMap::new();
    let mut waits = Vec::new();
    let mut add = |at, since, end| waits.push(PersonWait { at, since, end });
    for entry in entries {
        match &entry.record {
            Record::Asked { at, .. } => {
                open.insert(at, entry.at);
            }
            Record::Decided { at, .. } => {
                if let Some(since) = open.remove(at) {
                    add(at, since, Some(entry.at));
                }
            }
            Record::Opened { .. } | Record::Ended { .. } => {
                for (at, since) in open.drain() {
                    add(at, since, Some(entry.at));
                }
            }
            Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. } => {}
        }
    }
    for (at, since) in open {
        add(at, since, None);
    }
    waits.sort_by_cached_key(|wait| (wait.since, wait.at.to_string()));
    waits
}

/// The steps that determined the duration: from the one that ended last, back to the dependency that ended last, and so on.
fn critical(plan: &CheckedPlan, states: &StepStates) -> Vec<String> {
    let steps = &plan.plan().steps;
    let addresses: Vec<String> = steps
        .iter()
        .map(|step| {
            let at = Address {
                inside: None,
                instance: None,
                step: step.id.clone(),
                item: None,
                round: None,
            };
            at.to_string()
        })
        .collect();
    let ends: Vec<Option<Duration>> = addresses
        .iter()
        .map(|address| {
            let state = states.step(address);
            // A step that did not begin has determined nothing.
            state.ended.filter(|_| state.started.is_some())
        })
        .collect();
    let latest = |steps: &mut dyn Iterator<Item = usize>| {
        steps
            .filter_map(|step| Some((ends.get(step).copied().flatten()?, step)))
            .max()
            .map(|(_, step)| step)
    };
    let mut path = Vec::new();
    let mut next = latest(&mut (0..steps.len()));
    while let Some(step) = next {
        // A checked plan has no cycle, so this ends.
        path.push(addresses[step].clone());
        let known = plan.steps().get(step);
        let before = known.into_iter().flat_map(|known| &known.dependencies);
        next = latest(&mut before.map(|dependency| dependency.on as usize));
    }
    path.reverse();
    path
}
