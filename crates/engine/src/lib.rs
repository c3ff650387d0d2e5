//! Execution of checked plans.
//!
//! The modules are listed in the order in which a run passes through them.
#![warn(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test that fails may panic"
    )
)]

/// Options of runs.
pub mod options;

/// Guards against runaway runs: budgets, rates, loops without progress.
pub mod guard;

/// The pure scheduler. Hidden, since only benchmarks use it directly.
#[doc(hidden)]
pub mod schedule;

/// Call durations, learned from earlier calls.
pub mod durations;

/// Forecasts: the scheduler in virtual time. Hidden, since only benchmarks use it directly.
#[doc(hidden)]
pub mod forecast;

/// The state machine of one run: from steps to tasks, from references to values.
pub mod run;

/// The addresses of steps in a run.
mod address;

/// Approval of calls by people.
pub mod approval;

/// The ids of runs, and random ids.
pub mod id;

/// The engine: tools, options and an approver, shared by any number of runs.
pub mod engine;

/// The driver: the loop that feeds calls, timers, decisions and commands of the caller into a run.
mod driver;

/// The interface to tools.
pub mod backend;

/// Events of a run, for its listeners.
pub mod event;

/// The journal of a run, for resuming and replaying it.
pub mod journal;

pub use approval::{Approver, Decision};
pub use backend::{
    Backends, ErrorKind, Functions, Sharable, ToolBackend, ToolCall, ToolError, ToolOutput,
};
pub use driver::{Canceller, RunHandle};
pub use durations::Durations;
pub use engine::{Engine, SpawnRequest, StartError};
pub use event::{RunEvent, StampedEvent};
pub use guard::{Bound, Guards, Rate};
pub use id::RunId;
pub use journal::{Journal, JournalError, MemoryJournal};
pub use options::RunOptions;
pub use options::SecretValues;
pub use run::{History, OutputError, RunStatus, RunSummary, StepStatus};
pub use schedule::ConcurrencyLimits;
