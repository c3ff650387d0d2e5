//! Tests of the native dialect.

mod parse;
mod print;
