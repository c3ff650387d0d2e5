//! The thread that writes: whatever waits is written in one transaction.

mod group;
mod progress;
mod rows;
mod thread;

pub(crate) use group::Append;
pub(crate) use progress::{Progress, State};
pub(crate) use rows::{insert_batch, update_run};
pub(crate) use thread::Writer;
