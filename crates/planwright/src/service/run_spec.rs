//! The specification of a run, as data.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "store")]
use planwright_core::PlanConsent;
use planwright_core::{CheckedPlan, Value};
use planwright_engine::RunId;
use planwright_engine::approval::Always;
use planwright_engine::{Approver, Decision, History, Journal, RunOptions};
#[cfg(feature = "store")]
use planwright_store::{LeaseHolder, LeasedRun, Store};

#[cfg(feature = "store")]
use crate::format::ProcessV1;
#[cfg(feature = "store")]
use crate::stored::{NewStoredRun, PreparedResume, StaleStep, plan_consent};

/// The complete specification of a run. Only [`Planwright::launch`](super::Planwright::launch) starts a run from it.
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
        }
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
    pub(super) fn requests(&self) -> Option<(&Store, Option<&LeaseHolder>)> {
        match self {
            Self::Journal { store, .. } => Some((store.as_ref()?, None)),
            Self::New { store, holder, .. } => Some((store, Some(holder))),
            Self::Resumed { store, leased, .. } => Some((store, Some(leased.holder()))),
            Self::Nothing | Self::History(_) => None,
        }
    }

    /// The digest that an approval of the whole plan is bound to; `None` if the run is not stored.
    #[cfg(feature = "store")]
    pub(super) fn consent(&self, plan: &CheckedPlan, options: &RunOptions) -> Option<PlanConsent> {
        match self {
            Self::Nothing | Self::History(_) => None,
            Self::New { .. } => Some(plan_consent(plan, options)),
            Self::Resumed { prepared, .. } => Some(prepared.plan_consent(plan, options)),
            // Its caller has written the header of this process.
            Self::Journal { header, .. } => ProcessV1::from_value(header).ok()?.plan_consent,
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
