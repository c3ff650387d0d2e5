//! A run that is kept on disk, fails in the middle, and goes on later with what it has done already.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use planwright::engine::History;
use planwright::engine::backend::ToolOutput;
use planwright::engine::journal::Entry;
use planwright::store::{Holder, NewRun, Store};
use planwright::{Function, Functions, Planwright, RunSummary, ToolError, Value, parse};

const PLAN: &str = r#"{"steps": [
  {"id": "order", "tool": "order", "args": {"article": "tea"}},
  {"id": "print", "tool": "print", "args": {"text": "ordered: ${order}"}}
]}"#;

/// A printer that has no paper at first.
fn office() -> (Functions, Arc<AtomicBool>) {
    let has_paper = Arc::new(AtomicBool::new(false));
    let paper = Arc::clone(&has_paper);
    let functions = Functions::new()
        .with(Function::raw("order", |args: Value| async move {
            println!("  the order is placed");
            Ok(ToolOutput::value(
                args.get("article").cloned().unwrap_or_default(),
            ))
        }))
        .with(Function::raw("print", move |args: Value| {
            let paper = Arc::clone(&paper);
            async move {
                if paper.load(Ordering::Relaxed) {
                    Ok(ToolOutput::value(
                        args.get("text").cloned().unwrap_or_default(),
                    ))
                } else {
                    Err(ToolError::tool("out of paper", Value::Null))
                }
            }
        }));
    (functions, has_paper)
}

fn tell(summary: &RunSummary) {
    for step in &summary.steps {
        println!("  {}: {}", step.at, step.status);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path().join("runs.db"))?;
    let (functions, has_paper) = office();
    let planwright = Planwright::builder().functions(functions).open().await?;
    let plan = planwright.check(parse(PLAN))?;
    #[expect(clippy::disallowed_methods, reason = "a program knows what time it is")]
    let now = SystemTime::now();
    let this_process = Holder::this_process("here", now);

    println!("first:");
    let kept = store.create_run(
        NewRun {
            id: "order-1".to_owned(),
            plan: None,
            digest: plan.digest().to_owned(),
            dialect: None,
            steps: plan.steps().len(),
            created: now,
            header: Value::from(PLAN),
        },
        &this_process,
    )?;
    let run = planwright.run(plan.clone()).id("order-1");
    tell(&run.journal(kept, Value::Null).await);

    has_paper.store(true, Ordering::Relaxed);
    println!("later, perhaps in another process:");
    let kept = store.hold("order-1", &this_process)?;
    let entries: Vec<Entry> = store.entries("order-1")?.collect::<Result<_, _>>()?;
    let run = planwright
        .run(plan)
        .id("order-1")
        .after(History::new(&entries));
    let summary = run.journal(kept, Value::Null).await;
    tell(&summary);
    println!("{}", summary.output);
    Ok(())
}
