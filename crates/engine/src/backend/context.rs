//! Facts about a call that its tool may need, beside the arguments.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::StepId;

/// Data of the caller that all calls of one run can read, such as a tenant or a connection. Plans cannot see or change it.
#[derive(Clone, Default)]
pub struct RunData(Option<Arc<dyn Any + Send + Sync>>);

impl RunData {
    /// Wraps a value.
    pub fn new(value: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(value)))
    }

    /// The value, if it has the type `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0
            .as_deref()
            .and_then(<dyn Any + Send + Sync>::downcast_ref)
    }
}

impl fmt::Debug for RunData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value may hold secrets, and need not be printable.
        f.debug_tuple("RunData").field(&self.0.is_some()).finish()
    }
}

/// The context of one attempt at a call: the run, the step, and the caller's data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallContext {
    /// The run's id.
    pub run: Arc<str>,
    /// The calling step.
    pub step: StepId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// A key shared by all attempts at the same call of the same run, and by no other call.
    pub idempotency_key: Arc<str>,
    /// The time after which the attempt is abandoned; `None` if it is not limited.
    pub time_limit: Option<Duration>,
    /// The caller's data of this run.
    pub data: RunData,
}

impl CallContext {
    /// The context of a call outside of any run: the first attempt of `step`, without a time limit.
    pub fn new(step: impl Into<StepId>, idempotency_key: impl Into<Arc<str>>) -> Self {
        Self {
            run: Arc::from(""),
            step: step.into(),
            attempt: 1,
            idempotency_key: idempotency_key.into(),
            time_limit: None,
            data: RunData::default(),
        }
    }
}
