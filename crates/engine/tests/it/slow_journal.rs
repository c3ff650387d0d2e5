//! Calls that wait for a slow journal: a call begins when it is sent, not when it is decided.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::plan::Node;
use planwright_core::{Place, Plan, Step, Value};
use planwright_engine::backend::{Backends, ErrorKind, Function, Functions, ToolOutput};
use planwright_engine::journal::{Entry, Journal};
use planwright_engine::{Engine, JournalError, RunOptions, RunSummary, SpawnRequest};

use crate::drive::sound;

/// A journal that takes its time.
pub(crate) struct Slow(pub(crate) Duration);

impl Journal for Slow {
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        let takes = self.0;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok(())
        })
    }
}

/// Runs three steps with a tool that takes this long and has a limit of one second.
async fn run(keeping: Duration, call: Duration) -> (RunSummary, Engine) {
    let tool = Function::raw("t", move |_: Value| async move {
        tokio::time::sleep(call).await;
        Ok(ToolOutput::default())
    });
    let args = Node::literal(Value::empty_object(), Place::NOWHERE);
    let plan = Plan {
        steps: ["a", "b", "c"]
            .map(|id| Step::call(id, "t", args.clone()))
            .into(),
        ..Plan::default()
    };
    let mut options = RunOptions {
        attempt_timeout: Some(Duration::from_secs(1)),
        ..RunOptions::default()
    };
    options.limits.total = std::num::NonZeroUsize::MIN;
    let engine = Engine::new(Backends::new().with("s", Functions::named("s").with(tool)))
        .with_options(options);
    let start =
        SpawnRequest::new("r", sound(plan)).with_journal(Arc::new(Slow(keeping)), Value::Null);
    let (handle, _events) = engine.spawn(start);
    (handle.await, engine)
}

async fn check(keeping: Duration, call: Duration, expected: Option<ErrorKind>) {
    let (summary, engine) = run(keeping, call).await;
    for step in &summary.steps {
        let kind = step.error.as_ref().map(|error| error.kind);
        assert_eq!(kind, expected, "{}", step.at);
    }
    assert_eq!(engine.durations(), summary.durations);
    match summary.durations.of("s", "t") {
        Some(learned) => {
            assert_eq!((learned.calls, expected), (3, None));
            let off = learned.mean.abs_diff(call);
            assert!(off < Duration::from_millis(10), "{learned:?}");
        }
        None => assert!(expected.is_some()),
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_journal_takes_is_no_time_of_the_call() {
    let (quick, slow) = (Duration::from_millis(100), Duration::from_secs(10));
    check(slow, quick, None).await;
    check(quick, slow, Some(ErrorKind::Timeout)).await;
    check(slow, slow, Some(ErrorKind::Timeout)).await;
}
