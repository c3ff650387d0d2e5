//! Lookup of runs in this process and in the store, each for its own client alone, and of the results that later plans refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use planwright::loaded_plan::RECALLED;
use planwright::stored::StoredRun;
use planwright_core::check::CheckedPlan;
use planwright_core::flow::{FlowContext, PlannerLabel, RecalledLabels, StepLabels};
use planwright_core::plan::{Segment, Source};
use planwright_core::{Object, Plan, Value, flow};
use planwright_engine::RunId;
use planwright_engine::{RunStatus, RunSummary};
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::{ClientId, GatewayClient};
use planwright_store::{RunInfo, Store};

use crate::host::{PlanHost, spawn_blocking_limited};
use crate::response::content::json_bytes;
use crate::runs::registry::{RunProgress, TrackedRun, owner};
use crate::tools::CallFailure;
use crate::tools::arguments::BadRequest;

/// A run of a client, in this process or in the store.
pub(crate) enum FoundRun {
    /// The run is, or was, driven by this process.
    Local(Arc<TrackedRun>),
    /// The run is stored.
    Stored(Box<(RunInfo, StoredRun)>),
}

/// The reason why a run is not found.
pub(crate) enum LookupError {
    /// The client sees no run of this id.
    Missing(String),
    /// The store cannot be read now: the run may be there.
    Unavailable(String),
}

impl From<LookupError> for BadRequest {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Missing(reason) | LookupError::Unavailable(reason) => Self(reason),
        }
    }
}

impl From<LookupError> for CallFailure {
    /// An unknown run is a refusal. A run that cannot be read now may be in progress, so that no status of a run is an answer.
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Missing(reason) => Self::Refused(BadRequest(reason)),
            LookupError::Unavailable(_) => Self::Upstream(error.into()),
        }
    }
}

impl From<LookupError> for UpstreamError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Missing(reason) => Self::new(Self::INVALID, reason),
            LookupError::Unavailable(reason) => Self::new(Self::UNAVAILABLE, reason),
        }
    }
}

impl PlanHost {
    /// Returns the run `id` of this process, if this client sees it.
    pub(crate) fn run_of_process(
        &self,
        client: &GatewayClient,
        id: &str,
    ) -> Option<Arc<TrackedRun>> {
        let running = self.runs.get(id)?;
        self.sees_runs_of(client, &running.client)
            .then_some(running)
    }

    /// Returns the run `id`, if this client sees it. A run of another client counts as missing, so that ids cannot be probed.
    pub(crate) async fn find(
        &self,
        client: &GatewayClient,
        id: &str,
    ) -> Result<FoundRun, LookupError> {
        let running = self.run_of_process(client, id);
        let (ended, local) = match running.as_ref().map(|running| running.progress()) {
            Some(RunProgress::Ended(summary)) => (Some(summary), running),
            Some(RunProgress::InProgress { .. }) => (None, running),
            Some(RunProgress::Suspended) | None => (None, None),
        };
        // A run whose journal failed may have lost its lease to another process.
        let is_final = |summary: &RunSummary| {
            summary.status == RunStatus::Succeeded && summary.journal_error.is_none()
        };
        // A process of another machine may have continued any run that has ended here, with another plan.
        let is_shared = self.settings.store.as_ref().is_some_and(Store::is_shared);
        let is_current = match &ended {
            Some(summary) => self.settings.store.is_none() || is_final(summary) && !is_shared,
            None => true,
        };
        if let Some(running) = local.clone().filter(|_| is_current) {
            return Ok(FoundRun::Local(running));
        }
        // Another process may have continued the run since it ended here.
        let stored = self.find_stored(client, id).await?;
        match (stored, local, ended) {
            (Some((info, stored)), Some(running), Some(summary))
                if !is_shared
                    && info.holder.is_none()
                    && summary.status != RunStatus::Waiting
                    && match stored.status() {
                        Some(status) => status == summary.status,
                        // The store does not have the end of the run.
                        None => summary.journal_error.is_some(),
                    } =>
            {
                Ok(FoundRun::Local(running))
            }
            (Some(stored), ..) => Ok(FoundRun::Stored(Box::new(stored))),
            (None, Some(running), _) => Ok(FoundRun::Local(running)),
            (None, None, _) => Err(LookupError::Missing(format!("there is no run `{id}`"))),
        }
    }

