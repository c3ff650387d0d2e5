//! Where a loop stands between two rounds, and how that is written down.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use serde::{Deserialize, Serialize};

use super::context::AgentContext;
use super::done::Done;
use super::world::World;
use crate::model::Usage;

/// The form in which a loop is written down.
const VERSION: &str = "planwright.agent/1";

/// Where a loop stands. It can be kept as [JSON](Self::to_json), and another process can go on with it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentState {
    pub(super) id: Arc<str>,
    pub(super) tools: Option<Vec<Arc<str>>>,
    pub(super) texts: Vec<Value>,
    pub(super) world: World,
    pub(super) plan: Vec<CallRecord>,
    pub(super) errors: Vec<Value>,
    pub(super) done: Vec<Done>,
    pub(super) pending: Option<Pending>,
    pub(super) last: Option<Value>,
    pub(super) rounds: u32,
    pub(super) asked: u32,
    pub(super) usage: Usage,
    pub(super) time: Duration,
}

/// A call of the last solution, and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallRecord {
    /// As the model wrote it.
    pub call: Value,
    /// Where it stands; nothing where it was not run yet.
    #[serde(default)]
    pub status: Option<CallStatus>,
    /// A reference to what it gave where it has no `_outputPath`, or that itself.
    #[serde(default)]
    pub result: Option<Value>,
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallStatus {
    /// It has given its result, in this round or in one before.
    Done,
    /// It has failed.
    Failed,
    /// What it reads is not there.
    Blocked,
    /// It waits for a person.
    Waiting,
    /// A person did not want it.
    Refused,
    /// Nobody knows whether it happened.
    Unknown,
    /// It was given up.
    Cancelled,
}

impl CallStatus {
    /// The status, as the model is told.
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

/// A solution that is about to run, or to be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) run: Arc<str>,
    pub(super) calls: Vec<Value>,
    pub(super) output: Value,
    /// Whether it waits for somebody to want it.
    #[serde(default)]
    pub(super) is_shown: bool,
    /// Whether it was handed to whoever runs it.
    #[serde(default)]
    pub(super) is_begun: bool,
}

/// Why something is not the state of a loop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AgentStateError {
    message: String,
}

impl AgentState {
    /// A loop that begins. Its runs are called `1-ID`, `2-ID` and so on.
    pub fn new(id: impl Into<Arc<str>>, context: AgentContext) -> Self {
        let plan = context.plan.into_iter().map(|call| CallRecord {
            call,
            status: None,
            result: None,
        });
        Self {
            id: id.into(),
            tools: context.tools,
            texts: context.texts,
            world: context.world,
            plan: plan.collect(),
            errors: Vec::new(),
            done: Vec::new(),
            pending: None,
            last: None,
            rounds: 0,
            asked: 0,
            usage: Usage::default(),
            time: Duration::ZERO,
        }
    }

    /// The loop's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// How many rounds have begun.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// What the model's answers cost so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The state that all instances share, as an object.
    pub fn state(&self) -> Value {
        self.world.seen(None, super::world::Word::State)
    }

    /// The data that all instances share, as an object.
    pub fn data(&self) -> Value {
        self.world.seen(None, super::world::Word::Data)
    }

    /// The state that an instance sees.
    pub fn state_of(&self, instance: &str) -> Value {
        self.world
            .seen(Some(&instance.into()), super::world::Word::State)
    }

    /// The calls of the last solution, and where they stand.
    pub fn plan(&self) -> &[CallRecord] {
        &self.plan
    }

    /// Adds a message, such as a person's next words, for the next round.
    pub fn say(&mut self, message: Value) {
        self.texts.push(message);
    }

    /// Whether there is a solution that was shown and not run.
    pub fn is_shown(&self) -> bool {
        self.pending
            .as_ref()
            .is_some_and(|pending| pending.is_shown)
    }

    /// Lets the solution that was shown run when the loop goes on.
    pub fn accept(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.is_shown = false;
        }
    }

    /// Drops the solution that was shown. The model is told `because`.
    pub fn refuse(&mut self, because: &str) {
        if let Some(pending) = self.pending.take() {
            self.plan = pending.calls.into_iter().map(CallRecord::refused).collect();
            self.errors = vec![super::settling::refusal(because)];
        }
    }

    /// The state as JSON, for [`read`](Self::read).
    pub fn to_json(&self) -> String {
        let twin = AgentV1::of(self);
        // Every part of it has a form in JSON.
        serde_json::to_string(&twin).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) gave.
    ///
    /// # Errors
    ///
    /// Where it is none, or of a version that is not known here.
    pub fn read(json: &str) -> Result<Self, AgentStateError> {
        let error = |message: String| AgentStateError { message };
        let value: serde_json::Value = serde_json::from_str(json)
            .map_err(|cause| error(format!("it is not JSON: {cause}")))?;
        match value.get("version").and_then(serde_json::Value::as_str) {
            Some(VERSION) => {}
            Some(other) => return Err(error(format!("the version `{other}` is not known"))),
            None => return Err(error("it has no `version`".to_owned())),
        }
        let twin: AgentV1 = serde_json::from_str(json)
            .map_err(|cause| error(format!("it cannot be read: {cause}")))?;
        Ok(twin.state())
    }
}

impl CallRecord {
    pub(super) fn new(call: Value, status: CallStatus) -> Self {
        Self {
            call,
            status: Some(status),
            result: None,
        }
    }

    pub(super) fn refused(call: Value) -> Self {
        Self::new(call, CallStatus::Refused)
    }
}

/// `planwright.agent/1`
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentV1 {
    version: String,
    id: Arc<str>,
    tools: Option<Vec<Arc<str>>>,
    texts: Vec<Value>,
    world: World,
    plan: Vec<CallRecord>,
    errors: Vec<Value>,
    done: Vec<Done>,
    pending: Option<Pending>,
    last: Option<Value>,
    rounds: u32,
    asked: u32,
    usage: UsageV1,
    milliseconds: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct UsageV1 {
    requests: u32,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    cost: Option<f64>,
}

impl AgentV1 {
    fn of(state: &AgentState) -> Self {
        let usage = state.usage;
        Self {
            version: VERSION.to_owned(),
            id: Arc::clone(&state.id),
            tools: state.tools.clone(),
            texts: state.texts.clone(),
            world: state.world.clone(),
            plan: state.plan.clone(),
            errors: state.errors.clone(),
            done: state.done.clone(),
            pending: state.pending.clone(),
            last: state.last.clone(),
            rounds: state.rounds,
            asked: state.asked,
            usage: UsageV1 {
                requests: usage.requests,
                input_tokens: usage.input_tokens,
                cached_tokens: usage.cached_tokens,
                output_tokens: usage.output_tokens,
                cost: usage.cost,
            },
            milliseconds: u64::try_from(state.time.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn state(self) -> AgentState {
        AgentState {
            id: self.id,
            tools: self.tools,
            texts: self.texts,
            world: self.world,
            plan: self.plan,
            errors: self.errors,
            done: self.done,
            pending: self.pending,
            last: self.last,
            rounds: self.rounds,
            asked: self.asked,
            usage: Usage {
                requests: self.usage.requests,
                input_tokens: self.usage.input_tokens,
                cached_tokens: self.usage.cached_tokens,
                output_tokens: self.usage.output_tokens,
                cost: self.usage.cost,
            },
            time: Duration::from_millis(self.milliseconds),
        }
    }
}
