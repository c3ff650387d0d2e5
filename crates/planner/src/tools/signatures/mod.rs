//! Tools in few words, as a model reads them: signatures, details, whole catalogs within a budget.

mod details;
mod listing;
mod lookup;
mod shape;
mod signature;
mod prose;

pub use details::details;
pub use listing::{Listing, estimated_tokens, listing};
pub use lookup::{LookupResult, look_up};
pub use signature::signature;

#[cfg(test)]
mod tests;
