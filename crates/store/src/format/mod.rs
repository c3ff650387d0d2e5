//! The journal format `planwright.journal/1`: how entries are stored in rows.
//!
//! An entry has a time, a turn, a kind and a body, which is JSON. A body has only the fields that its kind defines, and readers
//! refuse others, so that an older version notices what it does not understand. A body refers to a large value by the digest of
//! its JSON.

mod address;
mod blob;
mod composite;
mod digest;
mod entry;
mod expand;
mod json;
mod keywords;
mod record;
mod row;

pub(crate) use address::AddressV1;
pub(crate) use blob::Blob;
pub(crate) use composite::BlobRef;
pub(crate) use digest::Digest;
pub(crate) use entry::{decode, encode};
pub(crate) use expand::resolve;
pub(crate) use json::{parse, parse_value, value_bytes, value_json};
pub(crate) use keywords::run_status;
pub(crate) use row::{EntryBatch, EntryRow, RunTotals};

/// The format of the journal of a run.
pub const JOURNAL_FORMAT: &str = "planwright.journal/1";
