//! Expressions of Python, JavaScript and Jinja as a whole, in the form that has their effect here.
//!
//! The form is advice in an error only, and what the expression is read as for further checks. It need not be exact in every
//! corner of these languages, but it is always readable here.

mod calls;
mod form;
mod methods;
mod operands;
mod parser;
mod tokens;

use planwright_core::expression::{MAX_EXPRESSION_CHARS, PatternBudget};

pub(super) use self::calls::numbers;
use self::parser::Parser;

/// The form of `text` in this dialect; `None` if it is not known, or is `text` itself.
pub(super) fn exact_form(text: &str, patterns: &mut PatternBudget) -> Option<String> {
    if text.chars().count() > MAX_EXPRESSION_CHARS {
        return None;
    }
    let tokens = tokens::tokens(text)?;
    let form = Parser::new(&tokens).whole()?;
    let is_shown = form != text.trim() && !form.contains(['`', '\n']);
    (is_shown && super::reference::is_readable(&form, patterns)).then_some(form)
}

/// The form of `text`, whose paths are those of this dialect; that is `text` itself if it is an expression here.
pub(crate) fn form_in(text: &str) -> Option<String> {
    let form = exact_form(text, &mut PatternBudget::default());
    form.or_else(|| super::reference::is_expression(text).then(|| text.trim().to_owned()))
}

#[cfg(test)]
mod tests;
