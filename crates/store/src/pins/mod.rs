//! Pinned tools: the accepted definition of each tool of each server, and the latest one if it differs.

mod changed;
mod pin;
mod tools_digest;

pub use changed::{ChangedServer, ChangedTool, StoredDefinition};
pub use pin::{
    Acceptance, AcceptedTool, ListedServer, ListedTool, PinnedServer, PinnedTool, ServerIdentity,
};
pub use tools_digest::tools_digest;
