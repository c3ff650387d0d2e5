//! The start of every run: from a specification, as data, to a run with a unique id, which can call only the tools that its plan was checked with.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
#[cfg(feature = "store")]
use planwright_core::PlanConsent;
#[cfg(not(feature = "store"))]
use planwright_core::plan::OnFailure;
use planwright_core::{CheckedPlan, Value};
use planwright_engine::approval::{Always, ApprovalRequest};
use planwright_engine::{Approver, Decision, History, Journal, RunId, RunOptions, SpawnRequest};
#[cfg(feature = "store")]
use planwright_store::{LeaseHolder, LeasedRun, Store};

use super::observer::ObservedRun;
use super::planwright::Claim;
use super::store::StoreLink;
#[cfg(feature = "store")]
use super::store::{Learning, RevertOnFailure, RunRequests, complete_options, store_for_revert};
use super::{Error, Planwright, Run};
#[cfg(feature = "store")]
use crate::format::ProcessV1;
#[cfg(feature = "store")]
use crate::stored::{NewStoredRun, PreparedResume, StaleStep, StoredRunError, plan_consent};

/// The complete specification of a run. Only [`Planwright::launch`] starts a run from it.
pub struct RunSpec {
    /// The id.
    pub id: RunId,
    /// The plan, checked with the tools of the service.
    pub plan: CheckedPlan,
    /// Limits, timeouts, retries, secrets.
    pub options: RunOptions,
    /// The approver of calls that need consent.
    pub approver: Arc<dyn Approver>,
    /// The place of the journal.
    pub storage: RunStorage,
    /// The client that the run belongs to, if a gateway has several.
    pub client: Option<Arc<str>>,
    /// The trace that the run is a part of: an object with `traceparent` and `tracestate`, or `null`.
    pub trace: Value,
    /// True if the run is cancelled before it starts: nothing is called, and it ends as cancelled. Without it, a resumed run
    /// continues in spite of an earlier request to cancel it.
    pub is_cancelled: bool,
    /// True if [`Run::finish`] leaves the revert of a failed run to the caller, which may change the plan before.
    pub defers_revert: bool,
    /// The leases of other runs, which end once this one is stored.
    #[cfg(feature = "store")]
    pub leases: Vec<LeasedRun>,
}

/// The storage of a run's events.
pub enum RunStorage {
    /// No storage: no events are recorded.
    Nothing,
    /// A journal of the caller.
    Journal {
        /// The journal.
        journal: Arc<dyn Journal>,
        /// The data of its first entry.
        header: Value,
        /// The entries of earlier processes.
        history: Option<History>,
        /// The store of the journal, if it is that of a stored run: other processes leave their requests there.
        #[cfg(feature = "store")]
        store: Option<Store>,
    },
    /// No storage, but steps that are done in an earlier journal are not run again.
    History(History),
    /// A new run in a store.
    #[cfg(feature = "store")]
    New {
        /// The store.
        store: Store,
        /// The name of this process, for other processes.
        holder: LeaseHolder,
        /// The data that other processes need to resume the run.
        run: Box<NewStoredRun>,
    },
    /// A stored run that this process leases.
    #[cfg(feature = "store")]
    Resumed {
        /// The store.
        store: Store,
        /// The lease.
        leased: LeasedRun,
        /// The history, with the choices about it.
        prepared: Box<PreparedResume>,
    },
}

impl RunSpec {
    /// A run of `plan` under a random id, with default options. Nothing is stored, and calls that need consent wait.
    pub fn new(plan: CheckedPlan) -> Self {
        Self {
            id: RunId::random(),
            plan,
            options: RunOptions::default(),
            approver: Arc::new(Always(Decision::Later)),
            storage: RunStorage::Nothing,
            client: None,
            trace: Value::Null,
            is_cancelled: false,
            defers_revert: false,
            #[cfg(feature = "store")]
            leases: Vec::new(),
        }
    }

    /// Returns the means to undo what the run does, if its plan wants that after a failure.
    #[cfg(feature = "store")]
    fn revert_on_failure(&self) -> Result<Option<RevertOnFailure>, Error> {
        let store = store_for_revert(&self.plan, &self.storage)?;
        let store = store.filter(|_| !self.defers_revert);
        Ok(store.map(|store| RevertOnFailure {
            store,
            approver: Arc::clone(&self.approver),
            options: self.options.clone(),
            trace: self.trace.clone(),
        }))
    }

