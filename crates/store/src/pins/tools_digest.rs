//! The digest of the tools of a server.

use std::fmt::Write as _;

use planwright_format::journal::Digest;

use crate::database::{QueryError, SqlSession, params};

/// Returns the digest of a set of tools: the SHA-256 over their names and the digests of their definitions, sorted by name.
pub fn tools_digest<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut tools: Vec<(&str, &str)> = tools.into_iter().collect();
    tools.sort_unstable();
    let mut text = String::new();
    for (tool, digest) in tools {
        // The length prevents ambiguity: a name may contain colons and line breaks. Writing to a `String` cannot fail.
        let _ = writeln!(text, "{}:{tool}:{digest}", tool.len());
    }
    Digest::of(&text).to_string()
}

/// Returns the digest of the latest definitions of all tools of a server.
pub(super) fn digest_of_tools(session: &dyn SqlSession, key: i64) -> Result<String, QueryError> {
    let tools: Vec<(String, String)> = session.rows(
        "SELECT tool, coalesce(seen_digest, digest) FROM tools WHERE server = ?1",
        params![key],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(tools_digest(
        tools.iter().map(|(tool, digest)| (&**tool, &**digest)),
    ))
}
