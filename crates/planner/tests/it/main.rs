//! What the crate promises, from outside.

mod create;