    /// Links the run to its store, and completes the options from the store.
    #[cfg(feature = "store")]
    fn link_to_store(&mut self, planwright: &Planwright) -> Result<StoreLink, Error> {
        let store = self.storage.store().cloned();
        if let Some(store) = &store {
            // The header of a resumed process already has its durations, and a replay uses them.
            let is_new = matches!(self.storage, RunStorage::New { .. });
            complete_options(&mut self.options, store, is_new)?;
        }
        let learning = store.filter(|_| planwright.open().learns);
        let requests = self.storage.requests().map(|(store, holder)| {
            let consent = self.storage.consent(&self.plan, &self.options);
            RunRequests::new(store.clone(), self.id.clone(), holder.cloned(), consent)
        });
        let learning = learning.map(|store| Learning::new(store, &self.options));
        Ok(StoreLink::new(learning, requests))
    }

    /// The start of the engine's run, and its journal. A new stored run is on the disk before this returns.
    #[cfg_attr(
        not(feature = "store"),
        expect(clippy::unnecessary_wraps, reason = "a store may fail")
    )]
    fn open(&mut self) -> Result<(SpawnRequest, Option<Arc<dyn Journal>>), Error> {
        #[cfg(feature = "store")]
        if let RunStorage::Resumed { prepared, .. } = &self.storage {
            self.is_cancelled |= prepared.only_settles;
        }
        let mut start = SpawnRequest::new(self.id.clone(), self.plan.clone());
        if self.is_cancelled {
            start = start.cancelled();
        }
        let (journal, header, history): (Arc<dyn Journal>, _, _) =
            match std::mem::replace(&mut self.storage, RunStorage::Nothing) {
                RunStorage::Nothing => return Ok((start, None)),
                RunStorage::History(history) => return Ok((start.after(history), None)),
                RunStorage::Journal {
                    journal,
                    header,
                    history,
                    ..
                } => (journal, header, history),
                #[cfg(feature = "store")]
                RunStorage::New { store, holder, run } => {
                    let (leased, process) =
                        run.create(&store, &holder, (&self.id, &self.plan, &self.options))?;
                    (Arc::new(leased), process.to_value(), None)
                }
                #[cfg(feature = "store")]
                RunStorage::Resumed {
                    leased,
                    mut prepared,
                    ..
                } => {
                    if !self.is_cancelled {
                        leased
                            .overrule_cancel_request()
                            .map_err(StoredRunError::from)?;
                    }
                    // The options have the key that seals secrets by now.
                    let consent = prepared.plan_consent(&self.plan, &self.options);
                    prepared.process.plan_consent = Some(consent);
                    (
                        Arc::new(leased),
                        prepared.process.to_value(),
                        Some(prepared.history),
                    )
                }
            };
        if let Some(history) = history {
            start = start.after(history);
        }
        Ok((
            start.with_journal(Arc::clone(&journal), header),
            Some(journal),
        ))
    }
}

impl RunStorage {
    /// The store, if the run is stored.
    #[cfg(feature = "store")]
    pub fn store(&self) -> Option<&Store> {
        match self {
            Self::New { store, .. } | Self::Resumed { store, .. } => Some(store),
            Self::Journal { store, .. } => store.as_ref(),
            Self::Nothing | Self::History(_) => None,
        }
    }

    /// The store in which other processes leave their requests to the run, and the holder that they name, if it is known.
    #[cfg(feature = "store")]
    fn requests(&self) -> Option<(&Store, Option<&LeaseHolder>)> {
        match self {
            Self::Journal { store, .. } => Some((store.as_ref()?, None)),
            Self::New { store, holder, .. } => Some((store, Some(holder))),
            Self::Resumed { store, leased, .. } => Some((store, Some(leased.holder()))),
            Self::Nothing | Self::History(_) => None,
        }
    }

    /// The digest that an approval of the whole plan is bound to; `None` if the run is not stored.
    #[cfg(feature = "store")]
    fn consent(&self, plan: &CheckedPlan, options: &RunOptions) -> Option<PlanConsent> {
        match self {
            Self::Nothing | Self::History(_) => None,
            Self::New { .. } => Some(plan_consent(plan, options)),
            Self::Resumed { prepared, .. } => Some(prepared.plan_consent(plan, options)),
            // Its caller has written the header of this process.
            Self::Journal { header, .. } => ProcessV1::from_value(header).ok()?.plan_consent,
        }
    }

