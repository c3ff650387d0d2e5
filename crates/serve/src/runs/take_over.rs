//! Take-over of runs whose process has died or was shut down, by another gateway over the same store.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use planwright::config::ClientName;
use planwright::format::RunV1;
use planwright::stored::{OpenQuestion, StoredRun, StoredRunError};
use planwright_core::Value;
use planwright_engine::RunId;
use planwright_mcp::UpstreamClient;
use planwright_mcp::gateway::{ClientGroups, ClientId, GatewayClient};
use planwright_store::{InterruptedRun, Store};
use tokio::time::Instant;

use crate::access::identity::name_of;
use crate::host::{PlanHost, spawn_blocking_limited};
use crate::plans::resume::ResumeChanges;
use crate::runs::lookup::FoundRun;
use crate::runs::tasks::call_without_caller;
use crate::tools::arguments::BadRequest;

/// The interval of checks for interrupted runs.
const INTERVAL: Duration = Duration::from_secs(1);

/// The pause before another attempt to resume a run that could not be resumed, for example because a person has to decide about a
/// call.
const REFUSED_PAUSE: Duration = Duration::from_mins(1);

/// The pause before a run that waits for a decision is checked again.
const DECISION_PAUSE: Duration = Duration::from_secs(5);

/// Maximum number of runs that are resumed at the same time.
const MAX_AT_ONCE: usize = 32;

