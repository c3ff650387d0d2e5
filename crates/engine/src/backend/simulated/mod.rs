//! Simulated tools that answer from a script, for trying a plan before its servers exist, for demos and for tests.

mod behaviour;
mod server;

pub use server::{ScriptError, Simulated};

#[cfg(test)]
mod tests;
