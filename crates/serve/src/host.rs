//! The host of a gateway: what its tools share about servers, clients and runs; and its blocking work, on separate threads with limited
//! concurrency.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use planwright::Planwright;
use planwright::config::ClientPolicy;
use planwright::service::Tools;
use planwright_core::Lookup;
use planwright_core::check::Policy;
use planwright_core::flow::PlannerLabel;
use planwright_engine::Backends;
use planwright_mcp::Upstreams;
use planwright_mcp::gateway::{ClientId, GatewayClient};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinError;

use crate::access::identity::{identity_of, name_of};
use crate::plans::writer::CreatedPlans;
use crate::runs::registry::RunRegistry;
use crate::settings::{GatewayMode, GatewaySettings};
use crate::stages::Stages;
use crate::tools::call_records::CallRecords;
use crate::tools::snapshot::{NarrowedSnapshots, SnapshotCache, ToolSnapshot};
use crate::view::ViewTokens;

/// The host that runs the plans of clients.
#[derive(Debug)]
pub struct PlanHost {
    pub(crate) settings: GatewaySettings,
    pub(crate) upstreams: Upstreams,
    /// The service that all runs go through.
    pub(crate) service: Planwright,
    pub(crate) runs: Arc<RunRegistry>,
    pub(crate) created_plans: CreatedPlans,
    snapshots: SnapshotCache,
    narrowed: NarrowedSnapshots,
    stages: Mutex<HashMap<ClientId, Stages>>,
    pub(crate) exposed: ExposedSessions,
    pub(crate) call_records: CallRecords,
    pub(crate) view_tokens: OnceLock<ViewTokens>,
    pub(crate) ticks: watch::Sender<u64>,
    /// True once the plans in progress are suspended: no run of another process is resumed any more.
    is_ending: AtomicBool,
}

impl PlanHost {
    /// Creates a host whose plans call the tools of these servers.
    pub fn new(mut settings: GatewaySettings, upstreams: Upstreams) -> Arc<Self> {
        settings.config = settings.config.with_flow_by_default();
        let nothing = Tools {
            catalog: Arc::default(),
            backend: Arc::new(Backends::new()),
            policy: Policy::new(),
        };
        let observers = settings.observers.iter().cloned();
        let service = observers.fold(Planwright::over(nothing), |service, observer| {
            service.observed_by(observer)
        });
        let host = Arc::new(Self {
            settings,
            upstreams,
            service,
            runs: Arc::default(),
            created_plans: CreatedPlans::default(),
            snapshots: SnapshotCache::default(),
            narrowed: NarrowedSnapshots::default(),
            stages: Mutex::default(),
            exposed: ExposedSessions::default(),
            call_records: CallRecords::default(),
            view_tokens: OnceLock::new(),
            ticks: watch::Sender::new(0),
            is_ending: AtomicBool::new(false),
        });
        host.announce_changes();
        host
    }

