//! The bodies of entries, kind by kind.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::backend::RetryAdvice;
use planwright_engine::run::{Choice, SkipReason};
use planwright_engine::schedule::Timer;
use planwright_engine::{ToolError, ToolOutput};
use serde::{Deserialize, Serialize};

use super::address::AddressV1;
use super::held::{Blob, HeldV1};
use super::words;
use super::woven::Reference;

/// Finds a value that was set apart.
pub(super) type Find<'a> = &'a mut dyn FnMut(Reference) -> Result<Value, String>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenedV1 {
    pub(super) digest: Arc<str>,
    pub(super) header: HeldV1,
}

/// A call that was sent, or that a person was asked about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallV1 {
    pub(super) at: AddressV1,
    pub(super) server: Arc<str>,
    pub(super) tool: Arc<str>,
    /// Missing where a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<u32>,
    pub(super) args: HeldV1,
    /// The digest that consent was bound to, of a call that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) consent: Option<Arc<str>>,
    /// The identity of the server, if a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<Arc<str>>,
    /// The digest of the tool's definition, if a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) definition: Option<Arc<str>>,
    /// The keyed digest of arguments with secrets, if a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seal: Option<Arc<str>>,
    /// Why a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnsweredV1 {
    pub(super) at: AddressV1,
    pub(super) attempt: u32,
    pub(super) result: AnswerV1,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerV1 {
    Output(OutputV1),
    Error(ErrorV1),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputV1 {
    value: HeldV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<HeldV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    content: Vec<HeldV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorV1 {
    kind: Arc<str>,
    message: String,
    data: HeldV1,
    retry: RetryV1,
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
pub(super) struct GivenUpV1 {
    pub(super) at: AddressV1,
    pub(super) attempt: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecidedV1 {
    pub(super) at: AddressV1,
    pub(super) approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changed_args: Option<HeldV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) because: Option<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChosenV1 {
    pub(super) at: AddressV1,
    pub(super) choice: ChoiceV1,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChoiceV1 {
    Retry,
    Skip,
    Set(HeldV1),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimerFiredV1 {
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
pub(super) struct ExtendedV1 {
    pub(super) digest: Arc<str>,
    pub(super) steps: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PausedV1 {
    pub(super) after: u64,
}

/// A body with nothing in it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyV1 {}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettledV1 {
    pub(super) at: AddressV1,
    pub(super) status: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<HeldV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ErrorV1>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) handled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<ReasonV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) started_ns: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReasonV1 {
    because: Arc<str>,
    of: Arc<str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndedV1 {
    pub(super) status: Arc<str>,
}

impl OutputV1 {
    pub(super) fn of(output: &ToolOutput, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        let text = output
            .text
            .as_ref()
            .map(|text| Value::Text(Arc::clone(text)));
        let content = output.content.iter();
        Ok(Self {
            value: HeldV1::hold(&output.value, blobs)?,
            text: text.map(|text| HeldV1::hold(&text, blobs)).transpose()?,
            content: content
                .map(|block| HeldV1::hold(block, blobs))
                .collect::<Result<_, _>>()?,
            branch: output.branch.clone(),
        })
    }

    pub(super) fn read(self, find: Find<'_>) -> Result<ToolOutput, String> {
        let text = match self.text.map(|held| held.whole(find)).transpose()? {
            None => None,
            Some(Value::Text(text)) => Some(text),
            Some(other) => return Err(format!("the text of an output is a {}", other.kind())),
        };
        let content = self.content.into_iter();
        Ok(ToolOutput {
            value: self.value.whole(find)?,
            text,
            content: content
                .map(|held| held.whole(find))
                .collect::<Result<_, _>>()?,
            branch: self.branch,
        })
    }
}

impl ErrorV1 {
    pub(super) fn of(error: &ToolError, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        Ok(Self {
            kind: error.kind.as_str().into(),
            message: error.message.clone(),
            data: HeldV1::hold(&error.data, blobs)?,
            retry: match error.retry {
                RetryAdvice::Never => RetryV1::Never,
                RetryAdvice::Uncertain => RetryV1::Uncertain,
                RetryAdvice::Again => RetryV1::Again,
                RetryAdvice::After(pause) => RetryV1::AfterNs(nanos(pause)),
            },
        })
    }

    pub(super) fn read(self, find: Find<'_>) -> Result<ToolError, String> {
        Ok(ToolError {
            kind: words::error_kind(&self.kind)?,
            message: self.message,
            data: self.data.whole(find)?,
            retry: match self.retry {
                RetryV1::Never => RetryAdvice::Never,
                RetryV1::Uncertain => RetryAdvice::Uncertain,
                RetryV1::Again => RetryAdvice::Again,
                RetryV1::AfterNs(pause) => RetryAdvice::After(Duration::from_nanos(pause)),
            },
        })
    }
}

impl ChoiceV1 {
    pub(super) fn of(choice: &Choice, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        Ok(match choice {
            Choice::Retry => Self::Retry,
            Choice::Skip => Self::Skip,
            Choice::Set(value) => Self::Set(HeldV1::hold(value, blobs)?),
        })
    }

    pub(super) fn read(self, find: Find<'_>) -> Result<Choice, String> {
        Ok(match self {
            Self::Retry => Choice::Retry,
            Self::Skip => Choice::Skip,
            Self::Set(value) => Choice::Set(value.whole(find)?),
        })
    }
}

impl ReasonV1 {
    pub(super) fn of(reason: &SkipReason) -> Result<Self, String> {
        Ok(Self {
            because: words::because_word(reason.because)?.into(),
            of: Arc::clone(&reason.of),
        })
    }

    pub(super) fn read(self) -> Result<SkipReason, String> {
        Ok(SkipReason {
            because: words::because(&self.because)?,
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

/// Whole nanoseconds; what is longer than half a millennium counts as that long.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
