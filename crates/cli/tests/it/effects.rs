//! Plans whose calls leave a mark in a file, so that a test can count what happened.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use planwright::engine::StepStatus;
use planwright::engine::journal::Record;
use planwright_store::Store;
use serde_json::{Value, json};

/// Three kinds of tools: one only reads, one may be called twice, one must not be.
pub(crate) fn tool_of(step: usize) -> &'static str {
    ["look", "put", "pay"][(step / 3) % 3]
}

/// The script of a server with these tools.
pub(crate) fn script(folder: &Path) -> Value {
    let tool = |name: &str, hints: Value| {
        json!({
            "name": name, "inputSchema": {"type": "object"}, "annotations": hints,
            "does": {"delay_ms": 40, "appends": folder.join("effects"), "then_delay_ms": 40}
        })
    };
    json!({"tools": [
        tool("look", json!({"readOnlyHint": true})),
        tool("put", json!({"destructiveHint": false, "idempotentHint": true})),
        tool("pay", json!({"destructiveHint": false})),
    ]})
}

/// Three chains of steps. A step whose outcome is unknown does not stop the others.
pub(crate) fn chains(steps: Range<usize>) -> Vec<Value> {
    let first = steps.start;
    let steps = steps.map(|step| {
        let mut args = json!({"n": step});
        if first + 3 <= step {
            args["before"] = json!(format!("${{s{}.n}}", step - 3));
        }
        json!({"id": format!("s{step}"), "tool": tool_of(step), "args": args,
               "on_error": {"output": {"n": step}}})
    });
    steps.collect()
}

/// Returns the number of effects of each step. A line that a server is still writing does not count yet.
pub(crate) fn effects(folder: &Path) -> HashMap<u64, usize> {
    let text = fs::read_to_string(folder.join("effects")).unwrap_or_default();
    let mut counts = HashMap::new();
    for line in text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
    {
        let call: Value = serde_json::from_str(line).unwrap();
        let step = call["arguments"]["n"].as_u64().unwrap();
        *counts.entry(step).or_default() += 1;
    }
    counts
}

/// Returns the steps that have succeeded according to the store.
pub(crate) fn succeeded(store: &Store, run: &str) -> Vec<u64> {
    let entries = store.entries(run).unwrap().map(Result::unwrap);
    let steps = entries.filter_map(|entry| match entry.record {
        Record::Settled {
            at,
            status: StepStatus::Succeeded,
            ..
        } => at.step.as_str().strip_prefix('s')?.parse().ok(),
        _ => None,
    });
    steps.collect()
}
