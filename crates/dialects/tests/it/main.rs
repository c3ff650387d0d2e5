//! Tests of the dialects through the crate's front door.

mod bounds;
mod conversion;
mod detect;
mod findings;
mod golden;
mod meaning;
mod native;
mod places;
mod print;
mod round_trip;
mod wild;
