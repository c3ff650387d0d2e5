//! Calls as tasks of revision 2025-11-25: the server answers at once with a task, whose result is requested when it has ended.
//!
//! A tool with `execution.taskSupport: "required"` accepts no other calls.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::backend::{RetryAdvice, ToolCall, ToolError};

use super::server::{ServerBackend, call_params};
use crate::object::with;
use crate::session::open_session::Session;

/// The pause between two requests for the status of a task whose server proposes none.
const DEFAULT_PAUSE: Duration = Duration::from_millis(500);

const MIN_PAUSE: Duration = Duration::from_millis(20);

const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Returns the names of the tools in the entries of `tools/list` that are called as tasks only.
pub(super) fn tools_with_tasks(entries: &[Value]) -> HashSet<Arc<str>> {
    let found = entries.iter().filter_map(|entry| {
        let support = entry.get("execution")?.get("taskSupport")?.as_text()?;
        match entry.get("name")? {
            Value::Text(name) if support == "required" => Some(Arc::clone(name)),
            _ => None,
        }
    });
    found.collect()
}

/// Returns true if the server of `session` accepts calls of tools as tasks.
pub(super) fn accepts_tasks(session: &Session) -> bool {
    let tasks = session.server_info.capabilities.get("tasks");
    let calls = tasks.and_then(|tasks| tasks.get("requests")?.get("tools")?.get("call"));
    calls.is_some_and(|calls| !calls.is_null())
}

impl ServerBackend {
    /// Makes `call` as a task, and returns the result of the task when it has ended.
    pub(super) async fn call_as_task(
        &self,
        session: &Session,
        call: &ToolCall,
    ) -> Result<Value, ToolError> {
        let params = with(&call_params(call)?, "task", Value::empty_object());
        let created = self.send(session, call, "tools/call", &params).await?;
        // A server may answer with the result itself.
        let Some(mut task) = created.get("task").cloned() else {
            return self.complete(created);
        };
        let Some(id) = task.get("taskId").filter(|id| id.as_text().is_some()) else {
            return Err(self.unreadable("a task without an id"));
        };
        let params = Value::object([("taskId", id.clone())]);
        let mut cancel = CancelTask {
            session,
            params: &params,
            is_over: false,
        };
        loop {
            match task.get("status").and_then(Value::as_text) {
                // A task that needs input asks for it while its result is requested.
                Some("completed" | "failed" | "cancelled" | "input_required") => break,
                Some("working" | "submitted") => {}
                _ => return Err(self.unreadable("a task without a status")),
            }
            tokio::time::sleep(pause(&task)).await;
            task = self
                .send(session, call, "tasks/get", &params)
                .await
                .map_err(uncertain)?;
        }
        let result = self
            .send(session, call, "tasks/result", &params)
            .await
            .map_err(uncertain)?;
        cancel.is_over = true;
        self.complete(result)
    }

    fn unreadable(&self, what: &str) -> ToolError {
        let server = &self.server.config.name;
        self.server
            .lost_error(format!("the server `{server}` answered with {what}"))
    }
}

/// The pause before the next request for the status of `task`, as its server proposes.
fn pause(task: &Value) -> Duration {
    let proposed = task.get("pollInterval").and_then(Value::as_f64);
    let proposed = proposed.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    proposed
        .unwrap_or(DEFAULT_PAUSE)
        .clamp(MIN_PAUSE, MAX_PAUSE)
}

/// The error of a request about a task: the server has accepted the call, and may have carried it out.
fn uncertain(error: ToolError) -> ToolError {
    ToolError {
        retry: RetryAdvice::Uncertain,
        ..error
    }
}

/// Cancels a task when a caller stops waiting for it.
struct CancelTask<'a> {
    session: &'a Session,
    params: &'a Value,
    is_over: bool,
}

impl Drop for CancelTask<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.session
                .send_without_answer("tasks/cancel", self.params);
        }
    }
}
