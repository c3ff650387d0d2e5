//! The JSON reader: one pass over the text with an explicit stack instead of recursion.

mod containers;
mod errors;
mod json_reader;
mod scalar;

pub(super) use json_reader::{JsonReader, PartStart};

pub(crate) use errors::EXPECT_JSON;
pub(crate) use scalar::{is_number, number_out_of_range};
