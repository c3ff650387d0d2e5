//! The start of every run: from a specification to a run with a unique id, which can call only the tools that its plan was checked with.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use planwright_engine::approval::ApprovalRequest;
use planwright_engine::{Approver, Decision};

use super::planwright::Claim;
use super::spec::{EventObserver, ObservedRun, RunSpec};
#[cfg(feature = "store")]
use super::store_link::StoreLink;
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
        let mut store = StoreLink::open(self, &mut spec)?;
        let (start, journal) = spec.open()?;
        let approver = ClaimingApprover {
            approver: store.approver(spec.approver),
            _claim: claim,
        };
        let engine = store
            .engine(self)
            .with_options(spec.options)
            .with_approver(Arc::new(approver));
        let (handle, events) = engine.try_spawn(start)?;
        store.watch(handle.canceller());
        let observers = self.observe(&ObservedRun {
            id: spec.id.clone(),
            client: spec.client,
            plan: spec.plan.plan().name.clone(),
            trace: spec.trace,
        });
        Ok(Run {
            handle,
            events,
            id: spec.id,
            plan: spec.plan,
            planwright: self.clone(),
            observers,
            journal,
            store,
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

/// The link to a store, in a library without stores.
#[cfg(not(feature = "store"))]
pub(super) struct NoStoreLink;

#[cfg(not(feature = "store"))]
use NoStoreLink as StoreLink;

#[cfg(not(feature = "store"))]
#[expect(
    clippy::unused_async,
    clippy::unused_self,
    reason = "the link to a store has the same methods"
)]
impl NoStoreLink {
    #[expect(clippy::unnecessary_wraps, reason = "a store may fail")]
    fn open(_: &Planwright, _: &mut RunSpec) -> Result<Self, Error> {
        Ok(Self)
    }

    fn engine(&self, planwright: &Planwright) -> planwright_engine::Engine {
        planwright.plain_engine()
    }

    fn approver(&self, approver: Arc<dyn Approver>) -> Arc<dyn Approver> {
        approver
    }

    fn watch(&mut self, _: planwright_engine::Canceller) {}

    pub(super) fn extend(&self) {}

    pub(super) async fn learn(&mut self, _: &planwright_engine::Durations) {}
}
