//! Bearer tokens of clients: the file that holds their hashes, and the tokens that a running server accepts.

mod cache;
mod file;

pub(crate) use cache::{TokenCache, TokenOwner};
pub use file::{StoredToken, TokenFile};
