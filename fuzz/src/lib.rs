//! Properties that must hold for any input, however hostile.
//!
//! Each module has one property: a function that takes arbitrary bytes and panics if an invariant is violated. The fuzz targets in
//! `fuzz/targets` search for such bytes; the tests of this crate run those that were found, see `fuzz/regressions`.

/// Texts in every dialect, parsed, printed and parsed again.
pub mod dialect;

/// Plans checked against arbitrary tools.
pub mod soundness;

/// References in plans, bound to arbitrary results of tools.
pub mod binding;

/// Expressions over arbitrary values.
pub mod expression;

/// Configuration files: servers and simulated tools.
pub mod settings;

/// Phrases of time in questions.
pub mod dates;

/// Structural mutation of inputs.
pub mod mutation;

/// Inputs with two texts.
mod halves;

/// The table of all targets.
mod target;

pub use halves::halves;
pub use target::{Target, targets};
