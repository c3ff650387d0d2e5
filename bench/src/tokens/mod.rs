//! What a model reads and writes to have tasks done: call by call, by search, by plan.

mod conversation;
mod session;
mod task;
mod tasks;

pub use conversation::{Bill, Conversation, tokens};
pub use session::{Session, Way};
pub use task::{Call, Found, Task};
pub use tasks::{SERVERS, World, tasks};
