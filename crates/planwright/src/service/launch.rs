//! The start of every run: from a specification to a run with a unique id, which can call only the tools that its plan was checked with.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::Catalog;
use planwright_core::check::Policy;
use planwright_engine::approval::ApprovalRequest;
use planwright_engine::{
    Approver, Decision, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput,
};

use super::planwright::{Claim, Open};
#[cfg(feature = "store")]
use super::requests::RunRequests;
#[cfg(feature = "store")]
use super::run::Learning;
use super::spec::{EventObserver, ObservedRun, RunSpec};
use super::{Error, Planwright, Run};

impl Planwright {
    /// Starts or resumes a run, in the tokio runtime that this is called in. Every run starts here, whether of the library, the command line or the gateway: the tools are compared
    /// with those that the plan was checked with, the id is claimed, a new stored run is written, and the engine drives it. For a stored run it
    /// blocks on the disk.
    ///
    /// # Errors
    ///
    /// If the run must not start; see [`RunBuilder::start`](super::RunBuilder::start). Nothing was called then.
    pub fn launch(&self, mut spec: RunSpec) -> Result<Run, Error> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Error::NoRuntime);
        }
        self.verify(&spec.plan)?;
        let claim = self.claim(&spec.id)?;
        // A resumed run keeps the time of its start.
        spec.options.evaluation.now.get_or_insert_with(run_time);
        #[cfg(feature = "store")]
        let learning = Learning::new(&mut spec)?.filter(|_| self.open().learns);
        #[cfg(feature = "store")]
        let requests = spec.storage.requests().map(|(store, holder)| {
            let consent = spec.storage.consent(&spec.plan, &spec.options);
            RunRequests::new(store.clone(), spec.id.clone(), holder.cloned(), consent)
        });
        let (start, journal) = spec.open()?;
        #[cfg(feature = "store")]
        let engine = match &learning {
            Some(learning) => learning.engine(BoundBackend::of(self.open())),
            None => self.plain_engine(),
        };
        #[cfg(not(feature = "store"))]
        let engine = self.plain_engine();
        #[cfg(feature = "store")]
        let approver = match &requests {
            Some(requests) => requests.approver(spec.approver),
            None => spec.approver,
        };
        #[cfg(not(feature = "store"))]
        let approver = spec.approver;
        let engine = engine
            .with_options(spec.options)
            .with_approver(Arc::new(ClaimingApprover {
                approver,
                _claim: claim,
            }));
        let (handle, events) = engine.try_spawn(start)?;
        let observers = self.observe(&ObservedRun {
            id: spec.id.clone(),
            client: spec.client,
            plan: spec.plan.plan().name.clone(),
            trace: spec.trace,
        });
        #[cfg(feature = "store")]
        let requests = requests.map(|requests| requests.watch(handle.canceller()));
        Ok(Run {
            #[cfg(feature = "store")]
            requests,
            handle,
            events,
            id: spec.id,
            plan: spec.plan,
            planwright: self.clone(),
            observers,
            journal,
            #[cfg(feature = "store")]
            learning,
        })
    }

    fn observe(&self, run: &ObservedRun) -> Vec<EventObserver> {
        let observers = self.open().observers.iter();
        observers.map(|observer| observer.begin(run)).collect()
    }
}

/// Returns the start time of a run that begins now, since 1970, to the millisecond, as it is stored.
#[expect(
    clippy::disallowed_methods,
    reason = "a run has the time at which it begins; the journal has it as well"
)]
pub fn run_time() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let milliseconds = since.unwrap_or_default().as_millis();
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

/// The backends of open tools. Before a call is sent, they reject it if its tool differs from the open one, or if the policy does not
/// allow it,
/// no matter how the plan reached the engine.
pub(super) struct BoundBackend {
    pub(super) backend: Arc<dyn ToolBackend>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) policy: Policy,
}

impl BoundBackend {
    pub(super) fn of(open: &Open) -> Self {
        Self {
            backend: Arc::clone(&open.backend),
            catalog: Arc::clone(&open.catalog),
            policy: open.policy.clone(),
        }
    }
}

impl ToolBackend for BoundBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let refusal = match self.catalog.difference(&call.tool) {
            Some(reason) => {
                let name = call.tool.qualified_name();
                Some(format!(
                    "the plan was checked with another tool `{name}`: {reason}"
                ))
            }
            None => self
                .policy
                .objection(&call.tool)
                .map(|(message, _)| message),
        };
        match refusal {
            None => self.backend.call(call),
            Some(message) => {
                futures::future::ready(Err(ToolError::new(ErrorKind::Policy, message))).boxed()
            }
        }
    }
}

impl fmt::Debug for BoundBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundBackend").finish_non_exhaustive()
    }
}

/// The approver of a run, with the claim on its id. The engine drops both when the run has ended or was abandoned.
struct ClaimingApprover {
    approver: Arc<dyn Approver>,
    _claim: Claim,
}

impl Approver for ClaimingApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        self.approver.decide(request)
    }
}
