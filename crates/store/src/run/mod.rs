//! Runs: their metadata, the lease that one process has on each, their journals, and how they are pruned.

mod entries;
mod info;
mod lease;
mod leased;
mod prune;
mod server_processes;

pub use entries::JournalEntries;
pub use info::{NewRun, RunFilter, RunInfo, Standing};
pub use lease::Holder;
pub use leased::HeldRun;
pub use prune::{Prune, Pruned};
pub use server_processes::{ServerProcess, forget_server_process, record_server_process};

pub(crate) use entries::rows;
pub(crate) use info::{check_format, find, insert, is_imported, mark_imported, unreadable};
pub(crate) use lease::Lease;
