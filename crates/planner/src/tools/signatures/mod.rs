//! Short descriptions of tools for models: signatures, details, and catalog listings within a token budget.

mod details;
mod shape;
mod signature;

pub use details::{LookupResult, details, look_up_tools};
pub use signature::{ToolListing, estimate_tokens, listing, signature};

#[cfg(test)]
mod tests;