impl PlanHost {
    /// Resumes the runs that no process drives any more of clients for which `groups_of` returns their groups, for as long as this is awaited.
    /// Only a store that several machines share has such runs; those of another store are resumed when their clients ask.
    pub async fn take_over(
        self: Arc<Self>,
        groups_of: impl Fn(&ClientId) -> Option<ClientGroups> + Send + Sync,
    ) -> Infallible {
        let store = self.settings.store.clone();
        let Some(store) = store.filter(Store::is_shared) else {
            return std::future::pending().await;
        };
        // The times before which runs are not checked again.
        let mut later: HashMap<RunId, Instant> = HashMap::new();
        let mut is_away = false;
        loop {
            match store.run_blocking(Store::interrupted_runs).await {
                Ok(found) => {
                    is_away = false;
                    later.retain(|id, _| found.iter().any(|run| run.id == *id));
                    let now = Instant::now();
                    let found = found.into_iter().filter(|run| {
                        run.is_cancel_requested
                            || later.get(&run.id).is_none_or(|again| *again <= now)
                    });
                    let groups_of = &groups_of;
                    let resumed = futures::stream::iter(found.collect::<Vec<_>>())
                        .map(|run| {
                            let host = Arc::clone(&self);
                            async move {
                                let result = host.continue_of_client(&run, groups_of).await;
                                (run.id, result)
                            }
                        })
                        .buffer_unordered(MAX_AT_ONCE);
                    let resumed: Vec<_> = resumed.collect().await;
                    for (run, result) in resumed {
                        let pause = match result {
                            Ok(Continued::Resumed) => {
                                tracing::info!(%run, "a run of another process was resumed");
                                continue;
                            }
                            Ok(Continued::NotInterrupted) => continue,
                            Ok(Continued::WaitsForDecisions) => DECISION_PAUSE,
                            Err(error) => {
                                tracing::warn!(%run, error = %error.0, "an interrupted run was not resumed");
                                REFUSED_PAUSE
                            }
                        };
                        later.insert(run, Instant::now() + pause);
                    }
                }
                // One warning for each outage.
                Err(error) if std::mem::replace(&mut is_away, true) => {
                    tracing::debug!(%error, "interrupted runs are not noticed; trying again");
                }
                Err(error) => {
                    tracing::warn!(%error, "interrupted runs are not noticed; trying again");
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Resumes an interrupted run if `groups_of` knows its client, whose rules depend on its groups.
    async fn continue_of_client(
        &self,
        run: &InterruptedRun,
        groups_of: &(impl Fn(&ClientId) -> Option<ClientGroups> + Sync),
    ) -> Result<Continued, BadRequest> {
        let Some(id) = client_of(run)? else {
            return Ok(Continued::NotInterrupted);
        };
        let Some(groups) = groups_of(&id) else {
            return Ok(Continued::NotInterrupted);
        };
        let mut client = GatewayClient::new(id);
        client.groups = groups.0;
        let continued = self.continue_interrupted(run, &client).await;
        // Its token may have been taken back before the run was tracked. A plan continues if an access token expires meanwhile.
        let has_expiring_token = matches!(name_of(&client.id), Some(ClientName::Subject(_)));
        if !has_expiring_token && groups_of(&client.id).is_none() {
            self.runs.cancel_all(&client.id);
        }
        continued
    }

    /// Resumes an interrupted run, unless only decisions of people can continue it.
    async fn continue_interrupted(
        &self,
        run: &InterruptedRun,
        client: &GatewayClient,
    ) -> Result<Continued, BadRequest> {
        // Dropped once the run is tracked, so that a gateway that ends meanwhile suspends it.
        let _starting = self.runs.register_start();
        if self.is_ending() {
            return Ok(Continued::NotInterrupted);
        }
        let FoundRun::Stored(stored) = self.find(client, run.id.as_str()).await? else {
            return Ok(Continued::NotInterrupted);
        };
        let (info, stored) = *stored;
        if info.holder.is_some() || stored.status().is_some() {
            return Ok(Continued::NotInterrupted);
        }
        let (stored, waits) = self.waits_for_decisions(&info.id, stored).await?;
        if waits && !run.is_cancel_requested {
            return Ok(Continued::WaitsForDecisions);
        }
        // The first request of a client starts the servers, and this gateway may have had none yet. A later client may support forms.
        let forms = Value::object([("form", Value::empty_object())]);
        self.upstreams.start_for(&UpstreamClient {
            capabilities: Value::object([("elicitation", forms)]),
            shares_servers: true,
            ..UpstreamClient::default()
        });
        let changes = ResumeChanges::default();
        let call = call_without_caller(client);
        match Box::pin(self.resume_stored(&call, (info, stored), changes)).await {
            Ok(_) => Ok(Continued::Resumed),
            Err(invalid) => {
                // Read again, because another process may have leased the run meanwhile.
                match self.find(client, run.id.as_str()).await? {
                    FoundRun::Stored(now) if now.0.holder.is_none() => Err(invalid.reason()),
                    FoundRun::Stored(_) | FoundRun::Local(_) => Ok(Continued::NotInterrupted),
                }
            }
        }
    }

    /// Returns a stored run, and true if it cannot continue without a missing decision of a person.
    async fn waits_for_decisions(
        &self,
        run: &RunId,
        stored: StoredRun,
    ) -> Result<(StoredRun, bool), BadRequest> {
        let Some(store) = self.settings.store.clone() else {
            return Ok((stored, false));
        };
        let run = run.clone();
        let read = move || {
            let is_undecided = is_undecided(&store, &run, &stored)?;
            Ok((stored, is_undecided))
        };
        spawn_blocking_limited(read)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(|error: StoredRunError| BadRequest(error.to_string()))
    }
}

/// The outcome of an attempt to resume an interrupted run.
enum Continued {
    /// The run was resumed.
    Resumed,
    /// A run that is not taken over: another process was faster, this gateway ends, or the client belongs to another gateway.
    NotInterrupted,
    /// Only decisions can continue the run. Its client is asked again when it asks for the run.
    WaitsForDecisions,
}

/// Returns the client of a run. A run of the local user has none, because that user resumes it by hand.
fn client_of(run: &InterruptedRun) -> Result<Option<ClientId>, BadRequest> {
    let header = run.header.as_ref();
    let header = header.map_err(|error| BadRequest(error.to_string()))?;
    // Programs that use the store directly write other headers.
    let client = RunV1::from_value(header).ok().and_then(|run| run.client);
    Ok(client.map(ClientId::new))
}

/// Returns true if calls of a run wait for decisions, none of its calls was in flight, and a decision is missing.
fn is_undecided(store: &Store, run: &RunId, stored: &StoredRun) -> Result<bool, StoredRunError> {
    let history = stored.history()?;
    let open = OpenQuestion::of(run, &history);
    if open.is_empty()
        || history
            .steps()
            .any(|(_, past)| past.calls_in_doubt().next().is_some())
    {
        return Ok(false);
    }
    if let Some(consent) = stored.plan_consent()
        && store.is_plan_approved(run, consent)?
    {
        return Ok(false);
    }
    let decided = store.decisions(run.as_str())?;
    Ok(open.iter().any(|question| {
        let digest = question.digest();
        decided.iter().all(|decision| decision.digest != digest)
    }))
}
