//! What a server says of itself as hands are shaken.

use std::sync::Arc;

use planwright_core::Value;
use rmcp::model::ProtocolVersion;

use super::handshake::{DISCOVER, INITIALIZE};
use super::mailbox::Mailbox;

/// What a server says of itself, as it came; `null` where it says nothing.
#[derive(Clone, Debug)]
pub(super) struct Greeting {
    /// The revision that is spoken with it.
    pub(super) revision: Arc<str>,
    /// Whether each request says for itself who makes it, in this revision.
    pub(super) is_stateless: bool,
    pub(super) info: Value,
    pub(super) capabilities: Value,
    pub(super) instructions: Value,
}

impl Greeting {
    /// Reads what has arrived in `mailbox` while hands were shaken.
    pub(super) fn take(mailbox: &Mailbox, revision: &ProtocolVersion) -> Self {
        let is_stateless = !revision.has_initialize();
        let discovered = mailbox.greeting(&DISCOVER);
        let initialized = mailbox.greeting(&INITIALIZE);
        let result = if is_stateless {
            discovered
        } else {
            initialized
        };
        let result = result.unwrap_or_default();
        let field = |name: &str| result.get(name).cloned().unwrap_or_default();
        let info = match result.get("_meta") {
            Some(meta) if is_stateless => meta.get("io.modelcontextprotocol/serverInfo").cloned(),
            _ => result.get("serverInfo").cloned(),
        };
        Self {
            revision: Arc::from(revision.as_str()),
            is_stateless,
            info: info.unwrap_or_default(),
            capabilities: field("capabilities"),
            instructions: field("instructions"),
        }
    }

    /// Whether the server says that it has `capability`.
    pub(super) fn has(&self, capability: &str) -> bool {
        let declared = self.capabilities.get(capability);
        declared.is_some_and(|declared| !declared.is_null())
    }

    /// Whether the server says that `capability` has `feature`.
    pub(super) fn offers(&self, capability: &str, feature: &str) -> bool {
        let declared = self.capabilities.get(capability);
        declared.and_then(|declared| declared.get(feature)?.as_bool()) == Some(true)
    }
}
