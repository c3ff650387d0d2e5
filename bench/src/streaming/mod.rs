//! From a question to the end of the last call, with a model that writes at a pace and tools that take their time: a plan that is run
//! once it is written, one that is run while it is, rounds of tool calls, and the scheme of LLMCompiler.

mod line_wise;
mod plan;
mod rounds;
mod scene;

pub use line_wise::{Notation, line_wise};
pub use plan::{Planned, streamed, written_first};
pub use rounds::{Together, rounds};
pub use scene::{Scene, TOKENS_PER_SECOND, TOOL_TAKES};
