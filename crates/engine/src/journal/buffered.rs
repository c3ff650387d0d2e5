//! A journal that holds entries until their final journal is known.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::Value;

use super::log::{Journal, JournalError};
use super::record::{Entry, Record};

/// Buffers entries in memory until a journal is assigned. Clones share the buffer. It acknowledges every entry as stored. So it
/// is only for runs without effects, such as [provisional](crate::options::PlanState::Provisional) ones, as long as it buffers:
/// if the process dies, only entries are lost.
#[derive(Clone, Default)]
pub struct BufferedJournal(Arc<Mutex<BufferState>>);

enum BufferState {
    Buffering(Vec<Entry>),
    Forwarding {
        journal: Arc<dyn Journal>,
        /// The header for the opening record, until that has been forwarded.
        header: Option<Value>,
    },
    Discarding,
}

impl BufferedJournal {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffered entries.
    pub fn entries(&self) -> Vec<Entry> {
        match &*self.state() {
            BufferState::Buffering(entries) => entries.clone(),
            BufferState::Forwarding { .. } | BufferState::Discarding => Vec::new(),
        }
    }

    /// Forwards the buffered and all later entries to `journal`. `header` replaces the header with which the run was opened, because less
    /// was known at that time.
    pub fn forward_to(
        &self,
        journal: Arc<dyn Journal>,
        header: Value,
    ) -> BoxFuture<'static, Result<(), JournalError>> {
        let mut state = self.state();
        let passed_on = BufferState::Forwarding {
            journal,
            header: Some(header),
        };
        // The lock is still held, so no other entry can come between.
        match std::mem::replace(&mut *state, passed_on) {
            BufferState::Buffering(entries) if !entries.is_empty() => state.append(entries),
            BufferState::Buffering(_)
            | BufferState::Forwarding { .. }
            | BufferState::Discarding => futures::future::ready(Ok(())).boxed(),
        }
    }

    /// Discards the buffered and all later entries.
    pub fn forget(&self) {
        *self.state() = BufferState::Discarding;
    }

    fn state(&self) -> MutexGuard<'_, BufferState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for BufferedJournal {
    fn append(&self, entries_to_add: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.state().append(entries_to_add)
    }
}

impl BufferState {
    fn append(
        &mut self,
        mut entries_to_add: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), JournalError>> {
        match self {
            Self::Forwarding { journal, header } => {
                // Only the first entry can be the opening one, and only the first batch has it.
                if let Some(Entry {
                    record: Record::Opened { header: opened, .. },
                    ..
                }) = entries_to_add.first_mut()
                    && let Some(header) = header.take()
                {
                    *opened = header;
                }
                return journal.append(entries_to_add);
            }
            Self::Buffering(entries) => entries.extend(entries_to_add),
            // An abandoned run continues until it is dropped; its entries must not reach the journal of its replacement.
            Self::Discarding => {}
        }
        futures::future::ready(Ok(())).boxed()
    }
}

impl Default for BufferState {
    fn default() -> Self {
        Self::Buffering(Vec::new())
    }
}

impl fmt::Debug for BufferedJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferedJournal").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use planwright_core::PlanDigest;

    use super::*;
    use crate::journal::MemoryJournal;

    /// Forwards after so many batches and returns the headers that arrive.
    fn check(batches_before: usize) {
        let (buffered, stored) = (BufferedJournal::new(), MemoryJournal::new());
        let opened = |header: &str| Entry {
            at: Duration::ZERO,
            turn: 0,
            record: Record::Opened {
                run: None,
                digest: PlanDigest::from("d"),
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
                drop(buffered.forward_to(Arc::new(stored.clone()), Value::from("all")));
            }
            drop(buffered.append(batch));
        }
        let entries = stored.entries();
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
