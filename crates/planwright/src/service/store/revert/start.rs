//! Runs that undo what other runs did: by request, and after the failure of a plan that wants it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use planwright_core::plan::OnFailure;
use planwright_core::{CheckedPlan, Lookup, Tool, Value};
use planwright_engine::backend::RunData;
use planwright_engine::run::RevertSummary;
use planwright_engine::{Approver, RunHandle, RunId, RunOptions};
use planwright_store::Store;

use super::{Revert, RevertRequest};
use crate::loaded_plan::LoadedPlan;
use crate::service::store::link::now;
use crate::service::store::start::{approver_of, holder};
use crate::service::{Error, Planwright, Run, RunSpec, RunStorage, RunView};
use crate::stored::StoredRunError;

/// A revert whose plan is checked, before it starts.
pub struct PreparedRevert {
    /// The calls that it undoes, and those that it does not.
    pub revert: Revert,
    /// The plan; `None` if there is nothing to undo.
    plan: Option<(CheckedPlan, LoadedPlan)>,
    planwright: Planwright,
    store: Store,
    approver: Arc<dyn Approver>,
    options: RunOptions,
    waits: bool,
}

impl Planwright {
    /// Prepares to undo what a stored run did: reads its journal, and checks the plan that undoes it. Nothing is called. `from` is the step,
    /// item or round whose calls are the first to undo, in the order in which they ended.
    ///
    /// # Errors
    ///
    /// [`Error::NoStore`]; [`Error::Rejected`] if the plan as a whole is not sound; an error of the store, such as that of a run in progress.
    pub async fn prepare_revert(
        &self,
        run: &str,
        from: Option<&str>,
    ) -> Result<PreparedRevert, Error> {
        let store = self.open().store.clone().ok_or(Error::NoStore)?;
        self.revert_in(store, run, from, false).await
    }

    async fn revert_in(
        &self,
        store: Store,
        run: &str,
        from: Option<&str>,
        is_leased: bool,
    ) -> Result<PreparedRevert, Error> {
        let open = self.open();
        // The tools of the service have the settings of the configuration already.
        let configured = |tool: Tool| match open.catalog.find(tool.qualified_name().as_str()) {
            Lookup::Found(known) => Tool::clone(&known),
            Lookup::Ambiguous(_) | Lookup::Unknown => tool,
        };
        let request = RevertRequest {
            run,
            from,
            configured: &configured,
            policy: &open.policy,
            holder: &holder(),
            is_leased,
        };
        let mut revert = Revert::prepare(&store, request).await?;
        let plan = revert.check(&open.catalog, &open.policy);
        let plan = plan.map_err(|loaded| Error::Rejected(loaded.diagnostics))?;
        Ok(PreparedRevert {
            revert,
            plan,
            approver: Arc::clone(&open.approver),
            options: open.options.clone(),
            waits: false,
            planwright: self.clone(),
            store,
        })
    }
}

