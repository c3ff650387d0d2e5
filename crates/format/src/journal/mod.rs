//! The journal format `planwright.journal/1`: how entries are stored.
//!
//! An entry has a time, a turn, a kind and a body, which is JSON. A body has only the fields that its kind defines, and readers
//! refuse others, so that an older version notices what it does not understand. A body refers to a large value by the digest of
//! its JSON.

mod blob;
mod composite;
mod entry;
mod keywords;
mod record;
mod value;

pub use blob::{Blob, BlobRef, Digest, parse, parse_value, value_bytes, value_json};
pub use entry::{decode_record, encode_record};
pub use keywords::{AddressV1, run_status};
pub use record::BlobLoader;
pub use value::resolve;

/// The format of the journal of a run.
pub const JOURNAL_FORMAT: &str = "planwright.journal/1";
