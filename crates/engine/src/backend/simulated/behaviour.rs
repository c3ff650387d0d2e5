//! How one simulated tool answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use planwright_core::Value;

use crate::backend::{ToolError, ToolOutput};

/// How one simulated tool answers.
#[derive(Debug, Default)]
pub(super) struct Behaviour {
    /// The first whose condition the arguments contain answers in this one's place.
    pub(super) cases: Vec<Case>,
    pub(super) sleep: Duration,
    pub(super) trouble: Option<Trouble>,
    /// How many attempts the trouble lasts; all of them where it does not say.
    pub(super) times: Option<u64>,
    pub(super) answer: Answer,
    pub(super) route: Option<Arc<str>>,
    pub(super) attempts: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) when: Value,
    pub(super) behaviour: Behaviour,
}

/// What goes wrong.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The tool's own error.
    Fails(Value),
    /// A broken transport.
    Unavailable(String),
}

/// What a call that goes well gives.
#[derive(Debug, Default)]
pub(super) enum Answer {
    #[default]
    Nothing,
    Returns(Value),
    Echo,
    /// A raw MCP `CallToolResult`.
    Result(Value),
    /// What another behaviour gives, once the trouble is over.
    Then(Box<Behaviour>),
}

impl Behaviour {
    pub(super) async fn answer(&self, args: &Value) -> Result<ToolOutput, ToolError> {
        let mut behaviour = self;
        loop {
            let case = behaviour
                .cases
                .iter()
                .find(|case| contains(args, &case.when));
            if let Some(case) = case {
                behaviour = &case.behaviour;
                continue;
            }
            if !behaviour.sleep.is_zero() {
                tokio::time::sleep(behaviour.sleep).await;
            }
            let attempt = behaviour.attempts.fetch_add(1, Ordering::Relaxed);
            if behaviour.times.is_none_or(|times| attempt < times)
                && let Some(trouble) = &behaviour.trouble
            {
                return Err(trouble.as_error());
            }
            let mut output = match &behaviour.answer {
                Answer::Nothing => ToolOutput::default(),
                Answer::Returns(value) => ToolOutput::value(value.clone()),
                Answer::Echo => ToolOutput::value(args.clone()),
                Answer::Result(result) => ToolOutput::from_call_result(result)?,
                Answer::Then(next) => {
                    behaviour = next;
                    continue;
                }
            };
            output.branch.clone_from(&behaviour.route);
            return Ok(output);
        }
    }
}

impl Trouble {
    fn as_error(&self) -> ToolError {
        match self {
            Self::Unavailable(message) => ToolError::unavailable(message.clone()),
            Self::Fails(Value::Text(message)) => ToolError::tool(message.to_string(), Value::Null),
            Self::Fails(data) => {
                let message = data
                    .get("message")
                    .and_then(Value::as_text)
                    .unwrap_or("the tool failed without a message");
                ToolError::tool(message, data.clone())
            }
        }
    }
}

/// Whether `value` has everything that `part` has: objects field by field, all else equal.
fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(fields), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| fields.get(key).is_some_and(|value| contains(value, wanted))),
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => value == part,
    }
}
