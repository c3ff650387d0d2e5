//! Short descriptions of tools for models: signatures, details, and catalog listings within a token budget.

mod details;
mod listing;
mod lookup;
mod prose;
mod shape;
mod signature;

pub use details::details;
pub use listing::{Listing, estimated_tokens, listing};
pub use lookup::{LookupResult, look_up};
pub use signature::signature;

#[cfg(test)]
mod tests;
