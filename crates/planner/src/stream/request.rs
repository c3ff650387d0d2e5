//! Requests for streamed runs: their events, their storage and their outcome.

use std::fmt;
use std::sync::Arc;

use planwright_core::{StepId, Value};
use planwright_engine::{Canceller, Engine, Journal, JournalError, RunSummary, StampedEvent};

use super::early_run::EarlyCall;
use crate::create::{CreatedPlan, PlanAttempt, PlanRequest, PlanResponse};

/// A request to create a plan and run it while it is being written.
pub struct StreamRequest<'a> {
    /// The plan to create.
    pub creation: PlanRequest<'a>,
    /// The engine that runs the plan.
    pub engine: &'a Engine,
    /// Id of the run.
    pub run: Arc<str>,
    /// Storage of the run, if it is stored.
    pub keeper: Option<&'a dyn EarlyRunStorage>,
    /// Receiver of events.
    pub listener: &'a mut (dyn FnMut(StreamEvent<'_>) + Send),
}

/// An event while a plan is written and run.
#[derive(Debug)]
pub enum StreamEvent<'a> {
    /// The model has written this text.
    Text(&'a str),
    /// The model has replied, with this outcome.
    PlanAttempt(&'a PlanAttempt),
    /// A run has started, with its canceller. A second one starts if the first was abandoned.
    RunStarted(&'a Canceller),
    /// The plan so far passes the check and its run continues with it. The plan has more steps each time.
    PlanGrew(&'a CreatedPlan),
    /// The plan is complete. All steps may now run.
    Planned(&'a CreatedPlan),
    /// An event of the run.
    Run(&'a StampedEvent),
    /// The early run was cancelled because no valid plan followed. If one follows later, the run restarts and reuses matching results.
    Abandoned(&'a RunSummary),
}

/// The outcome of a streamed run.
#[derive(Debug)]
#[non_exhaustive]
pub struct StreamOutcome {
    /// The outcome of plan creation.
    pub created: PlanResponse,
    /// Summary of the run, if there was a plan to run.
    pub summary: Option<RunSummary>,
    /// Read-only calls made before the plan was complete.
    pub early: Vec<EarlyCall>,
    /// Summary of the early run, if it was abandoned.
    pub abandoned: Option<RunSummary>,
    /// The error that prevented storing the run, and therefore running the plan.
    pub journal_error: Option<JournalError>,
    /// Fraction of the reply that had arrived when the first call was sent, from 0 to 1; `None` if the reply was complete.
    pub first_call_at: Option<f64>,
}

/// Stores a run once its plan is known. Until then the run has made read-only calls only.
pub trait EarlyRunStorage: Send + Sync {
    /// Starts storing the run of `plan`. `beginning` is the number of steps the run started with if it started while the plan was
    /// still being written.
    ///
    /// # Errors
    ///
    /// The reason why the run cannot be stored. The run is then cancelled.
    fn begin(
        &self,
        plan: &CreatedPlan,
        beginning: Option<usize>,
    ) -> Result<RunJournal, JournalError>;

    /// Stores a run that was cancelled because no valid plan followed. `plan` is the part that had arrived, and `beginning` the number
    /// of steps the run started with.
    ///
    /// # Errors
    ///
    /// The reason why the run cannot be stored. Nothing more is run then.
    fn abandon(&self, plan: &CreatedPlan, beginning: usize) -> Result<RunJournal, JournalError>;

    /// Continues the same run with another plan and discards the results of the `forgotten` steps. Returns the header for the second
    /// opening entry of the journal.
    ///
    /// # Errors
    ///
    /// The reason why the run cannot be stored. The run does not continue then.
    fn go_on(&self, plan: &CreatedPlan, forgotten: &[StepId]) -> Result<Value, JournalError>;
}

/// The journal of a stored run, and the header of its first entry.
#[derive(Clone)]
pub struct RunJournal {
    /// Destination of the journal entries.
    pub journal: Arc<dyn Journal>,
    /// Header of the journal's first opening entry.
    pub header: Value,
}

impl fmt::Debug for RunJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl fmt::Debug for StreamRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming")
            .field("creation", &self.creation)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
