//! State of a loop between rounds, and its JSON form.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::RunId;
use serde::{Deserialize, Serialize};

use super::completed_calls::CompletedAgentCall;
use super::memory::{AgentContext, MemoryKind, WorkingMemory};
use super::messages::error_message;
use crate::model::Usage;

/// Version of the JSON form.
const VERSION: &str = "planwright.agent/1";

/// The state of a loop. It can be stored as [JSON](Self::to_json) and continued by another process.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentState {
    pub(super) id: Arc<str>,
    pub(super) tools: Option<Vec<Arc<str>>>,
    pub(super) texts: Vec<Value>,
    pub(super) memory: WorkingMemory,
    pub(super) plan: Vec<SolutionCall>,
    pub(super) errors: Vec<Value>,
    pub(super) completed: Vec<CompletedAgentCall>,
    pub(super) pending: Option<PendingSolution>,
    pub(super) last: Option<Value>,
    pub(super) rounds: u32,
    pub(super) asked: u32,
    pub(super) usage: Usage,
    pub(super) time: Duration,
}

/// A call of the last solution, with its status and result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SolutionCall {
    /// The call as the model wrote it.
    pub call: Value,
    /// The status; `None` before the call has run.
    #[serde(default)]
    pub status: Option<CallStatus>,
    /// For a call without `_outputPath`, a reference to its result, or the result itself.
    #[serde(default)]
    pub result: Option<Value>,
}

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The call has returned its result, in this round or an earlier one.
    Done,
    /// The call has failed.
    Failed,
    /// A value that the call reads is missing.
    Blocked,
    /// The call waits for a person.
    Waiting,
    /// A person refused the call.
    Refused,
    /// The call may or may not have happened.
    Unknown,
    /// The call was cancelled.
    Cancelled,
}

impl CallStatus {
    /// Returns the status as written in the plan message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A solution that is about to run or to be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingSolution {
    pub(super) run: RunId,
    pub(super) calls: Vec<Value>,
    pub(super) output: Value,
    /// True if the solution is shown and waits for acceptance.
    #[serde(default)]
    pub(super) is_shown: bool,
    /// True once the run was passed to the runner.
    #[serde(default)]
    pub(super) is_begun: bool,
}

/// The error of an invalid state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AgentStateError {
    message: String,
}

impl AgentState {
    /// Creates the state of a new loop. Its runs have the ids `1-ID`, `2-ID` and so on.
    pub fn new(id: impl Into<Arc<str>>, context: AgentContext) -> Self {
        Self {
            id: id.into(),
            tools: context.tools,
            texts: context.texts,
            memory: context.memory,
            plan: context
                .plan
                .into_iter()
                .map(SolutionCall::not_run)
                .collect(),
            errors: Vec::new(),
            completed: Vec::new(),
            pending: None,
            last: None,
            rounds: 0,
            asked: 0,
            usage: Usage::default(),
            time: Duration::ZERO,
        }
    }

    /// Returns the id of the loop.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the number of rounds so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Returns the tokens and cost of all replies so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the state shared by all instances, as an object.
    pub fn state(&self) -> Value {
        self.memory.view(None, MemoryKind::State)
    }

    /// Returns the data shared by all instances, as an object.
    pub fn data(&self) -> Value {
        self.memory.view(None, MemoryKind::Data)
    }

    /// Returns the state as seen by an instance.
    pub fn state_of(&self, instance: &str) -> Value {
        self.memory.view(Some(&instance.into()), MemoryKind::State)
    }

    /// Returns the calls of the last solution.
    pub fn plan(&self) -> &[SolutionCall] {
        &self.plan
    }

    /// Adds a message for the next round, such as a reply of the user.
    pub fn say(&mut self, message: Value) {
        self.texts.push(message);
    }

    /// Returns true if a solution was shown and has not run.
    pub fn is_shown(&self) -> bool {
        self.pending
            .as_ref()
            .is_some_and(|pending| pending.is_shown)
    }

