//! The plan model and the checks that prove a plan sound.
//!
//! A dialect or a program builds a [`Plan`]. [`check()`] compares it with the [`Catalog`] of tools, reports every
//! problem at once, and returns a [`CheckedPlan`] if none of them is an error. An engine accepts nothing else.
//!
//! The modules are listed in the order in which data flows through them.
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

/// JSON values that are cheap to share.
pub mod value;

/// Detection and removal of invisible characters in text from other parties.
pub mod text;

/// The names of servers and tools, the ids of steps, and the digests of plans.
pub mod name;

/// Source places: spans and JSON pointers.
pub mod place;

/// Diagnostics and the table of their codes.
pub mod diagnostic;

/// The data model of a plan, the same for all dialects.
pub mod plan;

/// References, conditions and computed values: the language between `${` and `}`.
pub mod expression;

/// Evaluation of a path on a value.
pub mod path;

/// JSON Schema: structural types for checks before a run, validators for values during it.
pub mod schema;

/// The catalog of tools that a plan may call.
pub mod catalog;

/// The passes that prove a plan sound.
pub mod check;

/// The analysis of where the arguments of calls come from.
pub mod flow;

pub use catalog::{
    Annotations, Catalog, ConfiguredUndo, EXTRACTION, EXTRACTION_PARAMETERS, Hints, Lookup,
    SeenAnswers, ServerNames, Tool, ToolPattern,
};
pub use check::{
    AllowList, CheckContext, CheckedPlan, CheckedStep, Dependency, DependencyKind, Library, Limits,
    Policy, ToolRule, UnprovedReads, check,
};
pub use diagnostic::{Code, Diagnostic, Diagnostics, Fix, FixPart, Severity, TextEdit};
pub use expression::Expression;
pub use name::{PlanConsent, PlanDigest, ServerName, StepId, ToolName};
pub use place::{Place, PointerSegment, SourceText, Sources, Span};
pub use plan::{Plan, Step};
pub use schema::Schema;
pub use value::{Hashing, Number, Object, Value};
