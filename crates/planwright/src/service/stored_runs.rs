//! Stored runs of any process: storage of a run and of each process that resumes it, lists, following, decisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright_core::plan::{Action, PlanTarget};
use planwright_core::{CheckedPlan, Plan, PlanConsent, Policy, Tool};
use planwright_dialects::Dialect as _;
use planwright_dialects::native::Native;
use planwright_engine::journal::Entry;
use planwright_engine::{Approver, Decision};
use planwright_engine::{Backends, RunId};
use planwright_store::{EntryWatcher, LeaseHolder, RunFilter, RunInfo, Store, StoreError};

use super::store_link::now;
use super::{Error, Planwright, Run, RunStorage, RunView, Tools};
use crate::format::{LibraryPlanV1, PlanTextV1, ToolSourcesV1};
use crate::loaded_plan::LoadedPlan;
use crate::stored::{
    Decider, NewStoredRun, OpenQuestion, StoreApprover, StoredRun, StoredRunError, approve_plan,
    open_questions, tools_of,
};

impl Planwright {
    /// Returns this service with a store: its runs can be listed, followed and decided about, no matter which process runs them.
    #[must_use]
    pub fn with_store(&self, store: &Store) -> Self {
        Self::with_open(super::planwright::Open {
            store: Some(store.clone()),
            ..self.open().clone()
        })
    }

    /// Returns this service with decisions that require a passphrase even if the store has none.
    #[must_use]
    pub fn with_required_passphrase(&self) -> Self {
        Self::with_open(super::planwright::Open {
            requires_passphrase: true,
            ..self.open().clone()
        })
    }

    /// Returns the same service, but the store records neither durations nor the structure of answers of its runs. Needed for simulated
    /// tools under the names of real ones.
    #[must_use]
    pub fn without_learning(&self) -> Self {
        Self::with_open(super::planwright::Open {
            learns: false,
            ..self.open().clone()
        })
    }

    /// The stored runs that match `filter`, the newest first.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunInfo>, Error> {
        Ok(self.store()?.runs(filter).map_err(StoredRunError::from)?)
    }

    /// Returns the present state of a stored run. `run` is its id or the beginning of it.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store.
    pub fn stored_run(&self, run: &str) -> Result<RunView, Error> {
        let store = self.store()?;
        let (mut view, id) = opened(store, run)?;
        let entries = store.entries(id.as_str()).map_err(StoredRunError::from)?;
        for entry in entries {
            view.entry(&id, &entry.map_err(StoredRunError::from)?);
        }
        Ok(view)
    }

    /// Follows a stored run of any process, from its first journal entry on.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store.
    pub fn watch(&self, run: &str) -> Result<RunWatch, Error> {
        let store = self.store()?;
        let (view, run) = opened(store, run)?;
        let entries = store
            .watch_entries(run.as_str())
            .map_err(StoredRunError::from)?;
        Ok(RunWatch { entries, run, view })
    }

    /// The calls of a stored run that wait for a decision, by address.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store.
    pub fn questions(&self, run: &str) -> Result<Vec<OpenQuestion>, Error> {
        Ok(open_questions(self.store()?, run)?)
    }

    /// Stores a decision about a call that waits, for the process that runs or resumes the run. The decision is about exactly the call of
    /// `question` and counts once.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], an error of the store, or [`StoredRunError::Passphrase`] if the store or the configuration requires a
    /// passphrase that `decider` has not entered.
    pub fn decide(
        &self,
        question: &OpenQuestion,
        decision: Decision,
        decider: &Decider,
    ) -> Result<(), Error> {
        self.decide_all(&[question], &decision, decider)
    }

    /// Stores one decision about several calls that wait, or nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Planwright::decide`]. If a call already has a decision, nothing is stored.
    pub fn decide_all(
        &self,
        questions: &[&OpenQuestion],
        decision: &Decision,
        decider: &Decider,
    ) -> Result<(), Error> {
        let store = self.store()?;
        let checked = decider.check(store, self.open().requires_passphrase);
        checked.map_err(StoredRunError::from)?;
        let decided = OpenQuestion::decide_all(questions, store, decision, decider, now());
        Ok(decided?)
    }

    /// Approves the whole plan of a stored run, with its calls that wait: none of its calls waits any more, as long as no
    /// resumption of the run changes its plan, its inputs, its tools or the outcome of a step. A decision about just one call comes first, and a call that was
    /// rejected waits again.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], an error of the store, [`StoredRunError::OtherPlan`] if `consent` is not that of the plan that the run has now,
    /// [`StoredRunError::NotShown`] if a call waits that is not in `waiting`, or [`StoredRunError::Passphrase`]. Nothing is stored then.
    pub fn approve_plan(
        &self,
        run: &str,
        consent: &PlanConsent,
        waiting: &[&OpenQuestion],
        decider: &Decider,
    ) -> Result<(), Error> {
        let store = self.store()?;
        let checked = decider.check(store, self.open().requires_passphrase);
        checked.map_err(StoredRunError::from)?;
        let shown = (consent, waiting);
        Ok(approve_plan(store, run, shown, decider, now())?)
    }

    /// Asks the process that drives a stored run to cancel it, which it does within a second. Returns that process. `by` is the name of the person,
    /// as it is stored.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store: [`StoreError::Idle`] if no process drives the run.
    pub fn cancel_stored(&self, run: &str, by: Option<String>) -> Result<LeaseHolder, Error> {
        let asked = self.store()?.request_cancel(run, by, now());
        Ok(asked.map_err(StoredRunError::from)?)
    }

    /// Ends a stored run that no process drives as cancelled: it is resumed over the tools that it had, and none is opened or called.
    /// Await [`Run::finish`].
    ///
    /// # Errors
    ///
    /// Those of [`Resume::start`](super::Resume::start); [`StoredRunError::Ended`] if there is nothing to cancel.
    pub fn cancel_idle(&self, run: &str) -> Result<Run, Error> {
        let store = self.store()?;
        let info = store.run(run).map_err(StoredRunError::from)?;
        if !info.is_cancellable() {
            return Err(StoredRunError::Ended.into());
        }
        let plan = StoredRun::read(store, info.id.as_str())?.latest_plan()?;
        let tools = tools_of(&plan);
        let catalog = tools.iter().map(|tool| Tool::clone(tool));
        let unopened = self.with_tools(Tools {
            catalog: Arc::new(catalog.collect()),
            backend: Arc::new(Backends::new()),
            policy: Policy::new().allow_all_releases(),
        });
        let resume = unopened.without_learning().resume(store, info.id);
        resume.plan(plan).cancelled().start()
    }

    fn store(&self) -> Result<&Store, Error> {
        self.open().store.as_ref().ok_or(Error::NoStore)
    }
}

