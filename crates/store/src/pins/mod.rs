//! Pinned tools: the accepted definition of each tool of each server, and the latest one if it differs.

mod accept;
mod changed;
mod pin;

pub use accept::{Acceptance, AcceptedTool};
pub use changed::{ChangedServer, ChangedTool, StoredDefinition, tools_digest};
pub use pin::{ListedServer, ListedTool, PinnedServer, PinnedTool, ServerIdentity};
