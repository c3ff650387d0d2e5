//! Runs as tasks (the extension `io.modelcontextprotocol/tasks`), and their outputs as resources.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright::stored::{OpenQuestion, StoredRun, StoredRunError};
use planwright_core::Value;
use planwright_engine::RunId;
use planwright_engine::RunStatus;
use planwright_mcp::gateway::{GatewayClient, HostCall, TaskRequest};
use planwright_mcp::{Caller, UpstreamError};
use planwright_store::{RunInfo, StoreError};

use crate::host::{PlanHost, spawn_blocking_limited};
use crate::plans::approver::stored_question;
use crate::plans::execute::InvalidPlan;
use crate::plans::resume::ResumeChanges;
use crate::response::answer::task;
use crate::response::content::{
    contents_at, contents_of_step, json_contents, output_address, step_address,
};
use crate::runs::lookup::FoundRun;
use crate::runs::registry::{self, RunProgress, TrackedRun, owner};
use crate::tools::arguments::BadRequest;

impl PlanHost {
    /// Answers a request about a task.
    pub(crate) async fn task_request(
        &self,
        client: GatewayClient,
        request: TaskRequest,
    ) -> Result<Value, UpstreamError> {
        let invalid = |error: BadRequest| UpstreamError::new(UpstreamError::INVALID, error.0);
        match request {
            TaskRequest::Get { id } => Box::pin(self.task_state(&client, &id)).await,
            TaskRequest::Update { id, responses } => {
                match self.find(&client, &id).await? {
                    FoundRun::Local(running) => running.questions.answer(&responses),
                    FoundRun::Stored(stored) => {
                        let stored = self.decide_by_answers(&stored, &responses).await;
                        stored.map_err(invalid)?;
                    }
                }
                Ok(Value::empty_object())
            }
            TaskRequest::Cancel { id } => {
                match self.find(&client, &id).await? {
                    FoundRun::Local(running) => running.cancel(),
                    FoundRun::Stored(stored) => {
                        Box::pin(self.cancel_stored(&client, *stored)).await?;
                    }
                }
                Ok(Value::empty_object())
            }
        }
    }

    /// Cancels a task that another process drives, or that an earlier process left behind.
    async fn cancel_stored(
        &self,
        client: &GatewayClient,
        (info, stored): (RunInfo, StoredRun),
    ) -> Result<(), UpstreamError> {
        if stored.status().is_some() {
            return Ok(());
        }
        // Stored first, so that the process that resumes the run cancels it even if this one cannot.
        self.ask_to_cancel(client, &info.id).await?;
        if info.holder.is_some() {
            return Ok(());
        }
        let (id, call) = (info.id.clone(), call_without_caller(client));
        let resumed = self.resume_stored(&call, (info, stored), ResumeChanges::default());
        match Box::pin(resumed).await {
            Ok(running) => {
                running.wait_for_end().await;
                tracing::debug!(run = %id, "a task of an earlier process was cancelled");
            }
            Err(invalid) => {
                let reason = invalid.reason();
                tracing::info!(run = %id, reason = %reason.0, "a task is cancelled once it can be resumed");
            }
        }
        Ok(())
    }