    /// Waits up to `grace` for plans in progress to end, then suspends them for a later resume.
    pub async fn suspend(&self, grace: Duration) {
        self.is_ending.store(true, Ordering::Release);
        self.runs.suspend(grace).await;
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Returns the tools that plans of all clients may call now, before the rules for single clients.
    pub(crate) fn tool_snapshot(&self) -> Arc<ToolSnapshot> {
        let view = self.upstreams.view();
        if let Some(latest) = self.snapshots.latest(&view) {
            return latest;
        }
        // The store is read, and pins are written.
        in_place(|| self.snapshots.of(&view, &self.settings))
    }

    /// Returns the tools that plans of a client may call now.
    pub(crate) fn tools_of(&self, client: &GatewayClient) -> Arc<ToolSnapshot> {
        self.narrowed
            .of(self.tool_snapshot(), &self.client_policy(client))
    }

    /// Returns the rules for a client, which narrow those for all.
    pub(crate) fn client_policy(&self, client: &GatewayClient) -> ClientPolicy {
        identity_of(client)
            .map(|identity| self.settings.config.client_policy(&identity))
            .unwrap_or_default()
    }

    /// Returns true if a client sees, resumes and cancels the runs of `owner`: its own, and those that its rules name.
    pub(crate) fn sees_runs_of(&self, client: &GatewayClient, owner: &ClientId) -> bool {
        *owner == client.id
            || name_of(owner).is_some_and(|name| self.client_policy(client).sees_runs_of(&name))
    }

    /// Returns the tools that plans of a client may call, once all servers are ready or `grace` has passed since they were started first.
    pub(crate) async fn settled_tools(
        &self,
        client: &GatewayClient,
        grace: Duration,
    ) -> Arc<ToolSnapshot> {
        self.upstreams.settled_within(grace).await;
        self.tools_of(client)
    }

    /// Returns the tools that plans of a client may call. Waits for starting servers only if one of `names` is still unknown.
    pub(crate) async fn settled_tools_for(
        &self,
        client: &GatewayClient,
        names: &[&str],
        grace: Duration,
    ) -> Arc<ToolSnapshot> {
        let snapshot = self.tools_of(client);
        let is_found = |name: &&str| matches!(snapshot.catalog.find(name), Lookup::Found(_));
        if names.iter().all(is_found) {
            return snapshot;
        }
        self.settled_tools(client, grace).await
    }

    /// Returns the reasons why tools of servers are missing.
    pub(crate) fn missing_servers(&self) -> Vec<String> {
        self.upstreams.view().missing().collect()
    }

    /// Applies `with` to the stage of a client; `None` if there are no stages.
    pub(crate) fn stage<T>(
        &self,
        client: &ClientId,
        with: impl FnOnce(&mut Stages) -> T,
    ) -> Option<T> {
        let first = Stages::new(self.settings.config.stages())?;
        let mut stages = self.lock_stages();
        Some(with(stages.entry(client.clone()).or_insert(first)))
    }

    /// Notifies clients that their tools have changed.
    pub(crate) fn announce(&self) {
        self.ticks.send_modify(|ticks| *ticks += 1);
    }

    /// Returns the rules for plans and calls of a client.
    pub(crate) fn policy(&self, client: &GatewayClient) -> Policy {
        let policy = self.settings.config.restrict(Policy::new());
        let mut policy = self.client_policy(client).restrict(policy);
        if let Some(flow) = &mut policy.flow
            && self.is_exposed(client)
        {
            flow.planner = PlannerLabel::Exposed;
        }
        match self.stage(&client.id, |stages| stages.restrict(policy.clone())) {
            Some(policy) => policy,
            None => policy,
        }
    }

    /// Notifies clients of new tools, which the descriptions of the gateway's own tools list.
    fn announce_changes(self: &Arc<Self>) {
        let (host, mut changes) = (Arc::downgrade(self), self.upstreams.changes());
        let mut seen = self.upstreams.view().changes.tools;
        // Without a runtime, no server can change.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(host) = host.upgrade() else {
                    return;
                };
                let tools = host.upstreams.view().changes.tools;
                if std::mem::replace(&mut seen, tools) != tools {
                    // In the other modes `tools/list` takes the snapshot, which logs changed tools. In this mode only this task
                    // does.
                    if host.settings.mode == GatewayMode::Plain {
                        host.tool_snapshot();
                    }
                    host.announce();
                }
            }
        });
    }

    fn lock_stages(&self) -> MutexGuard<'_, HashMap<ClientId, Stages>> {
        // No code that may panic runs while the lock is held.
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Maximum number of exposed sessions that are recorded for one client. If there are more, all its sessions count as exposed.
const MAX_SESSIONS: usize = 10_000;

/// The sessions that have read untrusted text. A client without sessions is one session.
#[derive(Debug, Default)]
pub(crate) struct ExposedSessions(Mutex<HashMap<ClientId, ExposedClient>>);

#[derive(Debug, Default)]
struct ExposedClient {
    sessions: HashSet<Option<Arc<str>>>,
    is_whole: bool,
}

impl ExposedSessions {
    pub(crate) fn contains(&self, client: &GatewayClient) -> bool {
        let clients = self.lock();
        let exposed = clients.get(&client.id);
        exposed
            .is_some_and(|exposed| exposed.is_whole || exposed.sessions.contains(&client.session))
    }

    /// Removes a client whose access has ended.
    pub(crate) fn remove(&self, client: &ClientId) {
        self.lock().remove(client);
    }

    pub(crate) fn insert(&self, client: &GatewayClient) {
        let mut clients = self.lock();
        let exposed = clients.entry(client.id.clone()).or_default();
        if exposed.sessions.len() < MAX_SESSIONS {
            exposed.sessions.insert(client.session.clone());
        } else {
            exposed.is_whole = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, ExposedClient>> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `work`, which may block, in place. The worker of a runtime with several hands its other tasks to another thread first.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

/// The maximum number of concurrent blocking operations. More would not be faster, since one thread writes for all runs, and each
/// blocking thread holds about a megabyte.
static PERMITS: Semaphore = Semaphore::const_new(8);

/// Runs `work` on a thread that may block, once a permit is free.
pub(crate) fn spawn_blocking_limited<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, JoinError>> {
    // The closure may own large values, and would make the future of its caller larger by them.
    let work = Box::new(work);
    async move {
        // The semaphore is never closed.
        let _permit = PERMITS.acquire().await;
        tokio::task::spawn_blocking(work).await
    }
}