    /// Accepts the shown solution, so that it runs when the loop continues.
    pub fn accept(&mut self) {
        if let Some(pending) = &mut self.pending {
            // The loop runs a pending solution that is not shown.
            pending.is_shown = false;
        }
    }

    /// Drops the shown solution and tells the model the reason.
    pub fn refuse(&mut self, reason: &str) {
        if let Some(pending) = self.pending.take() {
            // The calls stay in the plan, so that the model sees what was refused.
            self.plan = pending
                .calls
                .into_iter()
                .map(SolutionCall::refused)
                .collect();
            self.errors = vec![error_message("refused", reason)];
        }
    }

    /// Serializes the state.
    pub fn to_json(&self) -> String {
        // Every part has a JSON form, so this cannot fail.
        serde_json::to_string(&AgentV1::of(self)).unwrap_or_default()
    }

    /// Parses a state from [`to_json`](Self::to_json).
    ///
    /// # Errors
    ///
    /// An error if the text is not a state, or has an unknown version.
    pub fn read(json: &str) -> Result<Self, AgentStateError> {
        let error = |message: String| AgentStateError { message };
        let value: serde_json::Value = serde_json::from_str(json)
            .map_err(|cause| error(format!("it is not JSON: {cause}")))?;
        // The version is checked first, since another version may have other fields.
        match value.get("version").and_then(serde_json::Value::as_str) {
            Some(VERSION) => {}
            Some(other) => return Err(error(format!("the version `{other}` is not known"))),
            None => return Err(error("it has no `version`".to_owned())),
        }
        let serialized: AgentV1 = serde_json::from_str(json)
            .map_err(|cause| error(format!("it cannot be read: {cause}")))?;
        Ok(serialized.into_state())
    }
}

impl SolutionCall {
    pub(super) fn not_run(call: Value) -> Self {
        Self {
            call,
            status: None,
            result: None,
        }
    }

    pub(super) fn new(call: Value, status: CallStatus) -> Self {
        Self {
            status: Some(status),
            ..Self::not_run(call)
        }
    }

    pub(super) fn refused(call: Value) -> Self {
        Self::new(call, CallStatus::Refused)
    }
}

/// The JSON form `planwright.agent/1`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentV1 {
    version: String,
    id: Arc<str>,
    tools: Option<Vec<Arc<str>>>,
    texts: Vec<Value>,
    // Stored states have the names that these fields had at first.
    #[serde(rename = "world")]
    memory: WorkingMemory,
    plan: Vec<SolutionCall>,
    errors: Vec<Value>,
    #[serde(rename = "done")]
    completed: Vec<CompletedAgentCall>,
    pending: Option<PendingSolution>,
    last: Option<Value>,
    rounds: u32,
    asked: u32,
    #[serde(with = "UsageV1")]
    usage: Usage,
    milliseconds: u64,
}

#[derive(Debug, Serialize, Deserialize)]
// A counterpart, so that a new field of `Usage` does not change stored states.
#[serde(remote = "Usage")]
struct UsageV1 {
    requests: u32,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    cost: Option<f64>,
}

impl AgentV1 {
    fn of(state: &AgentState) -> Self {
        Self {
            version: VERSION.to_owned(),
            id: Arc::clone(&state.id),
            tools: state.tools.clone(),
            texts: state.texts.clone(),
            memory: state.memory.clone(),
            plan: state.plan.clone(),
            errors: state.errors.clone(),
            completed: state.completed.clone(),
            pending: state.pending.clone(),
            last: state.last.clone(),
            rounds: state.rounds,
            asked: state.asked,
            usage: state.usage,
            milliseconds: u64::try_from(state.time.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn into_state(self) -> AgentState {
        AgentState {
            id: self.id,
            tools: self.tools,
            texts: self.texts,
            memory: self.memory,
            plan: self.plan,
            errors: self.errors,
            completed: self.completed,
            pending: self.pending,
            last: self.last,
            rounds: self.rounds,
            asked: self.asked,
            usage: self.usage,
            time: Duration::from_millis(self.milliseconds),
        }
    }
}
