//! Activities of Temporal, and what their options say about a plan.

use std::sync::Arc;

use planwright_core::Value;

use super::syntax::{Expression, ProgramArgument};

/// Functions of Temporal that call the activity in their first argument.
pub(super) const ACTIVITIES: [&str; 4] = [
    "execute_activity",
    "execute_local_activity",
    "execute_activity_method",
    "executeActivity",
];

/// The mark before the name of an option of an operator, which is not an argument of its tool.
pub(super) const OPTION: &str = "option ";

/// The field of a step for the option `name` of an operator of Airflow or Prefect, other than its id; `None` if it is not known.
pub(super) fn operator_option(name: &str, value: &Expression) -> OptionField {
    let Expression::Literal(value @ Value::Number(number)) = value else {
        return None;
    };
    match name {
        "retries" => {
            let attempts = number.as_u64()?.checked_add(1)?;
            Some(("retry".into(), Value::from(attempts)))
        }
        "timeout_seconds" => Some((
            "timeout".into(),
            Value::text(format!("{}s", value.to_json())),
        )),
        _ => None,
    }
}

/// The field of a step for an option; none if the option says nothing about a plan.
pub(super) type OptionField = Option<(Arc<str>, Value)>;

/// The field of a step for an option of an activity; empty if the option says nothing about a plan. `None` if it is not known.
pub(super) fn activity_option(option: &ProgramArgument) -> Option<OptionField> {
    let named = |wanted: &str| match &option.value {
        Expression::Call(_, arguments) => arguments
            .iter()
            .find(|argument| argument.name.as_deref() == Some(wanted))
            .and_then(|argument| match &argument.value {
                Expression::Literal(number @ Value::Number(_)) => Some(number.clone()),
                _ => None,
            }),
        _ => None,
    };
    Some(match option.name.as_deref()? {
        "start_to_close_timeout" | "schedule_to_close_timeout" => {
            let units = [("seconds", "s"), ("minutes", "m"), ("hours", "h")];
            let time = units
                .iter()
                .find_map(|(name, unit)| Some(format!("{}{unit}", named(name)?.to_json())))?;
            Some(("timeout".into(), Value::text(time)))
        }
        "retry_policy" => Some(("retry".into(), named("maximum_attempts")?)),
        "task_queue" | "heartbeat_timeout" | "schedule_to_start_timeout" | "activity_id" => None,
        _ => return None,
    })
}
