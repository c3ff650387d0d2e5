//! The writer thread: all changes pass through it, and everything that is queued is written in one transaction.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#sqlite-with-one-writer-thread).

mod group_commit;
mod thread;

pub(crate) use group_commit::{AppendRequest, BatchState, JournalProgress};
pub(crate) use thread::StoreWriter;
