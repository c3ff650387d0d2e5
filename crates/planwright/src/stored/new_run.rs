//! What a run begins with, and each process that drives it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::Tool;
use planwright_core::check::CheckedPlan;
use planwright_engine::options::RunOptions;
use planwright_engine::run::shown_inputs;
use planwright_store::{HeldRun, Holder, NewRun, Store};

use super::StoredRunError;
use crate::format::{
    DurationsV1, OptionsV1, PROCESS_SCHEMA, PlanTextV1, ProcessV1, RunV1, ToolSourcesV1, ToolV1,
};
use crate::loaded_plan::LoadedPlan;

/// A run that is to be kept.
#[derive(Debug)]
pub struct NewStoredRun<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its plan.
    pub plan: &'a CheckedPlan,
    /// The text that the plan was read from.
    pub loaded: &'a LoadedPlan,
    /// Where its tools come from.
    pub sources: ToolSourcesV1,
    /// Who it belongs to, where a gateway has several clients.
    pub client: Option<String>,
    /// What is not written down of its inputs.
    pub secrets: &'a [Arc<str>],
    /// What time it is.
    pub now: SystemTime,
}

impl NewStoredRun<'_> {
    /// Begins to keep the run, which is `holder`'s from now on.
    ///
    /// # Errors
    ///
    /// If its text is in no dialect, or in one of the program's own, which no other process could read; if the store cannot keep it.
    pub fn keep(self, store: &Store, holder: &Holder) -> Result<HeldRun, StoredRunError> {
        self.store_as(store, holder, false)
    }

    /// Begins to keep a run whose plan is no more than the beginning of one that never came to its end.
    ///
    /// # Errors
    ///
    /// As for [`keep`](Self::keep).
    pub fn store_unfinished(
        self,
        store: &Store,
        holder: &Holder,
    ) -> Result<HeldRun, StoredRunError> {
        self.store_as(store, holder, true)
    }

    fn store_as(
        self,
        store: &Store,
        holder: &Holder,
        is_unfinished: bool,
    ) -> Result<HeldRun, StoredRunError> {
        let text = PlanTextV1 {
            is_unfinished,
            ..self.loaded.to_kept().ok_or(StoredRunError::NoDialect)?
        };
        if planwright_dialects::dialect(&text.dialect).is_none() {
            return Err(StoredRunError::UnknownDialect(text.dialect));
        }
        let inputs = shown_inputs(self.plan, self.secrets);
        let header = RunV1 {
            client: self.client,
            ..RunV1::new(text, inputs, self.sources)
        };
        let new = NewRun {
            id: self.id.to_owned(),
            plan: self.plan.plan().name.as_deref().map(str::to_owned),
            digest: self.plan.digest().to_owned(),
            dialect: self.loaded.dialect.map(str::to_owned),
            steps: self.plan.steps().len(),
            created: self.now,
            header: header.to_value(),
        };
        Ok(store.create_run(new, holder)?)
    }
}

/// What a process begins with that drives a run of `plan`.
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
        revokes_consent: false,
        approved_plan: None,
        beginning: None,
        plan: None,
        revision: None,
        vars: None,
    }
}

/// The tools that a plan calls, those of the plans that it runs included, by name.
pub fn tools_of(plan: &CheckedPlan) -> Vec<Arc<Tool>> {
    type Tools = BTreeMap<(Arc<str>, Arc<str>), Arc<Tool>>;
    fn collect(plan: &CheckedPlan, tools: &mut Tools) {
        for step in plan.steps() {
            if let Some(tool) = &step.tool {
                tools
                    .entry((Arc::clone(&tool.server), Arc::clone(&tool.name)))
                    .or_insert_with(|| Arc::clone(tool));
            }
            if let Some(inner) = &step.plan {
                collect(inner, tools);
            }
        }
    }
    let mut tools = Tools::new();
    collect(plan, &mut tools);
    tools.into_values().collect()
}
