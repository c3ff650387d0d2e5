//! A plan that is written while it runs, as one that a model still streams: each line is a step.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use planwright::schemars::{self, JsonSchema};
use planwright::{Error, Function, Functions, Planwright, ToolError, parse};
use serde::Deserialize;

/// The parts of the plan as they arrive. The last one refers to a step that never arrives.
const LINES: [&str; 4] = [
    r#"{"id": "two", "tool": "add", "args": {"a": 1, "b": 1}}"#,
    r#"{"id": "four", "tool": "add", "args": {"a": "${two}", "b": "${two}"}}"#,
    r#"{"id": "six", "tool": "add", "args": {"a": "${two}", "b": "${four}"}}"#,
    r#"{"id": "ten", "tool": "add", "args": {"a": "${six}", "b": "${for}"}}"#,
];

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

async fn add(args: Add) -> Result<i64, ToolError> {
    Ok(args.a + args.b)
}

fn plan_of(line: &str) -> String {
    format!(r#"{{"steps": [{line}]}}"#)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let functions = Functions::new().with(Function::new("add", add));
    let planwright = Planwright::builder().functions(functions).open().await?;

    let [first, more @ ..] = LINES;
    let plan = planwright.check(parse(plan_of(first)))?;
    let mut run = planwright.run(plan).growing().start()?;
    for line in more {
        // The steps so far are under way, and those that are rejected do them no harm.
        if let Err(error) = run.extend(plan_of(line)) {
            println!("{error}");
        }
    }
    println!("{}", run.await.output);
    Ok(())
}
