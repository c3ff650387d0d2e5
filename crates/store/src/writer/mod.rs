//! The thread that writes: whatever waits is written in one transaction.

mod group;
mod progress;
mod thread;

pub(crate) use group::Append;
pub(crate) use progress::{Progress, State};
pub(crate) use thread::Writer;
