//! A Restate server with a worker over simulated tools, and the same plans on the engine of this process.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use planwright::core::check::Policy;
use planwright::core::{Catalog, Value};
use planwright::engine::backend::Simulated;
use planwright::engine::{
    Backends, RunId, RunOptions, RunSummary, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use planwright::format::ReportV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::service::{Tools, run_time};
use planwright::stored::StoredRun;
use planwright::{CheckedPlan, Planwright};
use planwright_restate::{
    AutomaticDecision, RestateClient, RestateError, RunRequest, RunRequestV1, RunResultV1, Worker,
};
use planwright_store::Store;
use planwright_testkit::restate::RestateServer;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::yield_now;

use crate::plans::PlanText;

/// The time within which a run of a test must end.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The current time: a run of a test begins when it is submitted.
#[expect(clippy::disallowed_methods, reason = "a test submits a run now")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// A Restate server with a worker.
pub(crate) struct Scene {
    pub(crate) restate: RestateServer,
    pub(crate) store: Store,
    pub(crate) options: RunOptions,
    pub(crate) decision: Option<AutomaticDecision>,
    worker: Option<WorkerRuntime>,
    /// The address of the worker.
    address: SocketAddr,
    /// The number of calls that have begun in the worker.
    begun: watch::Sender<usize>,
    script: serde_json::Value,
    _folder: TempDir,
}

impl Scene {
    /// Starts a server and a worker over the simulated tools of `script`.
    pub(crate) async fn new(script: serde_json::Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut scene = Self {
            restate: RestateServer::start().unwrap(),
            store: Store::open(folder.path().join("store.db")).unwrap(),
            options: options(),
            decision: None,
            worker: None,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            begun: watch::Sender::new(0),
            script,
            _folder: folder,
        };
        scene.start_worker().await;
        scene
    }

    /// Starts a worker in this process, and registers it.
    pub(crate) async fn start_worker(&mut self) {
        // A runtime of its own, so that everything of the worker stops with it.
        let runtime = Runtime::new().unwrap();
        // Restate continues a run at the address at which it began.
        let address = self.address;
        let listener = runtime.spawn(async move {
            loop {
                match TcpListener::bind(address).await {
                    // The port is released once the earlier runtime has dropped its tasks.
                    Err(error) if error.kind() == ErrorKind::AddrInUse => yield_now().await,
                    bound => return bound.unwrap(),
                }
            }
        });
        let listener = listener.await.unwrap();
        self.address = listener.local_addr().unwrap();
        let url = format!("http://{}", self.address);
        let begun = self.begun.clone();
        let service = service_with(&self.script, move || begun.send_modify(|begun| *begun += 1));
        let worker = Worker::new(service, self.store.clone(), Vec::new());
        runtime.spawn(worker.serve(listener, std::future::pending()));
        self.worker = Some(WorkerRuntime(Some(runtime)));
        let admin = RestateClient::new(&self.restate.admin()).unwrap();
        admin.register(&url).await.unwrap();
    }

    pub(crate) fn client(&self) -> RestateClient {
        RestateClient::new(&self.restate.ingress()).unwrap()
    }

    /// Stops the worker of this process as if it had crashed: its connections are closed, and its calls are dropped.
    pub(crate) fn stop_worker(&mut self) {
        drop(self.worker.take());
    }

    /// Waits until as many calls with `sleep_ms` are in progress in the worker.
    pub(crate) async fn sent(&self, count: usize) {
        let begun = self.begun.clone();
        let sent = async move {
            let mut begun = begun.subscribe();
            begun.wait_for(|begun| count <= *begun).await.unwrap();
        };
        tokio::time::timeout(TIMEOUT, sent)
            .await
            .expect("nothing is sent");
        self.begun.send_replace(0);
    }

    /// Returns the request of a run of `plan`.
    pub(crate) fn request(&self, plan: &impl PlanText) -> RunRequestV1 {
        self.request_over(&self.script, plan)
    }

    /// Returns the request of a run of `plan` that was checked with other tools than those of the worker.
    pub(crate) fn request_over(
        &self,
        script: &serde_json::Value,
        plan: &impl PlanText,
    ) -> RunRequestV1 {
        let (plan, loaded) = checked(&service(script), plan);
        let request = RunRequest {
            plan: &plan,
            text: loaded.to_stored().unwrap(),
            options: &self.options,
            tools: planwright::format::ToolSourcesV1::default(),
            ingress: &self.restate.ingress(),
            decision: self.decision,
            now: now(),
        };
        request.encode().unwrap()
    }

    /// Returns true if a plan has no errors.
    pub(crate) fn is_sound(&self, plan: &impl PlanText) -> bool {
        let loaded = LoadedPlan::new("plan", plan.read());
        let (checked, _) = service(&self.script).check_loaded(loaded);
        checked.is_some()
    }

    /// Submits a run.
    pub(crate) async fn submit(&self, plan: &impl PlanText) -> RunId {
        let id = RunId::random();
        let request = self.request(plan);
        self.client().submit(&id, &request).await.unwrap();
        id
    }

    /// Waits for the end of a run.
    pub(crate) async fn ended(&self, id: &RunId) -> Result<RunResultV1, RestateError> {
        let client = self.client();
        let attached = tokio::time::timeout(TIMEOUT, client.attach(id));
        attached.await.expect("the run does not end")
    }

    /// Runs a plan, and returns its summary. Its journal is replayed for that, so all decisions are compared.
    pub(crate) async fn run(&self, plan: &impl PlanText) -> RunSummary {
        let id = self.submit(plan).await;
        let result = self.ended(&id).await.unwrap();
        let summary = self.summary(&id);
        assert_eq!(result.status, summary.status.as_str());
        summary
    }

    /// Returns the summary of a stored run, from a replay of its journal.
    pub(crate) fn summary(&self, id: &RunId) -> RunSummary {
        let stored = StoredRun::read(&self.store, id.as_str()).unwrap();
        stored.replayed(id).unwrap().summary
    }

    /// Runs a plan on Restate and on the engine of this process, and compares the reports.
    pub(crate) async fn compare(&self, plan: &impl PlanText) -> serde_json::Value {
        let here = report(&self.run_here(plan, None).await);
        let there = report(&self.run(plan).await);
        assert_eq!(here, there, "{}", plan.read().source);
        there
    }

    /// Compares a run on the engine with `store` as well: its own report, and the one that a replay of its journal gives.
    pub(crate) async fn compare_with(
        &self,
        store: &Store,
        plan: &impl PlanText,
    ) -> serde_json::Value {
        let expected = self.compare(plan).await;
        let id = RunId::random();
        let summary = self.run_here(plan, Some((store, &id))).await;
        let stored = StoredRun::read(store, id.as_str()).unwrap();
        let replayed = stored.replayed(&id).unwrap().summary;
        for summary in [summary, replayed] {
            assert_eq!(report(&summary), expected, "{}", plan.read().source);
        }
        expected
    }

    /// Runs a plan on the engine of this process, with the store of the worker.
    pub(crate) async fn run_here_stored(&self, id: &RunId, plan: &impl PlanText) {
        let service = service(&self.script);
        let (plan, _) = checked(&service, plan);
        let run = service.run(plan).stored_in(&self.store, id.clone());
        run.await.unwrap();
    }

    async fn run_here(&self, plan: &impl PlanText, stored: Option<(&Store, &RunId)>) -> RunSummary {
        let service = service(&self.script);
        let (plan, _) = checked(&service, plan);
        let mut run = service.run(plan).options(self.options.clone());
        if let Some((store, id)) = stored {
            run = run.stored_in(store, id.clone());
        }
        run = match self.decision {
            Some(AutomaticDecision::Approve) => run.approver(planwright::engine::approval::Always(
                planwright::engine::Decision::Approve { args: None },
            )),
            Some(AutomaticDecision::Reject) => run.approver(planwright::engine::approval::Always(
                planwright::engine::Decision::Reject { because: None },
            )),
            None => run,
        };
        run.await.unwrap()
    }
}

/// The runtime of a worker, which is shut down when this is dropped.
struct WorkerRuntime(Option<Runtime>);

impl Drop for WorkerRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn options() -> RunOptions {
    let mut options = RunOptions::default();
    options.evaluation.now = Some(run_time());
    options
}

/// A service over the simulated tools of a script.
pub(crate) fn service(script: &serde_json::Value) -> Planwright {
    service_with(script, || {})
}

/// A service over the simulated tools of a script, which calls `begun` when a call begins.
fn service_with(
    script: &serde_json::Value,
    begun: impl Fn() + Clone + Send + Sync + 'static,
) -> Planwright {
    let script = Value::from(script.clone());
    let simulated = Simulated::from_script(&script).unwrap();
    let catalog: Catalog = simulated.tools().cloned().collect();
    let servers = simulated.servers();
    let simulated = Arc::new(simulated);
    let mut backends = Backends::new();
    for server in servers {
        let observed = Observed(Arc::clone(&simulated), begun.clone());
        backends.add(server, Arc::new(observed));
    }
    Planwright::over(Tools {
        catalog: Arc::new(catalog),
        backend: Arc::new(backends),
        policy: Policy::new(),
    })
}

/// Simulated tools whose calls are counted.
struct Observed<F>(Arc<Simulated>, F);

impl<F: Fn() + Send + Sync + 'static> ToolBackend for Observed<F> {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (self.1)();
        self.0.call(call)
    }
}

