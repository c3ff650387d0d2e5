//! The host of a gateway, which implements its own tools; and its blocking work, on separate threads with limited concurrency.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright::Planwright;
use planwright::service::Tools;
use planwright_core::check::Policy;
use planwright_core::flow::PlannerLabel;
use planwright_core::{Catalog, Lookup, Tool, Value};
use planwright_engine::Backends;
use planwright_mcp::gateway::{
    ClientId, GatewayClient, Host, HostCall, PassthroughMode, SuspendedCall, TaskRequest,
};
use planwright_mcp::{Caller, UpstreamError, Upstreams};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinError;

use crate::exposure::ExposedSessions;
use crate::plans::create::CreatedPlans;
use crate::runs::registry::RunRegistry;
use crate::settings::{GatewayMode, GatewaySettings};
use crate::stages::Stages;
use crate::tools::arguments::BadRequest;
use crate::tools::snapshot::{SnapshotCache, ToolSnapshot};
use crate::tools::{CallFailure, GatewayTool, MOVE_TO_STAGE};
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
    stages: Mutex<HashMap<ClientId, Stages>>,
    exposed: ExposedSessions,
    pub(crate) view_tokens: OnceLock<ViewTokens>,
    ticks: watch::Sender<u64>,
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
            stages: Mutex::default(),
            exposed: ExposedSessions::default(),
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

    /// Returns the tools that plans may call now.
    pub(crate) fn tool_snapshot(&self) -> Arc<ToolSnapshot> {
        let view = self.upstreams.view();
        if let Some(latest) = self.snapshots.latest(&view) {
            return latest;
        }
        // The store is read, and pins are written.
        in_place(|| self.snapshots.of(&view, &self.settings))
    }

    /// Returns the tools that plans may call, once all servers are ready or `grace` has passed since they were started first.
    pub(crate) async fn settled_tools(&self, grace: Duration) -> Arc<ToolSnapshot> {
        self.upstreams.settled_within(grace).await;
        self.tool_snapshot()
    }

    /// Returns the tools that plans may call. Waits for starting servers only if one of `names` is still unknown.
    pub(crate) async fn settled_tools_for(
        &self,
        names: &[&str],
        grace: Duration,
    ) -> Arc<ToolSnapshot> {
        let snapshot = self.tool_snapshot();
        let is_found = |name: &&str| matches!(snapshot.catalog.find(name), Lookup::Found(_));
        if names.iter().all(is_found) {
            return snapshot;
        }
        self.settled_tools(grace).await
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
        let mut policy = self.settings.config.restrict(Policy::new());
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

    pub(crate) fn exposed_sessions(&self) -> &ExposedSessions {
        &self.exposed
    }

    fn lock_stages(&self) -> MutexGuard<'_, HashMap<ClientId, Stages>> {
        // No code that may panic runs while the lock is held.
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for PlanHost {
    fn instructions(&self) -> Option<String> {
        match self.settings.compat {
            Some(_) => None,
            None => crate::tools::instructions(self.settings.mode),
        }
    }

    fn passthrough_mode(&self) -> PassthroughMode {
        if self.settings.mode.passes() {
            PassthroughMode::Everything
        } else {
            PassthroughMode::Nothing
        }
    }

    fn supports_tasks(&self) -> bool {
        self.settings.mode != GatewayMode::Plain || self.settings.compat.is_some()
    }

    fn tools(self: Arc<Self>, client: GatewayClient) -> BoxFuture<'static, Vec<Value>> {
        Box::pin(async move {
            if let Some(profile) = self.settings.compat {
                return self.profile_definitions(&client, profile).await;
            }
            GatewayTool::definitions(&self, &client)
        })
    }

    fn owns(&self, client: &GatewayClient, name: &str) -> bool {
        if let Some(profile) = self.settings.compat {
            return self.profile_owns(client, profile, name);
        }
        GatewayTool::is_visible(self, client, name)
    }

    fn reserves(&self, name: &str) -> bool {
        let own = match self.settings.compat {
            Some(profile) => self.profile_reserves(profile, name),
            None => GatewayTool::is_reserved(self, name),
        };
        own || name == MOVE_TO_STAGE && !self.settings.config.stages().is_empty()
    }

    fn allows(&self, client: &GatewayClient, tool: &Tool) -> Result<(), UpstreamError> {
        // The client calls such a tool for a view that it shows, not for its model.
        let shown = (tool.for_views && client.supports_views()).then(|| Tool {
            for_views: false,
            ..tool.clone()
        });
        match self
            .policy(client)
            .objection(shown.as_ref().unwrap_or(tool))
        {
            None => Ok(()),
            Some((message, help)) => Err(UpstreamError::new(
                UpstreamError::INVALID,
                format!("{message}; {help}"),
            )),
        }
    }

    fn note_result(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        result: &Result<Value, UpstreamError>,
    ) {
        self.note_answer_of(client, tool);
        self.note_result_of(client, tool, result);
    }

    fn note_text(&self, client: &GatewayClient) {
        self.note_unknown_answer(client);
    }

    fn consent(
        self: Arc<Self>,
        client: GatewayClient,
        tool: Tool,
        arguments: Value,
        caller: Arc<dyn Caller>,
    ) -> BoxFuture<'static, Result<(), UpstreamError>> {
        Box::pin(async move {
            let verdicts = &self.tool_snapshot().verdicts;
            let rules = &self.settings.config;
            // Clients see the annotations of a tool and can ask by themselves; they cannot see that the tool changed since it was pinned.
            let configured = rules.catalog(&Catalog::from_iter([tool.clone()]));
            let mut asked = configured
                .get(&tool.server, &tool.name)
                .map_or(tool.clone(), |tool| Tool::clone(tool));
            let is_ruled = rules.asks_about(&tool) || verdicts.reason(&tool).is_some();
            // Calls of destructive tools need an approval here as well, if the client can show a form.
            let is_asked = asked.needs_approval() && client.supports_forms();
            let refused = |error: BadRequest| UpstreamError::new(UpstreamError::INVALID, error.0);
            let objection = self
                .objection_to_literals(&client, &asked, &arguments)
                .map_err(refused)?;
            if !(is_ruled || is_asked || objection.is_some()) {
                return Ok(());
            }
            if let Some(reason) = objection {
                asked.approval = true;
                asked.approval_reason = Some(reason);
            }
            verdicts.apply(&mut asked);
            let agreed = self
                .require_consent(&client, asked, arguments, caller)
                .await;
            agreed
                .and_then(|()| self.is_as_shown(&tool))
                .map_err(refused)
        })
    }

    fn call(self: Arc<Self>, call: HostCall) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async move {
            if let Some(profile) = self.settings.compat {
                let answered = self.call_profile_tool(&call, profile).await;
                return Ok(answered.unwrap_or_else(|error| self.refusal_response(&error.0)));
            }
            let client = call.client.clone();
            let has_view = GatewayTool::has_view(&call.name);
            let result = match GatewayTool::call(Arc::clone(&self), call).await {
                Err(CallFailure::Refused(error)) => self.refusal_response(&error.0),
                Err(CallFailure::Upstream(error)) => return Err(error),
                Ok(result) => result,
            };
            Ok(if has_view {
                self.with_view_token(&client, result)
            } else {
                result
            })
        })
    }

    fn request_state(&self, call: &SuspendedCall<'_>) -> Option<String> {
        self.state_of(call)
    }

    fn continue_call(
        self: Arc<Self>,
        call: HostCall,
        state: String,
        answers: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async move {
            // Apart, since the future is large.
            Box::pin(self.continue_run(&call, &state, &answers)).await
        })
    }

    fn end_client(&self, client: &ClientId) {
        self.exposed.remove(client);
        self.runs.cancel_all(client);
    }

    fn resources(self: Arc<Self>, client: GatewayClient) -> BoxFuture<'static, Vec<Value>> {
        // Resources of runs are linked in answers; a list of all of them would help no client.
        let view = self.view_entry(&client);
        Box::pin(std::future::ready(view.into_iter().collect()))
    }

    fn read(
        self: Arc<Self>,
        client: GatewayClient,
        uri: String,
    ) -> BoxFuture<'static, Option<Result<Value, UpstreamError>>> {
        Box::pin(async move {
            match self.read_document(&client, &uri) {
                Some(read) => Some(read),
                None => self.read_resource(&client, &uri).await,
            }
        })
    }

    fn task(
        self: Arc<Self>,
        client: GatewayClient,
        request: TaskRequest,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async move { Box::pin(self.task_request(client, request)).await })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.ticks.subscribe()
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
