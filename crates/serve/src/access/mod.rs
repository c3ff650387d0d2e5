//! Access of clients: OAuth access tokens, and the rules of `[clients]`.
//!
//! `issuer` fetches the keys of the issuer, `signature` verifies signatures by them, `access_token` checks the claims. The only module that uses
//! `jsonwebtoken`, `ring` and an HTTP client.

pub(crate) mod access_token;
mod claims;
pub(crate) mod identity;
mod issuer;
mod signature;

pub use claims::claimed_identity;

#[cfg(test)]
pub(crate) mod tests;
