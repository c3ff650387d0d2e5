//! The tools of a service, as documents for Python.

use planwright::Planwright;
use planwright::core::Tool;
use planwright::planner::tools::signatures::listing;
use serde_json::{Value, json};

/// Returns the tools that plans may call.
pub(crate) fn tools(planwright: &Planwright) -> Value {
    planwright
        .catalog()
        .tools()
        .map(|tool| entry(tool))
        .collect()
}

fn entry(tool: &Tool) -> Value {
    json!({
        "name": tool.qualified_name().to_string(),
        "title": tool.title,
        "description": tool.description,
        "input": Value::from(tool.input.as_value()),
        "output": Value::from(tool.output.as_value()),
        "read_only": tool.annotations.read_only,
        "idempotent": tool.annotations.idempotent,
        "approval": tool.needs_approval(),
    })
}

/// Lists the signatures of the tools for a model, in at most `budget` tokens.
pub(crate) fn signatures(planwright: &Planwright, budget: usize) -> String {
    let policy = planwright.check_context().policy;
    let tools = planwright.catalog().tools();
    let allowed = tools.filter(|tool| policy.objection(tool).is_none());
    listing(allowed, budget).text
}
