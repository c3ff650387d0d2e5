//! References of other systems in texts: `{{step.x}}`, `${{ step.x }}`, `$step.x`, `<step.x>`.
//!
//! A tool would receive them unchanged, so they are errors; in the native dialect the text itself is written as a reference
//! to a literal, `${'{{step.x}}'}`. The native dialect searches the texts before it lowers them, all others those that
//! remain literal.

mod expressions;
mod markers;
mod objects;
mod operations;
mod order;
mod outside;
mod paths;
mod phrases;
mod search;
mod templates;

pub use markers::ReferenceForm;

pub(crate) use expressions::expressions;
pub(crate) use markers::ReferenceNames;
pub(crate) use order::warn_of_order;
pub(crate) use paths::path_length;
pub(crate) use search::{check, check_plan, find};

#[cfg(test)]
mod tests;
