//! Settings of the gateway.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright::config::{Config, Serve};
use planwright::format::ToolSourcesV1;
use planwright::pins::PinPolicy;
use planwright::service::RunObserver;
use planwright_core::Catalog;
use planwright_core::check::CheckedPlan;
use planwright_engine::options::RunOptions;
use planwright_engine::schedule::ConcurrencyLimits;
use planwright_engine::{Backends, Bound, SecretValues};
use planwright_planner::dates::{Calendar, Zone};
use planwright_store::{LeaseHolder, Store};

use crate::plans::writer::PlanWriter;
use crate::view::RunPage;

/// The largest number of calls of one plan in flight. A model waits for the slowest of them, not for a free slot.
const MAX_CONCURRENT_CALLS: NonZeroUsize = NonZeroUsize::new(32).unwrap();

/// The tools that clients see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GatewayMode {
    /// The tools for plans, and those to search the tools that plans may call.
    #[default]
    Plan,
    /// `search_tools` and `call_tool`.
    Search,
    /// Every tool of every server, unchanged.
    Plain,
    /// Every tool of every server, unchanged, and the tools for plans.
    PlainWithPlans,
}

impl GatewayMode {
    /// Returns true if tools of servers are passed through.
    pub fn passes(self) -> bool {
        matches!(self, Self::Plain | Self::PlainWithPlans)
    }

    /// Returns true if clients can submit plans.
    pub fn takes_plans(self) -> bool {
        matches!(self, Self::Plan | Self::PlainWithPlans)
    }
}

/// A system whose tools the gateway can offer instead of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompatProfile {
    /// Concierge: `execute_plan`, and the tools for its stages.
    Concierge,
    /// agentle4j: `execute_tool_plan`.
    Agentle,
    /// mcp-cli: `plan_execute`.
    McpCli,
}

/// The settings of a gateway.
#[derive(Clone)]
#[non_exhaustive]
pub struct GatewaySettings {
    /// The tools that clients see.
    pub mode: GatewayMode,
    /// The compat profile whose tools replace the host's own.
    pub compat: Option<CompatProfile>,
    /// The configuration: allowed tools, budgets, rates.
    pub config: Config,
    /// The store of runs. Without it they end with the process.
    pub store: Option<Store>,
    /// True if other gateways may serve the same clients: then each client counts as one that has read untrusted text.
    pub has_replicas: bool,
    /// The policy for tools of servers that changed since they were pinned in the store.
    pub pin: PinPolicy,
    /// True if a person has reviewed the commands and addresses of the servers, so that changed ones are accepted.
    pub accepts_servers: bool,
    /// The identity of this process in the store.
    pub holder: LeaseHolder,
    /// The sources of tools, for a process that resumes a run elsewhere.
    pub sources: ToolSourcesV1,
    /// The options of runs.
    pub options: RunOptions,
    /// Built-in tools beside those of servers.
    pub own: (Catalog, Backends),
    /// The maximum number of bytes that an answer shows of one value. The whole value is a resource.
    pub answer_bytes: u64,
    /// The maximum number of tokens of the list of tools within a description.
    pub listing_tokens: usize,
    /// The time after which a plan becomes a task, if the client supports tasks.
    pub task_after: Duration,
    /// The time after its end for which later plans can refer to the results of a run.
    pub recall_for: Duration,
    /// The maximum number of bytes of earlier results that one plan may refer to.
    pub recall_bytes: usize,
    /// The maximum number of plans of one client in progress.
    pub plans_at_once: usize,
    /// The author of plans for clients that state a goal; without it clients write their own plans.
    pub writer: Option<PlanWriter>,
    /// The time zone of the days in phrases of clients, such as `next Monday`.
    pub zone: Zone,
    /// The first day of the week and the fiscal year in such phrases.
    pub calendar: Calendar,
    /// The source of external values of a plan.
    pub external_values: Arc<ExternalValueSource>,
    /// The page of runs, for clients that show views.
    pub page: Option<Arc<dyn RunPage>>,
    /// The address of the page of runs in the browser of this machine, for answers about calls that wait. It has no token: a model that opens it
    /// decides nothing.
    pub page_address: Option<String>,
    /// The observers of runs.
    pub observers: Vec<Arc<dyn RunObserver>>,
    /// The clock.
    pub now: fn() -> SystemTime,
}

/// A function that returns the external values of a plan, or the reason why it cannot.
pub type ExternalValueSource = dyn Fn(&CheckedPlan) -> Result<SecretValues, String> + Send + Sync;

impl GatewaySettings {
    /// Creates the settings of the configuration, or defaults, for plans without external values.
    pub fn new(config: Config, holder: LeaseHolder, now: fn() -> SystemTime) -> Self {
        let guards = config.guards().clone();
        let serve = config.serve();
        let size = |bound: &Option<Bound>, default: u64| {
            let limit = bound.as_ref().map_or(default, |bound| bound.limit);
            usize::try_from(limit).unwrap_or(usize::MAX)
        };
        let time = |bound: &Option<Bound<Duration>>, default| {
            bound.as_ref().map_or(default, |bound| bound.limit)
        };
        let answer_bytes = config.max_output().map_or(16 * 1024, |bound| bound.limit);
        let listing_tokens = size(&serve.listing_tokens, Serve::LISTING_TOKENS);
        let task_after = time(&serve.task_after, Serve::TASK_AFTER);
        let call_timeout = time(&serve.call_timeout, Serve::CALL_TIMEOUT);
        let recall_for = time(&serve.recall_for, Serve::RECALL_FOR);
        let plans_at_once = serve.max_plans.as_ref();
        let plans_at_once = plans_at_once.map_or(Serve::MAX_PLANS, |bound| bound.limit);
        let plans_at_once = usize::try_from(plans_at_once.get()).unwrap_or(usize::MAX);
        let recall_bytes = size(&serve.recall_bytes, Serve::RECALL_BYTES);
        let pin = config.pin(false);
        Self {
            mode: GatewayMode::default(),
            compat: None,
            config,
            store: None,
            has_replicas: false,
            pin,
            accepts_servers: false,
            holder,
            sources: ToolSourcesV1::default(),
            options: RunOptions {
                guards,
                attempt_timeout: Some(call_timeout),
                limits: ConcurrencyLimits {
                    total: MAX_CONCURRENT_CALLS,
                    ..ConcurrencyLimits::default()
                },
                ..RunOptions::default()
            },
            own: (Catalog::new(), Backends::new()),
            answer_bytes,
            listing_tokens,
            task_after,
            recall_for,
            recall_bytes,
            plans_at_once,
            writer: None,
            zone: Zone::utc(),
            calendar: Calendar::default(),
            external_values: Arc::new(|_| Ok(SecretValues::new())),
            page: None,
            page_address: None,
            observers: Vec::new(),
            now,
        }
    }
}

impl fmt::Debug for GatewaySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewaySettings")
            .field("mode", &self.mode)
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}
