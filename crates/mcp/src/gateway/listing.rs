//! The offers of all servers, and the assignment of unique names to them that clients use.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::text::hex;
use planwright_core::{ServerName, ServerNames, Tool, Value};
use sha2::{Digest, Sha256};

use crate::object::text_field;
use crate::upstream::{UpstreamServer, UpstreamView};
use crate::views;

/// The offers of all servers. Clients use the server's own name of an offer or, if it is ambiguous, a longer one: see
/// [`NamingScheme`].
#[derive(Debug, Default)]
pub(super) struct OfferListing {
    pub(super) tools: Vec<Offer<Tool>>,
    pub(super) prompts: Vec<Offer<()>>,
    /// The entries of `resources/list`; the first of several with the same URI counts.
    pub(super) resources: Vec<Value>,
    pub(super) resource_templates: Vec<Value>,
    tools_by_name: HashMap<Arc<str>, usize>,
    prompts_by_name: HashMap<Arc<str>, usize>,
    /// Warnings about renamed offers, one clause each.
    pub(super) collisions: Vec<String>,
    addresses: HashMap<Arc<str>, ServerName>,
    templates: Vec<(String, ServerName)>,
    with_resources: Vec<ServerName>,
}

#[derive(Clone, Debug)]
pub(super) struct Offer<T> {
    pub(super) server: ServerName,
    /// The server's own name of the offer.
    pub(super) name: Arc<str>,
    /// The server's list entry, with the name that clients use.
    pub(super) entry: Value,
    pub(super) item: T,
}

impl<T> Offer<T> {
    pub(super) fn client_name(&self) -> &str {
        self.entry
            .get("name")
            .and_then(Value::as_text)
            .unwrap_or(&self.name)
    }
}

impl OfferListing {
    /// Creates the listing of `view`. `is_reserved` returns true for names that servers must not use.
    pub(super) fn new(view: &UpstreamView, is_reserved: &dyn Fn(&str) -> bool) -> Self {
        let naming = NamingScheme::new(view, is_reserved);
        let mut listing = Self::default();
        listing.add_tools(view, &naming);
        listing.add_prompts(view, &naming);
        listing.add_views(view);
        for server in &view.servers {
            listing.add_resources(server);
        }
        listing
    }

    /// Returns the tool `name`, or an error if several servers have one of that name.
    pub(super) fn tool(&self, name: &str) -> Option<Result<Offer<Tool>, AmbiguousName>> {
        find(&self.tools, &self.tools_by_name, name)
    }

    /// Returns the prompt `name`, or an error if several servers have one of that name.
    pub(super) fn prompt(&self, name: &str) -> Option<Result<Offer<()>, AmbiguousName>> {
        find(&self.prompts, &self.prompts_by_name, name)
    }

    /// Returns the server that lists the resource at `address`.
    pub(super) fn owner(&self, address: &str) -> Option<ServerName> {
        self.addresses.get(address).cloned()
    }

    /// Returns the servers that may have the resource at `address`, the most likely first.
    pub(super) fn candidate_servers(&self, address: &str) -> Vec<ServerName> {
        if let Some(server) = self.owner(address) {
            return vec![server];
        }
        let mut templates: Vec<&(String, ServerName)> = self
            .templates
            .iter()
            .filter(|(start, _)| address.starts_with(start.as_str()))
            .collect();
        // The longest literal prefix is the most specific template.
        templates.sort_by_key(|(start, _)| std::cmp::Reverse(start.len()));
        let likely = templates.into_iter().map(|(_, server)| server);
        let mut seen = HashSet::new();
        likely
            .chain(&self.with_resources)
            .filter(|server| seen.insert(*server))
            .cloned()
            .collect()
    }

