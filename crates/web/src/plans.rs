//! A cache of the checked plans of stored runs, so that a plan is checked and drawn only once.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use planwright::core::CheckedPlan;
use planwright::drawing::{Drawing, GraphLayoutV1, RunParts};
use planwright::engine::RunId;
use planwright::stored::StoredRun;

use crate::page::FlowMarker;

/// The number of plans that are cached.
const CACHED: usize = 8;

/// A plan of a run, checked with the tools that the run recorded.
pub(crate) struct RunPlan {
    /// The plan, or the reason why it cannot be shown.
    pub(crate) checked: Result<CheckedPlan, String>,
    drawing: OnceLock<Drawing>,
    /// The layout with all groups closed.
    layout: OnceLock<GraphLayoutV1>,
}

/// The plans that were checked last, the latest first.
#[derive(Default)]
pub(crate) struct PlanCache(Mutex<VecDeque<(PlanKey, Arc<RunPlan>)>>);

/// The run, and the number of journal entries that may have changed its plan.
type PlanKey = (RunId, usize);

impl PlanCache {
    /// Returns the latest plan of a run. The check may take long.
    pub(crate) fn of(&self, run: &RunId, stored: &StoredRun) -> Arc<RunPlan> {
        let entries = stored.entries.iter();
        let changes = entries.filter(|entry| entry.record.may_change_plan());
        let key = (run.clone(), changes.count());
        if let Some(found) = self.find(&key) {
            return found;
        }
        let plan = Arc::new(RunPlan::of(stored));
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|((other, _), _)| other != run);
        cached.push_front((key, Arc::clone(&plan)));
        cached.truncate(CACHED);
        plan
    }

    fn find(&self, key: &PlanKey) -> Option<Arc<RunPlan>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = cached.iter().filter(|(known, _)| known == key);
        found.next().map(|(_, plan)| Arc::clone(plan))
    }
}

impl RunPlan {
    fn of(stored: &StoredRun) -> Self {
        // The tools are in the first entry, which is written after the run is in the list.
        let checked = if stored.process.is_some() {
            stored.latest_plan().map_err(|error| error.to_string())
        } else {
            Err("the run is only beginning".to_owned())
        };
        Self {
            checked,
            drawing: OnceLock::new(),
            layout: OnceLock::new(),
        }
    }

    /// The drawing of the plan, with the ways of untrusted and private values.
    pub(crate) fn drawing(&self, mark: &FlowMarker, stored: &StoredRun) -> Result<&Drawing, &str> {
        let plan = self.checked.as_ref().map_err(String::as_str)?;
        Ok(self.drawing.get_or_init(|| {
            let mut drawing = Drawing::of(plan);
            mark(&mut drawing, plan, &stored.labels());
            drawing
        }))
    }

    /// The layout of the drawing with all groups closed.
    pub(crate) fn layout(
        &self,
        mark: &FlowMarker,
        stored: &StoredRun,
    ) -> Result<&GraphLayoutV1, &str> {
        let drawing = self.drawing(mark, stored)?;
        Ok(self
            .layout
            .get_or_init(|| drawing.layout_of_run(&BTreeSet::new(), &RunParts::default())))
    }
}

impl std::fmt::Debug for PlanCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanCache")
    }
}