impl PreparedRevert {
    /// Returns the plan that undoes the calls; `None` if there is nothing to undo.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.plan.as_ref().map(|(plan, _)| plan)
    }

    /// Returns the revert and its plan, for a caller that specifies the run itself.
    pub fn into_parts(self) -> (Revert, Option<(CheckedPlan, LoadedPlan)>) {
        (self.revert, self.plan)
    }

    /// Decides about calls that need consent, in place of the approver of the service, unless the store has a decision.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Waits for decisions that other processes store, if the approver puts a call off, instead of ending the run as waiting.
    #[must_use]
    pub fn wait_for_decisions(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Data of the caller that all functions of the run can read, see [`RunBuilder::data`](crate::service::RunBuilder::data).
    #[must_use]
    pub fn data(mut self, data: impl std::any::Any + Send + Sync) -> Self {
        self.options.data = RunData::new(data);
        self
    }

    /// Starts the run that undoes the calls; `None` if there is nothing to undo. It leaves what cannot be undone as it is: look at
    /// [`revert`](Self::revert) first.
    ///
    /// # Errors
    ///
    /// Those of [`RunBuilder::start`](crate::service::RunBuilder::start).
    pub fn start(self) -> Result<Option<Run>, Error> {
        let approver = approver_of(&self.store, Arc::clone(&self.approver), self.waits);
        let options = self.options.clone();
        self.start_with(approver, options, Value::Null)
    }

    fn start_with(
        mut self,
        approver: Arc<dyn Approver>,
        options: RunOptions,
        trace: Value,
    ) -> Result<Option<Run>, Error> {
        let Some((plan, loaded)) = self.plan else {
            return Ok(None);
        };
        let run = self.revert.new_run(&loaded, now());
        let spec = RunSpec {
            id: self.revert.id.clone(),
            approver,
            options,
            client: self.revert.client().map(Arc::from),
            trace,
            leases: self.revert.take_leases(),
            storage: RunStorage::New {
                store: self.store,
                holder: holder(),
                run: Box::new(run),
            },
            ..RunSpec::new(plan)
        };
        self.planwright.launch(spec).map(Some)
    }
}

impl fmt::Debug for PreparedRevert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedRevert")
            .field("revert", &self.revert)
            .finish_non_exhaustive()
    }
}

/// The means to undo what a run did, if it fails.
///
/// The run service reverts, not the engine: the failed run has ended as failed, with a complete journal, before anything is undone, and the
/// revert is a run of its own, with its own journal, budget and approvals. If the process dies between the two, the failed run is one as any
/// other: `revert` undoes it, and `resume` tries its failed steps again and reverts if they fail again.
pub(in crate::service) struct RevertOnFailure {
    pub(in crate::service) store: Store,
    pub(in crate::service) approver: Arc<dyn Approver>,
    pub(in crate::service) options: RunOptions,
    pub(in crate::service) trace: Value,
}

impl RevertOnFailure {
    /// Undoes what the run `failed` did, which this process has leased, and waits for the end. The cancellers of `handle`, that of the
    /// failed run, end the run that reverts. Once `stop` has ended, that run is abandoned, and the output of `stop` is the error. `idles`
    /// receives whether only a decision of a person can continue it, after each event.
    pub(in crate::service) async fn revert<T>(
        self,
        planwright: &Planwright,
        (failed, handle): (&RunId, &RunHandle),
        (stop, idles): (
            Pin<&mut (dyn Future<Output = T> + Send)>,
            &mut (dyn FnMut(bool) + Send),
        ),
    ) -> Result<RevertSummary, T> {
        let prepared = planwright.revert_in(self.store, failed.as_str(), None, true);
        let prepared = match prepared.await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(RevertSummary::not_started(error.to_string())),
        };
        let mut summary = prepared.revert.summary();
        match prepared.start_with(self.approver, self.options, self.trace) {
            Ok(Some(run)) => {
                handle.succeed(run.canceller());
                let mut view = RunView::new(run.plan());
                let mut observe = |event: &_| {
                    view.event(event);
                    idles(view.waits_for_people());
                };
                let (_, ended) = run.end_unless(stop, &mut observe).await?;
                summary.run = Some(ended.run);
                summary.status = Some(ended.status);
            }
            Ok(None) => {}
            Err(error) => summary.error = Some(error.to_string()),
        }
        Ok(summary)
    }
}

/// Returns the store in which a run of `plan` can be reverted if it fails; `None` if its plan does not want that.
///
/// # Errors
///
/// The plan wants it, and the run is not stored.
pub(in crate::service) fn store_for_revert(
    plan: &CheckedPlan,
    storage: &RunStorage,
) -> Result<Option<Store>, Error> {
    match (plan.plan().on_failure, storage.store()) {
        (OnFailure::KeepGoing | OnFailure::Stop, _) => Ok(None),
        (OnFailure::Revert, Some(store)) => Ok(Some(store.clone())),
        (OnFailure::Revert, None) => Err(StoredRunError::NotStored.into()),
    }
}
