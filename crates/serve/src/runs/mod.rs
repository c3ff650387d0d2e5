//! Runs of clients: those of this process, those of the store, their progress, and both as tasks.

pub(crate) mod lookup;
pub(crate) mod progress;
pub(crate) mod registry;
pub(crate) mod slots;
mod take_over;
pub(crate) mod tasks;
