//! OAuth authorization at remote servers.

pub(crate) mod authorizer;
mod tokens;

pub use authorizer::Consent;
pub use tokens::Tokens;
