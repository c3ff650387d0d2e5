//! Readers and printers of plans: one for each dialect.
//!
//! [`parse`] reads a text: the [`document`] reader gives every value its place, [`detect`] chooses the [`Dialect`] by the form
//! of the text, and the dialect makes the one [`Plan`](planwright_core::Plan) of it. Later stages do not know the dialect of a plan.
//! [`Dialect::print`] goes the other way.
//!
//! Modules below import only modules above them in this list, so no dialect depends on the registry or on another dialect.
#![warn(missing_docs)]

/// A JSON reader with positions; a text in lines is a single value.
pub mod document;

/// Conversion of values with places to nodes, shared by all dialects.
pub mod lowering;

/// References of other systems in texts.
mod foreign_references;

/// Conversion of plans to texts, shared by all printers.
mod printing;

/// The trait that every dialect implements.
mod dialect;

/// Planwright's own dialect, in JSON and in lines.
pub mod native;

/// The dialects of other systems.
mod external;

/// The table of all dialects, and the choice of one by name or by form.
mod registry;

/// Plans of other systems as values, for advice.
mod foreign_plans;

/// Plans that stand as text inside of another value.
mod embedded_plans;

/// The choice of a dialect for a text that does not name one.
mod choice;

/// Texts that are not a plan in any syntax, and the form that they should have.
mod foreign_text;

/// The entry point: bytes in, a plan and diagnostics out.
mod parse;

pub use dialect::{Dialect, MatchConfidence};
pub use external::*;
pub use foreign_references::ReferenceForm;
pub use parse::{ParseResult, ReadOptions, parse, parse_as};
pub use registry::{by_name, detect, dialect, dialects};
