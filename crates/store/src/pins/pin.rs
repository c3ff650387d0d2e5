//! Pinning of tool definitions as servers list them, and their acceptance by a person.

use std::collections::HashMap;
use std::time::SystemTime;

use planwright_core::ServerName;
use rusqlite::{Connection, OptionalExtension, params};

use super::changed::digest_of_tools;
use crate::error::{QueryError, StoreError};
use crate::store::Store;
use crate::values::to_nanos;

/// The identity of a server: its name in the configuration and its origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerIdentity {
    /// The name in the configuration.
    pub server: ServerName,
    /// The origin: the command or address of the server, as one line.
    pub origin: String,
}

/// A server with pinned tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinnedServer {
    /// True if the identity is accepted: it was the first one of its name, or a person accepted it.
    pub is_accepted: bool,
    /// The tools, by name.
    pub tools: HashMap<String, PinnedTool>,
}

/// A pinned tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedTool {
    /// The digest of the pinned definition.
    pub digest: String,
    /// The digest of the latest definition, if it differs.
    pub seen: Option<String>,
    /// True if the server added the tool later and no person has accepted it yet.
    pub is_new: bool,
}

/// A tool as its server lists it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTool {
    /// The name.
    pub tool: String,
    /// The digest of the definition.
    pub digest: String,
    /// The definition as JSON, which the store does not parse.
    pub definition: String,
}

/// The tools of a server as it lists them now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedServer {
    /// The server.
    pub identity: ServerIdentity,
    /// True if a person has reviewed the origin, so that the identity needs no further acceptance.
    pub is_accepted: bool,
    /// The tools. Those that are pinned with the same digest may be omitted.
    pub tools: Vec<ListedTool>,
}

/// A writer for the table `acceptances`.
struct AcceptanceLog<'a> {
    pub(super) connection: &'a Connection,
    pub(super) by: Option<&'a str>,
    pub(super) now: i64,
}

impl AcceptanceLog<'_> {
    /// Adds an acceptance of `tool`, or of the identity itself.
    fn write(
        &self,
        identity: &ServerIdentity,
        tool: Option<&str>,
        digest: &str,
    ) -> Result<(), QueryError> {
        self.connection
            .prepare_cached(
                "INSERT INTO acceptances (server, origin, tool, digest, accepted_by, accepted_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                identity.server.as_str(),
                identity.origin,
                tool,
                digest,
                self.by,
                self.now
            ])?;
        Ok(())
    }
}

impl Store {
    /// Returns the pinned tools of these servers, except unknown ones.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn pinned_tools(
        &self,
        servers: &[ServerIdentity],
    ) -> Result<HashMap<ServerIdentity, PinnedServer>, StoreError> {
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

    /// Returns the stored definitions with these digests, as JSON.
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

    /// Stores tools as their servers list them now, in one transaction.
    ///
    /// The first identity of a name is accepted; each further one waits for a person, unless one has reviewed it. An unknown tool is
    /// pinned. If the definition of a pinned tool differs, it is stored in addition, as the latest one. Tools that another
    /// process has pinned meanwhile stay pinned: read them again with [`pinned_tools`](Self::pinned_tools).
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn pin_tools(&self, servers: Vec<ListedServer>, now: SystemTime) -> Result<(), StoreError> {
        self.writer().change(move |connection| {
            for server in &servers {
                pin_server(connection, server, to_nanos(now))?;
            }
            Ok(())
        })
    }
}

/// Deletes a definition that no row refers to. A digest covers server, identity and name, so no other tool has it.
fn delete_definition(connection: &Connection, digest: &str) -> Result<(), QueryError> {
    connection
        .prepare_cached("DELETE FROM tool_definitions WHERE digest = ?1")?
        .execute([digest])?;
    Ok(())
}

/// The acceptance of tools of one server, exactly as a person saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// The server.
    pub identity: ServerIdentity,
    /// The digest of all its tools, if the identity is accepted as well.
    pub tools_digest: Option<String>,
    /// The accepted tools.
    pub tools: Vec<AcceptedTool>,
}

/// The acceptance of the latest definition of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedTool {
    /// The name.
    pub tool: String,
    /// The digest of the definition that the person saw.
    pub digest: String,
}

impl Store {
    /// Pins the latest definitions of these tools and accepts server identities, in one transaction, which fails if any of them
    /// differs from what the person saw.
    ///
    /// # Errors
    ///
    /// [`StoreError::ToolChanged`] if a definition changed since it was shown, [`StoreError::File`].
    pub fn accept_tools(
        &self,
        accepted: Vec<Acceptance>,
        by: Option<String>,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        self.writer().change(move |connection| {
            let log = AcceptanceLog {
                connection,
                by: by.as_deref(),
                now: to_nanos(now),
            };
            accepted.iter().try_for_each(|server| accept(&log, server))
        })
    }

    /// Returns the sequence number of the latest acceptance by any process; 0 if there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn last_acceptance(&self) -> Result<i64, StoreError> {
        self.read(|connection| {
            let number = connection
                .prepare_cached("SELECT coalesce(max(number), 0) FROM acceptances")?
                .query_row([], |row| row.get(0))?;
            Ok(number)
        })
    }
}

