//! Planning with language models: turns a request into a checked plan, a failed run into a revised plan, and results into an answer.
//!
//! No other part of Planwright needs a model, and every tool call made here goes through the engine.
//!
//! The modules are listed in the order in which a request passes through them.
#![warn(missing_docs)]

pub mod dates;

pub mod tools;

pub mod model;
pub mod prompt;

pub mod adapt;
pub mod create;
pub mod stream;

pub mod analysis;
pub mod answering;

pub mod agent;
