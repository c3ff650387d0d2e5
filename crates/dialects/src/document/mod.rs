//! JSON with positions: every value knows where it stands, every fault is found at once. A text in lines is one value.

mod fields;
mod findings;
mod item;
mod limits;
mod literal;
mod nearest;
mod number;
mod offsets;
mod read;
mod reader;
mod synonym;

pub use fields::Fields;
pub use findings::{Findings, article, quote};
pub use item::{Document, Entry, Item, ItemKind, Syntax};
pub use limits::Limits;
pub use nearest::nearest;
pub use offsets::Offsets;
pub use read::{read, read_inside, read_lines};

pub(crate) use limits::TAKE_LESS;
pub(crate) use number::{is_number, number_out_of_range};
pub(crate) use read::{LineValues, quoted_name};
pub(crate) use reader::GIVE_JSON;

#[cfg(test)]
mod tests;
