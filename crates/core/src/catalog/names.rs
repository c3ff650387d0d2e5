//! Names of tools: those that belong to each server, and patterns that rules apply to.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::{Hashing, Tool};

/// The names of servers. A server `files` owns the names `files.…` and `files__…`, whether it offers such tools or not.
#[derive(Clone, Debug, Default)]
pub struct ServerNames {
    names: HashSet<Arc<str>, Hashing>,
    /// The names in the form that model APIs allow, each with the servers that share it.
    for_models: HashMap<String, Vec<Arc<str>>, Hashing>,
}

impl ServerNames {
    /// Adds a server.
    pub fn add(&mut self, server: &Arc<str>) {
        if !server.is_empty() && self.names.insert(Arc::clone(server)) {
            let same = self.for_models.entry(for_models(server)).or_default();
            same.push(Arc::clone(server));
        }
    }

    /// Returns true if a server has that name.
    pub fn contains(&self, server: &str) -> bool {
        self.names.contains(server)
    }

    /// Returns the servers that may own a name such as `server.tool` or `server__tool`, with the
    /// length of the server part and whether it is the exact server name.
    fn claims<'a>(&'a self, name: &'a str) -> impl Iterator<Item = ((usize, bool), &'a Arc<str>)> {
        let signs = name.char_indices().map(|(at, _)| at);
        // Server names may contain dots and underscores, so any separator may end one.
        signs.flat_map(move |at| {
            let (server, rest) = name.split_at(at);
            let (is_dot, is_alias) = (rest.starts_with('.'), rest.starts_with("__"));
            let named = (is_dot || is_alias).then(|| self.names.get(server));
            let named = named.flatten().into_iter();
            let for_models = is_alias.then(|| self.for_models.get(server));
            let for_models = for_models.flatten().into_iter().flatten();
            // An exact server name that is already valid for models is in both maps.
            let for_models = for_models.filter(move |other| &***other != server);
            named
                .map(move |server| ((at, true), server))
                .chain(for_models.map(move |server| ((at, false), server)))
        })
    }

    /// Returns the server that owns `name`: the one with the longest matching name.
    pub fn owner<'a>(&'a self, name: &'a str) -> Option<&'a Arc<str>> {
        let nearest = self.claims(name).max_by_key(|(rank, _)| *rank);
        nearest.map(|(_, server)| server)
    }

    /// Returns true if `name`, which begins with the name of `server`, belongs to no other server.
    pub fn own(&self, server: &str, name: &str) -> bool {
        let (own, others): (Vec<_>, Vec<_>) = self
            .claims(name)
            .partition(|(_, claimant)| ***claimant == *server);
        let nearest = own.iter().map(|(rank, _)| *rank).max();
        // A longer server name is the more specific claim.
        others.iter().all(|(rank, _)| Some(*rank) < nearest)
    }

    /// Returns true if no other server than `server` owns `name`, so that it can serve as a bare tool name.
    pub fn allows_bare_name(&self, name: &str, server: &str) -> bool {
        self.claims(name).all(|(_, claimant)| **claimant == *server)
    }
}

/// Returns `name` with `_` for each character that model APIs do not allow in names.
pub(super) fn for_models(name: &str) -> String {
    name.replace(
        |character: char| !matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'),
        "_",
    )
}

/// A pattern over tool names: `server.tool`, or `tool` of any server, with `*` for any text.
///
/// A pattern with a dot never matches the bare name of a tool: a rule for `files.*` does not apply
/// to a tool that another server calls `files.read`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolPattern(Arc<str>);

impl ToolPattern {
    /// Creates a pattern from its text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the pattern matches `tool`.
    pub fn covers(&self, tool: &Tool) -> bool {
        self.covers_name(&tool.server, &tool.name)
    }

    /// Returns true if the pattern matches the tool `tool` of the server `server`.
    pub fn covers_name(&self, server: &str, tool: &str) -> bool {
        if !self.0.contains('.') {
            return matches_name(&self.0, tool);
        }
        // Server and tool names may contain dots, so any dot may be the separator.
        self.0.match_indices('.').any(|(at, _)| {
            let (of_server, of_tool) = (self.0.get(..at), self.0.get(at + 1..));
            of_server.is_some_and(|pattern| matches_name(pattern, server))
                && of_tool.is_some_and(|pattern| matches_name(pattern, tool))
        })
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ToolPattern {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for ToolPattern {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Returns true if `text` matches `pattern`, with `*` for any text. Each part between stars is matched as early as
/// possible, from left to right, so the time is bounded by the product of both lengths.
pub(crate) fn matches_name(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(first) else {
        return false;
    };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*') {
        let Some(at) = left.find(part) else {
            return false;
        };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    // The last part must match the end, not its first occurrence.
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::ToolPattern;

    fn check(pattern: &str, covered: &[(&str, &str)], others: &[(&str, &str)]) {
        let pattern = ToolPattern::new(pattern);
        for (server, tool) in covered {
            assert!(
                pattern.covers_name(server, tool),
                "{pattern} {server} {tool}"
            );
        }
        for (server, tool) in others {
            assert!(
                !pattern.covers_name(server, tool),
                "{pattern} {server} {tool}"
            );
        }
    }

    #[test]
    fn names_of_any_server() {
        check(
            "pay",
            &[("shop", "pay"), ("bank", "pay")],
            &[("shop", "pays"), ("pay", "x")],
        );
        check("", &[], &[("", "x"), ("x", "y")]);
        check("*", &[("a", "b"), ("", "")], &[]);
        check(
            "delete_*",
            &[("a", "delete_"), ("a", "delete_all")],
            &[("a", "undelete_x")],
        );
        check(
            "*_file",
            &[("a", "_file"), ("a", "read_file")],
            &[("a", "read_files")],
        );
        check(
            "a*a",
            &[("s", "aa"), ("s", "aba")],
            &[("s", "a"), ("s", "ab")],
        );
        check(
            "a*b*c",
            &[("s", "abc"), ("s", "axbxbxc")],
            &[("s", "acb"), ("s", "ab"), ("s", "bc")],
        );
        check("*é*", &[("s", "é"), ("s", "café!")], &[("s", "e")]);
    }

    #[test]
    fn names_with_their_server() {
        check(
            "shop.pay",
            &[("shop", "pay")],
            &[("bank", "pay"), ("bank", "shop.pay")],
        );
        check(
            "shop.*",
            &[("shop", "pay"), ("shop", "a.b")],
            &[("shops", "pay"), ("evil", "shop.pay")],
        );
        check(
            "*.pay",
            &[("shop", "pay"), ("", "pay")],
            &[("shop", "payout")],
        );
        check("a.b.c", &[("a", "b.c"), ("a.b", "c")], &[("x", "a.b.c")]);
    }
}
