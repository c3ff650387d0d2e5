//! Statistics of calls, which later runs and prompts use.

/// The structure of the answers of tools.
mod answers;

/// Learned durations of calls.
mod durations;

pub use answers::RecordedAnswers;
pub(crate) use durations::{LearnedQueue, RecentDurations};
