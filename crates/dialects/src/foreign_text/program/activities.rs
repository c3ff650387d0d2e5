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
