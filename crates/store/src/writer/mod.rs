//! The writer thread: all changes pass through it, and everything that is queued is written in one transaction.

mod group_commit;
mod rows;
mod thread;

pub(crate) use group_commit::{AppendRequest, JournalProgress, JournalState};
pub(crate) use rows::{insert_batch, update_run};
pub(crate) use thread::StoreWriter;
