//! Pinning of tool definitions as servers list them, and their acceptance by a person.

use std::collections::HashMap;
use std::time::SystemTime;

use planwright_core::ServerName;

use super::tools_digest::digest_of_tools;
use crate::database::{QueryError, SqlSession, params};
use crate::error::StoreError;
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
    pub(super) session: &'a dyn SqlSession,
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
        self.session.execute(
            "INSERT INTO acceptances (server, origin, tool, digest, accepted_by, accepted_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                identity.server.as_str(),
                identity.origin,
                tool,
                digest,
                self.by,
                self.now
            ],
        )?;
        Ok(())
    }
}

impl Store {
    /// Returns the pinned tools of these servers. Unknown servers are omitted.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn pinned_tools(
        &self,
        servers: &[ServerIdentity],
    ) -> Result<HashMap<ServerIdentity, PinnedServer>, StoreError> {
        self.read(|session| {
            // An unknown server differs from one without tools: all tools of the latter are new.
            let mut known = HashMap::with_capacity(servers.len());
            for identity in servers {
                if let Some(server) = read_server(session, identity)? {
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
        self.read(|session| {
            let sql = "SELECT json FROM tool_definitions WHERE digest = ?1";
            let mut definitions = HashMap::with_capacity(digests.len());
            for digest in digests {
                let json = session.row(sql, params![digest], |row| row.get(0))?;
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
        self.writer().change(move |session| {
            for server in &servers {
                pin_server(session, server, to_nanos(now))?;
            }
            Ok(())
        })
    }
}

/// Deletes a definition that no row refers to. A digest covers server, identity and name, so no other tool has it.
fn delete_definition(session: &dyn SqlSession, digest: &str) -> Result<(), QueryError> {
    session.execute(
        "DELETE FROM tool_definitions WHERE digest = ?1",
        params![digest],
    )?;
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
        self.writer().change(move |session| {
            let log = AcceptanceLog {
                session,
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
        self.read(|session| {
            let number = session.single(
                "SELECT coalesce(max(number), 0) FROM acceptances",
                &[],
                |row| row.get(0),
            )?;
            Ok(number)
        })
    }
}

fn read_server(
    session: &dyn SqlSession,
    identity: &ServerIdentity,
) -> Result<Option<PinnedServer>, QueryError> {
    let row = session.row(
        "SELECT key, accepted FROM tool_servers WHERE server = ?1 AND origin = ?2",
        params![identity.server.as_str(), &identity.origin],
        |row| Ok((row.get::<i64>(0)?, row.get(1)?)),
    )?;
    let Some((key, is_accepted)) = row else {
        return Ok(None);
    };
    let tools = session.rows(
        "SELECT tool, digest, seen_digest, is_new FROM tools WHERE server = ?1",
        params![key],
        |row| {
            let tool = PinnedTool {
                digest: row.get(1)?,
                seen: row.get(2)?,
                is_new: row.get(3)?,
            };
            Ok((row.get(0)?, tool))
        },
    )?;
    Ok(Some(PinnedServer { is_accepted, tools }))
}

fn pin_server(session: &dyn SqlSession, seen: &ListedServer, now: i64) -> Result<(), QueryError> {
    let identity = &seen.identity;
    // A further origin for a known name may be another program in disguise, so only the first one is accepted without a person.
    let is_first = session
        .execute("INSERT INTO tool_servers (server, origin, accepted, first_seen_ns)
             SELECT CAST(?1 AS TEXT), CAST(?2 AS TEXT), CASE WHEN ?4 = 1 OR NOT EXISTS (SELECT 1 FROM tool_servers WHERE server = ?1) THEN 1 ELSE 0 END, CAST(?3 AS BIGINT)
             WHERE true ON CONFLICT DO NOTHING", params![
            identity.server.as_str(),
            identity.origin,
            now,
            seen.is_accepted
        ])?
        == 1;
    let (key, was_accepted): (i64, bool) = session.single(
        "SELECT key, accepted FROM tool_servers WHERE server = ?1 AND origin = ?2",
        params![identity.server.as_str(), &identity.origin],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if seen.is_accepted && !was_accepted {
        session.execute(
            "UPDATE tool_servers SET accepted = 1 WHERE key = ?1",
            params![key],
        )?;
        let log = AcceptanceLog {
            session,
            by: None,
            now,
        };
        // Without a digest: the person has reviewed the origin, not the tools.
        log.write(identity, None, "")?;
    }
    let insert =
        "INSERT INTO tools (server, tool, digest, pinned_ns, is_new) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING";
    let before = "SELECT digest, seen_digest FROM tools WHERE server = ?1 AND tool = ?2";
    let update = "UPDATE tools
         SET seen_digest = nullif(?3, digest), seen_ns = CASE WHEN digest = ?3 THEN NULL ELSE CAST(?4 AS BIGINT) END
         WHERE server = ?1 AND tool = ?2";
    for tool in &seen.tools {
        // The first listing of a server is pinned as it is; a tool that appears later is marked as new.
        let added =
            session.execute(insert, params![key, tool.tool, tool.digest, now, !is_first])?;
        let is_added = added == 1;
        if is_added {
            // The definition is stored only here and when it changes, since servers list the same tools at each start.
            insert_definition(session, tool)?;
            continue;
        }
        let (pinned, latest): (String, Option<String>) =
            session.single(before, params![key, tool.tool], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        // This change is stored already and waits for acceptance.
        if latest.as_ref() == Some(&tool.digest) {
            continue;
        }
        session.execute(update, params![key, tool.tool, tool.digest, now])?;
        // The previous latest definition was never accepted, so no row refers to it any more.
        if let Some(latest) = latest {
            delete_definition(session, &latest)?;
        }
        if pinned != tool.digest {
            insert_definition(session, tool)?;
        }
    }
    Ok(())
}

fn insert_definition(session: &dyn SqlSession, tool: &ListedTool) -> Result<(), QueryError> {
    session.execute(
        "INSERT INTO tool_definitions (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![&tool.digest, &tool.definition],
    )?;
    Ok(())
}

fn accept(log: &AcceptanceLog<'_>, accepted: &Acceptance) -> Result<(), QueryError> {
    let (session, identity) = (log.session, &accepted.identity);
    let changed = |tool: Option<&str>| StoreError::ToolChanged {
        server: identity.server.clone(),
        tool: tool.map(str::to_owned),
    };
    let key: Option<i64> = session.row(
        "SELECT key FROM tool_servers WHERE server = ?1 AND origin = ?2",
        params![identity.server.as_str(), &identity.origin],
        |row| row.get(0),
    )?;
    let key = key.ok_or_else(|| changed(None))?;
    if let Some(digest) = &accepted.tools_digest {
        // The server may have changed its tools since the person saw them.
        if digest_of_tools(session, key)? != *digest {
            return Err(changed(None).into());
        }
        session.execute(
            "UPDATE tool_servers SET accepted = 1 WHERE key = ?1",
            params![key],
        )?;
        log.write(identity, None, digest)?;
    }
    for tool in &accepted.tools {
        let row: Option<(String, Option<String>)> = session.row(
            "SELECT digest, seen_digest FROM tools WHERE server = ?1 AND tool = ?2",
            params![key, tool.tool],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let (pinned, seen) = row.ok_or_else(|| changed(Some(&tool.tool)))?;
        if *seen.as_ref().unwrap_or(&pinned) != tool.digest {
            return Err(changed(Some(&tool.tool)).into());
        }
        session
            .execute("UPDATE tools SET digest = ?3, pinned_ns = ?4, is_new = 0, seen_digest = NULL, seen_ns = NULL
                 WHERE server = ?1 AND tool = ?2", params![key, tool.tool, tool.digest, log.now])?;
        // The replaced definition has no further use. Without a difference, the pinned definition is the latest one and stays.
        if seen.is_some() {
            delete_definition(session, &pinned)?;
        }
        log.write(identity, Some(&tool.tool), &tool.digest)?;
    }
    Ok(())
}
