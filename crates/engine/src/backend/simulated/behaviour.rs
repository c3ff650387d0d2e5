//! The scripted behaviour of one simulated tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use planwright_core::Value;

use crate::backend::{ToolError, ToolOutput};

/// The scripted behaviour of one simulated tool.
#[derive(Debug, Default)]
pub(super) struct Behaviour {
    /// Special cases: the first whose condition is contained in the arguments replaces this behaviour.
    pub(super) cases: Vec<Case>,
    pub(super) sleep: Duration,
    pub(super) fault: Option<ScriptedFault>,
    /// The number of attempts that fail; all if unset.
    pub(super) times: Option<u64>,
    pub(super) answer: ScriptedOutput,
    pub(super) route: Option<Arc<str>>,
    pub(super) attempts: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) when: Value,
    pub(super) behaviour: Behaviour,
}

/// A scripted failure.
#[derive(Debug)]
pub(super) enum ScriptedFault {
    /// The tool reports an error.
    Fails(Value),
    /// The transport fails.
    Unavailable(String),
}

/// The output of a successful call.
#[derive(Debug, Default)]
pub(super) enum ScriptedOutput {
    #[default]
    Nothing,
    Returns(Value),
    Echo,
    /// A raw MCP `CallToolResult`.
    Result(Value),
    /// The output of another behaviour, after the scripted failures.
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
            // Concurrent calls get distinct numbers, so exactly the scripted number of attempts fails.
            let attempt = behaviour.attempts.fetch_add(1, Ordering::Relaxed);
            if behaviour.times.is_none_or(|times| attempt < times)
                && let Some(fault) = &behaviour.fault
            {
                return Err(fault.as_error());
            }
            let mut output = match &behaviour.answer {
                ScriptedOutput::Nothing => ToolOutput::default(),
                ScriptedOutput::Returns(value) => ToolOutput::value(value.clone()),
                ScriptedOutput::Echo => ToolOutput::value(args.clone()),
                ScriptedOutput::Result(result) => ToolOutput::from_call_result(result)?,
                ScriptedOutput::Then(next) => {
                    behaviour = next;
                    continue;
                }
            };
            output.branch.clone_from(&behaviour.route);
            return Ok(output);
        }
    }
}

impl ScriptedFault {
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

/// Returns true if `value` contains `part`: objects field by field, everything else by equality.
fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(fields), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| fields.get(key).is_some_and(|value| contains(value, wanted))),
        // `1` and `1.0` are the same number to the author of a script.
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => value == part,
    }
}
