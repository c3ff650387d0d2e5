//! How a server lets us in: tokens that an authorization server gives out.

mod consent;
mod gate;
mod shelf;
mod tokens;

pub use consent::Consent;
pub(super) use gate::Gate;
pub use tokens::Tokens;
