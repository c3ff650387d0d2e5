//! Runs that are kept, each for its own client alone.

use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::{Object, Plan, Value};
use planwright_engine::RunSummary;
use planwright_engine::run::ReplayReport;
use planwright_mcp::gateway::{Client, ClientId};
use planwright_store::{RunInfo, Store};

use super::aside::aside;
use super::host::PlanHost;
use super::recall::recalled_steps;
use super::request::BadRequest;
use super::running::{Running, Stand};
use planwright::stored::StoredRun;

/// Returns the owner of a client's runs as it is stored. Runs of the local user have none.
pub(super) fn owner(client: &ClientId) -> Option<String> {
    (*client != ClientId::local()).then(|| client.as_str().to_owned())
}

/// A run of a client, wherever it is known.
pub(super) enum Known {
    /// This process drives it, or has driven it.
    Here(Arc<Running>),
    /// The run is stored.
    Kept(Box<(RunInfo, StoredRun)>),
}

impl PlanHost {
    /// The run `id`, if it is this client's. Of another client's run not even that is said that there is one.
    pub(super) async fn find(&self, client: &Client, id: &str) -> Result<Known, BadRequest> {
        if let Some(running) = self.runs.get(&client.id, id)
            && !matches!(running.stand(), Stand::Suspended)
        {
            return Ok(Known::Here(running));
        }
        let kept = self.kept(client, id).await?;
        kept.map(|kept| Known::Kept(Box::new(kept)))
            .ok_or_else(|| BadRequest(format!("there is no run `{id}`")))
    }

    async fn kept(
        &self,
        client: &Client,
        id: &str,
    ) -> Result<Option<(RunInfo, StoredRun)>, BadRequest> {
        let Some(store) = self.settings.store.clone() else {
            return Ok(None);
        };
        let (id, owner) = (id.to_owned(), owner(&client.id));
        let read = move || read_kept(&store, &id, owner.as_deref());
        aside(read)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(BadRequest)
    }

    /// Returns the summary of a stored run.
    pub(super) async fn replayed(
        &self,
        id: &str,
        kept: StoredRun,
    ) -> Result<RunSummary, BadRequest> {
        let id = id.to_owned();
        let replay = move || kept.replayed(&id).map_err(|error| error.to_string());
        let ReplayReport { summary, .. } = aside(replay)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(|error| BadRequest(format!("what the run came to cannot be told: {error}")))?;
        Ok(summary)
    }

    /// Returns the summary of the run `id`, if it has ended.
    pub(super) async fn summary(
        &self,
        client: &Client,
        id: &str,
    ) -> Result<Option<Arc<RunSummary>>, BadRequest> {
        let outcome = self.outcome(client, id).await?;
        Ok(outcome.map(|(_, summary)| summary))
    }

    /// Returns the start and the summary of the run `id`, if it has ended.
    async fn outcome(
        &self,
        client: &Client,
        id: &str,
    ) -> Result<Option<(SystemTime, Arc<RunSummary>)>, BadRequest> {
        match self.find(client, id).await? {
            Known::Here(running) => Ok(match running.stand() {
                Stand::Ended(summary) => Some((running.began, summary)),
                Stand::Going { .. } | Stand::Suspended => None,
            }),
            Known::Kept(kept) => {
                let (info, run) = *kept;
                if run.status().is_none() {
                    return Ok(None);
                }
                let summary = self.replayed(&info.id, run).await?;
                Ok(Some((info.created, Arc::new(summary))))
            }
        }
    }

    /// The results of earlier runs that a plan refers to.
    pub(super) async fn recall(
        &self,
        client: &Client,
        plan: Option<&Plan>,
    ) -> Result<Object, BadRequest> {
        let mut recalled = Object::default();
        let mut room = self.settings.recall_bytes;
        for (run, steps) in plan.map(recalled_steps).unwrap_or_default() {
            // What is no run of this client is left to the checks, which say that there is no step `runs`.
            let Ok(Some((began, summary))) = self.outcome(client, &run).await else {
                continue;
            };
            self.is_fresh(&run, began + summary.duration)?;
            let mut results = Object::default();
            for step in &summary.steps {
                let id = step.at.step.text();
                if steps.contains(&**id)
                    && let Some(output) = &step.output
                {
                    room = room.checked_sub(written(output)).ok_or_else(|| {
                        BadRequest(format!(
                            "the plan refers to more than {} bytes of earlier results",
                            self.settings.recall_bytes
                        ))
                    })?;
                    results.insert(Arc::clone(id), output.clone());
                }
            }
            recalled.insert(run.into(), Value::from(results));
        }
        Ok(recalled)
    }

    /// Sees to it that it is not too long ago that a run ended for its results to be referred to.
    fn is_fresh(&self, id: &str, ended: SystemTime) -> Result<(), BadRequest> {
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

/// The bytes of a value as it is written.
fn written(value: &Value) -> usize {
    let size = value.json_size(usize::MAX);
    size.map_or(usize::MAX, |size| {
        usize::try_from(size.bytes).unwrap_or(usize::MAX)
    })
}

/// Reads a run that belongs to `owner`; nothing where there is none.
fn read_kept(
    store: &Store,
    id: &str,
    owner: Option<&str>,
) -> Result<Option<(RunInfo, StoredRun)>, String> {
    let info = match store.run(id) {
        // The beginning of an id, by which others could be found out, is none.
        Ok(info) if info.id == id => info,
        Ok(_)
        | Err(
            planwright_store::StoreError::Missing { .. }
            | planwright_store::StoreError::Ambiguous { .. },
        ) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    // The owner in an imported file is a claim of its author, which counts for nothing.
    if info.imported.is_some() {
        return match owner {
            None => Err(format!(
                "the run `{id}` was imported, so it belongs to no client; a person can look at it with `planwright show {id}`, and \
                 resume it with `planwright resume {id} --servers FILE`"
            )),
            Some(_) => Ok(None),
        };
    }
    let kept = StoredRun::read(store, id).map_err(|error| error.to_string())?;
    Ok((kept.run.client.as_deref() == owner).then_some((info, kept)))
}
