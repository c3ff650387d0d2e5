//! The outside world: tools that record what was really done, and check invariants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_engine::backend::{ErrorKind, RetryAdvice, ToolBackend, ToolCall};
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{ToolError, ToolOutput};

use super::chance::Chance;
use super::disk::Disk;

/// The calls with one key.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// The number of calls.
    pub(super) made: u64,
    /// The number of calls that took effect.
    pub(super) done: u64,
    /// The latest stored answer.
    kept: Option<Kept>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// The call succeeded.
    Good,
    /// The call did not happen, or the tool reported an error.
    Failed,
    /// The outcome is unknown.
    Doubtful,
}

/// The outside world. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct World {
    chance: Chance,
    disk: Disk,
    calls: Arc<Mutex<HashMap<String, Calls>>>,
}

impl World {
    pub(super) fn new(chance: Chance, disk: Disk) -> Self {
        Self {
            chance,
            disk,
            calls: Arc::default(),
        }
    }

    /// The output of a successful call, which follows from the arguments alone.
    pub(super) fn answer(args: &Value) -> Value {
        Value::object([("made", args.clone())])
    }

    pub(super) fn calls(&self, address: &str) -> Calls {
        let calls = self.calls.lock().unwrap();
        calls.get(address).cloned().unwrap_or_default()
    }

    /// A person has chosen to retry the call.
    pub(super) fn allow(&self, address: &str) {
        self.of(address, |calls| calls.kept = Some(Kept::Failed));
    }

    /// Records which answers are stored.
    pub(super) fn kept(&self, entries: &[Entry]) {
        for entry in entries {
            if let Record::Answered { at, result, .. } = &entry.record {
                let kept = match result {
                    Ok(_) => Kept::Good,
                    Err(error)
                        if error.retry == RetryAdvice::Uncertain
                            || error.kind == ErrorKind::Timeout =>
                    {
                        Kept::Doubtful
                    }
                    Err(_) => Kept::Failed,
                };
                self.of(&at.to_string(), |calls| calls.kept = Some(kept));
            }
        }
    }

    fn of<R>(&self, address: &str, what: impl FnOnce(&mut Calls) -> R) -> R {
        let mut calls = self.calls.lock().unwrap();
        what(calls.entry(address.to_owned()).or_default())
    }

    /// The invariants of every call that arrives.
    fn arrives(&self, call: &ToolCall, address: &str) -> u64 {
        assert!(
            self.disk.intends(address, call.context.attempt),
            "attempt {} of `{address}` was sent before its intent was kept",
            call.context.attempt
        );
        let args = call.args.as_object().unwrap();
        for (step, _) in args.iter().filter(|(key, _)| key.starts_with('s')) {
            assert!(
                self.disk.settled(step),
                "`{address}` was called before the outcome of `{step}` was kept"
            );
        }
        let repeatable = call.tool.is_repeatable();
        self.of(address, |calls| {
            assert_ne!(
                calls.kept,
                Some(Kept::Good),
                "`{address}` had been completed and was called again"
            );
            let may_be_first = calls.made == 0 || calls.kept == Some(Kept::Failed);
            assert!(
                repeatable || may_be_first,
                "`{address}` may have happened and was called again: {calls:?}"
            );
            calls.made += 1;
            calls.kept = None;
            calls.made
        })
    }
}

impl ToolBackend for World {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let address = call
                .context
                .idempotency_key
                .split_once('/')
                .and_then(|(_, call)| call.rsplit_once(':'))
                .map(|(address, _)| address.to_owned())
                .unwrap();
            let number = self.arrives(&call, &address);
            let mut chance = self.chance.of((&address, number));
            let fate = chance.below(100);
            let takes = Duration::from_millis(chance.below(300));
            let early = chance.happens(50);
            let done = || self.of(&address, |calls| calls.done += 1);
            match fate {
                // A successful answer; the effect happens first, or last.
                0..70 => {
                    if early {
                        done();
                    }
                    tokio::time::sleep(takes).await;
                    if !early {
                        done();
                    }
                    Ok(ToolOutput::value(Self::answer(&call.args)))
                }
                70..78 => {
                    tokio::time::sleep(takes).await;
                    Err(ToolError::tool("no", Value::Null))
                }
                78..86 => {
                    tokio::time::sleep(takes).await;
                    Err(ToolError::unavailable("not there"))
                }
                86..94 => {
                    tokio::time::sleep(takes).await;
                    if early {
                        done();
                    }
                    Err(ToolError::lost("gone"))
                }
                _ => {
                    if early {
                        done();
                    }
                    std::future::pending().await
                }
            }
        })
    }
}
