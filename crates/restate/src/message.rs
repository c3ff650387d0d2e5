//! Messages about single calls and decisions. Values are texts of JSON within the messages, since they may be nested deeper than readers of JSON allow.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright::format::journal::{
    Digest, decode_record, encode_record, parse_value, resolve, value_json,
};
use planwright_core::{Catalog, StepId, Value};
use planwright_engine::backend::{CallClock, CallContext, RunData};
use planwright_engine::event::Address;
use planwright_engine::journal::Record;
use planwright_engine::{Decision, ErrorKind, RunId, ToolCall, ToolError, ToolOutput};
use serde::{Deserialize, Serialize};

/// The request of one attempt at a call.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallRequestV1 {
    pub(crate) key: CallKey,
    pub(crate) step: StepId,
    /// True if a second call would do no harm.
    pub(crate) may_be_repeated: bool,
    attempt: u32,
    idempotency_key: Arc<str>,
    server: String,
    tool: String,
    /// The digest of the definition that the plan was checked with.
    definition: String,
    args: String,
    limit_ns: Option<u64>,
}

/// The identity of an attempt among all runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub(crate) struct CallKey {
    pub(crate) run: RunId,
    pub(crate) task: u32,
    pub(crate) attempt: u32,
}

impl CallRequestV1 {
    pub(crate) fn new(key: CallKey, call: &ToolCall) -> Result<Self, String> {
        let context = &call.context;
        Ok(Self {
            key,
            step: context.step.clone(),
            may_be_repeated: call.tool.is_repeatable(),
            attempt: context.attempt,
            idempotency_key: context.idempotency_key(),
            server: call.tool.server.to_string(),
            tool: call.tool.name.to_string(),
            definition: call.tool.definition_digest(),
            args: value_json(&call.args)?,
            limit_ns: context
                .time_limit
                .map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)),
        })
    }

    /// Returns the call of the same tool among `catalog`.
    pub(crate) fn decode(&self, catalog: &Catalog) -> Result<ToolCall, ToolError> {
        let (server, tool) = (&self.server, &self.tool);
        let found = catalog.get(server, tool);
        let tool = found.ok_or_else(|| {
            // Another worker may have it.
            ToolError::unavailable(format!("the worker has no tool `{server}.{tool}`"))
        })?;
        if tool.definition_digest() != self.definition {
            let message = format!(
                "the plan was checked with another tool `{server}.{}`",
                self.tool
            );
            return Err(ToolError::new(ErrorKind::Policy, message));
        }
        let args = parse_value(&self.args).map_err(|error| {
            ToolError::new(
                ErrorKind::Internal,
                format!("the arguments cannot be read: {error}"),
            )
        })?;
        let mut context = CallContext::new(self.step.clone(), Arc::clone(&self.idempotency_key));
        context.run = Some(self.key.run.clone());
        context.attempt = self.attempt;
        context.time_limit = self.limit_ns.map(Duration::from_nanos);
        context.data = RunData::default();
        Ok(ToolCall {
            tool: Arc::clone(tool),
            args,
            context,
            clock: CallClock::default(),
        })
    }
}

/// The end of one attempt at a call, with its time.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallReplyV1 {
    /// The time since 1970.
    pub(crate) at_ns: u64,
    outcome: OutcomeV1,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum OutcomeV1 {
    /// The answer, in the format of journals.
    Answered {
        body: String,
        blobs: Vec<String>,
    },
    TimedOut {},
    Aborted {},
}

/// The end of one attempt at a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServiceOutcome {
    Answered(Result<ToolOutput, ToolError>),
    /// The attempt exceeded its time limit.
    TimedOut,
    /// The run has aborted it.
    Aborted,
}

/// The kind of answers in the format of journals.
const ANSWERED: &str = "answered";

impl CallReplyV1 {
    pub(crate) fn new(at: Duration, step: &StepId, outcome: ServiceOutcome) -> Self {
        let outcome = match outcome {
            ServiceOutcome::Answered(result) => encode_answer(step, result),
            ServiceOutcome::TimedOut => OutcomeV1::TimedOut {},
            ServiceOutcome::Aborted => OutcomeV1::Aborted {},
        };
        Self {
            at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            outcome,
        }
    }

