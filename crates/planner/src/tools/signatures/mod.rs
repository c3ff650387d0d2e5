//! Short descriptions of tools for models: signatures, details, and catalog listings within a token budget.

mod details;
mod lookup;
mod prose;
mod shape;
mod signature;

pub use details::details;
pub use lookup::{LookupResult, look_up_tools};
pub use signature::{ToolListing, estimate_tokens, listing, signature};

#[cfg(test)]
mod tests;
