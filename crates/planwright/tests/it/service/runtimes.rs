//! Use of the library on runtimes of every kind, and across their threads.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use planwright::service::{Builder, RunBuilder};
use planwright::{CheckedPlan, Error, Functions, Planwright, Run, RunEvent, RunSummary, parse};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::support::functions;

const PLAN: &str = r#"{"steps": [
    {"id": "here", "tool": "weather", "args": {"city": "Oslo"}},
    {"id": "note", "tool": "note", "args": {"to": "Ada", "text": "${here.temp} degrees"}}
], "output": "${note}"}"#;

/// A whole program, as one future.
async fn all() -> Result<String, Error> {
    let planwright = Planwright::builder().functions(functions()).open().await?;
    let plan = planwright.check(parse(PLAN))?;
    let summary = planwright.run(plan).await?;
    Ok(summary.output.to_string())
}

fn check(mut runtime: tokio::runtime::Builder) {
    let runtime = runtime.enable_all().build().unwrap();
    let output = runtime.block_on(async { tokio::spawn(all()).await.unwrap() });
    assert_eq!(output.unwrap(), "\"Ada: 4 degrees\"");
}

#[test]
fn any_runtime_will_do() {
    check(tokio::runtime::Builder::new_current_thread());
    check(tokio::runtime::Builder::new_multi_thread());
}

#[test]
fn a_missing_runtime_is_an_error() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let open = Planwright::builder().functions(functions()).open();
    let planwright = runtime.block_on(open).unwrap();
    let plan = planwright.check(parse(PLAN)).unwrap();
    drop(runtime);
    let error = planwright.start(plan).map(drop).unwrap_err();
    assert!(matches!(error, Error::NoRuntime), "{error}");
}

/// Records the spans of our crates: the name of each, and that of the span around it.
#[derive(Default)]
struct SpanRecorder {
    spans: Mutex<Vec<(&'static str, Option<&'static str>)>>,
    entered: Mutex<Vec<&'static str>>,
}

impl Subscriber for SpanRecorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("planwright")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let parent = self.entered.lock().unwrap().last().copied();
        let mut spans = self.spans.lock().unwrap();
        spans.push((span.metadata().name(), parent));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        let index = usize::try_from(span.into_u64()).unwrap() - 1;
        let (name, _) = self.spans.lock().unwrap()[index];
        self.entered.lock().unwrap().push(name);
    }

    fn exit(&self, _: &Id) {
        self.entered.lock().unwrap().pop();
    }
}

#[test]
fn calls_are_spans_within_that_of_their_run() {
    let recorder = Arc::new(SpanRecorder::default());
    let _guard = tracing::subscriber::set_default(Arc::clone(&recorder));
    check(tokio::runtime::Builder::new_current_thread());
    let spans = recorder.spans.lock().unwrap();
    let call = ("call", Some("run"));
    assert_eq!(*spans, [("run", None), call, call]);
}

#[test]
fn what_programs_hold_crosses_threads() {
    fn is_send<T: Send + 'static>() {}
    fn is_shared<T: Send + Sync + 'static>() {}
    fn sends<T: Send>(_: impl FnOnce() -> T) {}
    fn futures(planwright: &Planwright, plan: CheckedPlan, run: &mut Run) {
        sends(|| planwright.run(plan.clone()).into_future());
        sends(|| planwright.start(plan).map(Run::finish));
        sends(|| planwright.close());
        sends(|| run.next_event());
    }

    is_shared::<Planwright>();
    is_shared::<CheckedPlan>();
    is_shared::<Functions>();
    is_shared::<RunSummary>();
    is_shared::<RunEvent>();
    is_shared::<Error>();
    is_send::<Builder>();
    is_send::<RunBuilder>();
    is_send::<Run>();
    is_send::<Pin<Box<dyn Future<Output = Result<RunSummary, Error>> + Send>>>();
    sends(|| Planwright::builder().open());
    // It is enough that this compiles.
    let _: fn(&Planwright, CheckedPlan, &mut Run) = futures;
}
