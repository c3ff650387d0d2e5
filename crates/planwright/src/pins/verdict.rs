//! Tools as currently listed, compared with their pins.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use indexmap::IndexMap;
use planwright_core::{Catalog, ServerName, Tool};
use planwright_store::{
    ListedServer, ListedTool, PinnedServer, PinnedTool, ServerIdentity, Store, StoreError,
};

use super::{Changes, Definition, PinPolicy};
use crate::call_view::visible;
use crate::terminal_text;

/// The maximum number of pinned tools of one server. Further tools need approval.
const MAX_TOOLS: usize = 10_000;

/// The approximate maximum size of all texts of definitions of one server in the store, in bytes; and the bounds for each text.
const STORED_BYTES: usize = 4 * 1024 * 1024;
const TEXT_BYTES: std::ops::RangeInclusive<usize> = 256..=8 * 1024;

/// The parts of a definition that have a text.
const TEXTS: usize = 4;

/// Maximum length of a tool's name that is stored unchanged, in bytes.
const NAME_BYTES: usize = 256;

/// The largest number of names that a notice lists, and of columns of each.
const MAX_LISTED: usize = 5;
const NAME_COLUMNS: usize = 80;

/// The comparison of tools with their pins.
#[derive(Clone, Copy, Debug)]
pub struct Pinning<'a> {
    /// The store of the pins.
    pub store: &'a Store,
    /// The policy for tools that changed.
    pub policy: PinPolicy,
    /// True if a person has seen the commands and addresses of the servers, as `planwright trust` shows them. Then these may differ from
    /// the pinned ones.
    pub accepts_servers: bool,
    /// The time.
    pub now: SystemTime,
}

/// The results of the comparison for tools that differ from their pins.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// The reasons why tools ask, by server and name.
    asks: HashMap<ServerName, HashMap<Arc<str>, Arc<str>>>,
    notices: Vec<Notice>,
}

/// A notice for people about the tools of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// The kind.
    pub kind: NoticeKind,
    /// The server.
    pub server: ServerName,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// True if it was not known before.
    pub is_first: bool,
}

/// The subject of a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoticeKind {
    /// The server is reached in another way.
    Server,
    /// Tools changed.
    Changed,
    /// A known server has new tools.
    New,
    /// The server lists more tools than can be pinned.
    TooMany,
}

