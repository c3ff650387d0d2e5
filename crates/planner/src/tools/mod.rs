//! How models are told of tools.

/// Which tools a few words are about.
pub mod search;

/// Tools in few words, as a model reads them.
pub mod signatures;
