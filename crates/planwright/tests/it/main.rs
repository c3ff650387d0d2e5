//! The library as programs embed it.

mod embedding;
mod examples;
