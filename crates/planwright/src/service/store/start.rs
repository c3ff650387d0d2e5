//! The start of a stored run: its approver, its storage, and the text of its plan, which other processes read.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright_core::plan::{Action, PlanTarget};
use planwright_core::{CheckedPlan, Plan};
use planwright_dialects::Dialect as _;
use planwright_dialects::native::Native;
use planwright_engine::Approver;
use planwright_store::{LeaseHolder, Store};

use super::link::now;
use crate::format::{LibraryPlanV1, PlanTextV1, ToolSourcesV1};
use crate::loaded_plan::LoadedPlan;
use crate::service::{Error, Planwright, RunStorage};
use crate::stored::{NewStoredRun, StoreApprover, StoredRunError};

/// The approver of a stored run: decisions in the store count first, then those of `approver`. With `waits`, a call that the approver puts
/// off waits for a decision of another process.
pub(in crate::service) fn approver_of(
    store: &Store,
    approver: Arc<dyn Approver>,
    waits: bool,
) -> Arc<dyn Approver> {
    let stored = StoreApprover::new(store.clone()).or(approver);
    Arc::new(if waits { stored.waiting() } else { stored })
}

/// Returns the storage of a new run of a program. No sources of tools are stored, because the program opens its tools itself.
pub(in crate::service) fn new_run(
    planwright: &Planwright,
    plan: &CheckedPlan,
    store: Store,
) -> Result<RunStorage, Error> {
    let run = NewStoredRun {
        source: Some(plan_text(planwright, plan)?),
        tools: ToolSourcesV1::default(),
        client: None,
        reverts: None,
        approved_plan: None,
        beginning: None,
        now: now(),
    };
    Ok(RunStorage::New {
        store,
        holder: holder(),
        run: Box::new(run),
    })
}

/// Returns the plan in Planwright's own dialect, and the plans that it runs by name. Its meaning when it is read again
/// is compared with its current meaning.
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
        recalled_labels: Vec::new(),
        max_steps: policy.limits.max_steps,
        library: library.into_values().collect(),
    };
    let loaded = LoadedPlan::from_stored(&text, plan.inputs().clone());
    match loaded.check(planwright.catalog(), policy).0 {
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

/// Returns the identity of this process, as the store shows it to others.
pub(in crate::service) fn holder() -> LeaseHolder {
    LeaseHolder::this_process("", now())
}
