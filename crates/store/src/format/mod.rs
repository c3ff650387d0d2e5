//! How entries are written down: `planwright.journal/1`.
//!
//! An entry has a time, a turn, a kind and a body, which is JSON. The body never has parts that its kind does not know,
//! so a reader that does not understand something notices. Large values stand in it by the digest of their JSON.

mod address;
mod digest;
mod entry;
mod held;
mod json;
mod record;
mod tally;
mod words;
mod woven;

pub(crate) use address::AddressV1;
pub(crate) use digest::Digest;
pub(crate) use entry::{Batch, Row, decode, encode};
pub(crate) use held::Blob;
pub(crate) use json::{parse, parse_value, value_bytes, value_json};
pub(crate) use tally::Tally;
pub(crate) use words::run_status;
pub(crate) use woven::{Reference, resolve};

/// The format of what a run remembers.
pub const JOURNAL_FORMAT: &str = "planwright.journal/1";
