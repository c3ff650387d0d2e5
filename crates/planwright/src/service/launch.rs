//! The start of every run: from a specification to a run with a unique id, which can call only the tools that its plan was checked with.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use planwright_core::CheckedPlan;
use planwright_engine::approval::ApprovalRequest;
use planwright_engine::{Approver, Decision, Journal, RunId, SpawnRequest};

use super::active_runs::Claim;
use super::observer::ObservedRun;
use super::run_spec::{RunSpec, RunStorage};
use super::store::StoreLink;
#[cfg(feature = "store")]
use super::store::{Learning, RunRequests, complete_options};
use super::{Error, Planwright, Run};
#[cfg(feature = "store")]
use crate::stored::StoredRunError;

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
        let mut store = spec.link_to_store(self)?;
        #[cfg(not(feature = "store"))]
        let mut store = StoreLink;
        let (start, journal) = spec.open()?;
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

    /// Claims the id of a run that is about to start.
    fn claim(&self, id: &RunId) -> Result<Claim, Error> {
        let claim = self.open().active.claim(id);
        claim.ok_or_else(|| Error::InProgress(id.clone()))
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

impl RunSpec {
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
