//! Tests of the dialects through the public API.

mod bounds;
mod code_lines;
mod conversion;
mod convert;
mod costs;
mod detect;
mod diagnostics;
mod fixes;
mod flow;
mod flow_properties;
mod foreign_references;
mod foreign_texts;
mod fuzz;
mod golden;
mod guessed;
mod guessed_conditions;
mod meaning;
mod native;
mod places;
mod readme;
mod round_trip;
mod yaml;
