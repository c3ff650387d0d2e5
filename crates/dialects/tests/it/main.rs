//! Tests of the dialects through the public API.

mod bounds;
mod conversion;
mod convert;
mod detect;
mod diagnostics;
mod flow;
mod fuzz;
mod golden;
mod meaning;
mod native;
mod places;
mod round_trip;
