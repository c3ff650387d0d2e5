//! The output of a program that does not return it: its last value, or the argument of the call that ends an agent's program.

use super::syntax::{Expression, Statement};

/// The names of a last value that is the output of a program.
const OUTPUTS: [&str; 7] = [
    "output",
    "outputs",
    "result",
    "results",
    "final_output",
    "final_result",
    "final_answer",
];

/// Returns the value of the last statement if that only gives it a name such as `output`.
pub(super) fn return_last_value(statements: &mut [Statement]) {
    let Some((last, before)) = statements.split_last_mut() else {
        return;
    };
    // Agents that write programs end with this call.
    if let Statement::Run(Expression::Call(function, arguments)) = last
        && function.dotted() == ["final_answer"]
        && let [only] = arguments.as_slice()
    {
        *last = Statement::Return(Some(only.value.clone()));
        return;
    }
    let Statement::Assign(names, value) = last else {
        return;
    };
    let is_output = matches!(names.as_slice(), [name] if OUTPUTS.contains(&&**name));
    let is_value = matches!(
        value,
        Expression::Object(_)
            | Expression::List(_)
            | Expression::Name(_)
            | Expression::Field(..)
            | Expression::Index(..)
            | Expression::Template(_)
    );
    let returns = |statement: &Statement| matches!(statement, Statement::Return(_));
    if is_output && is_value && !before.iter().any(returns) {
        *last = Statement::Return(Some(value.clone()));
    }
}