impl Pinning<'_> {
    /// Compares tools with their pins. The tools must be as their servers list them, without any configuration. Unknown tools are pinned.
    /// Nothing is written if nothing changed. Tools of this process are skipped.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn compare<'t>(
        &self,
        tools: impl IntoIterator<Item = &'t Tool>,
    ) -> Result<Verdicts, StoreError> {
        if self.policy == PinPolicy::Off {
            return Ok(Verdicts::default());
        }
        let mut listed: BTreeMap<ServerIdentity, Listing<'t>> = BTreeMap::new();
        for tool in tools.into_iter().filter(|tool| !tool.origin.is_empty()) {
            let server = listed.entry(identity(tool)).or_default();
            server.insert(stored_name(&tool.name), (tool, tool.definition_digest()));
        }
        if listed.is_empty() {
            return Ok(Verdicts::default());
        }
        let identities: Vec<ServerIdentity> = listed.keys().cloned().collect();
        let before = self.store.pinned_tools(&identities)?;
        let unseen: Vec<ListedServer> = listed
            .iter()
            .filter_map(|(identity, tools)| self.unseen(identity, tools, before.get(identity)))
            .collect();
        let pinned = if unseen.is_empty() {
            None
        } else {
            self.store.pin_tools(unseen, self.now)?;
            Some(self.store.pinned_tools(&identities)?)
        };
        let now = pinned.as_ref().unwrap_or(&before);
        let mut verdicts = Verdicts::default();
        let none = PinnedServer::default();
        for (identity, tools) in &listed {
            let server = Server {
                identity,
                tools,
                before: before.get(identity),
                now: now.get(identity).unwrap_or(&none),
            };
            self.judge(&server, &mut verdicts)?;
        }
        Ok(verdicts)
    }

    /// Returns the verdicts if the store cannot be read: under `ask`, every tool of a server needs approval.
    pub fn unverified<'t>(
        policy: PinPolicy,
        tools: impl IntoIterator<Item = &'t Tool>,
    ) -> Verdicts {
        let mut verdicts = Verdicts::default();
        if policy == PinPolicy::Ask {
            let reason = Arc::from("its definition cannot be compared with the pinned one");
            for tool in tools.into_iter().filter(|tool| !tool.origin.is_empty()) {
                verdicts.ask(tool, &reason);
            }
        }
        verdicts
    }

    /// Returns the tools of a server that the store does not know yet.
    fn unseen(
        &self,
        identity: &ServerIdentity,
        listing: &Listing<'_>,
        known: Option<&PinnedServer>,
    ) -> Option<ListedServer> {
        let count = known.map_or(0, |known| known.tools.len());
        let is_known = |name: &String| known.and_then(|known| known.tools.get(name));
        let new = listing.keys().filter(|name| is_known(name).is_none());
        let all = count + new.count();
        let text =
            (STORED_BYTES / TEXTS / all.max(1)).clamp(*TEXT_BYTES.start(), *TEXT_BYTES.end());
        let mut room = MAX_TOOLS.saturating_sub(count);
        let mut tools = Vec::new();
        for (name, (tool, digest)) in listing {
            let is_unseen = match is_known(name) {
                Some(known) => known.seen.as_ref().unwrap_or(&known.digest) != digest,
                None if room == 0 => false,
                None => {
                    room -= 1;
                    true
                }
            };
            if is_unseen {
                let definition = Definition::of(tool, text).to_json();
                tools.push(ListedTool {
                    tool: name.clone(),
                    digest: digest.clone(),
                    definition: definition.unwrap_or_default(),
                });
            }
        }
        let is_accepted = self.accepts_servers;
        let changes_identity = known.is_none_or(|known| is_accepted && !known.is_accepted);
        (changes_identity || !tools.is_empty()).then(|| ListedServer {
            identity: identity.clone(),
            is_accepted,
            tools,
        })
    }

    fn judge(&self, server: &Server<'_, '_>, verdicts: &mut Verdicts) -> Result<(), StoreError> {
        let is_first = |name: &str, digest: &str| match server.before {
            None => true,
            Some(before) => before
                .tools
                .get(name)
                .is_none_or(|known| latest(known) != digest),
        };
        if !server.now.is_accepted {
            let reason: Arc<str> = Arc::from(format!(
                "the server `{}` is not the one that was pinned: its configuration changed",
                server.identity.server
            ));
            for (tool, _) in server.tools.values() {
                self.ask_about(tool, &reason, verdicts);
            }
            let names = server.tools.values().map(|(tool, _)| &*tool.name);
            let is_first = server.before.is_none();
            verdicts.notice(NoticeKind::Server, server, names, is_first);
            return Ok(());
        }
        let mut changed = Vec::new();
        let mut new = Vec::new();
        let mut unpinned = Vec::new();
        for (name, (tool, digest)) in server.tools {
            match server.now.tools.get(name) {
                None => unpinned.push(*tool),
                Some(known) if known.digest != *digest => {
                    changed.push((name, *tool, known, digest));
                }
                Some(known) if known.is_new && is_first(name, digest) => new.push(&*tool.name),
                Some(_) => {}
            }
        }
        let reason = Arc::from("its server lists more tools than can be pinned");
        for tool in &unpinned {
            self.ask_about(tool, &reason, verdicts);
        }
        let names = unpinned.iter().map(|tool| &*tool.name);
        verdicts.notice(NoticeKind::TooMany, server, names, server.before.is_none());
        verdicts.notice(NoticeKind::New, server, new, true);
        let digests: Vec<String> = changed
            .iter()
            .map(|(_, _, known, _)| known.digest.clone())
            .collect();
        let definitions = self.store.tool_definitions(&digests)?;
        let mut is_first_seen = false;
        for (name, tool, known, digest) in &changed {
            is_first_seen |= is_first(name, digest);
            let pinned = definitions.get(&known.digest);
            let pinned = pinned.and_then(|json| Definition::read(json).ok());
            let changes = pinned.map(|pinned| Changes::between(&pinned, &Definition::of(tool, 0)));
            // A definition that cannot be read proves nothing.
            if changes.as_ref().is_none_or(Changes::asks) {
                let names = changes.map(|changes| changes.names());
                let names = names.as_deref().unwrap_or(&["definition"]);
                self.ask_about(tool, &changed_reason(names), verdicts);
            }
        }
        let names = changed.iter().map(|(_, tool, ..)| &*tool.name);
        verdicts.notice(NoticeKind::Changed, server, names, is_first_seen);
        Ok(())
    }

    fn ask_about(&self, tool: &Tool, reason: &Arc<str>, verdicts: &mut Verdicts) {
        if self.policy == PinPolicy::Ask {
            verdicts.ask(tool, reason);
        }
    }
}

/// The tools of a server by the names that they have in the store, with the digests of their definitions. Of two with one name
/// the later one counts, as it does in catalogs.
type Listing<'t> = IndexMap<String, (&'t Tool, String)>;

