//! The retry policy of calls. [`RETRY_FIELDS`] is the only list of its fields, with their names, defaults and descriptions: plans,
//! flags and digests all use it.

use std::num::NonZeroU32;
use std::time::Duration;

/// The retry policy of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RetryPolicy {
    /// Maximum number of attempts, the first included; 1 by default.
    pub attempts: NonZeroU32,
    /// The delay before the second attempt, 250 ms by default. It doubles with each attempt, up to a minute, with a jitter of up to a fifth.
    pub delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: NonZeroU32::MIN,
            delay: Duration::from_millis(250),
        }
    }
}

/// The fields of a retry policy. The first one is required in a plan's `retry`.
pub const RETRY_FIELDS: &[RetryField] = &[
    RetryField {
        name: "attempts",
        flag: "attempts",
        description: "Maximum number of attempts at a call that can be retried, the first included",
        kind: RetryFieldKind::Count(RetryAccess {
            get: |policy| policy.attempts,
            set: |policy, attempts| policy.attempts = attempts,
        }),
    },
    RetryField {
        name: "delay",
        flag: "retry-delay",
        description: "The pause before the second attempt; it doubles from there, up to a minute, and varies by up to a fifth",
        kind: RetryFieldKind::Time(RetryAccess {
            get: |policy| policy.delay,
            set: |policy, delay| policy.delay = delay,
        }),
    },
];

/// A field of a retry policy.
#[derive(Debug)]
pub struct RetryField {
    /// The name in plans.
    pub name: &'static str,
    /// The name of the flag of `planwright run`.
    pub flag: &'static str,
    /// The meaning, as a sentence without a full stop.
    pub description: &'static str,
    /// The type of the field.
    pub kind: RetryFieldKind,
}

/// The type of a field of a retry policy, with access to the field.
#[derive(Debug)]
pub enum RetryFieldKind {
    /// A count, from 1.
    Count(RetryAccess<NonZeroU32>),
    /// A time.
    Time(RetryAccess<Duration>),
}

/// Access to a field of a retry policy.
#[derive(Debug)]
pub struct RetryAccess<T> {
    /// Reads the field.
    pub get: fn(&RetryPolicy) -> T,
    /// Sets the field.
    pub set: fn(&mut RetryPolicy, T),
}

/// The retry policy of a step: overrides of some fields of the run's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The overriding values; fields that are not stated hold unused defaults.
    policy: RetryPolicy,
    is_stated: [bool; RETRY_FIELDS.len()],
}

impl Retry {
    /// Creates a policy that overrides only the number of attempts.
    pub fn new(attempts: NonZeroU32) -> Self {
        let mut is_stated = [false; RETRY_FIELDS.len()];
        if let Some(first) = is_stated.first_mut() {
            *first = true;
        }
        let policy = RetryPolicy {
            attempts,
            ..RetryPolicy::default()
        };
        Self { policy, is_stated }
    }

    /// Overrides `field` as well; `set` writes its value.
    #[must_use]
    pub fn with(mut self, field: &RetryField, set: impl FnOnce(&mut RetryPolicy)) -> Self {
        let known = RETRY_FIELDS.iter().zip(&mut self.is_stated);
        for (other, is_stated) in known {
            *is_stated |= other.name == field.name;
        }
        set(&mut self.policy);
        self
    }

    /// States the delay before the second attempt.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        match RETRY_FIELDS.iter().find(|field| field.name == "delay") {
            Some(field) => self.with(field, |policy| policy.delay = delay),
            None => self,
        }
    }

    /// Returns the maximum number of attempts.
    pub fn attempts(&self) -> NonZeroU32 {
        self.policy.attempts
    }

    /// Returns all fields in the order of [`RETRY_FIELDS`], each stated one with the policy to read its value from.
    pub fn fields(&self) -> impl Iterator<Item = (&'static RetryField, Option<&RetryPolicy>)> {
        let fields = RETRY_FIELDS.iter().zip(self.is_stated);
        fields.map(|(field, is_stated)| (field, is_stated.then_some(&self.policy)))
    }

    /// Returns the stated fields, each with the policy to read its value from.
    pub fn stated(&self) -> impl Iterator<Item = (&'static RetryField, &RetryPolicy)> {
        self.fields()
            .filter_map(|(field, stated)| Some((field, stated?)))
    }

    /// Returns the policy of the run, overridden by the stated fields.
    pub fn merged_into(&self, run: RetryPolicy) -> RetryPolicy {
        let mut policy = run;
        for (field, stated) in self.stated() {
            match &field.kind {
                RetryFieldKind::Count(access) => (access.set)(&mut policy, (access.get)(stated)),
                RetryFieldKind::Time(access) => (access.set)(&mut policy, (access.get)(stated)),
            }
        }
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_overrides_fields_of_the_run() {
        let run = RetryPolicy {
            attempts: NonZeroU32::MIN,
            delay: Duration::from_secs(7),
        };
        let three = NonZeroU32::new(3).unwrap();
        let retry = Retry::new(three);
        assert_eq!(
            retry.merged_into(run),
            RetryPolicy {
                attempts: three,
                ..run
            }
        );
        let retry = retry.with_delay(Duration::ZERO);
        assert_eq!(retry.merged_into(run).delay, Duration::ZERO);
        let stated: Vec<&str> = retry.stated().map(|(field, _)| field.name).collect();
        assert_eq!(stated, ["attempts", "delay"]);
    }

    #[test]
    fn each_field_reads_back_the_value_that_was_set() {
        for field in RETRY_FIELDS {
            let mut policy = RetryPolicy::default();
            match &field.kind {
                RetryFieldKind::Count(access) => {
                    (access.set)(&mut policy, NonZeroU32::MAX);
                    assert_eq!((access.get)(&policy), NonZeroU32::MAX);
                }
                RetryFieldKind::Time(access) => {
                    (access.set)(&mut policy, Duration::MAX);
                    assert_eq!((access.get)(&policy), Duration::MAX);
                }
            }
        }
    }
}
