//! Soundness: everything that can be known before the first call, found in one go.

mod arguments;
mod binding;
mod checked;
mod contents;
mod context;
mod cycles;
mod dependencies;
mod digest;
mod early;
mod findings;
mod frame;
mod graph;
mod inputs;
mod limits;
mod names;
mod nearest;
mod outside;
mod plans;
mod policy;
mod positional;
mod positions;
mod receiver;
mod references;
mod rules;
mod shapes;
mod sharable;
mod slots;
mod soundness;
mod survey;
mod writers;

pub use binding::ToolMismatch;
pub use checked::{CheckedPlan, CheckedStep};
pub use context::{CheckContext, Library};
pub use dependencies::{Dependency, DependencyKind, dependencies};
pub use positional::name_arguments;
pub use rules::{AllowList, Limits, Policy, Release, Releases, StageRule, ToolRule};
pub use soundness::check;

#[cfg(test)]
mod tests;