    async fn find_stored(
        &self,
        client: &GatewayClient,
        id: &str,
    ) -> Result<Option<(RunInfo, StoredRun)>, LookupError> {
        let Some(store) = self.settings.store.clone() else {
            return Ok(None);
        };
        let (name, is_local) = (id.to_owned(), owner(&client.id).is_none());
        let read = move || read_stored(&store, &name, is_local);
        let stored = spawn_blocking_limited(read)
            .await
            .map_err(|error| LookupError::Unavailable(error.to_string()))??;
        Ok(stored.filter(|(_, stored)| {
            let of = stored.run.client.clone();
            self.sees_runs_of(client, &of.map_or_else(ClientId::local, ClientId::new))
        }))
    }

    /// Returns the summary of a stored run, with its flow of data under the current policy.
    async fn replay_summary(
        &self,
        client: &GatewayClient,
        id: &RunId,
        stored: StoredRun,
    ) -> Result<RunSummary, BadRequest> {
        let (id, policy) = (id.clone(), self.policy(client));
        let replay = move || {
            let replayed = stored.replayed(&id).map_err(|error| error.to_string())?;
            let mut summary = replayed.summary;
            summary.flow = stored.flow(&summary, &policy);
            Ok(summary)
        };
        spawn_blocking_limited(replay)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(|error: String| {
                BadRequest(format!("the result of the run cannot be shown: {error}"))
            })
    }

    /// Returns the answer about a stored run that has ended.
    pub(crate) async fn stored_response(
        &self,
        client: &GatewayClient,
        id: &RunId,
        stored: StoredRun,
    ) -> Result<Value, BadRequest> {
        let plan = stored.latest_plan().ok();
        let summary = self.replay_summary(client, id, stored).await?;
        self.note_run_answer(client, plan.as_ref(), &summary);
        Ok(self.run_response(&summary, plan.as_ref(), None))
    }

    /// Returns the summary of the run `id`, if it has ended.
    pub(crate) async fn summary(
        &self,
        client: &GatewayClient,
        id: &str,
    ) -> Result<Option<Arc<RunSummary>>, BadRequest> {
        let outcome = self.outcome(client, id).await?;
        Ok(outcome.map(|ended| ended.summary))
    }

    /// Returns the run `id`, if it has ended.
    async fn outcome(
        &self,
        client: &GatewayClient,
        id: &str,
    ) -> Result<Option<EndedRun>, BadRequest> {
        match self.find(client, id).await? {
            FoundRun::Local(running) => Ok(match running.progress() {
                RunProgress::Ended(summary) => Some(EndedRun {
                    began: running.began,
                    planner: running.plan.flow().map(|flow| flow.planner),
                    retained: running
                        .plan
                        .flow()
                        .map(|flow| flow.retained.clone())
                        .unwrap_or_default(),
                    plan: Some(running.plan.clone()),
                    summary,
                }),
                RunProgress::InProgress { .. } | RunProgress::Suspended => None,
            }),
            FoundRun::Stored(stored) => {
                let (info, run) = *stored;
                if run.status().is_none() {
                    return Ok(None);
                }
                Ok(Some(EndedRun {
                    began: info.created,
                    planner: run.planner(),
                    retained: run.retained.labels(),
                    plan: run.latest_plan().ok(),
                    summary: Arc::new(self.replay_summary(client, &info.id, run).await?),
                }))
            }
        }
    }

    /// Returns the results of earlier runs that a plan refers to, and their labels.
    pub(crate) async fn recall(
        &self,
        client: &GatewayClient,
        plan: Option<&Plan>,
    ) -> Result<(Object, RecalledLabels), BadRequest> {
        let mut recalled = Object::default();
        let mut labels = RecalledLabels::new();
        let mut room = self.settings.recall_bytes;
        for (run, steps) in plan.map(recalled_steps).unwrap_or_default() {
            // A reference to no run of this client is left to the checks, which report that there is no step `runs`.
            let Ok(Some(ended)) = self.outcome(client, &run).await else {
                continue;
            };
            self.check_age(&run, ended.began + ended.summary.duration)?;
            let mut results = Object::default();
            for step in &ended.summary.steps {
                let id = step.at.step.text();
                if steps.contains(&**id)
                    && let Some(output) = &step.output
                {
                    room = room.checked_sub(json_bytes(output)).ok_or_else(|| {
                        BadRequest(format!(
                            "the plan refers to more than {} bytes of earlier results",
                            self.settings.recall_bytes
                        ))
                    })?;
                    results.insert(Arc::clone(id), output.clone());
                }
            }
            let run: Arc<str> = run.into();
            labels.insert(Arc::clone(&run), self.labels_of(client, &ended));
            recalled.insert(run, Value::from(results));
        }
        Ok((recalled, labels))
    }

