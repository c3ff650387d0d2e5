//! Stored runs of any process: lists, following, decisions.

use std::sync::Arc;

use planwright_core::{PlanConsent, Policy, Tool};
use planwright_engine::Decision;
use planwright_engine::journal::Entry;
use planwright_engine::{Backends, RunId};
use planwright_store::{EntryWatcher, LeaseHolder, RunFilter, RunInfo, Store, StoreError};

use super::link::now;
use crate::service::planwright::Open;
use crate::service::{Error, Planwright, Run, RunView, Tools};
use crate::stored::{
    Decider, OpenQuestion, StoredRun, StoredRunError, approve_plan, open_questions, tools_of,
};

impl Planwright {
    /// Returns this service with a store: its runs can be listed, followed and decided about, no matter which process runs them.
    #[must_use]
    pub fn with_store(&self, store: &Store) -> Self {
        Self::with_open(Open {
            store: Some(store.clone()),
            ..self.open().clone()
        })
    }

    /// Returns this service with decisions that require a passphrase even if the store has none.
    #[must_use]
    pub fn with_required_passphrase(&self) -> Self {
        Self::with_open(Open {
            requires_passphrase: true,
            ..self.open().clone()
        })
    }

    /// Returns the same service, but the store records neither durations nor the structure of answers of its runs. Needed for simulated
    /// tools under the names of real ones.
    #[must_use]
    pub fn without_learning(&self) -> Self {
        Self::with_open(Open {
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
    /// [`StoredRunError::NotShown`] if a call waits that is not in `waiting`, or [`StoredRunError::Passphrase`]. After an error, nothing is stored.
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
    /// Those of [`Resume::start`](crate::service::Resume::start); [`StoredRunError::Ended`] if there is nothing to cancel.
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