fn checked(service: &Planwright, plan: &impl PlanText) -> (CheckedPlan, LoadedPlan) {
    let (checked, loaded) = service.check_loaded(LoadedPlan::new("plan", plan.read()));
    let diagnostics = loaded.diagnostics.to_string();
    (checked.expect(&diagnostics), loaded)
}

/// Returns the report of a run without ids and times.
pub(crate) fn report(summary: &RunSummary) -> serde_json::Value {
    let report = ReportV1::of_run(summary, None, []);
    let mut report = serde_json::to_value(report).unwrap();
    strip(&mut report);
    // Calls that are ready at the same time start in the order in which the results before them have arrived.
    if let Some(calls) = report["calls"].as_array_mut() {
        calls.sort_by_key(ToString::to_string);
    }
    report
}

fn strip(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.retain(|name, _| {
                !name.ends_with("_ms") && !matches!(&**name, "run" | "durations" | "digest")
            });
            fields.values_mut().for_each(strip);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Tools of all kinds.
pub(crate) fn tools() -> serde_json::Value {
    let reads = json!({"readOnlyHint": true});
    json!({"tools": {
        "read": {"annotations": reads, "echo": true},
        "slow": {"annotations": reads, "echo": true, "sleep_ms": 30},
        "slower": {"annotations": reads, "echo": true, "sleep_ms": 3_000},
        "write": {"annotations": {"destructiveHint": false}, "echo": true},
        "pay": {"approval": true, "echo": true},
        "fail": {"annotations": reads, "fails": {"code": "full", "message": "the box is full"}},
        "away": {"annotations": reads, "unavailable": "the server is away"},
        "flaky": {"annotations": reads, "unavailable": "away", "times": 2, "returns": {"ok": true}},
    }})
}
