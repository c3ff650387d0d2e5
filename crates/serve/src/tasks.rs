//! Runs as tasks (the extension `io.modelcontextprotocol/tasks`), and their outputs as resources.

use std::sync::Arc;
use std::time::SystemTime;

use futures::future::BoxFuture;
use planwright_core::{Object, Value};
use planwright_engine::RunStatus;
use planwright_mcp::gateway::{Client, HostCall, TaskRequest};
use planwright_mcp::{Caller, UpstreamError};
use planwright_store::RunInfo;

use super::answer::{output_address, step_address};
use super::attached::{contents_at, contents_of_step, json_contents};
use super::execute::Unsound;
use super::host::PlanHost;
use super::keep::Known;
use super::request::BadRequest;
use super::resume::Wishes;
use super::running::{Running, Stand};
use planwright::format::timestamp;
use planwright::stored::StoredRun;

/// The interval at which a client should poll a task, in milliseconds.
const POLL: u64 = 500;

impl PlanHost {
    /// Answers a request about a task.
    pub(super) async fn task_request(
        &self,
        client: Client,
        request: TaskRequest,
    ) -> Result<Value, UpstreamError> {
        let invalid = |error: BadRequest| UpstreamError::new(UpstreamError::INVALID, error.0);
        match request {
            TaskRequest::Get { id } => self.task_state(&client, &id).await,
            TaskRequest::Update { id, responses } => {
                match self.find(&client, &id).await.map_err(invalid)? {
                    Known::Here(running) => running.board.answer(&responses),
                    Known::Kept(kept) => {
                        let stored = self.decide_by_answers(&kept, &responses).await;
                        stored.map_err(invalid)?;
                    }
                }
                Ok(Value::empty_object())
            }
            TaskRequest::Cancel { id } => {
                match self.find(&client, &id).await.map_err(invalid)? {
                    Known::Here(running) => running.cancel(),
                    Known::Kept(kept) => self.cancel_kept(&client, *kept).await?,
                }
                Ok(Value::empty_object())
            }
        }
    }

    /// Cancels a task that was left when an earlier process ended: it must not go on when its client asks how it stands.
    async fn cancel_kept(
        &self,
        client: &Client,
        (info, kept): (RunInfo, StoredRun),
    ) -> Result<(), UpstreamError> {
        if kept.status().is_some() || info.holder.is_some() {
            return Ok(());
        }
        let id = info.id.clone();
        let wishes = Wishes {
            cancel: true,
            ..Wishes::default()
        };
        let ended = match self.revive(&silent(client), (info, kept), wishes).await {
            Ok(running) => running.ended().await,
            Err(Unsound::Refused(error)) => {
                return Err(UpstreamError::new(UpstreamError::UNAVAILABLE, error.0));
            }
            // A run whose plan is not sound any more never goes on.
            Err(Unsound::Findings(_)) => return Ok(()),
        };
        tracing::debug!(
            run = id,
            ?ended,
            "a task of an earlier process was cancelled"
        );
        Ok(())
    }

    /// Returns the state of a task. A task of an earlier process is resumed.
    async fn task_state(&self, client: &Client, id: &str) -> Result<Value, UpstreamError> {
        let invalid = |error: BadRequest| UpstreamError::new(UpstreamError::INVALID, error.0);
        match self.find(client, id).await.map_err(invalid)? {
            Known::Here(running) => Ok(self.detailed(&running)),
            Known::Kept(kept) => {
                let (info, run) = *kept;
                if run.status() == Some(RunStatus::Cancelled) {
                    return Ok(task(id, "cancelled", info.created, []));
                }
                if run.status().is_some() {
                    let plan = run.latest_plan().ok();
                    let summary = self.replayed(&info.id, run).await.map_err(invalid)?;
                    let result = self.came_to(&summary, plan.as_ref(), &[]);
                    return Ok(task(id, "completed", info.created, [("result", result)]));
                }
                if info.holder.is_some() {
                    return Ok(task(id, "working", info.created, []));
                }
                let created = info.created;
                let call = silent(client);
                let revived = self.revive(&call, (info, run), Wishes::default());
                match revived.await {
                    Ok(running) => Ok(self.detailed(&running)),
                    Err(unsound) => {
                        let result = self.cannot_go_on(&unsound, id);
                        Ok(task(id, "completed", created, [("result", result)]))
                    }
                }
            }
        }
    }

    fn detailed(&self, running: &Running) -> Value {
        let (id, now) = (&*running.id, running.began);
        match (running.stand(), running.board.open()) {
            (Stand::Ended(summary), _) if summary.status == RunStatus::Cancelled => {
                task(id, "cancelled", now, [])
            }
            (Stand::Ended(summary), _) => {
                let result = self.came_to(&summary, Some(&running.plan), &running.rerun);
                task(id, "completed", now, [("result", result)])
            }
            (Stand::Suspended, _) => {
                let result = self.interrupted(id);
                task(id, "completed", now, [("result", result)])
            }
            (Stand::Going { .. }, Some(requests)) => {
                task(id, "input_required", now, [("inputRequests", requests)])
            }
            (Stand::Going { done, of }, None) => {
                let message = Value::from(format!("{done} of {of} steps"));
                task(id, "working", now, [("statusMessage", message)])
            }
        }
    }

    /// Returns the answer about a run that cannot be resumed.
    fn cannot_go_on(&self, unsound: &Unsound, id: &str) -> Value {
        match unsound {
            Unsound::Findings(_) => self.rejected(unsound),
            Unsound::Refused(error) => {
                self.refused(&format!("the run `{id}` cannot go on: {}", error.0))
            }
        }
    }

    /// Reads a run's output, or that of one of its steps, whole.
    pub(super) async fn read_resource(
        &self,
        client: &Client,
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

/// Returns the handle that a client gets in place of a result that takes long.
pub(super) fn task_handle(running: &Running) -> Value {
    let mut fields = state(&running.id, "working", running.began);
    fields.insert("resultType".into(), Value::from("task"));
    Value::from(fields)
}

/// The error code of a missing resource, until 2026-07-28; later clients get another one.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// A task with what its status brings.
fn task<'a>(
    id: &str,
    status: &'a str,
    time: SystemTime,
    more: impl IntoIterator<Item = (&'a str, Value)>,
) -> Value {
    let mut fields = state(id, status, time);
    for (name, value) in more {
        fields.insert(name.into(), value);
    }
    Value::from(fields)
}

fn state(id: &str, status: &str, time: SystemTime) -> Object {
    let time = timestamp(time);
    let fields = [
        ("taskId", Value::from(id)),
        ("status", Value::from(status)),
        ("createdAt", Value::from(time.as_str())),
        ("lastUpdatedAt", Value::from(time.as_str())),
        ("ttlMs", Value::Null),
        ("pollIntervalMs", Value::from(POLL)),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (Arc::from(name), value))
        .collect()
}

/// Returns a call without a waiting client.
fn silent(client: &Client) -> HostCall {
    HostCall {
        name: "resume_plan".to_owned(),
        arguments: Value::empty_object(),
        // No client can fill a form now, so the task asks.
        client: client.clone(),
        caller: Arc::new(Silent),
        progress_token: None,
    }
}

/// A client that is not on the line.
struct Silent;

impl Caller for Silent {
    fn notify(&self, _: &str, _: Value) {}

    fn ask(&self, method: &str, _: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let message = format!("nobody is there to be asked `{method}`");
        let error = UpstreamError::new(UpstreamError::UNAVAILABLE, message);
        Box::pin(std::future::ready(Err(error)))
    }

    fn meta(&self) -> Value {
        Value::Null
    }
}
