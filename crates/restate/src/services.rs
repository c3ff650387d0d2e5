//! The services of a worker: the workflow of a run, and the calls of tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright::Planwright;
use planwright_engine::{RunStatus, ToolBackend, ToolError};
use planwright_store::Store;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use crate::calls::{CallsInFlight, Executions, unix_time};
use crate::driver;
use crate::message::{CallReplyV1, CallRequestV1, ServiceOutcome};
use crate::request::RunRequestV1;

/// The name of the workflow. Its key is the id of the run.
pub(crate) const RUNS: &str = "PlanwrightRun";

/// The name of the service that calls tools, and its handler.
pub(crate) const TOOLS: (&str, &str) = ("PlanwrightTools", "call");

/// The state that the services of a worker share.
pub(crate) struct WorkerState {
    pub(crate) service: Planwright,
    pub(crate) backend: Box<dyn ToolBackend>,
    pub(crate) store: Store,
    /// The texts that no journal may contain.
    pub(crate) secrets: Vec<Arc<str>>,
    pub(crate) calls: CallsInFlight,
    pub(crate) executions: Executions,
}

impl WorkerState {
    /// Executes one attempt at a call, unless it may have happened in an earlier execution and must not be repeated.
    pub(crate) fn call(
        self: Arc<Self>,
        request: CallRequestV1,
        may_call: bool,
    ) -> BoxFuture<'static, CallReplyV1> {
        Box::pin(async move {
            let outcome = match request.decode(self.service.catalog()) {
                Err(error) => ServiceOutcome::Answered(Err(error)),
                Ok(_) if !may_call => ServiceOutcome::Answered(Err(ToolError::lost(
                    "the worker was lost during the call",
                ))),
                Ok(call) => {
                    let key = request.key.clone();
                    self.calls.execute(&*self.backend, key, call).await
                }
            };
            CallReplyV1::new(unix_time(), &request.step, outcome)
        })
    }
}

/// The mark of this execution that it is about to make a call. It is set by an action of Restate, which stores that the action was executed before it
/// completes, and never executes it again. So of all executions at most one finds its mark set, and makes the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntentMark(Arc<AtomicBool>);

impl IntentMark {
    /// The action that sets the mark.
    pub(crate) fn action(&self) -> BoxFuture<'static, HandlerResult<()>> {
        let mark = self.clone();
        Box::pin(async move {
            mark.0.store(true, Ordering::Relaxed);
            Ok(())
        })
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The result of a run, as its workflow returns it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunResultV1 {
    /// The status.
    pub status: String,
    /// The duration in nanoseconds.
    pub duration_ns: u64,
}

impl RunResultV1 {
    pub(crate) fn new(status: RunStatus, duration: Duration) -> Self {
        Self {
            status: status.as_str().to_owned(),
            duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// The workflow of a run.
pub(crate) struct RunService(pub(crate) Arc<WorkerState>);

#[restate_sdk::workflow(name = "PlanwrightRun", client_visibility = "pub(crate)")]
impl RunService {
    /// Runs the plan to its end.
    #[handler]
    async fn run(
        &self,
        ctx: WorkflowContext<'_>,
        request: Json<RunRequestV1>,
    ) -> HandlerResult<Json<RunResultV1>> {
        let worker = Arc::clone(&self.0);
        driver::run(worker, &ctx, request.into_inner())
            .await
            .map(Json)
    }
}

/// The calls of tools.
pub(crate) struct ToolService(pub(crate) Arc<WorkerState>);

#[restate_sdk::service(
    name = "PlanwrightTools",
    ingress_private,
    client_visibility = "pub(crate)"
)]
impl ToolService {
    /// Makes one attempt at a call.
    #[handler]
    async fn call(
        &self,
        ctx: Context<'_>,
        request: Json<CallRequestV1>,
    ) -> HandlerResult<Json<CallReplyV1>> {
        let request = request.into_inner();
        let _execution = self.0.executions.begin().await;
        let intent = IntentMark::default();
        if !request.may_be_repeated {
            let action = intent.action();
            ctx.run(move || action).name("intent").await?;
        }
        let may_call = request.may_be_repeated || intent.is_set();
        // The reply is journaled before it is returned: a worker that died between the two would return another one, with another time or
        // without the answer, and Restate refuses that for ever.
        let reply = Arc::clone(&self.0).call(request, may_call);
        let reply = async move { Ok(Json(reply.await)) };
        Ok(ctx.run(move || reply).name("reply").await?)
    }
}