    pub(crate) fn decode(self) -> ServiceOutcome {
        match self.outcome {
            OutcomeV1::Answered { body, blobs } => {
                ServiceOutcome::Answered(decode_answer(&body, blobs).unwrap_or_else(|error| {
                    // The call has happened, and its answer is lost.
                    Err(ToolError::lost(format!(
                        "the answer cannot be read: {error}"
                    )))
                }))
            }
            OutcomeV1::TimedOut {} => ServiceOutcome::TimedOut,
            OutcomeV1::Aborted {} => ServiceOutcome::Aborted,
        }
    }
}

fn encode_answer(step: &StepId, result: Result<ToolOutput, ToolError>) -> OutcomeV1 {
    let at = Arc::new(Address::of_step(step.clone()));
    let answered = |result| Record::Answered {
        at: Arc::clone(&at),
        attempt: 1,
        result,
    };
    let mut blobs = Vec::new();
    let encoded = encode_record(&answered(result), &mut blobs).or_else(|error| {
        blobs.clear();
        let lost = ToolError::lost(format!("the answer cannot be stored: {error}"));
        encode_record(&answered(Err(lost)), &mut blobs)
    });
    OutcomeV1::Answered {
        body: encoded.map_or_else(|error| error, |(_, body)| body),
        blobs: blobs.into_iter().map(|blob| blob.json).collect(),
    }
}

fn decode_answer(body: &str, blobs: Vec<String>) -> Result<Result<ToolOutput, ToolError>, String> {
    let blobs: HashMap<Digest, String> = blobs
        .into_iter()
        .map(|json| (Digest::of(&json), json))
        .collect();
    let mut values = HashMap::new();
    let record = decode_record(ANSWERED, body, &mut |reference| {
        resolve(reference, &mut values, &mut |digest: &Digest| {
            let json = blobs.get(digest);
            parse_value(json.ok_or_else(|| format!("the value `{digest}` is missing"))?)
        })
    })?;
    match record {
        Record::Answered { result, .. } => Ok(result),
        other => Err(format!("it is another record: {other:?}")),
    }
}

/// A decision about a call, with its time.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionV1 {
    /// The time since 1970.
    pub(crate) at_ns: u64,
    approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

impl DecisionV1 {
    /// Returns the message; `None` if nothing is decided.
    pub(crate) fn new(at: Duration, decision: Decision) -> Result<Option<Self>, String> {
        let (approved, args, because) = match decision {
            Decision::Approve { args } => (true, args, None),
            Decision::Reject { because } => (false, None, because),
            Decision::Later => return Ok(None),
        };
        Ok(Some(Self {
            at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            approved,
            args: args.as_ref().map(value_json).transpose()?,
            because,
        }))
    }

    pub(crate) fn decode(self) -> Result<Decision, String> {
        if !self.approved {
            return Ok(Decision::Reject {
                because: self.because,
            });
        }
        let args: Option<Value> = self.args.as_deref().map(parse_value).transpose()?;
        Ok(Decision::Approve { args })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(result: Result<ToolOutput, ToolError>) {
        let step = StepId::new("step");
        let reply = CallReplyV1::new(
            Duration::from_nanos(7),
            &step,
            ServiceOutcome::Answered(result.clone()),
        );
        let json = serde_json::to_string(&reply).unwrap();
        let read: CallReplyV1 = serde_json::from_str(&json).unwrap();
        assert_eq!(read.at_ns, 7);
        assert_eq!(read.decode(), ServiceOutcome::Answered(result));
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(Value::Null, |inner, _| Value::list([inner]))
    }

    #[test]
    fn answers_come_back_as_they_were() {
        check(Ok(ToolOutput::value(Value::from("short"))));
        check(Ok(ToolOutput::value(Value::from("long ".repeat(5000)))));
        check(Ok(ToolOutput::value(nested(400))));
        check(Ok(ToolOutput {
            branch: Some("state.wet".into()),
            content: vec![Value::from("block")],
            ..ToolOutput::text("{\"a\": 1.50}")
        }));
        check(Err(ToolError::lost("gone").with_data(Value::from("data"))));
        check(Err(ToolError::unavailable("away")));
    }

    #[test]
    fn decisions_come_back_as_they_were() {
        for decision in [
            Decision::Approve { args: None },
            Decision::Approve {
                args: Some(nested(300)),
            },
            Decision::Reject {
                because: Some("no".to_owned()),
            },
        ] {
            let message = DecisionV1::new(Duration::ZERO, decision.clone())
                .unwrap()
                .unwrap();
            assert_eq!(message.decode().unwrap(), decision);
        }
        assert!(
            DecisionV1::new(Duration::ZERO, Decision::Later)
                .unwrap()
                .is_none()
        );
    }
}
