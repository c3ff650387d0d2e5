//! The start of runs whose plan is still being written.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::{CheckedPlan, Value};
use planwright_engine::options::PlanState;
use planwright_engine::{Approver, Canceller, RunOptions, RunSummary, StampedEvent};
use planwright_planner::stream::{LaunchError, LaunchRequest, LaunchedRun, RunLauncher};
#[cfg(feature = "store")]
use planwright_store::Store;

#[cfg(feature = "store")]
use super::Error;
use super::launch::run_time;
#[cfg(feature = "store")]
use super::store::complete_options;
use super::{Planwright, Run, RunSpec, RunStorage};

/// Starts the runs of [`planner::stream`](planwright_planner::stream::stream()) like all others: with the tools compared, the id claimed, and
/// the observers of the service.
pub struct StreamedRunLauncher {
    planwright: Planwright,
    options: RunOptions,
    approver: Arc<dyn Approver>,
    trace: Value,
    #[cfg(feature = "store")]
    store: Option<Store>,
}

impl StreamedRunLauncher {
    /// Runs on `planwright` with these options and this approver. Nothing is stored.
    pub fn new(
        planwright: &Planwright,
        mut options: RunOptions,
        approver: Arc<dyn Approver>,
    ) -> Self {
        // Known before the run, since its header has it as well, and the header is written after the run has started.
        options.evaluation.now.get_or_insert_with(run_time);
        Self {
            planwright: planwright.clone(),
            options,
            approver,
            trace: Value::Null,
            #[cfg(feature = "store")]
            store: None,
        }
    }

    /// Makes the runs part of a trace: an object with `traceparent` and `tracestate`, or `null`.
    #[must_use]
    pub fn traced(mut self, trace: Value) -> Self {
        self.trace = trace;
        self
    }

    /// Uses the store that the journals of the runs are in: its durations, unless the options have some, its requests of other processes, and
    /// what it learns from runs.
    ///
    /// # Errors
    ///
    /// Those of the store.
    #[cfg(feature = "store")]
    pub fn stored_in(mut self, store: &Store) -> Result<Self, Error> {
        complete_options(&mut self.options, store, true)?;
        self.store = Some(store.clone());
        Ok(self)
    }

    /// The complete options of the runs, which the header of their journal has.
    pub fn options(&self) -> &RunOptions {
        &self.options
    }
}

impl RunLauncher for StreamedRunLauncher {
    fn launch(&self, request: LaunchRequest) -> Result<Box<dyn LaunchedRun>, LaunchError> {
        let mut options = self.options.clone();
        if request.is_provisional {
            options.plan_state = PlanState::Provisional;
        }
        let storage = match (request.journal, request.history) {
            (Some((journal, header)), history) => RunStorage::Journal {
                journal,
                header,
                history,
                #[cfg(feature = "store")]
                store: self.store.clone(),
            },
            (None, Some(history)) => RunStorage::History(history),
            (None, None) => RunStorage::Nothing,
        };
        let run = self.planwright.launch(RunSpec {
            id: request.run,
            options,
            approver: Arc::clone(&self.approver),
            storage,
            trace: self.trace.clone(),
            ..RunSpec::new(request.plan)
        })?;
        Ok(Box::new(run))
    }
}

impl LaunchedRun for Run {
    fn canceller(&self) -> Canceller {
        self.canceller()
    }

    fn extend(&mut self, plan: CheckedPlan) {
        // The summary of a run that has ended reports why it ended.
        let _ = self.extend_checked(plan);
    }

    fn close(&self) {
        self.close();
    }

    fn next_event(&mut self) -> BoxFuture<'_, Option<StampedEvent>> {
        self.next_event().boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, RunSummary> {
        (*self).finish().boxed()
    }
}

impl fmt::Debug for StreamedRunLauncher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedRunLauncher")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
