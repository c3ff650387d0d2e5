//! Headers of a new run, and of each process that drives it; and the runs whose headers say that they undo another one.

use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::PlanConsent;
use planwright_core::check::CheckedPlan;
use planwright_core::text::hex;
use planwright_engine::RunId;
use planwright_engine::options::RunOptions;
use planwright_engine::run::redacted_inputs;
use planwright_store::{LeaseHolder, LeasedRun, NewRun, RunInfo, Store, StoreError};
use sha2::{Digest, Sha256};

use super::{StoredRun, StoredRunError, plan_consent, tools_of};
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

/// The runs that revert `run`, in the order in which they began, with the calls that each undoes; and the id of the next one. Imported
/// reverts of a run that began in this store do not count.
///
/// The ids follow from that of `run`, so that a lookup needs no index, and of two processes only one can begin the next one.
///
/// # Errors
///
/// The store cannot be read.
pub fn reverts_of(
    store: &Store,
    run: &RunId,
) -> Result<(Vec<(RunId, RevertsV1)>, RunId), StoredRunError> {
    let mut found = Vec::new();
    let mut number = 1_usize;
    loop {
        let id = revert_id(run, number)?;
        // The beginning of a longer id does not count.
        let info = match store.run(id.as_str()) {
            Ok(info) if info.id == id => info,
            Ok(_) | Err(StoreError::Missing { .. } | StoreError::Ambiguous { .. }) => {
                return Ok((found, id));
            }
            Err(error) => return Err(error.into()),
        };
        number += 1;
        // Anyone can write into a file that a run of another store is undone.
        let is_local = |of: RunInfo| of.id == *run && of.imported.is_none();
        if info.imported.is_some() && store.run(run.as_str()).is_ok_and(is_local) {
            continue;
        }
        let header = RunV1::from_value(&store.header(id.as_str())?)?;
        // A caller may have given the id to another run.
        if let Some(reverts) = header.reverts.filter(|reverts| reverts.run == *run) {
            found.push((id, reverts));
        }
    }
}

/// An exported run, with everything that says what of it is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFamily {
    /// The text for [`Store::import`].
    pub text: String,
    /// The further runs in the text: the run that the exported one reverts, and the reverts of both.
    pub further: Vec<RunId>,
}

/// Exports a run with the run that it reverts, and the reverts of both.
///
/// # Errors
///
/// Those of [`Store::export`].
pub fn export(store: &Store, selector: &str) -> Result<ExportedFamily, StoredRunError> {
    let run = store.run(selector)?.id;
    let mut family = vec![run.clone()];
    let header = RunV1::from_value(&store.header(run.as_str())?);
    // A program that uses the store directly writes other headers, and its runs revert nothing.
    if let Some(reverts) = header.ok().and_then(|header| header.reverts)
        && store
            .run(reverts.run.as_str())
            .is_ok_and(|info| info.id == reverts.run)
    {
        family.push(reverts.run);
    }
    let mut next = 0;
    while let Some(run) = family.get(next).cloned() {
        for (revert, _) in reverts_of(store, &run)?.0 {
            if !family.contains(&revert) {
                family.push(revert);
            }
        }
        next += 1;
    }
    let further = family.split_off(1);
    let text = store.export_with(run.as_str(), &further)?;
    Ok(ExportedFamily { text, further })
}

/// Returns the id of the revert number `number` of `run`. It looks like any other id, so that its first characters suffice to name it.
fn revert_id(run: &RunId, number: usize) -> Result<RunId, StoredRunError> {
    let digest = Sha256::digest(format!("planwright.revert/1 {run} {number}"));
    let digits: Arc<str> = hex(digest.get(..8).unwrap_or_default()).into();
    RunId::try_from(digits).map_err(|error| StoredRunError::Unwritable(error.to_string()))
}

/// Returns the reason why a run that is resumed must make no call: a later run has undone what it did, or makes the remaining undos in its
/// place. The caller has leased the run, and a run that reverts another begins only while its predecessor and the reverted run are leased.
pub(super) fn reason_to_make_no_call(
    stored: &StoredRun,
    store: &Store,
    id: &RunId,
) -> Result<Option<StoredRunError>, StoredRunError> {
    let (reverts, _) = reverts_of(store, id)?;
    if let Some((by, _)) = reverts.into_iter().next_back() {
        return Ok(Some(StoredRunError::Reverted(by)));
    }
    let Some(reverts) = &stored.run.reverts else {
        return Ok(None);
    };
    let (all, _) = reverts_of(store, &reverts.run)?;
    let last = all.into_iter().next_back().map(|(last, _)| last);
    Ok(last
        .filter(|last| last != id)
        .map(StoredRunError::Superseded))
}
