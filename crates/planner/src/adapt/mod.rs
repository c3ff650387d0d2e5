//! From a failure to a better plan: what is done stays, the model writes what comes now; or it corrects what a tool refused.

mod merge;
mod repair;
mod replan;
mod situation;

use planwright_core::{CheckedPlan, Diagnostics};

pub use repair::{Correction, Fruitless, correct};
pub use replan::{Revised, Revision, replan};
pub use situation::{Done, Situation, Trouble};

/// Reads and checks a plan in Planwright's own dialect, with everything that belongs to the run: its inputs, its policy, its library.
pub type Judge<'a> = dyn Fn(&str) -> (Option<CheckedPlan>, Diagnostics) + Sync + 'a;
