//! The journal format `planwright.journal/1`: how entries are stored.
//!
//! An entry has a time, a turn, a kind and a body, which is JSON. A body has only the fields that its kind defines, and readers
//! refuse others, so that an older version notices what it does not understand. A body refers to a large value by the digest of
//! its JSON.

mod blob;
mod composite;
mod entry;
mod record;

pub use blob::{Blob, BlobRef, Digest, parse, parse_value, resolve, value_bytes, value_json};
pub use entry::{JOURNAL_FORMAT, decode_record, encode_record};
pub use record::{AddressV1, BlobLoader, run_status};
