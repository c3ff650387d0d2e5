//! JSON Schema (2020-12): structural types for checking ahead, validators for checking values.

mod document;
mod equal;
mod fault;
mod fit;
mod holes;
mod instance;
mod reach;
mod read;
mod secret;
mod size;
mod spot;
mod sure;
mod types;
mod unfolding;
mod words;

pub use document::Schema;
pub use fault::{FaultKind, SchemaFault};
pub use fit::Fit;
pub(crate) use holes::Holes;
pub use reach::{Fields, Reach};
pub use secret::{PartPath, declares_secrets, is_secret, part_at, replace_parts, secret_parts};
pub(crate) use spot::Spot;
pub use types::{Additional, ListType, ObjectType, Property, Type};
pub(crate) use words::shown;

#[cfg(test)]
mod tests;
