//! A run that survives its process: the first process dies in the middle, the next resumes the run up to a payment that needs
//! consent, another one consents, and the last brings the run to its end. Without arguments the example is all of them.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use planwright::engine::Decision;
use planwright::schemars::{self, JsonSchema};
use planwright::store::Store;
use planwright::stored::{Decider, open_questions};
use planwright::{Function, Functions, Planwright, RunSummary, ToolError, parse};
use serde::Deserialize;

const RUN: &str = "order-1";

const PLAN: &str = r#"{"steps": [
  {"id": "ordered", "tool": "order", "args": {"article": "tea"}},
  {"id": "printed", "tool": "print", "args": {"text": "ordered: ${ordered}"}},
  {"id": "paid", "tool": "pay", "args": {"amount": 3}, "after": ["printed"]}
]}"#;

#[derive(Deserialize, JsonSchema)]
struct Order {
    article: String,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Payment {
    amount: u32,
}

async fn order(order: Order) -> Result<String, ToolError> {
    println!("  {} is ordered", order.article);
    Ok(order.article)
}

async fn pay(payment: Payment) -> Result<String, ToolError> {
    println!("  {} is paid", payment.amount);
    Ok("thank you".to_owned())
}

/// The tools. The printer of the first process takes that down with it.
async fn open(printer_works: bool) -> Result<Planwright, planwright::Error> {
    let print = Function::new("print", move |text: Text| async move {
        if !printer_works {
            println!("  the process dies");
            std::process::abort();
        }
        println!("  \"{}\" is printed", text.text);
        Ok::<_, ToolError>(())
    });
    let functions = Functions::new()
        .with(Function::new("order", order))
        // A page more does no harm, so the call that was lost is made again.
        .with(print.idempotent())
        .with(Function::new("pay", pay).needs_approval());
    Planwright::builder().functions(functions).open().await
}

async fn begin(store: &Store) -> Result<(), planwright::Error> {
    let planwright = open(false).await?;
    let plan = planwright.check(parse(PLAN))?;
    show(&planwright.run(plan).stored_in(store, RUN.parse()?).await?);
    Ok(())
}

async fn resume(store: &Store) -> Result<(), planwright::Error> {
    let planwright = open(true).await?;
    show(&planwright.resume(store, RUN.parse()?).await?);
    Ok(())
}

fn approve(store: &Store) -> Result<(), Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "a program knows what time it is")]
    let now = SystemTime::now();
    for question in open_questions(store, RUN)? {
        let tool = question.subject.qualified_name();
        println!("  {tool} {} is approved", question.subject.args);
        let yes = Decision::Approve { args: None };
        question.decide(store, yes, &Decider::new(Some("ada".to_owned())), now)?;
    }
    Ok(())
}

fn show(summary: &RunSummary) {
    for step in &summary.steps {
        println!("  {}: {}", step.at, step.status);
    }
    println!("  the run: {}", summary.status);
}

/// Runs this program as all of the processes, one after the other.
fn play_all() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("runs.db");
    for process in ["begin", "resume", "approve", "resume"] {
        println!("{process}:");
        let program = std::env::current_exe()?;
        Command::new(program).arg(process).arg(&file).status()?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [process, file] = arguments.as_slice() else {
        return play_all();
    };
    let store = Store::open(Path::new(file))?;
    match process.as_str() {
        "begin" => begin(&store).await?,
        "approve" => approve(&store)?,
        _ => resume(&store).await?,
    }
    Ok(())
}
