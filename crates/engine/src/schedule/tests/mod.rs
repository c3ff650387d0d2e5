//! What the scheduler does in written scenes, and what it promises in any.

mod calls;
mod groups;
mod properties;
mod queues;
mod ranks;
mod scene;
