//! The upstream tools at one moment, and the comparison of each call with the tool as its server lists it now.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use planwright::config::ClientPolicy;
use planwright::names;
use planwright::pins::{Changes, NoticeKind, PinPolicy, Pinning, Verdicts};
use planwright::service::with_seen_answers;
use planwright_core::{Catalog, Lookup, Tool, Value};
use planwright_engine::Backends;
use planwright_engine::backend::{
    BoxFuture, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use planwright_mcp::{UpstreamView, Upstreams};

use crate::search::SearchIndex;
use crate::settings::{GatewayMode, GatewaySettings};

/// The maximum number of logged changes: a server may change its tools without end.
const MAX_LOGGED: usize = 1000;

/// The tools that plans may call at one moment, with their search index.
#[derive(Debug)]
pub(crate) struct ToolSnapshot {
    pub(crate) catalog: Arc<Catalog>,
    /// The same tools, and the extraction tool.
    pub(crate) extracting: Arc<Catalog>,
    /// The results of the comparison with the pins.
    pub(crate) verdicts: Verdicts,
    index: OnceLock<SearchIndex>,
    marks_sharing: OnceLock<bool>,
}

impl ToolSnapshot {
    /// Creates the snapshot of `catalog`, which includes the tool that extracts data.
    pub(crate) fn new(catalog: Catalog, verdicts: Verdicts) -> Self {
        Self {
            catalog: Arc::new(catalog.clone().without_extraction()),
            extracting: Arc::new(catalog),
            verdicts,
            index: OnceLock::new(),
            marks_sharing: OnceLock::new(),
        }
    }

    pub(crate) fn index(&self) -> &SearchIndex {
        self.index
            .get_or_init(|| SearchIndex::new(self.catalog.tools()))
    }

    /// Returns true if a tool marks its parameters that take references.
    pub(crate) fn marks_sharing(&self) -> bool {
        *self.marks_sharing.get_or_init(|| {
            let mut tools = self.catalog.tools();
            tools.any(|tool| !tool.sharable.is_empty() || marks_sharing(tool.input.as_value()))
        })
    }
}

impl ToolSnapshot {
    /// Returns the snapshot that a client with this policy gets: without the tools that it cannot call, so that they are unknown to it.
    fn narrowed(&self, policy: &ClientPolicy) -> Self {
        let visible = self
            .extracting
            .filtered(|tool| policy.hiding_rule(tool).is_none());
        let catalog = visible.map(|tool| {
            // An undo by a tool that the client cannot call is not the client's, and no problem of its plans.
            let is_hidden = |name: &str| {
                let found = self.extracting.find(name);
                matches!(found, Lookup::Found(_)) && !matches!(visible.find(name), Lookup::Found(_))
            };
            tool.undo = tool
                .undo
                .take()
                .filter(|configured| !is_hidden(&configured.undo.tool.text));
            if let Some(reason) = policy.approval_reason(tool) {
                tool.approval = true;
                tool.approval_reason = Some(reason);
                // A person must still learn that the tool has changed.
                self.verdicts.apply(tool);
            }
        });
        Self::new(catalog, self.verdicts.clone())
    }

    /// Returns the snapshot with approval of the calls that `asks` selects.
    pub(crate) fn asking(&self, asks: impl Fn(&Tool) -> bool) -> Self {
        let catalog = self.extracting.map(|tool| {
            if !tool.needs_approval() && asks(tool) {
                tool.approval = true;
                tool.approval_reason =
                    Some("the client that started the run needs an approval".into());
            }
        });
        Self::new(catalog, self.verdicts.clone())
    }
}

/// The schema keyword of a parameter that accepts references.
pub(crate) const MARK: &str = "x-sharable";

/// Returns true if a tool's schema marks any part as taking references.
pub(crate) fn marks_sharing(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| &**name == MARK || marks_sharing(value)),
        Value::List(items) => items.iter().any(marks_sharing),
        _ => false,
    }
}

