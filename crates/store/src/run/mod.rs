//! Runs: their metadata, leases, journals and pruning.

pub(crate) mod batch;
mod entries;
mod info;
mod interrupted;
mod lease;
mod prune;
pub(crate) mod requests;
mod server_processes;

pub use entries::JournalEntries;
pub use info::{RunFilter, RunInfo};
pub use interrupted::InterruptedRun;
pub use lease::{LeasedRun, NewRun};
pub use prune::{Prune, PruneReport};
pub use server_processes::{ServerProcess, register_server_process, unregister_server_process};

pub(crate) use entries::read_rows;
pub(crate) use info::{check_format, find, is_imported, mark_imported, unreadable};
pub(crate) use lease::insert;
