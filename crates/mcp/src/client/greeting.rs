use std::sync::Arc;

use planwright_core::Value;
use rmcp::model::ProtocolVersion;

use super::handshake::{DISCOVER, INITIALIZE};
use super::mailbox::Mailbox;

/// The description of a server in its handshake response, unchanged; `null` for missing fields.
#[derive(Clone, Debug)]
pub(super) struct Greeting {
    /// The negotiated revision.
    pub(super) revision: Arc<str>,
    /// True if each request carries the client's identity and capabilities, as the revision requires.
    pub(super) is_stateless: bool,
    pub(super) info: Value,
    pub(super) capabilities: Value,
    pub(super) instructions: Value,
}

impl Greeting {
    /// Takes the handshake response from `mailbox`.
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

    /// Returns true if the server declares `capability`.
    pub(super) fn has(&self, capability: &str) -> bool {
        let declared = self.capabilities.get(capability);
        declared.is_some_and(|declared| !declared.is_null())
    }

    /// Returns true if the server declares `feature` of `capability`.
    pub(super) fn offers(&self, capability: &str, feature: &str) -> bool {
        let declared = self.capabilities.get(capability);
        declared.and_then(|declared| declared.get(feature)?.as_bool()) == Some(true)
    }
}
