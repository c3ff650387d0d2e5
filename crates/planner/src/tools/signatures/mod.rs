//! Short descriptions of tools for models: signatures, details, and catalog listings within a token budget.

mod shape;
mod signature;

pub use signature::{
    LookupResult, ToolListing, details, estimate_tokens, listing, look_up_tools, signature,
};

#[cfg(test)]
mod tests;
