//! The client that a server is started for, as far as the server has to know it.

use planwright_core::Value;

/// What decides how a server is spoken to: what its client can do, and how that client is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpstreamClient {
    /// `ClientCapabilities` as MCP writes them; `null` for a client that can do nothing.
    pub capabilities: Value,
    /// Whether the client speaks a revision before 2026-07-28, in which servers ask by requests. A server that speaks both is then
    /// spoken to in the earlier one.
    pub is_asked_by_requests: bool,
    /// Whether further clients use the same servers. Servers that are reached over HTTP then have a session for each way of being
    /// asked.
    pub is_one_of_many: bool,
}

impl UpstreamClient {
    /// A client of 2026-07-28 that has its servers to itself.
    pub fn new(capabilities: Value) -> Self {
        Self {
            capabilities,
            ..Self::default()
        }
    }

    /// What a session that several clients share can be told: the ways of being asked that they have in common, without what
    /// else their capabilities hold. Roots are the client's own.
    pub(super) fn shared(&self) -> Self {
        let ways = [
            ("elicitation", ["form", "url"]),
            ("sampling", ["context", "tools"]),
        ];
        let capabilities = ways.into_iter().filter_map(|(name, modes)| {
            let declared = self.capabilities.get(name).filter(|it| !it.is_null())?;
            let modes = modes
                .into_iter()
                .filter(|mode| declared.get(mode).is_some());
            let modes = modes.map(|mode| (mode, Value::empty_object()));
            Some((name, Value::object(modes)))
        });
        Self {
            capabilities: Value::object(capabilities),
            ..self.clone()
        }
    }
}
