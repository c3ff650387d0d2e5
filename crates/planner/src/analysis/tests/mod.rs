//! Outputs and what is found in them.

mod figures;
mod properties;

use planwright_core::Value;

use super::{Analysis, StepResult, analyze};

pub(super) fn value(json: &serde_json::Value) -> Value {
    Value::from_json(&json.to_string()).unwrap()
}

/// What is found in the output of one step.
fn of(output: &serde_json::Value) -> Analysis {
    let output = value(output);
    let result = StepResult {
        step: "orders",
        tool: "shop.list_orders",
        output: &output,
    };
    analyze(&[result], &[])
}
