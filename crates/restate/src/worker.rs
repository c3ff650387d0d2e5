//! The worker: a process that has the tools, serves the workflow of runs and the calls of tools to Restate, and writes the store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use planwright::Planwright;
use planwright_store::Store;
use restate_sdk::endpoint::{Endpoint, ServiceOptions};
use restate_sdk::http_server::HttpServer;
use restate_sdk::service::IntoServiceDefinition;
use tokio::net::TcpListener;

use crate::calls::{CallsInFlight, Executions};
use crate::services::{RunService, ToolService, WorkerState};

/// The time after which Restate suspends an execution that makes no progress: practically never. A run that waits for a person stays in
/// memory, since its execution watches the store for the decision; a call may take as long as its own limit allows.
const INACTIVITY_TIMEOUT: Duration = Duration::from_hours(10 * 365 * 24);

/// The longest pause before Restate executes a run or a call again whose worker was lost.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(2);

/// The longest time that a worker that ends waits for its calls in flight.
const MAX_ENDING: Duration = Duration::from_secs(10);

/// A worker, which executes runs and calls of tools on behalf of Restate.
pub struct Worker(Arc<WorkerState>);

impl Worker {
    /// Creates a worker for the tools and rules of `service`. It writes the journals of its runs into `store`, without the texts in `secrets`.
    pub fn new(service: Planwright, store: Store, secrets: Vec<Arc<str>>) -> Self {
        Self(Arc::new(WorkerState {
            backend: Box::new(service.backend()),
            service,
            store,
            secrets,
            calls: CallsInFlight::default(),
            executions: Executions::default(),
        }))
    }

    /// Serves Restate until `shutdown` completes. Then it makes no more calls, and waits for those in flight, ten seconds at most. Restate continues
    /// the runs with the next worker.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let options = || {
            ServiceOptions::new()
                .inactivity_timeout(INACTIVITY_TIMEOUT)
                .abort_timeout(INACTIVITY_TIMEOUT)
                .retry_policy_initial_interval(Duration::from_millis(50))
                .retry_policy_exponentiation_factor(2.0)
                .retry_policy_max_interval(MAX_RETRY_PAUSE)
                // A run ends with an outcome of its own, however long no worker can continue it.
                .retry_policy_max_attempts(u64::from(u32::MAX))
        };
        let executions = self.0.executions.clone();
        let runs = RunService(Arc::clone(&self.0)).into_service_definition();
        let tools = ToolService(self.0).into_service_definition();
        let endpoint = Endpoint::builder()
            .bind(runs.options(options()))
            .bind(tools.options(options()))
            .build();
        let ended = async {
            shutdown.await;
            executions.end(MAX_ENDING).await;
        };
        // The connections would stay open as long as the runs.
        let never = std::future::pending::<()>();
        tokio::select! {
            () = HttpServer::new(endpoint).serve_with_cancel(listener, never) => {}
            () = ended => {}
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("store", &self.0.store)
            .finish_non_exhaustive()
    }
}