    /// Returns true if the run undoes another one.
    #[cfg(feature = "store")]
    pub fn is_revert(&self) -> bool {
        match self {
            Self::New { run, .. } => run.reverts.is_some(),
            Self::Resumed { prepared, .. } => prepared.is_revert,
            Self::Nothing | Self::Journal { .. } | Self::History(_) => false,
        }
    }

    /// The completed steps that run again, because a new plan changes the inputs of their results.
    #[cfg(feature = "store")]
    pub fn rerun(&self) -> &[StaleStep] {
        match self {
            Self::Resumed { prepared, .. } => &prepared.rerun,
            Self::Nothing | Self::Journal { .. } | Self::History(_) | Self::New { .. } => &[],
        }
    }
}

impl Planwright {
    /// Starts or resumes a run, in the tokio runtime that this is called in. Every run starts here, whether of the library, the command line or the gateway: the tools are compared
    /// with those that the plan was checked with, the id is claimed, a new stored run is written, and the engine drives it. For a stored run it
    /// blocks on the disk.
    ///
    /// # Errors
    ///
    /// If the run must not start; see [`RunBuilder::start`](super::RunBuilder::start). After an error, nothing was called.
    pub fn launch(&self, mut spec: RunSpec) -> Result<Run, Error> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Error::NoRuntime);
        }
        self.verify(&spec.plan)?;
        let claim = self.claim(&spec.id)?;
        // A resumed run keeps the time of its start.
        spec.options.evaluation.now.get_or_insert_with(run_time);
        #[cfg(feature = "store")]
        let revert = spec.revert_on_failure()?;
        #[cfg(not(feature = "store"))]
        if spec.plan.plan().on_failure == OnFailure::Revert {
            return Err(Error::NoRevert);
        }
        #[cfg(feature = "store")]
        let mut store = spec.link_to_store(self)?;
        #[cfg(not(feature = "store"))]
        let mut store = StoreLink;
        let (start, journal) = spec.open()?;
        #[cfg(feature = "store")]
        spec.leases.clear();
        let approver = ClaimingApprover {
            approver: store.approver(spec.approver),
            _claim: claim,
        };
        #[cfg(feature = "store")]
        let engine = self.recording_engine(store.answers());
        #[cfg(not(feature = "store"))]
        let engine = self.plain_engine();
        let engine = engine
            .with_options(spec.options)
            .with_approver(Arc::new(approver));
        let (handle, events) = engine.try_spawn(start)?;
        store.watch(handle.canceller());
        let observed = ObservedRun {
            id: spec.id.clone(),
            client: spec.client,
            plan: spec.plan.plan().name.clone(),
            trace: spec.trace,
        };
        let observers = self.open().observers.iter();
        let observers = observers.map(|observer| observer.begin(&observed));
        Ok(Run {
            handle,
            events,
            id: spec.id,
            plan: spec.plan,
            planwright: self.clone(),
            observers: observers.collect(),
            journal,
            store,
            #[cfg(feature = "store")]
            revert,
        })
    }

    /// Compares the tools that a plan was checked with, those of the plans that it runs included, with the tools and the policy here.
    /// Whether a call needs consent is part of the check, so a plan runs only with the tools that it was checked with:
    /// each must have the same definition, server, effects and need for approval.
    ///
    /// Every run begins with this. Call it yourself for plans that you run on the [`engine`](Self::engine).
    ///
    /// # Errors
    ///
    /// [`Error::OtherTools`] with all differences.
    pub fn verify(&self, plan: &CheckedPlan) -> Result<(), Error> {
        let found = plan.tool_mismatches(&self.check_context());
        if found.is_empty() {
            Ok(())
        } else {
            Err(Error::OtherTools(found))
        }
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

impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("id", &self.id)
            .field("plan", &self.plan.plan().name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RunStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Journal { .. } => "Journal",
            Self::History(_) => "History",
            #[cfg(feature = "store")]
            Self::New { .. } => "New",
            #[cfg(feature = "store")]
            Self::Resumed { .. } => "Resumed",
        })
    }
}
