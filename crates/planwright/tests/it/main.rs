//! The library as programs embed it.

mod examples;
mod fixes;
mod service;
