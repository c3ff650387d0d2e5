//! Whatever runtime the caller has, and across its threads.

use std::pin::Pin;

use planwright::service::{Builder, RunBuilder};
use planwright::{CheckedPlan, Error, Functions, Planwright, Run, RunEvent, RunSummary, parse};

use super::support::functions;

const PLAN: &str = r#"{"steps": [
    {"id": "here", "tool": "weather", "args": {"city": "Oslo"}},
    {"id": "note", "tool": "note", "args": {"to": "Ada", "text": "${here.temp} degrees"}}
], "output": "${note}"}"#;

/// All that a program does, as one future.
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
