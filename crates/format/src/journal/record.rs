//! Bodies of entries by their kind, with the addresses of steps and the keywords of statuses, failures and reasons.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::flow::{Confidentiality, Integrity, ValueLabels};
use planwright_core::{PlanDigest, ServerName, StepId, Value};
use planwright_engine::backend::RetryAdvice;
use planwright_engine::event::Address;
use planwright_engine::run::{Choice, RunStatus, SkipKind, SkipReason, StepStatus};
use planwright_engine::schedule::Timer;
use planwright_engine::{ErrorKind, ToolError, ToolOutput};
use serde::{Deserialize, Serialize};

use super::blob::{Blob, BlobRef, StoredValueV1};
use crate::time::duration_nanos;

/// Loads a value that is stored as a blob.
pub type BlobLoader<'a> = &'a mut dyn FnMut(BlobRef) -> Result<Value, String>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenedEntryV1 {
    pub(super) digest: PlanDigest,
    pub(super) header: StoredValueV1,
}

/// A call that was sent, or that needs approval.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallEntryV1 {
    pub(super) at: AddressV1,
    pub(super) server: ServerName,
    pub(super) tool: Arc<str>,
    /// `None` if the call needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<u32>,
    pub(super) args: StoredValueV1,
    /// The digest that the consent to a sent call is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) consent: Option<Arc<str>>,
    /// The identity of the server, if the call needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<Arc<str>>,
    /// The digest of the tool's definition, if the call needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) definition: Option<Arc<str>>,
    /// The keyed digest of arguments with secrets, if the call needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seal: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) flow: Option<Arc<str>>,
    /// The reason why the call needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnsweredEntryV1 {
    pub(super) at: AddressV1,
    pub(super) attempt: u32,
    pub(super) result: CallResultV1,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallResultV1 {
    Output(ToolOutputV1),
    Error(ToolErrorV1),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolOutputV1 {
    value: StoredValueV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<StoredValueV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    content: Vec<StoredValueV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Arc<str>>,
    /// True if the server states that the output is untrusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    untrusted: bool,
    /// True if the server states that the output is private.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    private: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolErrorV1 {
    kind: Arc<str>,
    message: String,
    data: StoredValueV1,
    retry: RetryV1,
    /// True if the server states that the error is untrusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    untrusted: bool,
    /// True if the server states that the error is private.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    private: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RetryV1 {
    Never,
    Uncertain,
    Again,
    AfterNs(u64),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AbandonedEntryV1 {
    pub(super) at: AddressV1,
    pub(super) attempt: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecidedEntryV1 {
    pub(super) at: AddressV1,
    pub(super) approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changed_args: Option<StoredValueV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) because: Option<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChosenEntryV1 {
    pub(super) at: AddressV1,
    pub(super) choice: StepChoiceV1,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepChoiceV1 {
    Retry,
    Skip,
    Set(StoredValueV1),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimerFiredEntryV1 {
    pub(super) at: AddressV1,
    pub(super) timer: TimerV1,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TimerV1 {
    Attempt(u32),
    Pause(u32),
    Step,
    Run,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtendedEntryV1 {
    pub(super) digest: PlanDigest,
    pub(super) steps: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PausedEntryV1 {
    pub(super) after: u64,
}

/// An empty body.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyEntryV1 {}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettledEntryV1 {
    pub(super) at: AddressV1,
    pub(super) status: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<StoredValueV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ToolErrorV1>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) handled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<SkipReasonV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) started_ns: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SkipReasonV1 {
    because: Arc<str>,
    of: Arc<str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndedEntryV1 {
    pub(super) status: Arc<str>,
}

impl ToolOutputV1 {
    pub(super) fn encode(output: &ToolOutput, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        let text = output
            .text
            .as_ref()
            .map(|text| Value::Text(Arc::clone(text)));
        let content = output.content.iter();
        Ok(Self {
            value: StoredValueV1::encode(&output.value, blobs)?,
            text: text
                .map(|text| StoredValueV1::encode(&text, blobs))
                .transpose()?,
            content: content
                .map(|block| StoredValueV1::encode(block, blobs))
                .collect::<Result<_, _>>()?,
            branch: output.branch.clone(),
            untrusted: output.labels.integrity == Integrity::Untrusted,
            private: output.labels.confidentiality == Confidentiality::Private,
        })
    }

    pub(super) fn decode(self, load: BlobLoader<'_>) -> Result<ToolOutput, String> {
        let text = match self.text.map(|stored| stored.decode(load)).transpose()? {
            None => None,
            Some(Value::Text(text)) => Some(text),
            Some(other) => return Err(format!("the text of an output is a {}", other.kind())),
        };
        let content = self.content.into_iter();
        Ok(ToolOutput {
            value: self.value.decode(load)?,
            text,
            content: content
                .map(|stored| stored.decode(load))
                .collect::<Result<_, _>>()?,
            branch: self.branch,
            labels: ValueLabels::new(self.untrusted, self.private),
        })
    }
}

impl ToolErrorV1 {
    pub(super) fn encode(error: &ToolError, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        Ok(Self {
            kind: error.kind.as_str().into(),
            message: error.message.clone(),
            data: StoredValueV1::encode(&error.data, blobs)?,
            retry: match error.retry {
                RetryAdvice::Never => RetryV1::Never,
                RetryAdvice::Uncertain => RetryV1::Uncertain,
                RetryAdvice::Again => RetryV1::Again,
                RetryAdvice::After(pause) => RetryV1::AfterNs(duration_nanos(pause)),
            },
            untrusted: error.labels.integrity == Integrity::Untrusted,
            private: error.labels.confidentiality == Confidentiality::Private,
        })
    }

    pub(super) fn decode(self, load: BlobLoader<'_>) -> Result<ToolError, String> {
        Ok(ToolError {
            kind: error_kind(&self.kind)?,
            message: self.message,
            data: self.data.decode(load)?,
            retry: match self.retry {
                RetryV1::Never => RetryAdvice::Never,
                RetryV1::Uncertain => RetryAdvice::Uncertain,
                RetryV1::Again => RetryAdvice::Again,
                RetryV1::AfterNs(pause) => RetryAdvice::After(Duration::from_nanos(pause)),
            },
            labels: ValueLabels::new(self.untrusted, self.private),
        })
    }
}

impl StepChoiceV1 {
    pub(super) fn encode(choice: &Choice, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        Ok(match choice {
            Choice::Retry => Self::Retry,
            Choice::Skip => Self::Skip,
            Choice::Set(value) => Self::Set(StoredValueV1::encode(value, blobs)?),
        })
    }

    pub(super) fn decode(self, load: BlobLoader<'_>) -> Result<Choice, String> {
        Ok(match self {
            Self::Retry => Choice::Retry,
            Self::Skip => Choice::Skip,
            Self::Set(value) => Choice::Set(value.decode(load)?),
        })
    }
}

impl SkipReasonV1 {
    pub(super) fn encode(reason: &SkipReason) -> Result<Self, String> {
        Ok(Self {
            because: because_keyword(reason.because)?.into(),
            of: Arc::clone(&reason.of),
        })
    }

    pub(super) fn decode(self) -> Result<SkipReason, String> {
        Ok(SkipReason {
            because: because(&self.because)?,
            of: self.of,
        })
    }
}

impl From<Timer> for TimerV1 {
    fn from(timer: Timer) -> Self {
        match timer {
            Timer::Attempt(attempt) => Self::Attempt(attempt),
            Timer::Pause(attempt) => Self::Pause(attempt),
            Timer::Step => Self::Step,
            Timer::Run => Self::Run,
        }
    }
}

impl From<TimerV1> for Timer {
    fn from(timer: TimerV1) -> Self {
        match timer {
            TimerV1::Attempt(attempt) => Self::Attempt(attempt),
            TimerV1::Pause(attempt) => Self::Pause(attempt),
            TimerV1::Step => Self::Step,
            TimerV1::Run => Self::Run,
        }
    }
}

/// Parses the status of a run.
pub fn run_status(keyword: &str) -> Result<RunStatus, String> {
    let all = [
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Waiting,
        RunStatus::Cancelled,
    ];
    find(&all, |status| status.as_str(), "status of a run", keyword)
}

/// Parses the status of a step.
pub(super) fn step_status(keyword: &str) -> Result<StepStatus, String> {
    let all = [
        StepStatus::Succeeded,
        StepStatus::Failed,
        StepStatus::Skipped,
        StepStatus::NotRun,
        StepStatus::Cancelled,
        StepStatus::Waiting,
        StepStatus::Unknown,
    ];
    find(&all, |status| status.as_str(), "status of a step", keyword)
}

/// Parses a kind of failure.
fn error_kind(keyword: &str) -> Result<ErrorKind, String> {
    let all = [
        ErrorKind::Tool,
        ErrorKind::Timeout,
        ErrorKind::Unavailable,
        ErrorKind::Arguments,
        ErrorKind::Reference,
        ErrorKind::Approval,
        ErrorKind::Policy,
        ErrorKind::Budget,
        ErrorKind::Internal,
    ];
    find(&all, |kind| kind.as_str(), "kind of failure", keyword)
}

/// The keywords of reasons.
const REASONS: &[(&str, SkipKind)] = &[
    ("step", SkipKind::Step),
    ("branch", SkipKind::Branch),
    ("condition", SkipKind::Condition),
    ("stopped", SkipKind::Stopped),
    ("person", SkipKind::Person),
];

/// Returns the keyword of a reason.
fn because_keyword(because: SkipKind) -> Result<&'static str, String> {
    let known = REASONS.iter().find(|(_, known)| *known == because);
    known
        .map(|(keyword, _)| *keyword)
        .ok_or_else(|| format!("the reason {because:?} has no keyword"))
}

/// Parses a reason.
pub(super) fn because(keyword: &str) -> Result<SkipKind, String> {
    find(REASONS, |(known, _)| known, "reason", keyword).map(|(_, because)| because)
}

/// The maximum nesting of plans, far above what occurs. An address is dropped recursively, so this bounds the stack.
const MAX_NESTED_PLANS: usize = 1024;

/// The positions, the outermost plan first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressV1(Vec<PositionV1>);

/// A step of one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PositionV1 {
    step: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
}

impl AddressV1 {
    /// Encodes an address.
    pub fn encode(address: &Address) -> Self {
        let mut positions = Vec::with_capacity(address.depth() + 1);
        let mut next = Some(address);
        while let Some(at) = next {
            positions.push(PositionV1 {
                step: Arc::clone(at.step.text()),
                instance: at.instance.clone(),
                item: at.item,
                round: at.round,
            });
            next = at.inside.as_deref();
        }
        positions.reverse();
        Self(positions)
    }

    /// Decodes the address.
    ///
    /// # Errors
    ///
    /// A message if it has no positions, or too many.
    pub fn decode(&self) -> Result<Arc<Address>, String> {
        if MAX_NESTED_PLANS < self.0.len() {
            return Err(format!(
                "an address is nested in more than {MAX_NESTED_PLANS} plans"
            ));
        }
        let mut outer = None;
        for position in &self.0 {
            outer = Some(Arc::new(Address {
                inside: outer.take(),
                instance: position.instance.clone(),
                step: StepId::new(Arc::clone(&position.step)),
                item: position.item,
                round: position.round,
            }));
        }
        outer.ok_or_else(|| "an address names no step".to_owned())
    }
}

fn find<T: Copy>(
    all: &[T],
    keyword_of: impl Fn(&T) -> &str,
    what: &str,
    keyword: &str,
) -> Result<T, String> {
    let found = all
        .iter()
        .find(|candidate| keyword_of(candidate) == keyword);
    found
        .copied()
        .ok_or_else(|| format!("unknown {what} `{keyword}`"))
}
