//! Tokens that models read and write to complete tasks with direct calls, search and plans.

mod conversation;
mod session;
mod task;
mod tasks;

pub use conversation::{Conversation, TokenCounts, tokens};
pub use session::{AccessMethod, Session};
pub use task::{Call, EarlierResults, Task};
pub use tasks::{SERVERS, TaskFixture, tasks};
