//! Changed and new tools, for review by people.

use std::time::SystemTime;

use super::pin::ServerIdentity;
use super::tools_digest::digest_of_tools;
use crate::database::{QueryError, SqlRow, SqlSession, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::values::from_nanos;

/// A stored definition of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDefinition {
    /// The digest.
    pub digest: String,
    /// The definition as JSON, as it was passed to [`Store::pin_tools`].
    pub json: String,
    /// The time when the definition was first listed.
    pub since: SystemTime,
}

/// A new or changed tool, or any tool of a server whose identity is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTool {
    /// The name.
    pub tool: String,
    /// The pinned definition; `None` for a new tool. If the identity of the server is not accepted, it is the one of the accepted
    /// server of the same name.
    pub before: Option<StoredDefinition>,
    /// The latest definition.
    pub now: StoredDefinition,
}

/// A server with tools that wait for acceptance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedServer {
    /// The server.
    pub identity: ServerIdentity,
    /// True if the identity is accepted.
    pub is_accepted: bool,
    /// The accepted origins of the same name, the latest one first; empty if the identity is accepted.
    pub accepted_origins: Vec<String>,
    /// The [`tools_digest`](super::tools_digest::tools_digest) of the latest definitions of all tools.
    pub tools_digest: String,
    /// The tools that wait for acceptance: all of them if the identity is not accepted.
    pub tools: Vec<ChangedTool>,
}

impl Store {
    /// Returns the servers with changed or new tools that no person has accepted yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn changed_tools(&self) -> Result<Vec<ChangedServer>, StoreError> {
        self.read(|session| {
            let servers: Vec<_> = session.rows(
                "SELECT key, server, origin, accepted FROM tool_servers
                 WHERE accepted = 0 OR key IN (SELECT server FROM tools WHERE is_new = 1 OR seen_digest IS NOT NULL)
                 ORDER BY server, key",
                &[],
                |row| {
                    let identity = ServerIdentity {
                        server: row.get::<String>(1)?.into(),
                        origin: row.get(2)?,
                    };
                    Ok((row.get::<i64>(0)?, identity, row.get::<bool>(3)?))
                },
            )?;
            let changed = servers
                .into_iter()
                .map(|(key, identity, is_accepted)| read_changed_server(session, key, identity, is_accepted));
            changed.collect()
        })
    }

    /// Returns the server and the name of each tool that was ever listed.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn tool_names(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|session| {
            session.rows(
                "SELECT DISTINCT tool_servers.server, tools.tool FROM tools
                 JOIN tool_servers ON tool_servers.key = tools.server ORDER BY 1, 2",
                &[],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }

    /// Counts what waits for acceptance. Returns the number of changed tools and server identities, and the number of new tools.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn count_changed_tools(&self) -> Result<(u64, u64), StoreError> {
        self.read(|session| {
            let (changed, new, identities): (i64, i64, i64) = session.single("SELECT (SELECT count(*) FROM tools WHERE (is_new = 1 OR seen_digest IS NOT NULL) AND is_new = 0),
                        (SELECT count(*) FROM tools WHERE (is_new = 1 OR seen_digest IS NOT NULL) AND is_new = 1),
                        (SELECT count(*) FROM tool_servers WHERE accepted = 0)", &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(((changed + identities).unsigned_abs(), new.unsigned_abs()))
        })
    }
}

fn read_changed_server(
    session: &dyn SqlSession,
    key: i64,
    identity: ServerIdentity,
    is_accepted: bool,
) -> Result<ChangedServer, QueryError> {
    let rows: Vec<ToolRow> = session.rows(
        "SELECT tool, digest, pinned_ns, is_new, seen_digest, seen_ns FROM tools
         WHERE server = ?1 AND (?2 = 0 OR is_new = 1 OR seen_digest IS NOT NULL) ORDER BY tool",
        params![key, is_accepted],
        ToolRow::read,
    )?;
    let mut tools = Vec::with_capacity(rows.len());
    for row in rows {
        let pinned = read_definition(session, row.digest, row.pinned_ns)?;
        // A server with an unaccepted origin may have replaced the accepted one of its name, so their tools are compared.
        let before = if is_accepted {
            None
        } else {
            find_accepted_definition(session, &identity, &row.tool)?
        };
        let (before, now) = match row.seen {
            // The pinned definition of a new tool was never accepted, so it is not shown as the earlier one.
            Some((seen, at)) => {
                let accepted = (is_accepted && !row.is_new).then_some(pinned);
                (before.or(accepted), read_definition(session, seen, at)?)
            }
            None => (before, pinned),
        };
        tools.push(ChangedTool {
            tool: row.tool,
            before,
            now,
        });
    }
    Ok(ChangedServer {
        accepted_origins: if is_accepted {
            Vec::new()
        } else {
            accepted_origins(session, &identity.server)?
        },
        tools_digest: digest_of_tools(session, key)?,
        identity,
        is_accepted,
        tools,
    })
}

struct ToolRow {
    tool: String,
    digest: String,
    pinned_ns: i64,
    is_new: bool,
    seen: Option<(String, i64)>,
}

impl ToolRow {
    fn read(row: &dyn SqlRow) -> Result<Self, QueryError> {
        let seen: Option<String> = row.get(4)?;
        let at: Option<i64> = row.get(5)?;
        Ok(Self {
            tool: row.get(0)?,
            digest: row.get(1)?,
            pinned_ns: row.get(2)?,
            is_new: row.get(3)?,
            seen: seen.map(|digest| (digest, at.unwrap_or_default())),
        })
    }
}

fn accepted_origins(session: &dyn SqlSession, server: &str) -> Result<Vec<String>, QueryError> {
    session.rows(
        "SELECT origin FROM tool_servers WHERE server = ?1 AND accepted = 1 ORDER BY key DESC",
        params![server],
        |row| row.get(0),
    )
}

/// Returns the pinned definition of `tool` from the latest accepted server with the name of `identity`; `None` if it has no such
/// tool.
fn find_accepted_definition(
    session: &dyn SqlSession,
    identity: &ServerIdentity,
    tool: &str,
) -> Result<Option<StoredDefinition>, QueryError> {
    let row: Option<(String, i64)> = session
        .row("SELECT digest, pinned_ns FROM tools JOIN tool_servers ON tools.server = tool_servers.key
             WHERE tool_servers.server = ?1 AND accepted = 1 AND tool = ?2 ORDER BY key DESC LIMIT 1", params![identity.server.as_str(), tool], |row| Ok((row.get(0)?, row.get(1)?)))?;
    row.map(|(digest, at)| read_definition(session, digest, at))
        .transpose()
}

fn read_definition(
    session: &dyn SqlSession,
    digest: String,
    since: i64,
) -> Result<StoredDefinition, QueryError> {
    let json: Option<String> = session.row(
        "SELECT json FROM tool_definitions WHERE digest = ?1",
        params![&digest],
        |row| row.get(0),
    )?;
    let json = json.ok_or_else(|| {
        StoreError::Format(format!(
            "the definition `{digest}` of a tool is not in the store"
        ))
    })?;
    Ok(StoredDefinition {
        digest,
        json,
        since: from_nanos(since),
    })
}
