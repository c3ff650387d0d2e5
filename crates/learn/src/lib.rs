//! Plans from traces.
//!
//! A [`Trace`] is what an agent did in one session, call by call; [`reader`] reads it from the logs of other systems.
//! [`generalize()`] makes a plan of one or more traces of the same work: values of earlier answers become references, values that
//! differ become inputs, and everything that the traces leave open becomes a [`Finding`] rather than a guess. [`replay`] has a backend
//! that answers from a trace, to prove that the plan makes the same calls. [`recurrence`] finds work that recurs.
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
        reason = "a test that cannot go on says so by panicking"
    )
)]

/// The data of an agent's session: requests, calls and answers.
pub mod trace;

/// Readers of traces in the formats of other systems.
pub mod reader;

/// The generalization of traces to a plan.
pub mod generalize;

/// Answers from a trace, in place of tools.
pub mod replay;

/// Work that recurs in traces.
pub mod recurrence;

pub use generalize::{Finding, FindingKind, LearnedInput, LearnedPlan, generalize};
pub use reader::{ReadError, TraceFormat, read};
pub use trace::{Trace, TraceAnswer, TracedCall};
