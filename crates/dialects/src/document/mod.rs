//! A JSON reader that gives every value its place in the text and reports all faults at once.
//!
//! A text in lines is a document with one text value. `docs/design/dialects.md` explains why the crate has its own reader.

mod fields;
mod item;
mod offsets;
mod read;
mod reader;
mod sink;
mod string_literal;
mod suggest;
pub(crate) mod template;

pub use fields::Fields;
pub use item::{Document, Entry, Item, ItemKind, Limits, Syntax};
pub use offsets::Offsets;
pub use read::{read, read_inside, read_lines};
pub use sink::{DiagnosticSink, article, quote};
pub use suggest::nearest;

pub(crate) use item::REDUCE_SIZE;
pub(crate) use read::{LineValueReader, quoted_prefix};
pub(crate) use reader::{EXPECT_JSON, is_number, number_out_of_range};

#[cfg(test)]
mod tests;
