//! Runs on a real Restate server, which each test starts.

mod calls;
mod crashes;
mod decisions;
mod differential;
mod plans;
mod scene;
