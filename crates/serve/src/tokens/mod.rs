//! Bearer tokens of clients: the file that holds their hashes, and the tokens that a running server accepts.

mod file;
mod known;

pub use file::{StoredToken, TokenFile};
pub(crate) use known::{Known, KnownTokens};
