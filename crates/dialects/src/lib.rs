//! How plans are written: one reader and printer for each notation.
//!
//! [`parse`] reads a text: the [`document`] reader gives values that know where they stand, [`detect`]
//! finds the [`Dialect`] by the shape, and the dialect makes the one [`Plan`](planwright_core::Plan) of it. Nothing after this
//! crate knows which dialect that was. [`Dialect::print`] goes the other way.
//!
//! The modules are listed in the order in which data flows through them.
#![warn(missing_docs)]

/// Texts with positions: every value of a JSON text knows where it stands; texts in lines are kept whole.
pub mod document;

/// What a dialect is.
mod dialect;

/// The table of all dialects.
mod registry;

/// Which dialect a text is written in.
mod detect;

/// From bytes to a plan.
mod parse;

/// From values with places to nodes, the same in every dialect.
pub mod lowering;

/// Texts with `${…}` in them, as several dialects write references.
mod template;

/// Texts in lines: what stands where, and values with references as line notations write them.
mod lines;

/// Messages of a model's API that hold calls.
mod message;

/// Known names, and the one that a text begins with.
mod known;

/// Paths such as `.a[0]`, as several dialects write them.
mod path;

/// What all printers share: what a plan uses that a dialect cannot say.
mod printing;

/// Planwright's own dialect, in JSON and in lines.
pub mod native;

/// `execute_plan(steps)`: listed order, `output_by_reference`.
pub mod concierge;

/// Calls that find each other through state, `†state.path`.
pub mod acts;

/// Indexed steps, variables, `${var.path}`.
pub mod mcp_cli;

/// Steps by position, `${step[0].data}`.
pub mod clear_ai;

/// `execute_tool_plan`: `"$ref:id.path"`.
pub mod agentle;

/// Tool calls of a message, as OpenAI's APIs write them. Only read.
pub mod openai;

/// Tool calls of a message, as Anthropic's API writes them. Only read.
pub mod anthropic;

/// Numbered lines of calls, `$1`. Only read.
pub mod llm_compiler;

/// `Plan:` and `#E1 = Tool[input]`. Only read.
pub mod rewoo;

/// Labelled calls, `$var_1.field$`. Only read.
pub mod nestful;

pub use detect::{by_name, detect};
pub use dialect::{Dialect, Likeness};
pub use parse::{ParseResult, ReadOptions, parse, parse_as};
pub use registry::{dialect, dialects};