/// The maximum number of cached snapshots for clients with different rules.
const MAX_NARROWED: usize = 64;

/// The cache of the snapshots of clients, by the tables of rules that apply to them.
#[derive(Debug, Default)]
pub(crate) struct NarrowedSnapshots(Mutex<NarrowedState>);

#[derive(Debug, Default)]
struct NarrowedState {
    /// The snapshot that the others were made of.
    base: Option<Arc<ToolSnapshot>>,
    narrowed: HashMap<Vec<usize>, Arc<ToolSnapshot>>,
}

impl NarrowedSnapshots {
    /// Returns `base` for a client with this policy.
    pub(crate) fn of(&self, base: Arc<ToolSnapshot>, policy: &ClientPolicy) -> Arc<ToolSnapshot> {
        if policy.is_empty() {
            return base;
        }
        let key = policy.key();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = state
            .base
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &base));
        if !is_current || state.narrowed.len() >= MAX_NARROWED {
            state.narrowed.clear();
            state.base = Some(Arc::clone(&base));
        }
        let narrowed = state.narrowed.entry(key);
        Arc::clone(narrowed.or_insert_with(|| Arc::new(base.narrowed(policy))))
    }
}

/// The cache of the latest snapshot, so that each change leads to one new snapshot.
#[derive(Debug, Default)]
pub(crate) struct SnapshotCache(Mutex<CacheState>);

#[derive(Debug, Default)]
struct CacheState {
    last: Option<CachedSnapshot>,
    /// The logged changes, so that each is logged once.
    logged: HashSet<String>,
}

#[derive(Debug)]
struct CachedSnapshot {
    view: Arc<UpstreamView>,
    snapshot: Arc<ToolSnapshot>,
    /// The number of the latest acceptance by a person when the snapshot was made.
    acceptance: Option<i64>,
}

impl SnapshotCache {
    /// Returns the cached snapshot if it is that of `view`. It neither blocks on the store nor on other requests.
    pub(crate) fn latest(&self, view: &Arc<UpstreamView>) -> Option<Arc<ToolSnapshot>> {
        let known = self.0.try_lock().ok()?;
        let last = known.last.as_ref()?;
        let is_current = Arc::ptr_eq(&last.view, view) && !last.snapshot.verdicts.ask_any();
        is_current.then(|| Arc::clone(&last.snapshot))
    }

    /// Returns the snapshot of the tools of `view` and of the settings, with the configuration applied. Denied tools are omitted.
    /// Blocks on the store.
    pub(crate) fn of(
        &self,
        view: &Arc<UpstreamView>,
        settings: &GatewaySettings,
    ) -> Arc<ToolSnapshot> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &known.last
            && Arc::ptr_eq(&last.view, view)
            && last.is_current(settings)
        {
            return Arc::clone(&last.snapshot);
        }
        // The number is read first, so that an acceptance made meanwhile invalidates this snapshot.
        let acceptance = acceptance(settings);
        let verdicts = verdicts(view, settings);
        known.log(&verdicts);
        let mut all = settings.own.0.clone();
        for server in view.names() {
            all.reserve(server);
        }
        for tool in view.tools() {
            all.add(tool.clone());
        }
        let mut all = with_answers(all, settings);
        all.add_extraction();
        // A client that hands over a plan, or calls by `call_tool`, does not see the single calls.
        let catalog = verdicts.catalog(&all, |all| settings.config.catalog_asking(all, |_| true));
        if settings.mode != GatewayMode::Plain {
            known.warn(names::collisions(&catalog));
        }
        known.warn(names::lookalikes(&catalog));
        let snapshot = Arc::new(ToolSnapshot::new(catalog, verdicts));
        known.last = Some(CachedSnapshot {
            view: Arc::clone(view),
            snapshot: Arc::clone(&snapshot),
            acceptance,
        });
        snapshot
    }
}

