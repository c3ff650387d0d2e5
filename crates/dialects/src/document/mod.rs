//! Readers of JSON and YAML that give every value its place in the text; that of JSON reports all errors at once.
//!
//! A text in lines is a document with one text value. `docs/design/dialects.md` explains why the crate has its own reader.

pub(crate) mod edits;
mod enclosed;
mod escapes;
mod item;
mod json_reader;
mod leniency;
mod read;
mod scalar;
mod sink;
mod syntax_errors;
pub(crate) mod template;
mod yaml_reader;
mod yaml_scalar;

pub(crate) use enclosed::{EnclosedPart, Enclosure, enclosed_parts};
pub use item::{Document, Fields, Item, ItemEntry, ItemKind, ReadLimits, Syntax};
pub(crate) use read::read_part;
pub use read::{read, read_inside, read_lines};
pub use scalar::Offsets;
pub use sink::{DiagnosticSink, nearest, quote, with_article};

pub(crate) use item::REDUCE_SIZE;
pub(crate) use read::{LineValueReader, quoted_prefix};
pub(crate) use scalar::{is_number, number_out_of_range};
pub(crate) use syntax_errors::EXPECT_JSON;
pub(crate) use yaml_reader::{read_yaml, read_yaml_without_holders, yaml_part};

#[cfg(test)]
mod tests;
