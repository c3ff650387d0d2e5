//! Storage of plans and runs in one SQLite file.
//!
//! The modules are listed in the order in which data passes through them on its way to the disk.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md).
#![warn(missing_docs)]

/// Errors of the store.
mod error;

/// The interface between a store and its database.
pub mod database;

/// Validation of names, and conversion of times and counts to the integers of the tables.
mod values;

/// SQLite: the file, its locks, its migrations.
mod file;

/// The store handle, with its connections and settings.
mod store;

/// Runs: metadata, leases, journals, pruning.
mod run;

/// The writer thread and its group commit.
mod writer;

/// Approval decisions of people.
mod decisions;

/// Changes of the store as a whole.
mod changes;

/// Stored plans.
mod plans;

/// Statistics of calls.
mod learned;

/// Calls of clients without a plan.
mod calls;

/// Pinned tool definitions and their changes.
mod pins;

/// Export and import of runs.
mod exchange;

pub use calls::{CallSession, GatewayCall};
pub use changes::ChangeWatcher;
pub use database::RequestRate;
pub use decisions::{DecisionWatcher, EntryWatcher, NewDecision, StoredDecision};
pub use error::{ClientLimit, FileProblem, LeaseHolder, StoreError};
pub use exchange::{EXPORT_FORMAT, ExportedRun, ImportOutcome};
pub use learned::RecordedAnswers;
pub use pins::{
    Acceptance, AcceptedTool, ChangedServer, ChangedTool, ListedServer, ListedTool, PinnedServer,
    PinnedTool, ServerIdentity, StoredDefinition, tools_digest,
};
pub use plans::{NewPlan, SavedPlan, StoredPlan};
pub use run::batch::RunState;
pub use run::requests::{PendingRequests, PlanApproval};
pub use run::{
    InterruptedRun, JournalEntries, LeasedRun, NewRun, Prune, PruneReport, RunFilter, RunInfo,
    ServerProcess, register_server_process, unregister_server_process,
};
pub use store::Store;
