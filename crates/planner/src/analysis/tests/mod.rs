//! Tests of the whole analysis, with shared helpers.

mod figures;
mod properties;

use planwright_core::Value;

use super::{Analysis, StepResult, analyze};

pub(super) fn value(json: &serde_json::Value) -> Value {
    Value::from_json(&json.to_string()).unwrap()
}

/// Analyzes the output of one step.
fn analyze_output(output: &serde_json::Value) -> Analysis {
    let output = value(output);
    let result = StepResult {
        step: "orders",
        tool: "shop.list_orders",
        output: &output,
    };
    analyze(&[result], &[])
}
