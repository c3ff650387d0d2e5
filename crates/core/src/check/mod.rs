//! Soundness: everything that can be known before the first call, found in one go.

mod checked;
mod context;
mod dependencies;
mod digest;
mod soundness;
mod writers;

pub use checked::{CheckedPlan, CheckedStep};
pub use context::{CheckContext, Library, Limits, Policy};
pub use dependencies::{Dependency, DependencyKind, dependencies};
pub use soundness::check;
