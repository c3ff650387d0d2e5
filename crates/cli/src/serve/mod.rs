//! The gateway command, and the tokens and trust that it relies on.

pub(crate) mod command;
pub(crate) mod login;
pub(crate) mod retention;
pub(crate) mod server_tokens;
pub(crate) mod token;
pub(crate) mod trust;
