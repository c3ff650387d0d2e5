//! The assignment of unique names to the offers of all servers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::ServerNames;
use sha2::{Digest, Sha256};

use super::listing::Offer;
use crate::upstream::UpstreamView;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfferName {
    pub(super) server: Arc<str>,
    pub(super) name: Arc<str>,
}

impl OfferName {
    pub(super) fn new(server: &Arc<str>, name: &Arc<str>) -> Self {
        Self {
            server: Arc::clone(server),
            name: Arc::clone(name),
        }
    }
}

/// The naming rules: the server's own name, if it is unique and free; else `server__name`, if that belongs to the
/// server; else a digest and the name.
pub(super) struct NamingScheme<'a> {
    servers: ServerNames,
    is_reserved: &'a dyn Fn(&str) -> bool,
}

impl<'a> NamingScheme<'a> {
    /// Creates the naming for all servers of `view`, including unavailable ones. `is_reserved` returns true for names
    /// that servers must not use.
    pub(super) fn new(view: &UpstreamView, is_reserved: &'a dyn Fn(&str) -> bool) -> Self {
        let mut servers = ServerNames::default();
        // Names of unavailable servers stay reserved, so that no other server can take them over.
        for server in view.names() {
            servers.add(server);
        }
        Self {
            servers,
            is_reserved,
        }
    }

    /// Assigns a name to each claim, in their order.
    pub(super) fn assign(&self, claims: &[&OfferName]) -> Vec<Arc<str>> {
        let mut candidates: Vec<Vec<Arc<str>>> =
            claims.iter().map(|claim| self.candidates(claim)).collect();
        // All claims with an ambiguous name fall back to their next candidate. The final candidate is unique.
        loop {
            let mut counts: HashMap<&Arc<str>, usize> = HashMap::new();
            for name in candidates.iter().filter_map(|names| names.last()) {
                *counts.entry(name).or_default() += 1;
            }
            let is_shared = |names: &Vec<Arc<str>>| {
                let count = names.last().and_then(|name| counts.get(name));
                names.len() > 1 && count.is_some_and(|count| *count > 1)
            };
            let shared: Vec<bool> = candidates.iter().map(is_shared).collect();
            if !shared.contains(&true) {
                break;
            }
            for (names, is_shared) in candidates.iter_mut().zip(shared) {
                if is_shared {
                    names.pop();
                }
            }
        }
        let names = candidates.into_iter().zip(claims);
        names
            .map(|(mut names, claim)| names.pop().unwrap_or_else(|| Arc::clone(&claim.name)))
            .collect()
    }

    /// Returns `server__name` if it belongs to that server.
    pub(super) fn prefixed(&self, server: &str, name: &str) -> Option<Arc<str>> {
        let prefixed = format!("{server}__{name}");
        let is_own = self.servers.own(server, &prefixed) && !(self.is_reserved)(&prefixed);
        is_own.then(|| prefixed.into())
    }

    /// Returns true if a server's own name belongs to another server or is reserved.
    pub(super) fn is_taken(&self, server: &str, name: &str) -> bool {
        !self.servers.allows_bare_name(name, server)
            || (self.is_reserved)(name)
            || self.prefixed(server, name).is_none()
    }

    /// Returns warnings about offers that are renamed because their name belongs to another server. `kind` is tool or
    /// prompt.
    pub(super) fn collisions<T>(&self, kind: &str, offers: &[Offer<T>]) -> Vec<String> {
        let taken = offers.iter().filter(|offer| {
            offer.client_name() != &*offer.name && self.is_taken(&offer.server, &offer.name)
        });
        taken
            .map(|offer| {
                let mut clause = format!(
                    "the {kind} `{}` of the server `{}` is listed as `{}`",
                    offer.name,
                    offer.server,
                    offer.client_name()
                );
                match self.servers.owner(&offer.name) {
                    Some(owner) if *owner != offer.server => {
                        // Writing to a string cannot fail.
                        let _ = write!(clause, ", since its name is one of the server `{owner}`");
                    }
                    _ => clause.push_str(", since its name is taken"),
                }
                clause
            })
            .collect()
    }

    /// Returns the candidate names of a claim, the best one last.
    fn candidates(&self, claim: &OfferName) -> Vec<Arc<str>> {
        let OfferName { server, name } = claim;
        // The digest makes the last candidate unique if both other names belong to another server.
        let digest = Sha256::digest(format!("{server}\n{name}"));
        let digest = digest.iter().take(4).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let mut names = vec![format!("t{digest}_{name}").into()];
        names.extend(self.prefixed(server, name));
        if self.servers.allows_bare_name(name, server) && !(self.is_reserved)(name) {
            names.push(Arc::clone(name));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use planwright_core::ServerNames;

    use super::{NamingScheme, OfferName};

    /// Compares the names of `server/tool` pairs among further `servers`.
    fn check(servers: &[&str], tools: &[&str], expected: &[&str]) {
        let claims: Vec<OfferName> = tools
            .iter()
            .map(|tool| {
                let (server, name) = tool.split_once('/').unwrap();
                OfferName::new(&server.into(), &name.into())
            })
            .collect();
        let mut known = ServerNames::default();
        let own = claims.iter().map(|claim| Arc::clone(&claim.server));
        for server in own.chain(servers.iter().map(|server| Arc::from(*server))) {
            known.add(&server);
        }
        let naming = NamingScheme {
            servers: known,
            is_reserved: &|name| name == "execute_plan",
        };
        let seen = |claims: &[&OfferName]| -> Vec<(String, Arc<str>)> {
            let names = naming.assign(claims);
            let mut seen: Vec<(String, Arc<str>)> = claims
                .iter()
                .map(|claim| format!("{}/{}", claim.server, claim.name))
                .zip(names)
                .collect();
            seen.sort();
            seen
        };
        let mut claims: Vec<&OfferName> = claims.iter().collect();
        let names = naming.assign(&claims);
        assert_eq!(
            names.iter().map(|name| &**name).collect::<Vec<_>>(),
            expected
        );
        let before = seen(&claims);
        claims.reverse();
        assert_eq!(seen(&claims), before);
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }

    #[test]
    fn each_name_is_unique() {
        check(&[], &["a/read", "b/write"], &["read", "write"]);
        check(&[], &["a/write", "b/write"], &["a__write", "b__write"]);
        check(
            &[],
            &["files/write", "evil/files__write", "evil/write"],
            &["files__write", "evil__files__write", "evil__write"],
        );
        check(&["files"], &["evil/files__write"], &["evil__files__write"]);
        check(&["files"], &["evil/files.write"], &["evil__files.write"]);
        check(&[], &["git/git__status"], &["git__status"]);
        check(&[], &["a/execute_plan"], &["a__execute_plan"]);
    }

    #[test]
    fn servers_whose_names_begin_alike_share_none() {
        check(
            &[],
            &["a__b/c", "a/b__c", "x/c", "x/b__c"],
            &["a__b__c", "tedc6b97d_b__c", "x__c", "x__b__c"],
        );
        check(
            &["a__b"],
            &["a/b__c", "x/b__c"],
            &["tedc6b97d_b__c", "x__b__c"],
        );
        check(
            &[],
            &["my.files/read", "my_files/read"],
            &["my.files__read", "my_files__read"],
        );
    }
}