    fn add_tools(&mut self, view: &UpstreamView, naming: &NamingScheme<'_>) {
        let tools = view.servers.iter().flat_map(|server| {
            // The last of several tools with the same name counts.
            let mut seen = HashSet::new();
            let mut tools: Vec<_> = server
                .tools
                .iter()
                .rev()
                .filter(|tool| seen.insert(&tool.name))
                .filter_map(|tool| {
                    let mut entries = server.tool_entries.iter().rev();
                    let entry = entries.find(|entry| is_named(entry, &tool.name))?;
                    let claim = OfferName::new(&server.name, &tool.name);
                    Some((claim, entry, tool.clone()))
                })
                .collect();
            tools.reverse();
            tools
        });
        let offers = name_offers(tools.collect(), naming);
        self.tools_by_name = index_by_name(&offers, naming);
        self.collisions.extend(naming.collisions("tool", &offers));
        self.tools = offers;
    }

    fn add_prompts(&mut self, view: &UpstreamView, naming: &NamingScheme<'_>) {
        let prompts = view.servers.iter().flat_map(|server| {
            let mut seen = HashSet::new();
            let mut prompts: Vec<_> = server
                .prompts
                .iter()
                .rev()
                .filter_map(|entry| {
                    let name = text_field(entry, "name")?;
                    seen.insert(Arc::clone(&name))
                        .then(|| (OfferName::new(&server.name, &name), entry, ()))
                })
                .collect();
            prompts.reverse();
            prompts
        });
        let offers = name_offers(prompts.collect(), naming);
        self.prompts_by_name = index_by_name(&offers, naming);
        self.collisions.extend(naming.collisions("prompt", &offers));
        self.prompts = offers;
    }

