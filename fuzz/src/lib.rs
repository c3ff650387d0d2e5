//! What hostile input must never do.
//!
//! Each module holds one property: a function that takes bytes from a stranger and panics where something that must always
//! hold does not. The fuzz targets in `fuzz/targets` look for such bytes; the tests of this crate try the ones that
//! were found, see `fuzz/regressions`.

/// Texts in every notation, read, printed and read again.
pub mod notation;

/// Plans checked against tools that came from a stranger as well.
pub mod soundness;

/// References in plans, bound to whatever tools answer.
pub mod binding;

/// Expressions over values from a stranger.
pub mod expression;

/// Files that set things up: servers and simulated tools.
pub mod settings;

/// Questions, and the phrases of time in them.
pub mod dates;

/// Texts changed by their structure.
pub mod mutation;

/// Two texts in one input.
mod halves;

/// The table of all targets.
mod target;

pub use halves::halves;
pub use target::{Target, targets};
