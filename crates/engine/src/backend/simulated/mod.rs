//! Simulated tools that answer from a script, for trying a plan before its servers exist, for demos and for tests.

mod behaviour;
mod script;
mod server;

pub use script::ScriptError;
pub use server::Simulated;

#[cfg(test)]
mod tests;
