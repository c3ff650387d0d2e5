//! Runs in a store: what is stored of a run that begins, and of each process that resumes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::plan::{Action, PlanTarget};
use planwright_core::{CheckedPlan, Plan, Value};
use planwright_dialects::Dialect as _;
use planwright_dialects::native::Native;
use planwright_engine::approval::SealKey;
use planwright_engine::{Approver, Journal, RunOptions};
use planwright_store::{Holder, Store};

use super::{Error, Planwright};
use crate::format::{LibraryPlanV1, PlanTextV1, ToolSourcesV1};
use crate::loaded_plan::LoadedPlan;
use crate::stored::{NewStoredRun, StoreApprover, StoredRunError, process};

/// Where a run is stored.
pub(super) struct Storage {
    store: Store,
    id: Arc<str>,
    waits: bool,
}

impl Storage {
    pub(super) fn new(store: Store, id: Arc<str>, waits: bool) -> Self {
        Self { store, id, waits }
    }

    pub(super) fn seal_key(&self) -> Result<SealKey, Error> {
        Ok(self.store.seal_key().map_err(StoredRunError::from)?)
    }

    /// Decisions of the store first, then those of `approver`.
    pub(super) fn approver(&self, approver: Arc<dyn Approver>) -> Arc<dyn Approver> {
        let stored = StoreApprover::new(self.store.clone(), Arc::clone(&self.id)).or(approver);
        Arc::new(if self.waits { stored.waiting() } else { stored })
    }

    /// Stores what a new run begins with, and gives its journal with the header of this process.
    pub(super) fn begin(
        &self,
        planwright: &Planwright,
        plan: &CheckedPlan,
        options: &RunOptions,
    ) -> Result<(Arc<dyn Journal>, Value), Error> {
        let text = plan_text(planwright, plan)?;
        let loaded = LoadedPlan::kept(&text, plan.inputs().clone());
        let begin = NewStoredRun {
            id: &self.id,
            plan,
            loaded: &loaded,
            // The program brings its tools along: they are in no file.
            sources: ToolSourcesV1::default(),
            client: None,
            secrets: &options.masked_texts(),
            now: now(),
        };
        let held = begin.keep(&self.store, &holder())?;
        let header = process(plan, options, now()).to_value();
        Ok((Arc::new(held), header))
    }
}

/// The plan in Planwright's own dialect, whichever it was written in, and the plans that it runs by name. What it means when it is read again
/// is compared with what it means now.
pub(super) fn plan_text(planwright: &Planwright, plan: &CheckedPlan) -> Result<PlanTextV1, Error> {
    let mut library = BTreeMap::new();
    collect_library(plan, &mut library)?;
    let policy = &planwright.open().policy;
    let text = PlanTextV1 {
        source: plan.plan().name.as_deref().unwrap_or("plan").to_owned(),
        text: printed(plan.plan())?,
        dialect: Native.name().to_owned(),
        reorder: false,
        share: false,
        is_unfinished: false,
        recalled: planwright_core::Object::default(),
        max_steps: policy.limits.max_steps,
        library: library.into_values().collect(),
    };
    let mut loaded = LoadedPlan::kept(&text, plan.inputs().clone());
    loaded.restrict(|_| policy.clone());
    match loaded.check(planwright.catalog()) {
        Some(again) if again.digest() == plan.digest() => Ok(text),
        _ => {
            let reason = "its text does not mean the same when it is read again";
            Err(StoredRunError::Unwritable(reason.to_owned()).into())
        }
    }
}

/// The plans that a plan runs by name, by their names.
fn collect_library(
    plan: &CheckedPlan,
    found: &mut BTreeMap<String, LibraryPlanV1>,
) -> Result<(), Error> {
    for (step, checked) in plan.plan().steps.iter().zip(plan.steps()) {
        let Some(inner) = &checked.plan else {
            continue;
        };
        if let Action::Plan(call) = &step.action
            && let PlanTarget::Named(name) = &call.target
            && !found.contains_key(&*name.text)
        {
            let name = name.text.to_string();
            let text = printed(inner.plan())?;
            found.insert(name.clone(), LibraryPlanV1 { name, text });
        }
        collect_library(inner, found)?;
    }
    Ok(())
}

fn printed(plan: &Plan) -> Result<String, Error> {
    let (text, found) = Native.print(plan);
    text.ok_or_else(|| StoredRunError::Unwritable(found.to_string()).into())
}

/// This process, as the store names it to others.
pub(super) fn holder() -> Holder {
    Holder::this_process("", now())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that stores a run does it now"
)]
pub(super) fn now() -> SystemTime {
    SystemTime::now()
}
