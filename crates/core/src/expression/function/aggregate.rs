//! Functions that make one value of many: sums, means and extremes.

use std::cmp::Ordering;

use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;
use crate::expression::operator::{BinaryOperator, compare, double, double_value};

type Result = std::result::Result<Value, EvaluationError>;

/// Adds the numbers of a list; 0 if it is empty.
pub(super) fn sum(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::List(items)] = values else {
        return Err(EvaluationError::unsupported("sum", values));
    };
    total("sum", items, budget)
}

/// Returns the arithmetic mean of the numbers of a list. An empty list has none.
pub(super) fn avg(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::List(items)] = values else {
        return Err(EvaluationError::unsupported("avg", values));
    };
    let Value::Number(total) = total("avg", items, budget)? else {
        return Err(EvaluationError::unsupported("avg", values));
    };
    if items.is_empty() {
        return Err(nothing_in("avg"));
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "no list has as many items as a double cannot count"
    )]
    let count = items.len() as f64;
    double_value(double(&total) / count)
}

fn total(name: &str, items: &[Value], budget: &mut EvaluationBudget) -> Result {
    let mut total = Value::from(0_i64);
    for item in items {
        budget.spend(1)?;
        if !matches!(item, Value::Number(_)) {
            let item = std::slice::from_ref(item);
            return Err(EvaluationError::unsupported(name, item));
        }
        total = BinaryOperator::Add.apply(&total, item, budget)?;
    }
    Ok(total)
}

/// Returns the least of several numbers or texts, or of those in a list.
pub(super) fn min(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    extreme("min", values, Ordering::Less, budget)
}

/// Returns the greatest of several numbers or texts, or of those in a list.
pub(super) fn max(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    extreme("max", values, Ordering::Greater, budget)
}

/// Returns the greatest or least of `values`, or of those in a list, by `wanted`.
pub(super) fn extreme(
    name: &str,
    values: &[Value],
    wanted: Ordering,
    budget: &mut EvaluationBudget,
) -> Result {
    let items = match values {
        [Value::List(items)] => items.as_slice(),
        values => values,
    };
    let mut best: Option<&Value> = None;
    for item in items {
        budget.spend_text(item.as_text().map_or(0, str::len))?;
        let against = best.unwrap_or(item);
        let order = compare(item, against).ok_or_else(|| {
            let pair = [against.clone(), item.clone()];
            let kinds = if best.is_some() {
                &pair[..]
            } else {
                &pair[1..]
            };
            EvaluationError::unsupported(name, kinds)
        })?;
        if best.is_none() || order == wanted {
            best = Some(item);
        }
    }
    best.cloned().ok_or_else(|| nothing_in(name))
}

/// Returns the error that an empty list has no such value. It counts as missing, so that `??` can replace it.
fn nothing_in(name: &str) -> EvaluationError {
    EvaluationError::Missing(format!("`{name}` needs at least one item, found none"))
}
