//! The time from a question to the end of the last call, with a model and tools of a given speed, for four methods: a plan that runs once
//! it is written, one that runs while it is written, rounds of tool calls, and the scheme of LLMCompiler.

mod line_wise;
mod plan;
mod rounds;
mod scene;

pub use line_wise::{TaskSyntax, line_wise};
pub use plan::{StreamedOutcome, plan_then_run, streamed};
pub use rounds::{RoundSize, rounds};
pub use scene::{CALL_DURATION, Scene, TOKENS_PER_SECOND};