    /// Assigns the view that a tool names to the server of the tool: no other server can replace that page by its own.
    fn add_views(&mut self, view: &UpstreamView) {
        for server in &view.servers {
            for address in server.tool_entries.iter().filter_map(views::address) {
                match self.addresses.entry(address) {
                    Entry::Vacant(place) => {
                        place.insert(server.name.clone());
                    }
                    Entry::Occupied(place) if *place.get() != server.name => {
                        let clause = format!(
                            "the view `{}` of the server `{}` is not served: the server `{}` has one at the same address",
                            place.key(),
                            server.name,
                            place.get()
                        );
                        if !self.collisions.contains(&clause) {
                            self.collisions.push(clause);
                        }
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
    }

    fn add_resources(&mut self, server: &UpstreamServer) {
        let mut seen = HashSet::new();
        for entry in &server.resources {
            let Some(address) = text_field(entry, "uri") else {
                continue;
            };
            let owner = self.addresses.entry(Arc::clone(&address));
            if *owner.or_insert_with(|| server.name.clone()) == server.name && seen.insert(address)
            {
                self.resources.push(entry.clone());
            }
        }
        for entry in &server.resource_templates {
            if let Some(template) = text_field(entry, "uriTemplate") {
                // Only the literal prefix is matched, which suffices to order the candidates.
                let start = template.split('{').next().unwrap_or_default().to_owned();
                self.templates.push((start, server.name.clone()));
                self.resource_templates.push(entry.clone());
            }
        }
        if server.capabilities.get("resources").is_some() {
            self.with_resources.push(server.name.clone());
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AmbiguousName {
    pub(super) name: String,
    /// The unambiguous names.
    pub(super) names: Vec<String>,
}

impl std::fmt::Display for AmbiguousName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.names.join("` or `");
        write!(f, "several servers offer `{}`: use `{names}`", self.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfferName {
    pub(super) server: ServerName,
    pub(super) name: Arc<str>,
}

impl OfferName {
    pub(super) fn new(server: &ServerName, name: &Arc<str>) -> Self {
        Self {
            server: server.clone(),
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
    fn assign(&self, claims: &[&OfferName]) -> Vec<Arc<str>> {
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
    fn prefixed_name(&self, server: &str, name: &str) -> Option<Arc<str>> {
        let prefixed = format!("{server}__{name}");
        let is_own = self.servers.own(server, &prefixed) && !(self.is_reserved)(&prefixed);
        is_own.then(|| prefixed.into())
    }

    /// Returns true if a server's own name belongs to another server or is reserved.
    fn is_taken(&self, server: &str, name: &str) -> bool {
        !self.servers.allows_bare_name(name, server)
            || (self.is_reserved)(name)
            || self.prefixed_name(server, name).is_none()
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
        let digest = hex(&digest[..4]);
        let mut names = vec![format!("t{digest}_{name}").into()];
        names.extend(self.prefixed_name(server, name));
        if self.servers.allows_bare_name(name, server) && !(self.is_reserved)(name) {
            names.push(Arc::clone(name));
        }
        names
    }
}

/// Returns the offers with the names that clients use.
fn name_offers<T>(
    offered: Vec<(OfferName, &Value, T)>,
    naming: &NamingScheme<'_>,
) -> Vec<Offer<T>> {
    let claims: Vec<&OfferName> = offered.iter().map(|(claim, ..)| claim).collect();
    let names = naming.assign(&claims);
    let named = offered.into_iter().zip(names);
    named
        .map(
            |((OfferName { server, name }, entry, item), client_name)| Offer {
                entry: if client_name == name {
                    entry.clone()
                } else {
                    let mentions_origin = naming.is_taken(&server, &name);
                    rename_entry(
                        entry,
                        client_name,
                        mentions_origin.then_some((&server, &name)),
                    )
                },
                server,
                name,
                item,
            },
        )
        .collect()
}

/// Returns an entry with another name. `origin` is the server and its own name, if the description must mention them.
fn rename_entry(
    entry: &Value,
    client_name: Arc<str>,
    origin: Option<(&ServerName, &Arc<str>)>,
) -> Value {
    let mut fields = entry.as_object().cloned().unwrap_or_default();
    fields.insert("name".into(), Value::Text(client_name));
    if let Some((server, name)) = origin {
        let note = format!("The server `{server}` calls it `{name}`.");
        let description = match text_field(entry, "description") {
            Some(description) => format!("{description}\n\n{note}"),
            None => note,
        };
        fields.insert("description".into(), Value::from(description));
    }
    Value::from(fields)
}

/// Returns the indices of offers by name: the names that clients see, and `server__name`.
fn index_by_name<T>(offers: &[Offer<T>], naming: &NamingScheme<'_>) -> HashMap<Arc<str>, usize> {
    let client_name = offers.iter().map(|offer| Arc::from(offer.client_name()));
    let mut by_name: HashMap<Arc<str>, usize> = client_name.zip(0..).collect();
    for (index, offer) in offers.iter().enumerate() {
        if let Some(prefixed) = naming.prefixed_name(&offer.server, &offer.name) {
            // A listed name takes precedence over a prefixed one.
            by_name.entry(prefixed).or_insert(index);
        }
    }
    by_name
}

fn find<T: Clone>(
    offers: &[Offer<T>],
    by_name: &HashMap<Arc<str>, usize>,
    name: &str,
) -> Option<Result<Offer<T>, AmbiguousName>> {
    if let Some(index) = by_name.get(name) {
        return offers.get(*index).cloned().map(Ok);
    }
    let names: Vec<String> = offers
        .iter()
        .filter(|offer| *offer.name == *name)
        .map(|offer| offer.client_name().to_owned())
        .collect();
    let name = name.to_owned();
    // A single offer of this own name is listed by another one, because the name belongs to another server.
    (names.len() > 1).then_some(Err(AmbiguousName { name, names }))
}

fn is_named(entry: &Value, name: &str) -> bool {
    entry.get("name").and_then(Value::as_text) == Some(name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use planwright_core::{ServerName, ServerNames};

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
        let own = claims.iter().map(|claim| claim.server.clone());
        for server in own.chain(servers.iter().map(|server| ServerName::from(*server))) {
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
