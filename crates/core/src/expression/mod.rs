//! The language between `${` and `}`: paths, alternatives, and CEL with bounded cost. Only this module knows CEL.

mod error;
mod evaluate;
pub(crate) mod function;
pub(crate) mod operator;
mod parser;
mod pattern;
mod program;
pub(crate) mod tree;

pub use error::{
    EvaluationError, EvaluationLimits, ExpressionError, ExpressionErrorKind, MAX_EXPRESSION_CHARS,
    MAX_EXPRESSION_DEPTH,
};
pub use parser::{parse_form, parse_form_within};
pub use pattern::PatternBudget;
pub use program::Expression;
pub use tree::{print_form, print_path};

#[cfg(test)]
mod tests;
