//! The key by which a server recognizes a repeated call.

use std::sync::Arc;

use planwright_core::text::hex;
use planwright_core::{Tool, Value};
use sha2::{Digest, Sha256};

use crate::address::Address;
use crate::id::RunId;

/// The number of digest bytes in a key: 64 bits suffice, since only the keys of one address in one run differ by their
/// digests alone.
const DIGEST_BYTES: usize = 8;

/// The key of a call, or the values that it is computed from. Computing it reads all arguments, which can be large, and most backends never
/// ask for the key.
#[derive(Clone, Debug)]
pub(crate) enum IdempotencyKey {
    /// A key that the caller has chosen.
    Given(Arc<str>),
    /// The key of a call at an address in a run.
    OfCall {
        run: RunId,
        at: Arc<Address>,
        tool: Arc<Tool>,
        args: Value,
    },
}

impl IdempotencyKey {
    /// Returns the key.
    ///
    /// The key of a call in a run consists of the run, the address, and a digest of tool and arguments. A different call at the same address
    /// has a different key, so a server that honours keys does not drop it as a duplicate.
    pub(crate) fn text(&self) -> Arc<str> {
        let (run, at, tool, args) = match self {
            Self::Given(key) => return Arc::clone(key),
            Self::OfCall {
                run,
                at,
                tool,
                args,
            } => (run, at, tool, args),
        };
        let mut hash = Sha256::new();
        for part in [&*tool.server, &*tool.name, &args.to_json()] {
            // The length prefix keeps different parts from hashing alike.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let mut key = at.key_below(run.as_str());
        key.push(':');
        key.push_str(&hex(digest.get(..DIGEST_BYTES).unwrap_or(&digest)));
        key.into()
    }
}
