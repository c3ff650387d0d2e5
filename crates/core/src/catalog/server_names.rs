//! The names of servers, and which names of tools belong to them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::Hashing;

/// The names of servers. `files.…` and `files__…` belong to a server `files`, whether it offers such a tool or not.
#[derive(Clone, Debug, Default)]
pub struct ServerNames {
    names: HashSet<Arc<str>, Hashing>,
    /// The names as models write them, each with the servers that have it.
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

    /// Whether there is a server of that name.
    pub fn contains(&self, server: &str) -> bool {
        self.names.contains(server)
    }

    /// The servers that a name such as `server.tool` or `server__tool` may belong to, with the length of the part that names them, and
    /// whether that is their name as it is.
    fn claims<'a>(&'a self, name: &'a str) -> impl Iterator<Item = ((usize, bool), &'a Arc<str>)> {
        let signs = name.char_indices().map(|(at, _)| at);
        signs.flat_map(move |at| {
            let (server, rest) = name.split_at(at);
            let (is_dot, is_alias) = (rest.starts_with('.'), rest.starts_with("__"));
            let named = (is_dot || is_alias).then(|| self.names.get(server));
            let named = named.flatten().into_iter();
            let for_models = is_alias.then(|| self.for_models.get(server));
            let for_models = for_models.flatten().into_iter().flatten();
            // A name that models can write stands in both.
            let for_models = for_models.filter(move |other| &***other != server);
            named
                .map(move |server| ((at, true), server))
                .chain(for_models.map(move |server| ((at, false), server)))
        })
    }

    /// The server that `name` belongs to, if it is that of one: the one with the longest name.
    pub fn owner<'a>(&'a self, name: &'a str) -> Option<&'a Arc<str>> {
        let nearest = self.claims(name).max_by_key(|(rank, _)| *rank);
        nearest.map(|(_, server)| server)
    }

    /// Whether `name`, which begins with the name of `server`, belongs to no other server.
    pub fn own(&self, server: &str, name: &str) -> bool {
        let (own, others): (Vec<_>, Vec<_>) = self
            .claims(name)
            .partition(|(_, claimant)| ***claimant == *server);
        let nearest = own.iter().map(|(rank, _)| *rank).max();
        others.iter().all(|(rank, _)| Some(*rank) < nearest)
    }

    /// Whether a tool of `server` can be called by its bare name `name`: no other server owns it.
    pub fn leave_free(&self, name: &str, server: &str) -> bool {
        self.claims(name).all(|(_, claimant)| **claimant == *server)
    }
}

/// `name` with `_` for each character that the APIs of models do not allow in names.
pub(super) fn for_models(name: &str) -> String {
    name.replace(
        |character: char| !matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'),
        "_",
    )
}
