//! A program that runs a plan with the client of `rmcp`, without any model. `cargo xtask test frameworks` runs it.

#![expect(clippy::print_stdout, reason = "the example shows the result")]

use std::error::Error;
use std::process::Stdio;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::{Map, Value};
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let plan: Value = serde_json::from_str(&std::fs::read_to_string("plan.json")?)?;
    let mut gateway = Command::new("planwright")
        .args(["serve", "--servers", "mcp.json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (output, input) = (gateway.stdout.take(), gateway.stdin.take());
    let planwright = ().serve((output.ok_or("no output")?, input.ok_or("no input")?)).await?;
    let arguments = Map::from_iter([("plan".to_owned(), plan)]);
    let call = CallToolRequestParams::new("execute_plan").with_arguments(arguments);
    let result = planwright.call_tool(call).await?;
    println!("{}", result.structured_content.unwrap_or_default());
    planwright.cancel().await?;
    gateway.wait().await?;
    Ok(())
}
// → {"status":"succeeded","run":"…","output":{"said":"Echo: The sum of 2 and 3 is 5."}}
