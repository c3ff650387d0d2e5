//! Take-over of runs whose process has died or was shut down, by another gateway over the same store.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use planwright::format::RunV1;
use planwright_core::Value;
use planwright_engine::RunId;
use planwright_mcp::UpstreamClient;
use planwright_mcp::gateway::{ClientId, GatewayClient};
use planwright_store::{InterruptedRun, Store};
use tokio::time::Instant;

use crate::host::PlanHost;
use crate::plans::execute::InvalidPlan;
use crate::plans::resume::ResumeChanges;
use crate::runs::lookup::FoundRun;
use crate::runs::tasks::call_without_caller;
use crate::tools::arguments::BadRequest;

/// The interval at which interrupted runs are looked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// The pause before a run is tried again that could not be resumed, for example since a person has to decide about a call.
const REFUSED_PAUSE: Duration = Duration::from_mins(1);

/// The number of runs that are resumed at the same time.
const MAX_AT_ONCE: usize = 8;

impl PlanHost {
    /// Resumes the runs of clients for which `is_client` returns true that no process drives any more, for as long as this is awaited.
    /// Only a store that several machines share has such runs; those of another store are resumed when their clients ask.
    pub async fn take_over(
        self: Arc<Self>,
        is_client: impl Fn(&ClientId) -> bool + Send,
    ) -> Infallible {
        let store = self.settings.store.clone();
        let Some(store) = store.filter(Store::is_shared) else {
            return std::future::pending().await;
        };
        let mut refused: HashMap<RunId, Instant> = HashMap::new();
        loop {
            match store.run_blocking(Store::interrupted_runs).await {
                Ok(found) => {
                    refused.retain(|id, _| found.iter().any(|run| run.id == *id));
                    let now = Instant::now();
                    let found = found.into_iter().filter_map(|run| {
                        let client = client_of(&run)?;
                        let is_due = refused.get(&run.id).is_none_or(|again| *again <= now);
                        (is_due && is_client(&client)).then_some((run, client))
                    });
                    let resumed = futures::stream::iter(found.collect::<Vec<_>>())
                        .map(|(run, client)| {
                            let host = Arc::clone(&self);
                            async move {
                                let result = host.continue_interrupted(&run, client).await;
                                (run.id, result)
                            }
                        })
                        .buffer_unordered(MAX_AT_ONCE);
                    let resumed: Vec<_> = resumed.collect().await;
                    for (run, result) in resumed {
                        match result {
                            Ok(true) => {
                                tracing::info!(%run, "a run of another process was resumed");
                            }
                            // Another process was faster.
                            Ok(false) => {}
                            Err(error) => {
                                tracing::warn!(%run, error = %error.0, "an interrupted run was not resumed");
                                refused.insert(run, Instant::now() + REFUSED_PAUSE);
                            }
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "interrupted runs are not noticed; trying again");
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Resumes an interrupted run. Returns false if it is not interrupted any more, or this gateway ends.
    async fn continue_interrupted(
        &self,
        run: &InterruptedRun,
        client: ClientId,
    ) -> Result<bool, BadRequest> {
        // Held until the run is tracked, so that a gateway that ends meanwhile suspends it.
        let _starting = self.runs.starting();
        if self.is_ending() {
            return Ok(false);
        }
        let client = GatewayClient::new(client);
        let FoundRun::Stored(stored) = self.find(&client, run.id.as_str()).await? else {
            return Ok(false);
        };
        let (info, stored) = *stored;
        if info.holder.is_some() || stored.status().is_some() {
            return Ok(false);
        }
        // The first request of a client starts the servers, and this gateway may have had none yet. A later client may support forms.
        let forms = Value::object([("form", Value::empty_object())]);
        self.upstreams.start_for(&UpstreamClient {
            capabilities: Value::object([("elicitation", forms)]),
            shares_servers: true,
            ..UpstreamClient::default()
        });
        let changes = ResumeChanges {
            cancel: run.is_cancel_requested,
            ..ResumeChanges::default()
        };
        let call = call_without_caller(&client);
        match Box::pin(self.resume_stored(&call, (info, stored), changes)).await {
            Ok(_) => Ok(true),
            Err(invalid) => {
                // Read again: only then it is certain that the run waits for others.
                match self.find(&client, run.id.as_str()).await? {
                    FoundRun::Stored(now) if now.0.holder.is_none() => Err(reason(invalid)),
                    FoundRun::Stored(_) | FoundRun::Local(_) => Ok(false),
                }
            }
        }
    }
}

/// Returns the client of a run. A run of the local user has none: its person resumes it.
fn client_of(run: &InterruptedRun) -> Option<ClientId> {
    let client = RunV1::from_value(&run.header).ok()?.client?;
    Some(ClientId::new(client))
}

fn reason(invalid: InvalidPlan) -> BadRequest {
    match invalid {
        InvalidPlan::Refused(reason) => reason,
        InvalidPlan::Diagnostics(_) => {
            BadRequest("its plan is not sound with the tools here".to_owned())
        }
    }
}
