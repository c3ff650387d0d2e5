//! Data goes from one MCP server to another. The argument is an `mcp.json` with two servers, `files` and `everything`;
//! without one they are fetched by `npx`, which comes with Node.js.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use planwright::{Planwright, parse};

const SERVERS: &str = r#"{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
  "everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]}
}}"#;

const PLAN: &str = r#"{
  "inputs": {"file": {"type": "string"}},
  "steps": [
    {"id": "first", "tool": "files.read_text_file", "args": {"path": "${inputs.file}", "head": 1}},
    {"id": "sum", "tool": "everything.get-sum", "args": {"a": 40, "b": 2}},
    {"id": "echo", "tool": "everything.echo", "args": {"message": "${sum} ${first.content}"}}
  ],
  "output": "${echo}"
}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let servers = match arguments.next() {
        Some(path) => std::fs::read_to_string(path)?,
        None => SERVERS.to_owned(),
    };
    let file = arguments.next().unwrap_or_else(|| "Cargo.toml".to_owned());

    let planwright = Planwright::builder().servers_json(servers).open().await?;
    for warning in planwright.warnings() {
        println!("warning: {warning}");
    }
    let plan = planwright.check_with(parse(PLAN), [("file", file)])?;
    let summary = planwright.run(plan).await?;
    println!("{}: {}", summary.status, summary.output);
    planwright.close().await;
    Ok(())
}
