//! Tools of some other kind: a list of them, and who calls them. Here: the cells of a spreadsheet.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use planwright::core::{Schema, Tool};
use planwright::engine::backend::{BoxFuture, ToolOutput};
use planwright::engine::{ToolBackend, ToolCall};
use planwright::{Error, Planwright, ToolError, Value, parse};
use serde_json::json;

#[derive(Debug, Default)]
struct Sheet {
    cells: Mutex<BTreeMap<String, Value>>,
}

impl Sheet {
    fn tools() -> [Tool; 2] {
        let input = |fields: serde_json::Value| {
            Schema::from_value(
                json!({"type": "object", "properties": fields, "required": ["cell"]}).into(),
            )
        };
        let cell = json!({"type": "string", "pattern": "^[A-Z][0-9]$"});
        // A tool becomes one of the server that it is added to, whichever server it names here.
        [
            Tool {
                input: input(json!({"cell": cell, "value": {}})),
                ..Tool::new("", "set")
            },
            Tool {
                input: input(json!({"cell": cell})),
                ..Tool::new("", "get")
            },
        ]
    }
}

impl ToolBackend for Sheet {
    /// Dropping the future cancels the call; this one is done at once.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
            // The arguments have been checked against the schema of the tool.
            let cell = call
                .args
                .get("cell")
                .and_then(Value::as_text)
                .unwrap_or_default();
            if &*call.tool.name == "set" {
                let value = call.args.get("value").cloned().unwrap_or_default();
                cells.insert(cell.to_owned(), value.clone());
                return Ok(ToolOutput::value(value));
            }
            match cells.get(cell) {
                Some(value) => Ok(ToolOutput::value(value.clone())),
                None => Err(ToolError::tool(format!("{cell} is empty"), Value::Null)),
            }
        })
    }
}

const PLAN: &str = r#"{"steps": [
  {"id": "set", "for_each": [1, 2], "tool": "sheet.set", "args": {"cell": "A${item}", "value": "${item * 10}"}},
  {"id": "get", "tool": "get", "args": {"cell": "A2"}, "after": ["set"]},
  {"id": "empty", "tool": "get", "args": {"cell": "B1"}, "after": ["set"]}
]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let planwright = Planwright::builder()
        .backend("sheet", Sheet::tools(), Sheet::default())
        .open()
        .await?;
    let plan = planwright.check(parse(PLAN))?;
    let summary = planwright.run(plan).await?;
    println!("{}: {}", summary.status, summary.output);
    for step in summary.steps {
        if let Some(error) = step.error {
            println!("{}: {error}", step.at);
        }
    }

    let wrong = r#"{"steps": [{"id": "get", "tool": "get", "args": {"cell": "A10"}}]}"#;
    if let Err(error) = planwright.check(parse(wrong)) {
        println!("{error}");
    }
    Ok(())
}