/// The view of a run before its first entry, and its whole id.
fn opened(store: &Store, run: &str) -> Result<(RunView, RunId), Error> {
    let info = store.run(run).map_err(StoredRunError::from)?;
    let view = RunView {
        steps: info.steps,
        ..RunView::default()
    };
    Ok((view, info.id))
}

/// A stored run that is being followed.
#[derive(Debug)]
pub struct RunWatch {
    entries: EntryWatcher,
    run: RunId,
    view: RunView,
}

impl RunWatch {
    /// The run's id.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The state of the run after the entries so far.
    pub fn view(&self) -> &RunView {
        &self.view
    }

    /// Waits for new journal entries, and returns at least one, in order, after it has applied them to the [view](Self::view). Dropping the future
    /// loses no entry. A run that has ended can be resumed, so this ends only with an error.
    ///
    /// # Errors
    ///
    /// An error of the store.
    pub async fn next(&mut self) -> Result<Vec<Entry>, Error> {
        let entries = self.entries.next().await;
        let entries = entries.map_err(|error: StoreError| StoredRunError::from(error))?;
        for entry in &entries {
            self.view.entry(&self.run, entry);
        }
        Ok(entries)
    }
}

/// The approver of a stored run: decisions in the store count first, then those of `approver`. With `waits`, a call that the approver puts
/// off waits for a decision of another process.
pub(super) fn approver_of(
    store: &Store,
    id: &RunId,
    approver: Arc<dyn Approver>,
    waits: bool,
) -> Arc<dyn Approver> {
    let stored = StoreApprover::new(store.clone(), id.clone()).or(approver);
    Arc::new(if waits { stored.waiting() } else { stored })
}

/// Returns the storage of a new run of a program. No sources of tools are stored, because the program opens its tools itself.
pub(super) fn new_run(
    planwright: &Planwright,
    plan: &CheckedPlan,
    store: Store,
) -> Result<RunStorage, Error> {
    let run = NewStoredRun {
        source: Some(plan_text(planwright, plan)?),
        tools: ToolSourcesV1::default(),
        client: None,
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
pub(super) fn holder() -> LeaseHolder {
    LeaseHolder::this_process("", now())
}