    /// Asks the process that drives a task, or resumes it next, to cancel it.
    async fn ask_to_cancel(&self, client: &GatewayClient, id: &RunId) -> Result<(), UpstreamError> {
        let (Some(store), now) = (self.settings.store.clone(), (self.settings.now)()) else {
            return Ok(());
        };
        let (id, by) = (id.clone(), owner(&client.id));
        let ask = move || match store.request_cancel(id.as_str(), by.clone(), now) {
            Err(StoreError::Idle { .. }) => store.request_cancel_at_resume(id.as_str(), by, now),
            asked => asked.map(drop),
        };
        let failed = |reason: String| UpstreamError::new(UpstreamError::UNAVAILABLE, reason);
        spawn_blocking_limited(ask)
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))
    }

    /// Returns the state of a task. A task of an earlier process is resumed.
    async fn task_state(&self, client: &GatewayClient, id: &str) -> Result<Value, UpstreamError> {
        let invalid = |error: BadRequest| UpstreamError::new(UpstreamError::INVALID, error.0);
        match self.find(client, id).await? {
            FoundRun::Local(running) => Ok(self.tracked_task(client, &running)),
            FoundRun::Stored(stored) => {
                let (info, run) = *stored;
                if run.status() == Some(RunStatus::Cancelled) {
                    return Ok(task(&info.id, "cancelled", info.created, []));
                }
                if run.status().is_some() {
                    let result = self.stored_response(client, &info.id, run).await;
                    let result = result.map_err(invalid)?;
                    let result = self.with_view_token(client, result);
                    return Ok(task(
                        &info.id,
                        "completed",
                        info.created,
                        [("result", result)],
                    ));
                }
                if info.holder.is_some() {
                    return driven_elsewhere(&info, &run);
                }
                let (id, created) = (info.id.clone(), info.created);
                let call = call_without_caller(client);
                let revived = self.resume_stored(&call, (info, run), ResumeChanges::default());
                match revived.await {
                    Ok(running) => Ok(self.tracked_task(client, &running)),
                    Err(invalid) => {
                        let result = self.resume_refusal(&invalid, &id);
                        Ok(task(&id, "completed", created, [("result", result)]))
                    }
                }
            }
        }
    }

    fn tracked_task(&self, client: &GatewayClient, running: &TrackedRun) -> Value {
        let (id, now) = (&running.id, running.began);
        match (running.progress(), running.questions.open()) {
            (RunProgress::Ended(summary), _) if summary.status == RunStatus::Cancelled => {
                task(id, "cancelled", now, [])
            }
            (RunProgress::Ended(summary), _) => {
                self.note_run_answer(client, Some(&running.plan), &summary);
                let result = self.run_response(&summary, Some(&running.plan), Some(running));
                let result = self.with_view_token(client, result);
                task(id, "completed", now, [("result", result)])
            }
            (RunProgress::Suspended, _) => {
                let result = self.interrupted_response(id);
                task(id, "completed", now, [("result", result)])
            }
            (RunProgress::InProgress { .. }, Some(requests)) => {
                task(id, "input_required", now, [("inputRequests", requests)])
            }
            (RunProgress::InProgress { done, of }, None) => {
                let message = Value::from(format!("{done} of {of} steps"));
                task(id, "working", now, [("statusMessage", message)])
            }
        }
    }

    /// Returns the answer about a run that cannot be resumed.
    fn resume_refusal(&self, invalid: &InvalidPlan, id: &RunId) -> Value {
        match invalid {
            InvalidPlan::Diagnostics(_) => self.rejection_response(invalid),
            InvalidPlan::Refused(error) => {
                self.refusal_response(&format!("the run `{id}` cannot be resumed: {}", error.0))
            }
        }
    }

    /// Reads the complete output of a run or of one of its steps.
    pub(crate) async fn read_resource(
        &self,
        client: &GatewayClient,
        address: &str,
    ) -> Option<Result<Value, UpstreamError>> {
        let rest = address.strip_prefix("planwright://runs/")?;
        let (id, _) = rest.split_once('/')?;
        let none = || {
            let message = format!("there is no resource `{address}`");
            UpstreamError::new(RESOURCE_NOT_FOUND, message)
        };
        let Ok(Some(summary)) = self.summary(client, id).await else {
            return Some(Err(none()));
        };
        self.note_unknown_answer(client);
        let id = &summary.run;
        let contents = if address == output_address(id) {
            Some(vec![json_contents(address, &summary.output)])
        } else {
            let mut steps = summary.steps.iter();
            let step = steps.find(|step| step_address(id, &step.at.to_string()) == address);
            match step.filter(|step| step.output.is_some()) {
                Some(step) => Some(contents_of_step(id, step, address)),
                None => contents_at(&summary, address).map(|block| vec![block]),
            }
        };
        let read = contents.map(|contents| Value::object([("contents", Value::from(contents))]));
        Some(read.ok_or_else(none))
    }
}

/// Returns the state of a task that another process drives. What it asks is in the store, so each process can pass it on.
fn driven_elsewhere(info: &RunInfo, run: &StoredRun) -> Result<Value, UpstreamError> {
    let unavailable =
        |error: StoredRunError| UpstreamError::new(UpstreamError::UNAVAILABLE, error.to_string());
    let history = run.history().map_err(unavailable)?;
    let questions = OpenQuestion::of(&info.id, &history);
    if questions.is_empty() {
        return Ok(task(&info.id, "working", info.created, []));
    }
    let requests = questions
        .iter()
        .map(|question| (registry::key(&question.digest()), stored_question(question)));
    let requests = Value::object(requests);
    Ok(task(
        &info.id,
        "input_required",
        info.created,
        [("inputRequests", requests)],
    ))
}

/// The error code of a missing resource, until 2026-07-28; later clients get another one.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Returns a call without a waiting client.
pub(crate) fn call_without_caller(client: &GatewayClient) -> HostCall {
    HostCall {
        name: "resume_plan".to_owned(),
        arguments: Value::empty_object(),
        // No client can fill a form now, so the task asks.
        client: client.clone(),
        caller: Arc::new(DisconnectedCaller),
        progress_token: None,
    }
}

/// A caller without a connected client.
struct DisconnectedCaller;

impl Caller for DisconnectedCaller {
    fn notify(&self, _: &str, _: Value) {}

    fn ask(&self, method: &str, _: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let message = format!("no connected client can answer `{method}`");
        let error = UpstreamError::new(UpstreamError::UNAVAILABLE, message);
        Box::pin(std::future::ready(Err(error)))
    }

    fn meta(&self) -> Value {
        Value::Null
    }
}
