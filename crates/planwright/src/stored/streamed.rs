//! Storage of a run that starts while its plan is still being written.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::{StepId, Value};
use planwright_engine::JournalError;
use planwright_engine::RunId;
use planwright_engine::options::RunOptions;
use planwright_engine::run::redacted_inputs;
use planwright_planner::create::CreatedPlan;
use planwright_planner::stream::{EarlyRunStorage, RunJournal};
use planwright_store::{LeaseHolder, Store};

use super::{NewStoredRun, StoredRunError, process};
use crate::format::{PlanTextV1, ProcessV1, ToolSourcesV1};
use crate::loaded_plan::LoadedPlan;

/// Stores a run whose plan is [still being written](planwright_planner::stream), like any other.
pub struct StreamedRunStore<'a> {
    /// The store.
    pub store: &'a Store,
    /// The name of this process, for other processes.
    pub holder: &'a LeaseHolder,
    /// The id of the run.
    pub id: &'a RunId,
    /// The sources of its tools.
    pub sources: ToolSourcesV1,
    /// The client that it belongs to, if a gateway has several.
    pub client: Option<String>,
    /// The options of the process.
    pub options: &'a RunOptions,
    /// Reads a plan's text again, with its inputs and the plans that it may run.
    pub loaded: &'a (dyn Fn(&str) -> LoadedPlan + Sync),
    /// The current time.
    pub now: &'a (dyn Fn() -> SystemTime + Sync),
}

impl StreamedRunStore<'_> {
    fn process(&self, plan: &CreatedPlan) -> ProcessV1 {
        process(&plan.checked, self.options, (self.now)())
    }

    fn create(
        &self,
        plan: &CreatedPlan,
        beginning: Option<usize>,
        is_unfinished: bool,
    ) -> Result<RunJournal, JournalError> {
        let source = (self.loaded)(&plan.text).to_stored();
        let new = NewStoredRun {
            source: source.map(|text| PlanTextV1 {
                is_unfinished,
                ..text
            }),
            tools: self.sources.clone(),
            client: self.client.clone(),
            reverts: None,
            approved_plan: None,
            beginning,
            now: (self.now)(),
        };
        let run = (self.id, &plan.checked, self.options);
        let (leased, process) = new
            .create(self.store, self.holder, run)
            .map_err(journal_error)?;
        Ok(RunJournal {
            journal: Arc::new(leased),
            header: process.to_value(),
        })
    }
}

impl EarlyRunStorage for StreamedRunStore<'_> {
    fn begin(
        &self,
        plan: &CreatedPlan,
        beginning: Option<usize>,
    ) -> Result<RunJournal, JournalError> {
        self.create(plan, beginning, false)
    }

    fn abandon(&self, plan: &CreatedPlan, beginning: usize) -> Result<RunJournal, JournalError> {
        self.create(plan, Some(beginning), true)
    }

    fn go_on(&self, plan: &CreatedPlan, forgotten: &[StepId]) -> Result<Value, JournalError> {
        let text = (self.loaded)(&plan.text).to_stored();
        let text = text.ok_or_else(|| journal_error(StoredRunError::NoDialect))?;
        let process = ProcessV1 {
            plan: Some(text),
            vars: Some(redacted_inputs(&plan.checked, &self.options.masked_texts())),
            forgotten: forgotten
                .iter()
                .map(|step| step.as_str().to_owned())
                .collect(),
            ..self.process(plan)
        };
        Ok(process.to_value())
    }
}

fn journal_error(error: StoredRunError) -> JournalError {
    JournalError::new(error.to_string())
}

impl fmt::Debug for StreamedRunStore<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedRunStore")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
