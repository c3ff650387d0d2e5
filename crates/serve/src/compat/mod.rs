//! Compat profiles: the tools of other systems, with their names, arguments and response formats, so that prompts written for those
//! systems work unchanged. All profiles share the execution of plans.

mod agentle;
mod concierge;
mod mcp_cli;
mod profile;
mod tools;

pub(crate) use profile::{interrupted_response, refusal_response, run_response};

#[cfg(test)]
mod tests;
