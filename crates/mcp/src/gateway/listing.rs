//! What all servers offer, under names by which a client can call it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use planwright_core::{Tool, Value};

use crate::client::{UpstreamServer, UpstreamView};

/// What all servers offer. Names are those that the servers give; where two give the same, both are told apart by their
/// servers' names.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) tools: Vec<Offer<Tool>>,
    pub(super) prompts: Vec<Offer<()>>,
    /// Entries of `resources/list`; of two with the same address the first counts.
    pub(super) resources: Vec<Value>,
    pub(super) resource_templates: Vec<Value>,
    tools_by_name: HashMap<Arc<str>, usize>,
    prompts_by_name: HashMap<Arc<str>, usize>,
    addresses: HashMap<Arc<str>, Arc<str>>,
    templates: Vec<(String, Arc<str>)>,
    with_resources: Vec<Arc<str>>,
}

/// Something that a server offers.
#[derive(Clone, Debug)]
pub(super) struct Offer<T> {
    pub(super) server: Arc<str>,
    /// The server's own name for it.
    pub(super) name: Arc<str>,
    /// What the server says of it, under the name that clients call it by.
    pub(super) entry: Value,
    pub(super) what: T,
}

impl<T> Offer<T> {
    /// The name that clients call it by.
    pub(super) fn called(&self) -> &str {
        self.entry
            .get("name")
            .and_then(Value::as_text)
            .unwrap_or(&self.name)
    }
}

impl Listing {
    pub(super) fn new(view: &UpstreamView) -> Self {
        let mut listing = Self::default();
        listing.add_tools(view);
        listing.add_prompts(view);
        for server in &view.servers {
            listing.add_resources(server);
        }
        listing
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Offer<Tool>> {
        self.tools.get(*self.tools_by_name.get(name)?)
    }

    pub(super) fn prompt(&self, name: &str) -> Option<&Offer<()>> {
        self.prompts.get(*self.prompts_by_name.get(name)?)
    }

    /// The servers that may have the resource at `address`, the likeliest first.
    pub(super) fn servers_of(&self, address: &str) -> Vec<Arc<str>> {
        if let Some(server) = self.addresses.get(address) {
            return vec![Arc::clone(server)];
        }
        let mut templates: Vec<&(String, Arc<str>)> = self
            .templates
            .iter()
            .filter(|(start, _)| address.starts_with(start.as_str()))
            .collect();
        templates.sort_by_key(|(start, _)| std::cmp::Reverse(start.len()));
        let likely = templates.into_iter().map(|(_, server)| server);
        let mut seen = HashSet::new();
        likely
            .chain(&self.with_resources)
            .filter(|server| seen.insert(Arc::clone(server)))
            .cloned()
            .collect()
    }

    fn add_tools(&mut self, view: &UpstreamView) {
        let shared = named_twice(view.tools().map(|tool| &tool.name));
        for server in &view.servers {
            for tool in &server.tools {
                let mut entries = server.tool_entries.iter();
                let Some(entry) = entries.find(|entry| is_named(entry, &tool.name)) else {
                    continue;
                };
                let (name, entry) = called(server, &tool.name, entry, &shared);
                self.tools_by_name.entry(name).or_insert(self.tools.len());
                self.tools.push(Offer {
                    server: Arc::clone(&server.name),
                    name: Arc::clone(&tool.name),
                    entry,
                    what: tool.clone(),
                });
            }
        }
    }

    fn add_prompts(&mut self, view: &UpstreamView) {
        let names: Vec<(&Arc<UpstreamServer>, Arc<str>, &Value)> = view
            .servers
            .iter()
            .flat_map(|server| server.prompts.iter().map(move |entry| (server, entry)))
            .filter_map(|(server, entry)| Some((server, text(entry, "name")?, entry)))
            .collect();
        let shared = named_twice(names.iter().map(|(_, name, _)| name));
        for (server, own, entry) in names {
            let (name, entry) = called(server, &own, entry, &shared);
            self.prompts_by_name
                .entry(name)
                .or_insert(self.prompts.len());
            self.prompts.push(Offer {
                server: Arc::clone(&server.name),
                name: own,
                entry,
                what: (),
            });
        }
    }

    fn add_resources(&mut self, server: &UpstreamServer) {
        for entry in &server.resources {
            let Some(address) = text(entry, "uri") else {
                continue;
            };
            if let Entry::Vacant(place) = self.addresses.entry(address) {
                place.insert(Arc::clone(&server.name));
                self.resources.push(entry.clone());
            }
        }
        for entry in &server.resource_templates {
            if let Some(template) = text(entry, "uriTemplate") {
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

/// The name and entry under which clients see something.
fn called(
    server: &UpstreamServer,
    name: &Arc<str>,
    entry: &Value,
    shared: &HashSet<Arc<str>>,
) -> (Arc<str>, Value) {
    if !shared.contains(name) {
        return (Arc::clone(name), entry.clone());
    }
    let prefixed: Arc<str> = format!("{}__{name}", server.name).into();
    let mut fields = entry.as_object().cloned().unwrap_or_default();
    fields.insert("name".into(), Value::Text(Arc::clone(&prefixed)));
    (prefixed, Value::from(fields))
}

fn is_named(entry: &Value, name: &str) -> bool {
    entry.get("name").and_then(Value::as_text) == Some(name)
}

fn text(entry: &Value, field: &str) -> Option<Arc<str>> {
    match entry.get(field)? {
        Value::Text(text) => Some(Arc::clone(text)),
        _ => None,
    }
}

fn named_twice<'a, T: Clone + Eq + Hash + 'a>(names: impl Iterator<Item = &'a T>) -> HashSet<T> {
    let mut seen = HashSet::new();
    names.filter(|name| !seen.insert(*name)).cloned().collect()
}
