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
    PassedOn {
        journal: Arc<dyn Journal>,
        /// What the run is to be opened with, where it has not been.
        header: Option<Value>,
    },
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
            State::PassedOn { .. } | State::Forgotten => Vec::new(),
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
        let passed_on = State::PassedOn {
            journal,
            header: Some(header),
        };
        // Still locked, so that nothing comes between.
        match std::mem::replace(&mut *state, passed_on) {
            State::Held(entries) if !entries.is_empty() => state.append(entries),
            _ => futures::future::ready(Ok(())).boxed(),
        }
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
        self.state().append(more)
    }
}

impl State {
    fn append(&mut self, mut more: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        match self {
            Self::PassedOn { journal, header } => {
                if let Some(Entry {
                    record: Record::Opened { header: opened, .. },
                    ..
                }) = more.first_mut()
                    && let Some(header) = header.take()
                {
                    *opened = header;
                }
                return journal.append(more);
            }
            Self::Held(entries) => entries.extend(more),
            Self::Forgotten => {}
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::MemoryJournal;
    use super::*;

    /// Passes on after so many batches, and gives the headers that arrive.
    fn check(batches_before: usize) {
        let (held, kept) = (HeldBack::new(), MemoryJournal::new());
        let opened = |header: &str| Entry {
            at: Duration::ZERO,
            turn: 0,
            record: Record::Opened {
                run: None,
                digest: Arc::from("d"),
                header: Value::from(header),
            },
        };
        let closed = Entry {
            record: Record::Closed,
            ..opened("")
        };
        let batches = [vec![opened("little")], vec![closed], vec![opened("again")]];
        for (number, batch) in batches.into_iter().enumerate() {
            if number == batches_before {
                drop(held.pass_on(Arc::new(kept.clone()), Value::from("all")));
            }
            drop(held.append(batch));
        }
        let entries = kept.entries();
        assert_eq!(entries.len(), 3);
        let headers: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match &entry.record {
                Record::Opened { header, .. } => header.as_text(),
                _ => None,
            })
            .collect();
        assert_eq!(headers, ["all", "again"]);
    }

    #[test]
    fn the_header_is_the_first_one_whenever_it_becomes_known() {
        check(0);
        check(1);
        check(2);
    }
}
