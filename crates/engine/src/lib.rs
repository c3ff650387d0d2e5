//! How a checked plan *runs*.
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

/// How a run goes about its work.
pub mod options;

/// What a run is given from outside and tells nobody.
mod confidential;

/// What keeps a run from running away: budgets, rates, what goes on without getting anywhere.
pub mod guard;

/// The pure scheduler: which task may start when.
pub mod schedule;

/// How long calls take, learned from those that were made.
pub mod durations;

/// What will happen, as far as durations tell: the scheduler in virtual time.
pub mod forecast;

/// One run: from steps to tasks, from references to values.
pub mod run;

/// Decisions of people about calls.
pub mod approval;

/// What a run begins with.
pub mod start;

/// The engine: tools, options, and who decides, for as many runs as one likes.
mod engine;

/// What a caller holds of a run that goes on by itself.
mod handle;

/// The driver: one loop in which calls, timers and decisions meet.
mod dispatch;

/// The journal of a run that is driven, and the calls that wait for it.
mod keeping;

/// The questions that people have not answered.
mod questions;

/// The calls under way.
mod calls;

/// One attempt at one call.
mod execute;

/// What the engine asks of those who run tools, and what they answer.
pub mod backend;

/// What happens in a run, as others hear of it.
pub mod event;

/// What a run remembers, so that it can go on later.
pub mod journal;

pub use approval::{Approver, Decision};
pub use backend::{
    Backends, ErrorKind, Functions, Sharable, ToolBackend, ToolCall, ToolError, ToolOutput,
};
pub use confidential::Confidential;
pub use durations::Durations;
pub use engine::Engine;
pub use event::{RunEvent, StampedEvent};
pub use guard::{Bound, Guards, Rate};
pub use handle::{Canceller, RunHandle};
pub use journal::{Journal, JournalError, MemoryJournal};
pub use options::RunOptions;
pub use run::{History, RunStatus, RunSummary, StepStatus};
pub use start::{Start, StartError, is_run_id};
