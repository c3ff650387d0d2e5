//! Pinned tools: the definition by which each tool of each server is known, and the latest one where it differs.

mod accept;
mod changed;

use std::collections::HashMap;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{Fault, StoreError};
use crate::store::Store;
use crate::times::to_nanos;

use accept::Log;

pub use accept::{Acceptance, AcceptedTool, tools_digest};
pub use changed::{ChangedServer, ChangedTool, StoredDefinition};

/// The identity of a server: its name in the configuration, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerIdentity {
    /// Its name in the configuration.
    pub server: String,
    /// How it is reached, as one line.
    pub origin: String,
}

/// A server whose tools are pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownServer {
    /// Whether its identity is accepted: it is the first one of its name, or a person accepted it.
    pub is_accepted: bool,
    /// Its tools, by name.
    pub tools: HashMap<String, KnownTool>,
}

/// A tool that is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownTool {
    /// The digest of the pinned definition.
    pub digest: String,
    /// The digest of the latest definition, if it differs.
    pub seen: Option<String>,
    /// Whether a known server added the tool and no person has accepted it yet.
    pub is_new: bool,
}

/// A tool as its server lists it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenTool {
    /// Its name.
    pub tool: String,
    /// The digest of its definition.
    pub digest: String,
    /// The definition as JSON. The store does not read it.
    pub definition: String,
}

/// Tools of one server as it lists them now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenServer {
    /// The server.
    pub identity: ServerIdentity,
    /// Whether a person has looked at how it is reached, so that its identity needs no further acceptance.
    pub is_accepted: bool,
    /// Its tools; those that are pinned with the same digest may be left out.
    pub tools: Vec<SeenTool>,
}

impl Store {
    /// What is pinned of these servers; those that are not known are left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn known_tools(
        &self,
        servers: &[ServerIdentity],
    ) -> Result<HashMap<ServerIdentity, KnownServer>, StoreError> {
        self.read(|connection| {
            let mut known = HashMap::with_capacity(servers.len());
            for identity in servers {
                if let Some(server) = read_server(connection, identity)? {
                    known.insert(identity.clone(), server);
                }
            }
            Ok(known)
        })
    }

    /// The definitions with these digests, as JSON; those that are not in the store are left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn tool_definitions(
        &self,
        digests: &[String],
    ) -> Result<HashMap<String, String>, StoreError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT json FROM tool_definitions WHERE digest = ?1")?;
            let mut definitions = HashMap::with_capacity(digests.len());
            for digest in digests {
                let json = statement.query_row([digest], |row| row.get(0)).optional()?;
                definitions.extend(json.map(|json| (digest.clone(), json)));
            }
            Ok(definitions)
        })
    }

    /// Stores tools as their servers list them now, all in one transaction.
    ///
    /// The first identity of a name is accepted, each further one waits for a person, unless one has looked at it. A tool that is not known is pinned as it
    /// is; of one that is known the definition is stored beside the pinned one, unless it is the pinned one again. What another
    /// process has pinned meanwhile stays: read it again with [`known_tools`](Self::known_tools).
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn pin_tools(&self, servers: Vec<SeenServer>, now: SystemTime) -> Result<(), StoreError> {
        self.writer().change(move |connection| {
            for server in &servers {
                pin_server(connection, server, to_nanos(now))?;
            }
            Ok(())
        })
    }
}

fn read_server(
    connection: &Connection,
    identity: &ServerIdentity,
) -> Result<Option<KnownServer>, Fault> {
    let row = connection
        .prepare_cached("SELECT key, accepted FROM tool_servers WHERE server = ?1 AND origin = ?2")?
        .query_row([&identity.server, &identity.origin], |row| {
            Ok((row.get::<_, i64>(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((key, is_accepted)) = row else {
        return Ok(None);
    };
    let mut statement = connection
        .prepare_cached("SELECT tool, digest, seen_digest, is_new FROM tools WHERE server = ?1")?;
    let rows = statement.query_map([key], |row| {
        let tool = KnownTool {
            digest: row.get(1)?,
            seen: row.get(2)?,
            is_new: row.get(3)?,
        };
        Ok((row.get(0)?, tool))
    })?;
    Ok(Some(KnownServer {
        is_accepted,
        tools: rows.collect::<Result<_, _>>()?,
    }))
}

fn pin_server(connection: &Connection, seen: &SeenServer, now: i64) -> Result<(), Fault> {
    let identity = &seen.identity;
    let is_first = connection
        .prepare_cached(
            "INSERT INTO tool_servers (server, origin, accepted, first_seen_ns)
             SELECT ?1, ?2, ?4 OR NOT EXISTS (SELECT 1 FROM tool_servers WHERE server = ?1), ?3
             WHERE true ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            identity.server,
            identity.origin,
            now,
            seen.is_accepted
        ])?
        == 1;
    let (key, was_accepted): (i64, bool) = connection
        .prepare_cached("SELECT key, accepted FROM tool_servers WHERE server = ?1 AND origin = ?2")?
        .query_row([&identity.server, &identity.origin], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if seen.is_accepted && !was_accepted {
        connection
            .prepare_cached("UPDATE tool_servers SET accepted = 1 WHERE key = ?1")?
            .execute([key])?;
        let log = Log {
            connection,
            by: None,
            now,
        };
        log.write(identity, None, "")?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO tools (server, tool, digest, pinned_ns, is_new) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
    )?;
    let mut before = connection
        .prepare_cached("SELECT digest, seen_digest FROM tools WHERE server = ?1 AND tool = ?2")?;
    let mut update = connection.prepare_cached(
        "UPDATE tools SET seen_digest = nullif(?3, digest), seen_ns = iif(?3 = digest, NULL, ?4)
         WHERE server = ?1 AND tool = ?2",
    )?;
    for tool in &seen.tools {
        let is_added = insert.execute(params![key, tool.tool, tool.digest, now, !is_first])? == 1;
        if is_added {
            define(connection, tool)?;
            continue;
        }
        let (pinned, latest): (String, Option<String>) = before
            .query_row(params![key, tool.tool], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        if latest.as_ref() == Some(&tool.digest) {
            continue;
        }
        update.execute(params![key, tool.tool, tool.digest, now])?;
        if let Some(latest) = latest {
            forget(connection, &latest)?;
        }
        if pinned != tool.digest {
            define(connection, tool)?;
        }
    }
    Ok(())
}

fn define(connection: &Connection, tool: &SeenTool) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO tool_definitions (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute([&tool.digest, &tool.definition])?;
    Ok(())
}

/// Deletes a definition that no row refers to any more. A digest covers server, identity and name, so no other tool has it.
fn forget(connection: &Connection, digest: &str) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM tool_definitions WHERE digest = ?1")?
        .execute([digest])?;
    Ok(())
}
