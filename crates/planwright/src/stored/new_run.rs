//! Headers of a new run, and of each process that drives it.

use std::time::SystemTime;

use planwright_core::PlanConsent;
use planwright_core::check::CheckedPlan;
use planwright_engine::RunId;
use planwright_engine::options::RunOptions;
use planwright_engine::run::redacted_inputs;
use planwright_store::{LeaseHolder, LeasedRun, NewRun, Store};

use super::{StoredRunError, plan_consent, tools_of};
use crate::format::{
    DurationsV1, OptionsV1, PROCESS_SCHEMA, PlanTextV1, ProcessV1, RevertsV1, RunV1, ToolSourcesV1,
    ToolV1,
};

/// A run that is about to be stored: the data that another process needs to resume it.
#[derive(Clone, Debug)]
pub struct NewStoredRun {
    /// The plan's text; `None` if it was read in no dialect.
    pub source: Option<PlanTextV1>,
    /// The sources of its tools.
    pub tools: ToolSourcesV1,
    /// The client that it belongs to, if a gateway has several.
    pub client: Option<String>,
    /// The calls that it undoes, if it reverts another run.
    pub reverts: Option<RevertsV1>,
    /// The digest of the approval, if a person approved the plan as a whole.
    pub approved_plan: Option<PlanConsent>,
    /// The number of steps of a plan that is still being written.
    pub beginning: Option<usize>,
    /// The current time.
    pub now: SystemTime,
}

impl NewStoredRun {
    /// Writes the run, which `holder` leases, and returns the header of this process.
    ///
    /// # Errors
    ///
    /// If its text is in no dialect, or in a dialect of the embedding program, which no other process could read; if the store
    /// cannot write it.
    pub fn create(
        self,
        store: &Store,
        holder: &LeaseHolder,
        (id, plan, options): (&RunId, &CheckedPlan, &RunOptions),
    ) -> Result<(LeasedRun, ProcessV1), StoredRunError> {
        let text = self.source.ok_or(StoredRunError::NoDialect)?;
        if planwright_dialects::dialect(&text.dialect).is_none() {
            return Err(StoredRunError::UnknownDialect(text.dialect));
        }
        let dialect = text.dialect.clone();
        let inputs = redacted_inputs(plan, &options.masked_texts());
        let header = RunV1 {
            client: self.client,
            reverts: self.reverts,
            ..RunV1::new(text, inputs, self.tools)
        };
        let new = NewRun {
            id: id.clone(),
            plan: plan.plan().name.as_deref().map(str::to_owned),
            digest: plan.digest().clone(),
            dialect: Some(dialect),
            steps: plan.steps().len(),
            created: self.now,
            header: header.to_value(),
        };
        let process = ProcessV1 {
            approved_plan: self.approved_plan,
            beginning: self.beginning,
            ..process(plan, options, self.now)
        };
        Ok((store.create_run(new, holder)?, process))
    }
}

/// Returns the header of a process that drives a run of `plan`.
pub fn process(plan: &CheckedPlan, options: &RunOptions, now: SystemTime) -> ProcessV1 {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    ProcessV1 {
        schema: PROCESS_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        began_unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        idle_ms: Some(0),
        options: OptionsV1::from(options),
        durations: DurationsV1::from(&options.durations),
        tools: tools_of(plan)
            .iter()
            .map(|tool| ToolV1::from(&**tool))
            .collect(),
        steps: Some(plan.steps().len()),
        choices: Vec::new(),
        forgotten: Vec::new(),
        retained: Vec::new(),
        revokes_consent: false,
        flow: plan.flow().map(|flow| flow.planner.into()),
        approved_plan: None,
        plan_consent: Some(plan_consent(plan, options)),
        beginning: None,
        plan: None,
        revision: None,
        vars: None,
    }
}
