//! What stands between `${` and `}`: paths, alternatives, and CEL with bounded cost. The only room that knows CEL.

mod bind;
mod budget;
mod call;
mod error;
mod evaluate;
mod function;
mod limits;
mod operand;
mod operator;
mod parse;
mod pattern;
mod print;
mod program;
mod scan;
mod tree;

pub use budget::EvaluationLimits;
pub use error::{EvaluationError, ExpressionError, ExpressionErrorKind};
pub use limits::{LONGEST_TEXT, MOST_NESTED};
pub use parse::{parse_form, parse_form_within};
pub use pattern::PatternBudget;
pub use print::{print_form, print_path};
pub use program::Expression;

#[cfg(test)]
mod tests;
