//! Where plans and runs are *remembered*: one SQLite file.
//!
//! The modules are listed in the order in which something that is to be kept passes through them.
#![warn(missing_docs)]

/// What can go wrong.
mod error;

/// Points in time as numbers.
mod times;

/// The file: opening it, its tables, its readers.
mod file;

/// The store as others see it.
mod store;

/// Names of runs and plans.
mod names;

/// Who has a run.
mod lease;

/// The processes of servers that a run's process has started.
mod processes;

/// Runs: what is known of each as a whole.
mod run;

/// A run that this process has, and its journal.
mod held;

/// How entries are written down.
mod format;

/// The thread that writes.
mod writer;

/// Entries, read back.
mod entries;

/// Decisions of people about calls.
mod decision;

/// Waiting for decisions of other processes.
mod watch;

/// Plans that were saved.
mod plan;

/// How long calls take.
mod learned;

/// Settings of the store as a whole.
mod settings;

/// Tools as they were pinned, and what changed since.
mod pin;

/// Forgetting runs.
mod prune;

/// Runs as files that another store can take in.
mod exchange;

pub use decision::{NewDecision, StoredDecision};
pub use entries::Entries;
pub use error::{FileTrouble, StoreError};
pub use exchange::{EXPORT_FORMAT, Imported};
pub use format::JOURNAL_FORMAT;
pub use held::HeldRun;
pub use lease::Holder;
pub use pin::{
    Acceptance, AcceptedTool, ChangedServer, ChangedTool, KnownServer, KnownTool, SeenServer,
    SeenTool, ServerIdentity, StoredDefinition, tools_digest,
};
pub use plan::{NewPlan, Saved, StoredPlan};
pub use processes::{ServerProcess, forget_server_process, record_server_process};
pub use prune::{Prune, Pruned};
pub use run::{NewRun, RunFilter, RunInfo, Standing};
pub use store::Store;
pub use watch::Decisions;
