//! The writer thread: all changes pass through it, and everything that is queued is written in one transaction.

mod group_commit;
mod thread;

pub(crate) use group_commit::{AppendRequest, BatchState, JournalProgress};
pub(crate) use thread::StoreWriter;
