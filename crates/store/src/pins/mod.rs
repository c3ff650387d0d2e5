//! Pinned tools: the accepted definition of each tool of each server, and the latest one if it differs.

mod changed;
mod pin;

pub use changed::{ChangedServer, ChangedTool, StoredDefinition, tools_digest};
pub use pin::{
    Acceptance, AcceptedTool, ListedServer, ListedTool, PinnedServer, PinnedTool, ServerIdentity,
};
