//! Functions of objects, and conversions between values and JSON.

use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;

type Result = std::result::Result<Value, EvaluationError>;

/// Returns the names of the fields, in their order.
pub(super) fn keys(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::Object(fields)] = values else {
        return Err(EvaluationError::unsupported("keys", values));
    };
    budget.spend(fields.len())?;
    Ok(Value::list(fields.keys().cloned().map(Value::Text)))
}

/// Returns the values of the fields, in their order.
pub(super) fn values(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::Object(fields)] = values else {
        return Err(EvaluationError::unsupported("values", values));
    };
    budget.spend(fields.len())?;
    Ok(Value::list(fields.values().cloned()))
}

/// Reads a text as JSON.
pub(super) fn json(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::Text(text)] = values else {
        return Err(EvaluationError::unsupported("json", values));
    };
    // Each character may be a separate value.
    budget.spend(text.len())?;
    Value::from_tool_json(text)
        .map_err(|error| EvaluationError::failed(format!("the text is not JSON: {error}")))
}
