//! A cache of stored runs, so that several requests about one run read its journal once.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use planwright::core::CheckedPlan;
use planwright::drawing::{Drawing, RunParts};
use planwright::engine::event::Address;
use planwright::engine::run::{History, RunSummary, StepSummary};
use planwright::service::{StepPhase, StepStates, StepView};
use planwright::store::RunInfo;
use planwright::stored::StoredRun;

use super::states::StepStateEntry;
use crate::error::ApiError;
use crate::page::PageState;
use crate::plans::RunPlan;

/// The number of runs that are cached.
const CACHED: usize = 4;

/// A stored run, with its journal up to the time at which it was read.
pub(crate) struct Inspection {
    pub(crate) info: RunInfo,
    pub(crate) stored: Arc<StoredRun>,
    pub(crate) states: StepStates,
    pub(crate) history: History,
    pub(crate) plan: Arc<RunPlan>,
    /// The items, rounds and instances of its steps.
    pub(crate) parts: RunParts,
    /// The summary, or the reason why the journal cannot be replayed.
    summary: std::sync::OnceLock<Result<RunSummary, String>>,
}

/// The runs that were read last, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Inspections(Mutex<VecDeque<Arc<Inspection>>>);

impl Inspections {
    /// Returns a run, and reads it if it is not cached or has changed. Blocks on the disk.
    pub(crate) fn read(state: &PageState, info: &RunInfo) -> Result<Arc<Inspection>, ApiError> {
        let cache = &state.inspections.0;
        {
            let cached = cache.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = cached.iter().find(|cached| cached.info == *info) {
                return Ok(Arc::clone(found));
            }
        }
        let read = Arc::new(Inspection::read(state, info)?);
        let mut cached = cache.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|other| other.info.id != info.id);
        cached.push_front(Arc::clone(&read));
        cached.truncate(CACHED);
        Ok(read)
    }
}

impl Inspection {
    fn read(state: &PageState, info: &RunInfo) -> Result<Self, ApiError> {
        let stored = state.board.stored(info)?;
        let history = stored.history()?;
        Ok(Self {
            info: info.clone(),
            states: state.board.states(info, &stored),
            parts: RunParts::of(history.steps().map(|(at, _)| at)),
            history,
            plan: state.board.plans().of(&info.id, &stored),
            stored,
            summary: std::sync::OnceLock::new(),
        })
    }

    /// Returns the state of an item, a round, an instance or a step inside of one; `None` if it has not begun. A step that `is_group` has
    /// begun once a part of it has begun.
    pub(crate) fn part_state(&self, at: &Address, is_group: bool) -> Option<StepStateEntry> {
        let is_driven = self.info.holder.is_some();
        if !is_in_item(at) {
            let state = self.states.step(&at.to_string());
            return Some(StepStateEntry::of(&state, is_driven));
        }
        let past = self.history.past(at).cloned().unwrap_or_default();
        let mut view = StepView::of_past(&past);
        if view.phase == StepPhase::Pending {
            let address = at.to_string();
            // An item or a round has begun if there is a record of a part of it.
            let is_part = at.item.is_some() || at.round.is_some();
            let is_inside = |other: &Address| other.to_string().starts_with(&address);
            let has_begun =
                is_part || is_group && self.history.steps().any(|(other, _)| is_inside(other));
            if !has_begun {
                return None;
            }
            let waits = self.states.questions().keys().any(|question| {
                let rest = question.strip_prefix(&address);
                rest.is_some_and(|rest| rest.starts_with(['/', '#']))
            });
            view.phase = if waits {
                StepPhase::Waiting
            } else {
                StepPhase::Running
            };
        }
        Some(StepStateEntry::of(&view, is_driven))
    }

    pub(crate) fn plan(&self) -> Result<&CheckedPlan, ApiError> {
        self.plan
            .checked
            .as_ref()
            .map_err(|reason| ApiError::conflict(reason.clone()))
    }

    /// The drawing of the plan, with the ways of untrusted and private values.
    pub(crate) fn drawing(&self, state: &PageState) -> Result<&Drawing, ApiError> {
        self.plan
            .drawing(&*state.settings.mark_flow, &self.stored)
            .map_err(ApiError::conflict)
    }

    /// The summary of the run, by a replay of its journal.
    pub(crate) fn summary(&self) -> Result<&RunSummary, ApiError> {
        let summary = self.summary.get_or_init(|| {
            let replayed = self.stored.replayed(&self.info.id);
            replayed
                .map(|report| report.summary)
                .map_err(|error| error.to_string())
        });
        summary
            .as_ref()
            .map_err(|reason| ApiError::conflict(format!("the run cannot be replayed: {reason}")))
    }

    /// The summary of the step, item or round at `address`.
    pub(crate) fn step(&self, address: &str) -> Option<&StepSummary> {
        find(&self.summary().ok()?.steps, address)
    }
}

fn find<'a>(steps: &'a [StepSummary], address: &str) -> Option<&'a StepSummary> {
    steps.iter().find_map(|step| {
        if step.at.to_string() == address {
            return Some(step);
        }
        find(&step.parts, address)
    })
}

impl fmt::Debug for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspection")
            .field("run", &self.info.id)
            .finish_non_exhaustive()
    }
}

/// Returns true for an item and a round, and for steps inside one: their states are not among those of steps.
fn is_in_item(at: &Address) -> bool {
    at.item.is_some() || at.round.is_some() || at.inside.as_deref().is_some_and(is_in_item)
}
