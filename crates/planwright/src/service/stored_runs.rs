//! Stored runs of any process: list them, look at one, follow it, decide about its calls.

use std::sync::Arc;

use planwright_engine::Decision;
use planwright_engine::journal::Entry;
use planwright_store::{EntryWatcher, RunFilter, RunInfo, Store, StoreError};

use super::storage::now;
use super::{Error, Planwright, RunView};
use crate::stored::{OpenQuestion, StoredRunError, open_questions};

impl Planwright {
    /// The same service with a store: its runs can be listed, followed and decided about, whichever process runs them.
    #[must_use]
    pub fn with_store(&self, store: &Store) -> Self {
        Self::with_open(super::planwright::Open {
            store: Some(store.clone()),
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

    /// The present state of a stored run, whose id is `run` or begins with it.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store.
    pub fn stored_run(&self, run: &str) -> Result<RunView, Error> {
        let store = self.store()?;
        let (mut view, id) = opened(store, run)?;
        let entries = store.entries(&id).map_err(StoredRunError::from)?;
        for entry in entries {
            view.entry(&id, &entry.map_err(StoredRunError::from)?);
        }
        Ok(view)
    }

    /// Follows a stored run, whichever process runs it, from its first journal entry on.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store.
    pub fn watch(&self, run: &str) -> Result<RunWatch, Error> {
        let store = self.store()?;
        let (view, run) = opened(store, run)?;
        let entries = store.watch_entries(&run, 0).map_err(StoredRunError::from)?;
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
    /// `question` and counts once. `by` names the decider.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`], or an error of the store.
    pub fn decide(
        &self,
        question: &OpenQuestion,
        decision: Decision,
        by: Option<String>,
    ) -> Result<(), Error> {
        let stored = question.decide(self.store()?, decision, by, now());
        Ok(stored.map_err(StoredRunError::from)?)
    }

    fn store(&self) -> Result<&Store, Error> {
        self.open().store.as_ref().ok_or(Error::NoStore)
    }
}

/// The view of a run before its first entry, and its whole id.
fn opened(store: &Store, run: &str) -> Result<(RunView, Arc<str>), Error> {
    let info = store.run(run).map_err(StoredRunError::from)?;
    let view = RunView {
        steps: info.steps,
        ..RunView::default()
    };
    Ok((view, info.id.into()))
}

/// A stored run that is being followed.
#[derive(Debug)]
pub struct RunWatch {
    entries: EntryWatcher,
    run: Arc<str>,
    view: RunView,
}

impl RunWatch {
    /// The run's id.
    pub fn run(&self) -> &Arc<str> {
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
