//! A run as it happens: each event when it comes, a retry on the way, a step that is skipped.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use planwright::core::plan::RetryPolicy;
use planwright::{Error, Function, Functions, Planwright, RunEvent, ToolError, parse};

const PLAN: &str = r#"{"steps": [
  {"id": "fetch", "tool": "fetch", "args": {}},
  {"id": "warn", "tool": "fetch", "args": {}, "when": "${fetch > 100}"}
]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let calls = Arc::new(AtomicU32::new(0));
    let fetch = move |(): ()| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        async move {
            if call == 0 {
                return Err(ToolError::unavailable("the line is busy"));
            }
            Ok(42)
        }
    };
    let functions = Functions::new().with(Function::new("fetch", fetch).read_only());
    let planwright = Planwright::builder().functions(functions).open().await?;

    let plan = planwright.check(parse(PLAN))?;
    let mut run = planwright
        .run(plan)
        .retry(RetryPolicy {
            attempts: NonZeroU32::MIN.saturating_add(2),
            delay: Duration::from_millis(1),
        })
        .start()?;
    while let Some(stamped) = run.next_event().await {
        match stamped.event {
            RunEvent::AttemptStarted { at, attempt, .. } => println!("{at}: attempt {attempt}"),
            RunEvent::AttemptEnded { at, error, .. } => match error {
                Some(error) => println!("{at}: {error}"),
                None => println!("{at}: answered"),
            },
            RunEvent::StepEnded { at, status, .. } => println!("{at}: {status}"),
            RunEvent::RunEnded { status } => println!("{status}"),
            _ => {}
        }
    }
    let summary = run.await;
    println!("{} calls", summary.calls.len());
    Ok(())
}