/// Returns `catalog` with the stored answers of tools without an output schema.
pub(crate) fn with_answers(catalog: Catalog, settings: &GatewaySettings) -> Catalog {
    let store = settings.store.as_ref();
    let Some(store) = store.filter(|_| settings.config.learns_outputs()) else {
        return catalog;
    };
    with_seen_answers(&catalog, store).unwrap_or_else(|error| {
        // Stored answers only describe the tools, so the tools are used without them.
        tracing::warn!(%error, "the structure of answers was not read");
        catalog
    })
}

impl CachedSnapshot {
    /// Returns true if no tool that needs acceptance has been accepted since.
    fn is_current(&self, settings: &GatewaySettings) -> bool {
        !self.snapshot.verdicts.ask_any() || acceptance(settings) == self.acceptance
    }
}

fn acceptance(settings: &GatewaySettings) -> Option<i64> {
    settings.store.as_ref()?.last_acceptance().ok()
}

/// Compares the tools of servers with their pins. Tools that cannot be compared need an approval.
fn verdicts(view: &UpstreamView, settings: &GatewaySettings) -> Verdicts {
    let Some(store) = &settings.store else {
        return Verdicts::default();
    };
    let pinning = Pinning {
        store,
        policy: settings.pin,
        accepts_servers: settings.accepts_servers,
        now: (settings.now)(),
    };
    pinning.compare(view.tools()).unwrap_or_else(|error| {
        tracing::warn!(%error, "tools cannot be compared with what was pinned");
        Pinning::unverified(settings.pin, view.tools())
    })
}

impl CacheState {
    fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if self.logged.len() < MAX_LOGGED && self.logged.insert(warning.clone()) {
                tracing::warn!("{warning}");
            }
        }
    }

    fn log(&mut self, verdicts: &Verdicts) {
        for notice in verdicts.notices() {
            let text = notice.to_string();
            let is_news = notice.kind != NoticeKind::New || notice.is_first;
            let is_new = self.logged.len() < MAX_LOGGED && self.logged.insert(text.clone());
            if is_news && is_new {
                tracing::warn!("{text}; `planwright tools --changed` shows the difference");
            }
        }
    }
}

/// Backends that refuse a call if a person has to accept how its tool has changed since the plan was checked.
pub(crate) struct GuardedBackends {
    pub(crate) backends: Backends,
    pub(crate) upstreams: Upstreams,
    /// The number of the newest server that the run can call: later ones replaced servers that the run still calls.
    pub(crate) newest: u64,
    /// The policy for tools that changed.
    pub(crate) policy: PinPolicy,
}

impl ToolBackend for GuardedBackends {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let changed = changes_of(&self.upstreams, &call.tool, self.newest);
        let matters = changed.filter(|changes| {
            // A person approved the whole definition that was shown, so any change invalidates the approval.
            call.tool.approval || self.policy == PinPolicy::Ask && changes.asks()
        });
        match matters {
            None => self.backends.call(call),
            Some(changes) => {
                let message = format!(
                    "`{}` changed while the plan ran ({}), so it was not called",
                    call.tool.qualified_name(),
                    changes.names().join(", ")
                );
                Box::pin(async move { Err(ToolError::new(ErrorKind::Policy, message)) })
            }
        }
    }
}

impl fmt::Debug for GuardedBackends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedBackends")
            .field("backends", &self.backends)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Returns the difference between the definition of a tool and the one that its server lists now, if there is one. Servers with a number
/// above `newest` are ignored.
pub(super) fn changes_of(upstreams: &Upstreams, tool: &Tool, newest: u64) -> Option<Changes> {
    if tool.origin.is_empty() {
        return None;
    }
    let view = upstreams.view();
    let server = view.server(&tool.server)?;
    let mut tools = server.tools.iter().rev().filter(|_| server.id <= newest);
    let now = tools.find(|now| now.name == tool.name)?;
    let changes = Changes::of_tool(tool, now);
    (!changes.is_empty()).then_some(changes)
}
