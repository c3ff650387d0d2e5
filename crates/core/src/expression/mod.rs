//! The language between `${` and `}`: paths, alternatives, and CEL with bounded cost. Only this module knows CEL.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/expressions.md#our-own-implementation-of-cel).

mod evaluate;
pub(crate) mod function;
pub(crate) mod operator;
mod parser;
mod pattern;
mod program;
pub(crate) mod tree;
pub(crate) mod typing;

pub use evaluate::{
    EvaluationError, EvaluationLimits, ExpressionError, ExpressionErrorDetails,
    ExpressionErrorKind, MAX_EXPRESSION_CHARS, MAX_EXPRESSION_DEPTH,
};
pub use function::{function_usages, time_form};
pub use parser::{is_item_name, parse_form, parse_form_in_loop, parse_form_within, query_form};
pub use pattern::PatternBudget;
pub use program::{Expression, print_form, print_form_in_loop, print_path};
pub(crate) use program::{may_fail, tests_existence};

#[cfg(test)]
mod tests;
