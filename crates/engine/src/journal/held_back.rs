//! A journal of a run of which nobody knows yet where it will be kept, or whether at all.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::Value;

use super::{Entry, Journal, JournalError, Record};

/// Holds in memory what happens until somebody says where it is to be kept. Clones share what they hold.
///
/// It says of everything that it is kept. So it is for runs that change nothing as long as it holds them back, such as
/// [tentative](crate::options::Arrival::Tentative) ones: what of them is lost with the process has done nothing.
#[derive(Clone, Default)]
pub struct HeldBack(Arc<Mutex<State>>);

enum State {
    Held(Vec<Entry>),
    PassedOn(Arc<dyn Journal>),
    Forgotten,
}

impl HeldBack {
    /// One that holds nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it holds back.
    pub fn entries(&self) -> Vec<Entry> {
        match &*self.state() {
            State::Held(entries) => entries.clone(),
            State::PassedOn(_) | State::Forgotten => Vec::new(),
        }
    }

    /// Passes on what it holds, and from now on everything, to `journal`. `header` takes the place of the one that the run was
    /// opened with, when less was known.
    pub fn pass_on(
        &self,
        journal: Arc<dyn Journal>,
        header: Value,
    ) -> BoxFuture<'static, Result<(), JournalError>> {
        let mut state = self.state();
        let State::Held(mut entries) =
            std::mem::replace(&mut *state, State::PassedOn(Arc::clone(&journal)))
        else {
            return futures::future::ready(Ok(())).boxed();
        };
        if let Some(Entry {
            record: Record::Opened { header: opened, .. },
            ..
        }) = entries.first_mut()
        {
            *opened = header;
        }
        // Still locked, so that nothing comes between.
        journal.append(entries)
    }

    /// Forgets what it holds, and whatever comes.
    pub fn forget(&self) {
        *self.state() = State::Forgotten;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for HeldBack {
    fn append(&self, more: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        match &mut *self.state() {
            State::PassedOn(journal) => return journal.append(more),
            State::Held(entries) => entries.extend(more),
            State::Forgotten => {}
        }
        futures::future::ready(Ok(())).boxed()
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Held(Vec::new())
    }
}

impl fmt::Debug for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBack").finish_non_exhaustive()
    }
}