/// A server, in its current and its pinned state.
struct Server<'a, 't> {
    identity: &'a ServerIdentity,
    tools: &'a Listing<'t>,
    before: Option<&'a PinnedServer>,
    now: &'a PinnedServer,
}

fn identity(tool: &Tool) -> ServerIdentity {
    ServerIdentity {
        server: tool.server.clone(),
        origin: tool.origin.to_string(),
    }
}

fn latest(known: &PinnedTool) -> &str {
    known.seen.as_ref().unwrap_or(&known.digest)
}

/// The name of a tool in the store. A long name is cut, and gets its digest so that it stays unique.
fn stored_name(name: &str) -> String {
    if name.len() <= NAME_BYTES {
        return name.to_owned();
    }
    let start = name.get(..name.floor_char_boundary(NAME_BYTES));
    let digest = planwright_store::tools_digest([(name, "")]);
    format!("{}…{digest}", start.unwrap_or_default())
}

fn changed_reason(names: &[&str]) -> Arc<str> {
    Arc::from(format!(
        "its {} changed since it was pinned",
        listed(names, names.len())
    ))
}

impl Verdicts {
    /// Returns the reason why each call of a tool asks, if it does.
    pub fn reason(&self, tool: &Tool) -> Option<&Arc<str>> {
        self.asks.get(&tool.server)?.get(&tool.name)
    }

    /// Returns the notices for people, by server.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Returns true if any tool asks until a person accepts it.
    pub fn ask_any(&self) -> bool {
        !self.asks.is_empty()
    }

    /// Applies `configure` to `catalog`, then the verdicts. The annotations of a changed tool are not trusted, and its calls need approval,
    /// whatever the configuration says about the pinned definition.
    pub fn catalog(
        &self,
        catalog: &Catalog,
        configure: impl FnOnce(&Catalog) -> Catalog,
    ) -> Catalog {
        if self.asks.is_empty() {
            return configure(catalog);
        }
        let doubted = catalog.map(|tool| {
            tool.annotations.trusted &= self.reason(tool).is_none();
        });
        configure(&doubted).map(|tool| self.apply(tool))
    }

    /// Requires approval of calls of a changed tool.
    pub fn apply(&self, tool: &mut Tool) {
        let Some(reason) = self.reason(tool).cloned() else {
            return;
        };
        tool.approval = true;
        tool.approval_reason = Some(match &tool.approval_reason {
            Some(other) => Arc::from(format!("{reason}; {other}")),
            None => reason,
        });
    }

    fn ask(&mut self, tool: &Tool, reason: &Arc<str>) {
        let server = self.asks.entry(tool.server.clone()).or_default();
        server.insert(Arc::clone(&tool.name), Arc::clone(reason));
    }

    fn notice<'n>(
        &mut self,
        kind: NoticeKind,
        server: &Server<'_, '_>,
        names: impl IntoIterator<Item = &'n str>,
        is_first: bool,
    ) {
        let tools: Vec<String> = names.into_iter().map(str::to_owned).collect();
        if tools.is_empty() {
            return;
        }
        self.notices.push(Notice {
            kind,
            server: server.identity.server.clone(),
            tools,
            is_first,
        });
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self
            .tools
            .iter()
            .take(MAX_LISTED)
            .map(|name| {
                let name = visible(name);
                format!("`{}`", terminal_text::shortened(&name, NAME_COLUMNS, "…"))
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let tools = listed(&names, self.tools.len());
        let server = visible(&self.server);
        let (word, is) = if self.tools.len() == 1 {
            ("tool", "it")
        } else {
            ("tools", "they")
        };
        match self.kind {
            NoticeKind::Server => write!(
                f,
                "the configuration of the server `{server}` changed since it was pinned, with the {word} {tools}"
            ),
            NoticeKind::Changed => write!(
                f,
                "the {word} {tools} of `{server}` changed since {is} {} pinned",
                if is == "it" { "was" } else { "were" }
            ),
            NoticeKind::New => write!(f, "the server `{server}` has the new {word} {tools}"),
            NoticeKind::TooMany => write!(
                f,
                "the server `{server}` lists more tools than can be pinned: {tools}"
            ),
        }
    }
}

/// `a, b and c`, or `a, b and 7 more`, of `count` things.
fn listed(names: &[&str], count: usize) -> String {
    match names {
        [] => String::new(),
        [one] if count == 1 => (*one).to_owned(),
        [first @ .., last] if count == names.len() => {
            format!("{} and {last}", first.join(", "))
        }
        names => format!("{} and {} more", names.join(", "), count - names.len()),
    }
}
