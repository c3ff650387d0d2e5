//! JSON with positions: every value knows where it stands, every fault is found at once.

mod fields;
mod findings;
mod item;
mod limits;
mod literal;
mod nearest;
mod offsets;
mod read;
mod reader;

pub use fields::Fields;
pub use findings::{Findings, article, quote};
pub use item::{Document, Entry, Item, ItemKind};
pub use limits::Limits;
pub use nearest::nearest;
pub use offsets::Offsets;
pub use read::{read, read_inside};

#[cfg(test)]
mod tests;
