use planwright_core::Value;

/// The client that a server is started for: its capabilities, and how servers send it requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpstreamClient {
    /// Its `ClientCapabilities`, or `null` for none.
    pub capabilities: Value,
    /// True if the client speaks a revision before 2026-07-28, in which servers send requests. For such a client, a
    /// server that supports both kinds of revisions is connected to with the earlier one.
    pub is_asked_by_requests: bool,
    /// True if further clients use the same servers. Remote servers then have one session for each set of capabilities.
    pub is_one_of_many: bool,
}

impl UpstreamClient {
    /// Creates a client of 2026-07-28 that does not share its servers.
    pub fn new(capabilities: Value) -> Self {
        Self {
            capabilities,
            ..Self::default()
        }
    }

    /// Returns the capabilities that a session of several clients may declare: only the kinds of requests, without
    /// further details. Roots belong to a single client.
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
