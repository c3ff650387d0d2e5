//! What is noted down in a plan about where it comes from.

use std::fmt;
use std::time::Duration;

use planwright_core::{CheckedPlan, Object, Value};

/// Where a plan comes from.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// When it was asked for, as RFC 3339 writes it.
    pub timestamp: &'a str,
    /// How long a run of it is expected to take, where that is known.
    pub estimate: &'a (dyn Fn(&CheckedPlan) -> Option<Duration> + Sync),
}

impl Origin<'_> {
    /// The metadata of a plan that `model` wrote for `query`. What the model said itself stays.
    pub(super) fn metadata(
        &self,
        said: &Value,
        query: &str,
        model: &str,
        plan: &CheckedPlan,
    ) -> Value {
        let estimate = (self.estimate)(plan).map(|estimate| {
            let milliseconds = u64::try_from(estimate.as_millis()).unwrap_or(u64::MAX);
            Value::from(milliseconds)
        });
        let known = [
            ("query", Some(Value::text(query))),
            ("timestamp", Some(Value::text(self.timestamp))),
            ("model", Some(Value::text(model))),
            ("estimated_duration_ms", estimate),
        ];
        let mut fields = said.as_object().cloned().unwrap_or_else(Object::default);
        for (name, value) in known {
            if let Some(value) = value
                && !fields.contains_key(name)
            {
                fields.insert(name.into(), value);
            }
        }
        Value::from(fields)
    }
}

impl fmt::Debug for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}
