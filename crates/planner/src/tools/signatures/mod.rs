//! Short descriptions of tools for models: signatures, details, and catalog listings within a token budget.

mod listing;
mod shape;
mod signature;

pub use listing::{ToolListing, listing};
pub use signature::{
    LookupResult, details, estimate_tokens, look_up_tools, notes, seen_answers, signature,
};

#[cfg(test)]
mod tests;
