//! Acceptance of tool definitions and server identities by a person.

use std::time::SystemTime;

use rusqlite::{OptionalExtension, params};

use super::changed::digest_of_tools;
use super::pin::{AcceptanceLog, ServerIdentity, delete_definition};
use crate::error::{QueryError, StoreError};
use crate::store::Store;
use crate::values::to_nanos;

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

fn accept(log: &AcceptanceLog<'_>, accepted: &Acceptance) -> Result<(), QueryError> {
    let (connection, identity) = (log.connection, &accepted.identity);
    let changed = |tool: Option<&str>| StoreError::ToolChanged {
        server: identity.server.clone(),
        tool: tool.map(str::to_owned),
    };
    let key: Option<i64> = connection
        .prepare_cached("SELECT key FROM tool_servers WHERE server = ?1 AND origin = ?2")?
        .query_row([&identity.server, &identity.origin], |row| row.get(0))
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
