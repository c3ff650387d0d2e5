//! Who *writes* plans for us: from a sentence to a sound plan, from a failure to a better one, from results to an answer.
//!
//! No model is needed for anything else in Planwright, and nothing here runs a tool but through the engine.
//!
//! The modules are listed in the order in which a question passes through them.
#![warn(missing_docs)]

/// What phrases of time mean.
pub mod dates;

/// How models are told of tools.
pub mod tools;

/// What models are asked, and what they answer.
pub mod model;

/// What a model is told that is to write a plan.
pub mod prompt;

/// From a sentence to a sound plan.
pub mod create;

/// Running a plan while it is still being written.
pub mod stream;

/// From a failure to a better plan.
pub mod adapt;

/// What the results of a run come to, computed.
pub mod analysis;

/// From results to an answer.
pub mod answering;

/// The loop in which a plan adapts to what happens.
pub mod agent;

/// Documents about plans and answers, for other programs.
pub mod document;
