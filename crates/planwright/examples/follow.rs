//! Follows a run of another process through the store, and approves the call that waits. Without arguments it starts that process itself.
#![expect(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use planwright::engine::{Decision, ToolOutput};
use planwright::store::Store;
use planwright::stored::Decider;
use planwright::{Function, Functions, Planwright, Value, parse};

const PLAN: &str = r#"{"steps": [
  {"id": "price", "tool": "price"},
  {"id": "paid", "tool": "pay", "args": {"amount": "${price}"}}
]}"#;

/// The other process: it runs a plan whose payment waits for consent.
async fn work(store: &Store) -> Result<(), Box<dyn Error>> {
    let price = Function::raw("price", async |_| Ok(ToolOutput::value(Value::from(3))));
    let pay = Function::raw("pay", async |_| Ok(ToolOutput::value("ok".into())));
    let functions = Functions::new().with(price).with(pay.needs_approval());
    let planwright = Planwright::builder().functions(functions).open().await?;
    let run = planwright.run(planwright.check(parse(PLAN))?);
    let run = run.stored_in(store, "order-1".parse()?);
    let run = run.wait_for_decisions().start()?;
    println!("started");
    run.finish().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(path) = std::env::args().nth(1) {
        return work(&Store::open(path)?).await;
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("runs.db");
    let mut command = Command::new(std::env::current_exe()?);
    let mut worker = command.arg(&path).stdout(Stdio::piped()).spawn()?;
    let output = worker.stdout.take().ok_or("the worker has no output")?;
    BufReader::new(output).read_line(&mut String::new())?;
    let store = Store::open(&path)?;
    let planwright = Planwright::builder().open().await?.with_store(&store);
    let mut watch = planwright.watch("order-1")?;
    while !watch.view().waits_for_people() {
        watch.next().await?;
    }
    for question in planwright.questions("order-1")? {
        println!("{} asks: {}", question.at, question.subject.args);
        let approval = Decision::Approve { args: None };
        planwright.decide(&question, approval, &Decider::default())?;
    }
    while watch.view().status.is_none() {
        watch.next().await?;
    }
    println!("{} steps have ended", watch.view().ended);
    worker.wait()?;
    Ok(())
}
