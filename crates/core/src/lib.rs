//! What a tool plan *is*, and when it is sound.
//!
//! A [`Plan`] comes from a dialect or from a program; [`check()`] looks at it together with the
//! [`Catalog`] of tools and gives every finding at once, and, where none of them is an error, a
//! [`CheckedPlan`]: the only thing that an engine takes.
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

/// Values that are cheap to share.
pub mod value;

/// Characters that cannot be seen, in texts of others.
pub mod text;

/// Where in which text something stands.
pub mod place;

/// Findings, their codes, their three readers.
pub mod diagnostic;

/// The one meaning of a plan.
pub mod plan;

/// References, conditions and computed values: what stands between `${` and `}`.
pub mod expression;

/// The part of a value that a path leads to.
pub mod path;

/// JSON Schema: types ahead, validation of values.
pub mod schema;

/// The tools that a plan may call.
pub mod catalog;

/// The passes that prove a plan sound.
pub mod check;

pub use catalog::{Annotations, Catalog, Hints, Lookup, ServerNames, Tool, ToolPattern};
pub use check::{
    AllowList, CheckContext, CheckedPlan, CheckedStep, Dependency, DependencyKind, Library, Limits,
    Policy, ToolRule, check,
};
pub use diagnostic::{Code, Diagnostic, Diagnostics, Fix, FixPart, Severity};
pub use expression::Expression;
pub use place::{Place, PointerSegment, Source, Sources, Span};
pub use plan::{Plan, Step, StepId};
pub use schema::Schema;
pub use value::{Hashing, Number, Object, Value};
