//! The offers of all servers, under the names that clients use.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::{Tool, Value};

use super::naming::{NamingScheme, OfferName};
use crate::object::text_field;
use crate::upstream::{UpstreamServer, UpstreamView};

/// The offers of all servers. A name is the server's own, or made of the server's name and its own if it is ambiguous:
/// see [`NamingScheme`].
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
    addresses: HashMap<Arc<str>, Arc<str>>,
    templates: Vec<(String, Arc<str>)>,
    with_resources: Vec<Arc<str>>,
}

#[derive(Clone, Debug)]
pub(super) struct Offer<T> {
    pub(super) server: Arc<str>,
    /// The server's own name of it.
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
    pub(super) fn owner(&self, address: &str) -> Option<Arc<str>> {
        self.addresses.get(address).cloned()
    }

    /// Returns the servers that may have the resource at `address`, the most likely first.
    pub(super) fn candidate_servers(&self, address: &str) -> Vec<Arc<str>> {
        if let Some(server) = self.owner(address) {
            return vec![server];
        }
        let mut templates: Vec<&(String, Arc<str>)> = self
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
            .filter(|server| seen.insert(Arc::clone(server)))
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
        let offers = offers(tools.collect(), naming);
        self.tools_by_name = by_name(&offers, naming);
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
        let offers = offers(prompts.collect(), naming);
        self.prompts_by_name = by_name(&offers, naming);
        self.collisions.extend(naming.collisions("prompt", &offers));
        self.prompts = offers;
    }

    fn add_resources(&mut self, server: &UpstreamServer) {
        for entry in &server.resources {
            let Some(address) = text_field(entry, "uri") else {
                continue;
            };
            if let Entry::Vacant(place) = self.addresses.entry(address) {
                place.insert(Arc::clone(&server.name));
                self.resources.push(entry.clone());
            }
        }
        for entry in &server.resource_templates {
            if let Some(template) = text_field(entry, "uriTemplate") {
                // Only the literal prefix is matched, which suffices to order the candidates.
                let start = template.split('{').next().unwrap_or_default().to_owned();
                self.templates.push((start, Arc::clone(&server.name)));
                self.resource_templates.push(entry.clone());
            }
        }
        if server.capabilities.get("resources").is_some() {
            self.with_resources.push(Arc::clone(&server.name));
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
        write!(f, "several servers offer `{}`: name `{names}`", self.name)
    }
}

/// Returns the offers with the names that clients use.
fn offers<T>(offered: Vec<(OfferName, &Value, T)>, naming: &NamingScheme<'_>) -> Vec<Offer<T>> {
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
                    renamed(
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
fn renamed(entry: &Value, client_name: Arc<str>, origin: Option<(&Arc<str>, &Arc<str>)>) -> Value {
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
fn by_name<T>(offers: &[Offer<T>], naming: &NamingScheme<'_>) -> HashMap<Arc<str>, usize> {
    let client_name = offers.iter().map(|offer| Arc::from(offer.client_name()));
    let mut by_name: HashMap<Arc<str>, usize> = client_name.zip(0..).collect();
    for (index, offer) in offers.iter().enumerate() {
        if let Some(prefixed) = naming.prefixed(&offer.server, &offer.name) {
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
