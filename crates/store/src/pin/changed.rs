//! Tools that are not what was pinned, as people are shown them.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{ServerIdentity, tools_digest};
use crate::error::{Fault, StoreError};
use crate::store::Store;
use crate::times::from_nanos;

/// A definition of a tool, as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredDefinition {
    /// Its digest.
    pub digest: String,
    /// The definition as JSON, as whoever pinned it wrote it.
    pub json: String,
    /// When it was seen first.
    pub since: SystemTime,
}

/// A tool that is new or not what was pinned, or any tool of a server whose identity waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedTool {
    /// Its name.
    pub tool: String,
    /// The pinned definition: of this server, or of an accepted server of the same name where the identity waits. `None` for a
    /// tool that is new.
    pub before: Option<StoredDefinition>,
    /// The latest definition.
    pub now: StoredDefinition,
}

/// A server with tools that wait for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedServer {
    /// The server.
    pub identity: ServerIdentity,
    /// Whether its identity is accepted.
    pub is_accepted: bool,
    /// The accepted identities of the same name, if its own is not accepted; the latest one first.
    pub accepted_origins: Vec<String>,
    /// What [`tools_digest`] gives for the latest definitions of all its tools.
    pub tools_digest: String,
    /// The tools that wait: all of them, if the identity is not accepted.
    pub tools: Vec<ChangedTool>,
}

impl Store {
    /// The servers with tools that changed, or are new, and that no person has accepted yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn changed_tools(&self) -> Result<Vec<ChangedServer>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key, server, origin, accepted FROM tool_servers
                 WHERE accepted = 0 OR key IN (SELECT server FROM tools WHERE is_new = 1 OR seen_digest IS NOT NULL)
                 ORDER BY server, key",
            )?;
            let rows = statement.query_map([], |row| {
                let identity = ServerIdentity {
                    server: row.get(1)?,
                    origin: row.get(2)?,
                };
                Ok((row.get::<_, i64>(0)?, identity, row.get::<_, bool>(3)?))
            })?;
            let servers: Vec<_> = rows.collect::<Result<_, _>>()?;
            let changed = servers
                .into_iter()
                .map(|(key, identity, is_accepted)| server(connection, key, identity, is_accepted));
            changed.collect()
        })
    }

    /// How many tools and identities of servers wait for a person: those that are not what was pinned, then those that are new.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn count_changed_tools(&self) -> Result<(u64, u64), StoreError> {
        self.read(|connection| {
            let (changed, new, identities): (i64, i64, i64) = connection.query_row(
                "SELECT (SELECT count(*) FROM tools WHERE (is_new = 1 OR seen_digest IS NOT NULL) AND seen_digest IS NOT NULL),
                        (SELECT count(*) FROM tools WHERE (is_new = 1 OR seen_digest IS NOT NULL) AND seen_digest IS NULL),
                        (SELECT count(*) FROM tool_servers WHERE accepted = 0)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )?;
            Ok(((changed + identities).unsigned_abs(), new.unsigned_abs()))
        })
    }
}

fn server(
    connection: &Connection,
    key: i64,
    identity: ServerIdentity,
    is_accepted: bool,
) -> Result<ChangedServer, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT tool, digest, pinned_ns, is_new, seen_digest, seen_ns FROM tools
         WHERE server = ?1 AND (?2 = 0 OR is_new = 1 OR seen_digest IS NOT NULL) ORDER BY tool",
    )?;
    let rows = statement.query_map(params![key, is_accepted], TableRow::read)?;
    let rows: Vec<TableRow> = rows.collect::<Result<_, _>>()?;
    let mut tools = Vec::with_capacity(rows.len());
    for row in rows {
        let pinned = definition(connection, row.digest, row.pinned_ns)?;
        let before = if is_accepted {
            None
        } else {
            earlier(connection, &identity, &row.tool)?
        };
        let (before, now) = match row.seen {
            // A tool that is new has no definition that anything vouches for.
            Some((seen, at)) => {
                let own = (is_accepted && !row.is_new).then_some(pinned);
                (before.or(own), definition(connection, seen, at)?)
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
            accepted_origins(connection, &identity.server)?
        },
        tools_digest: digest_of_tools(connection, key)?,
        identity,
        is_accepted,
        tools,
    })
}

struct TableRow {
    tool: String,
    digest: String,
    pinned_ns: i64,
    is_new: bool,
    seen: Option<(String, i64)>,
}

impl TableRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
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

/// The digest of the latest definitions of all tools of a server.
pub(super) fn digest_of_tools(connection: &Connection, key: i64) -> Result<String, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT tool, coalesce(seen_digest, digest) FROM tools WHERE server = ?1",
    )?;
    let rows = statement.query_map([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let tools: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    Ok(tools_digest(
        tools.iter().map(|(tool, digest)| (&**tool, &**digest)),
    ))
}

fn accepted_origins(connection: &Connection, server: &str) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT origin FROM tool_servers WHERE server = ?1 AND accepted = 1 ORDER BY key DESC",
    )?;
    let rows = statement.query_map([server], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The pinned definition of a tool at the latest accepted server of the same name.
fn earlier(
    connection: &Connection,
    identity: &ServerIdentity,
    tool: &str,
) -> Result<Option<StoredDefinition>, Fault> {
    let row: Option<(String, i64)> = connection
        .prepare_cached(
            "SELECT digest, pinned_ns FROM tools JOIN tool_servers ON tools.server = tool_servers.key
             WHERE tool_servers.server = ?1 AND accepted = 1 AND tool = ?2 ORDER BY key DESC LIMIT 1",
        )?
        .query_row([&identity.server, tool], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    row.map(|(digest, at)| definition(connection, digest, at))
        .transpose()
}

fn definition(
    connection: &Connection,
    digest: String,
    since: i64,
) -> Result<StoredDefinition, Fault> {
    let json: Option<String> = connection
        .prepare_cached("SELECT json FROM tool_definitions WHERE digest = ?1")?
        .query_row([&digest], |row| row.get(0))
        .optional()?;
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
