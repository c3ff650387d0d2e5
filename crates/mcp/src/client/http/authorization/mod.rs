//! OAuth authorization at remote servers.

mod consent;
mod gate;
mod shelf;
mod tokens;

pub use consent::Consent;
pub(super) use gate::Gate;
pub use tokens::Tokens;
