//! Planning with language models: turns a request into a checked plan, a failed run into a revised plan, and results into an answer.
//!
//! No other part of Planwright needs a model, and every tool call made here goes through the engine.
//!
//! The modules are listed in the order in which a request passes through them.
#![warn(missing_docs)]

/// Resolution of phrases of time, such as "last week", to days.
pub mod dates;

/// Tool search and compact tool signatures for prompts.
pub mod tools;

/// Models: requests, replies, scripted replies, and providers over HTTP.
pub mod model;

/// Prompts for a model that writes a plan.
pub mod prompt;

/// Plan creation: from a request to a checked plan.
pub mod create;

/// Running a plan while the model is still writing it.
pub mod stream;

/// Plan revision after a failed run.
pub mod adapt;

/// Extraction of data from texts, by a model without tools.
pub mod extraction;

/// Statistics computed from the results of a run.
pub mod analysis;

/// Answers written by a model from the results of a run.
pub mod answering;

/// The agent loop: plans, runs and replans in rounds until there is an output.
pub mod agent;

/// Documents about plans and answers, for other programs.
pub mod document;
