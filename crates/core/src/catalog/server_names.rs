//! The names of servers, and the ownership of tool names by servers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::Hashing;

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
