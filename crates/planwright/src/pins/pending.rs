//! Tools and servers that wait for a person, with their changes.

use planwright_core::ToolPattern;
use planwright_store::{
    Acceptance, AcceptedTool, ChangedServer, ServerIdentity, Store, StoreError, tools_digest,
};

use super::{Changes, Definition};

/// A server with changes that wait for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// The server.
    pub identity: ServerIdentity,
    /// The accepted commands or addresses of a server of this name, the latest one first, if this one is not accepted.
    pub accepted_origins: Option<Vec<String>>,
    /// The tools that wait.
    pub tools: Vec<PendingTool>,
    tools_digest: String,
}

/// A tool that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingTool {
    /// The name of the tool.
    pub name: String,
    /// The pinned definition; `None` for a new tool.
    pub before: Option<Definition>,
    /// The latest definition.
    pub now: Definition,
    /// The changes; empty for a new tool.
    pub changes: Changes,
    /// The digest of the latest definition.
    pub digest: String,
}

impl Pending {
    /// Returns all tools that wait for a person, by server.
    ///
    /// # Errors
    ///
    /// Errors of the store, and stored definitions that cannot be read.
    pub fn all(store: &Store) -> Result<Vec<Self>, StoreError> {
        store.changed_tools()?.into_iter().map(Self::read).collect()
    }

    /// Returns the part that these patterns cover; all of it if there are none.
    pub fn select(&self, patterns: &[ToolPattern]) -> Option<Self> {
        let mut selected = self.clone();
        if !patterns.is_empty() {
            selected.tools.retain(|tool| {
                let mut patterns = patterns.iter();
                patterns.any(|one| one.covers_name(&self.identity.server, &tool.name))
            });
        }
        (!selected.tools.is_empty()).then_some(selected)
    }

    /// Returns the acceptance of all of it.
    pub fn acceptance(&self) -> Acceptance {
        let tools = self.tools.iter().map(|tool| AcceptedTool {
            tool: tool.name.clone(),
            digest: tool.digest.clone(),
        });
        Acceptance {
            identity: self.identity.clone(),
            tools_digest: self
                .accepted_origins
                .is_some()
                .then(|| self.tools_digest.clone()),
            tools: tools.collect(),
        }
    }

    fn read(server: ChangedServer) -> Result<Self, StoreError> {
        let definition = |json: &str| {
            Definition::read(json).map_err(|error| {
                StoreError::Format(format!("the definition of a tool cannot be read: {error}"))
            })
        };
        let tools = server.tools.into_iter().map(|tool| {
            let before = tool.before.map(|before| definition(&before.json));
            let before = before.transpose()?;
            let now = definition(&tool.now.json)?;
            let changes = before.as_ref().map(|before| Changes::between(before, &now));
            Ok(PendingTool {
                name: tool.tool,
                before,
                now,
                changes: changes.unwrap_or_default(),
                digest: tool.now.digest,
            })
        });
        Ok(Self {
            identity: server.identity,
            accepted_origins: (!server.is_accepted).then_some(server.accepted_origins),
            tools: tools.collect::<Result<_, StoreError>>()?,
            tools_digest: server.tools_digest,
        })
    }
}

/// Returns the digest of a selection: it accepts exactly the definitions that were shown with it.
pub fn selection_digest(selection: &[Pending]) -> String {
    let tools = selection.iter().flat_map(|server| {
        let identity = &server.identity;
        let tools = server.tools.iter().map(move |tool| {
            let name = format!("{}\n{}\n{}", identity.server, identity.origin, tool.name);
            (name, tool.digest.as_str())
        });
        let server_acceptance = server.accepted_origins.is_some().then(|| {
            (
                format!("{}\n{}", identity.server, identity.origin),
                &*server.tools_digest,
            )
        });
        tools.chain(server_acceptance)
    });
    let tools: Vec<(String, &str)> = tools.collect();
    tools_digest(tools.iter().map(|(name, digest)| (&**name, *digest)))
}
