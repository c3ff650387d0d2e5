//! Translation of whole expressions of Python, JavaScript and Jinja into native ones.
//!
//! The translation is advice in an error, and the expression that further checks use. It is always readable. Advice without a known
//! difference is a fix as well, so that it has the value that the expression has in its own language.

mod calls;
mod form;
mod methods;
mod operands;
mod parser;
mod tokens;

use planwright_core::Value;
use planwright_core::expression::{MAX_EXPRESSION_CHARS, PatternBudget};

pub(super) use self::calls::numbers;
use self::parser::ForeignParser;

/// The native form of an expression of another language.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TranslatedForm {
    /// The form.
    pub(super) text: String,
    /// The difference between the form and the expression, in some cases.
    pub(super) difference: Option<&'static str>,
}

impl TranslatedForm {
    /// A form without a difference.
    pub(super) fn exact(text: String) -> Self {
        Self {
            text,
            difference: None,
        }
    }
}

/// The native form of `text`; `None` if there is none, or it is `text` itself.
pub(super) fn exact_form(text: &str, patterns: &mut PatternBudget) -> Option<String> {
    translated(text, patterns).map(|form| form.text)
}

/// The native form of `text`, with its difference; `None` if there is none, or it is `text` itself.
pub(super) fn translated(text: &str, patterns: &mut PatternBudget) -> Option<TranslatedForm> {
    if text.chars().count() > MAX_EXPRESSION_CHARS {
        return None;
    }
    let (form, difference) = match (shell_default(text), with_digits(text)) {
        (Some(form), _) => (form, None),
        (None, Some((value, digits))) => {
            let rounded = format!("round({value}, {digits})");
            let form = ForeignParser::new(&tokens::tokens(&rounded)?).whole()?.0;
            let difference = methods::difference("toFixed", 1);
            (form, difference.filter(|_| digits > 0))
        }
        (None, None) => ForeignParser::new(&tokens::tokens(text)?).whole()?,
    };
    let is_shown = form != text.trim() && !form.contains(['`', '\n']);
    (is_shown && super::reference::is_readable(&form, patterns)).then_some(TranslatedForm {
        text: form,
        difference,
    })
}

/// The value and the number of digits of a formatted value of Python, `a.b:.1f`.
fn with_digits(text: &str) -> Option<(&str, u32)> {
    let (value, format) = text.trim().rsplit_once(':')?;
    let digits = format
        .trim()
        .strip_prefix([',', '0'])
        .unwrap_or(format.trim());
    let digits = digits.strip_prefix('.')?.strip_suffix('f')?;
    let is_value = !value.trim().is_empty() && !value.contains(['?', '\'', '"', '{', '[']);
    let digits = digits.parse().ok().filter(|digits| *digits < 10)?;
    is_value.then_some((value.trim(), digits))
}

/// The form of a default of a shell, `a.b:-none`.
fn shell_default(text: &str) -> Option<String> {
    let (path, default) = text.split_once(":-")?;
    let (path, default) = (path.trim(), default.trim());
    let is_path = |sign: char| sign.is_alphanumeric() || "_-.[]".contains(sign);
    // `${HOME:-/tmp}` is a part of a script.
    if !path.contains('.') || !path.chars().all(is_path) || default.contains(['$', '\\']) {
        return None;
    }
    let is_value = Value::from_json(default).is_ok();
    let is_quoted = default.len() > 1 && default.starts_with('\'') && default.ends_with('\'');
    Some(match is_value || is_quoted {
        true => format!("{path} ?? {default}"),
        false if default.contains('\'') => return None,
        false => format!("{path} ?? '{default}'"),
    })
}

/// The form of `text`, whose paths are those of this dialect; that is `text` itself if it is an expression here.
pub(crate) fn form_in(text: &str) -> Option<String> {
    let form = exact_form(text, &mut PatternBudget::default());
    form.or_else(|| super::reference::is_expression(text).then(|| text.trim().to_owned()))
}

#[cfg(test)]
mod tests;