    /// Returns the labels of the outputs of a run's steps under the current flow policy. Results of a run that was not checked
    /// under a flow policy have none, since it is unknown whether its author had read untrusted text.
    fn labels_of(&self, client: &GatewayClient, ended: &EndedRun) -> StepLabels {
        let policy = self.policy(client);
        let (Some(mut flow), Some(planner), Some(plan)) = (policy.flow, ended.planner, &ended.plan)
        else {
            return StepLabels::new();
        };
        flow.planner = planner;
        let context = FlowContext {
            retained: Some(&ended.retained),
            ..FlowContext::new(&flow, &policy.releases)
        };
        flow::step_labels(plan, context, &ended.summary.stated)
    }

    /// Checks that a run ended recently enough for plans to refer to its results.
    fn check_age(&self, id: &str, ended: SystemTime) -> Result<(), BadRequest> {
        let age = (self.settings.now)().duration_since(ended);
        let longest = self.settings.recall_for;
        if age.unwrap_or_default() < longest {
            return Ok(());
        }
        Err(BadRequest(if longest.is_zero() {
            "plans cannot refer to results of earlier runs here".to_owned()
        } else {
            format!(
                "the run `{id}` ended more than {longest:?} ago, the longest that plans can refer to its results; run it again"
            )
        }))
    }
}

/// A run that has ended.
struct EndedRun {
    began: SystemTime,
    /// The label of the author of its plan; `None` if the plan was not checked by a flow policy.
    planner: Option<PlannerLabel>,
    /// The labels of results of an earlier plan of the run.
    retained: StepLabels,
    plan: Option<CheckedPlan>,
    summary: Arc<RunSummary>,
}

/// Reads a run, if it exists. `is_local` is true for the local user.
fn read_stored(
    store: &Store,
    id: &str,
    is_local: bool,
) -> Result<Option<(RunInfo, StoredRun)>, LookupError> {
    let info = match store.run(id) {
        // A prefix of an id does not count: clients could find out other runs by it.
        Ok(info) if info.id == id => info,
        Ok(_)
        | Err(
            planwright_store::StoreError::Missing { .. }
            | planwright_store::StoreError::Ambiguous { .. },
        ) => {
            return Ok(None);
        }
        Err(error) => return Err(LookupError::Unavailable(error.to_string())),
    };
    // The owner in an imported file is only a claim of its author.
    if info.imported.is_some() {
        if !is_local {
            return Ok(None);
        }
        return Err(LookupError::Missing(format!(
            "the run `{id}` was imported, so it belongs to no client; a person can look at it with `planwright show {id}`, and \
             resume it with `planwright resume {id} --servers FILE`"
        )));
    }
    let stored =
        StoredRun::read(store, id).map_err(|error| LookupError::Unavailable(error.to_string()))?;
    Ok(Some((info, stored)))
}

/// Returns the steps of earlier runs that a plan refers to, by run.
pub(crate) fn recalled_steps(plan: &Plan) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    plan.each_reference(&mut |reference| {
        for read in reference.reads() {
            let is_recalled = matches!(&read.source, Source::Step(id) if id.as_str() == RECALLED);
            if is_recalled && let [Segment::Key(run), Segment::Key(step), ..] = read.path.as_slice()
            {
                let steps = found.entry(run.to_string()).or_default();
                steps.insert(step.to_string());
            }
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use planwright_dialects::ReadOptions;

    use super::recalled_steps;

    fn check(args: &str) -> String {
        let text = format!(r#"{{"steps": [{{"id": "a", "tool": "t", "args": {args}}}]}}"#);
        let options = ReadOptions::new("plan").in_dialect("native");
        let plan = planwright_dialects::parse(text.as_bytes(), &options).plan;
        let found = recalled_steps(&plan.unwrap());
        let runs = found.iter().map(|(run, steps)| format!("{run}: {steps:?}"));
        runs.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn references_to_runs_are_found() {
        insta::assert_snapshot!(check(r#"{"x": "${runs.a1.weather.temp} ${runs.a1.other}"}"#), @r#"a1: {"other", "weather"}"#);
        insta::assert_snapshot!(check(r#"{"x": ["${runs[\"01ab\"].a[0]}"], "y": {"z": "${runs.ff.b > 1}"}}"#), @r#"01ab: {"a"}; ff: {"b"}"#);
        insta::assert_snapshot!(check(r#"{"x": "runs.a1.b", "y": "${steps.runs.a.b} ${runs} ${runs.a}"}"#), @r#"a: {"b"}"#);
    }
}