fn read_server(
    connection: &Connection,
    identity: &ServerIdentity,
) -> Result<Option<PinnedServer>, QueryError> {
    let row = connection
        .prepare_cached("SELECT key, accepted FROM tool_servers WHERE server = ?1 AND origin = ?2")?
        .query_row([identity.server.as_str(), &identity.origin], |row| {
            Ok((row.get::<_, i64>(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((key, is_accepted)) = row else {
        return Ok(None);
    };
    let mut statement = connection
        .prepare_cached("SELECT tool, digest, seen_digest, is_new FROM tools WHERE server = ?1")?;
    let rows = statement.query_map([key], |row| {
        let tool = PinnedTool {
            digest: row.get(1)?,
            seen: row.get(2)?,
            is_new: row.get(3)?,
        };
        Ok((row.get(0)?, tool))
    })?;
    Ok(Some(PinnedServer {
        is_accepted,
        tools: rows.collect::<Result<_, _>>()?,
    }))
}

fn pin_server(connection: &Connection, seen: &ListedServer, now: i64) -> Result<(), QueryError> {
    let identity = &seen.identity;
    let is_first = connection
        .prepare_cached(
            "INSERT INTO tool_servers (server, origin, accepted, first_seen_ns)
             SELECT ?1, ?2, ?4 OR NOT EXISTS (SELECT 1 FROM tool_servers WHERE server = ?1), ?3
             WHERE true ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            identity.server.as_str(),
            identity.origin,
            now,
            seen.is_accepted
        ])?
        == 1;
    let (key, was_accepted): (i64, bool) = connection
        .prepare_cached("SELECT key, accepted FROM tool_servers WHERE server = ?1 AND origin = ?2")?
        .query_row([identity.server.as_str(), &identity.origin], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if seen.is_accepted && !was_accepted {
        connection
            .prepare_cached("UPDATE tool_servers SET accepted = 1 WHERE key = ?1")?
            .execute([key])?;
        let log = AcceptanceLog {
            connection,
            by: None,
            now,
        };
        // Without a digest: the person has reviewed the origin, not the tools.
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
        // The first listing of a server is pinned as it is; a tool that appears later is marked as new.
        let is_added = insert.execute(params![key, tool.tool, tool.digest, now, !is_first])? == 1;
        if is_added {
            insert_definition(connection, tool)?;
            continue;
        }
        let (pinned, latest): (String, Option<String>) = before
            .query_row(params![key, tool.tool], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        // The change is stored already, and waits for acceptance.
        if latest.as_ref() == Some(&tool.digest) {
            continue;
        }
        update.execute(params![key, tool.tool, tool.digest, now])?;
        // The latest definition until now was never accepted, so nothing refers to it any more.
        if let Some(latest) = latest {
            delete_definition(connection, &latest)?;
        }
        if pinned != tool.digest {
            insert_definition(connection, tool)?;
        }
    }
    Ok(())
}

fn insert_definition(connection: &Connection, tool: &ListedTool) -> Result<(), QueryError> {
    connection
        .prepare_cached(
            "INSERT INTO tool_definitions (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute([&tool.digest, &tool.definition])?;
    Ok(())
}

fn accept(log: &AcceptanceLog<'_>, accepted: &Acceptance) -> Result<(), QueryError> {
    let (connection, identity) = (log.connection, &accepted.identity);
    let changed = |tool: Option<&str>| StoreError::ToolChanged {
        server: identity.server.clone(),
        tool: tool.map(str::to_owned),
    };
    let key: Option<i64> = connection
        .prepare_cached("SELECT key FROM tool_servers WHERE server = ?1 AND origin = ?2")?
        .query_row([identity.server.as_str(), &identity.origin], |row| {
            row.get(0)
        })
        .optional()?;
    let key = key.ok_or_else(|| changed(None))?;
    if let Some(digest) = &accepted.tools_digest {
        // The server may have changed its tools since the person saw them.
        if digest_of_tools(connection, key)? != *digest {
            return Err(changed(None).into());
        }
        connection
            .prepare_cached("UPDATE tool_servers SET accepted = 1 WHERE key = ?1")?
            .execute([key])?;
        log.write(identity, None, digest)?;
    }
    for tool in &accepted.tools {
        let row: Option<(String, Option<String>)> = connection
            .prepare_cached(
                "SELECT digest, seen_digest FROM tools WHERE server = ?1 AND tool = ?2",
            )?
            .query_row(params![key, tool.tool], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let (pinned, seen) = row.ok_or_else(|| changed(Some(&tool.tool)))?;
        if *seen.as_ref().unwrap_or(&pinned) != tool.digest {
            return Err(changed(Some(&tool.tool)).into());
        }
        connection
            .prepare_cached(
                "UPDATE tools SET digest = ?3, pinned_ns = ?4, is_new = 0, seen_digest = NULL, seen_ns = NULL
                 WHERE server = ?1 AND tool = ?2",
            )?
            .execute(params![key, tool.tool, tool.digest, log.now])?;
        if seen.is_some() {
            delete_definition(connection, &pinned)?;
        }
        log.write(identity, Some(&tool.tool), &tool.digest)?;
    }
    Ok(())
}
