//! Tool search and tool signatures for models.

pub mod search;

pub mod signatures;
