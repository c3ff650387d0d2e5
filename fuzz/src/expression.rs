//! Expressions over arbitrary values.

use planwright_core::Value;
use planwright_core::expression::{EvaluationLimits, parse_form, print_form};
use planwright_core::plan::{Alternative, Form};

use crate::halves;

/// Parses and evaluates the expression after the NUL byte of `input`, with the values of the JSON list before it.
///
/// # Panics
///
/// If an error lies outside of the text, a second evaluation has another result, or the expression has another meaning after it was
/// printed and parsed again.
pub fn evaluate(input: &[u8]) {
    let (values, text) = halves(input);
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let form = match parse_form(text) {
        Ok(form) => form,
        Err(error) => {
            assert!(error.offset <= text.len(), "{error:?}");
            assert!(text.is_char_boundary(error.offset), "{error:?}");
            return;
        }
    };
    if let Some(printed) = print_form(&form) {
        let again = parse_form(&printed);
        assert_eq!(again.as_ref(), Ok(&form), "printed as {printed}");
    }
    let values = std::str::from_utf8(values)
        .ok()
        .and_then(|text| Value::from_json(text).ok());
    let values = values.as_ref().and_then(Value::as_list).unwrap_or(&[]);
    let Form::First(alternatives) = form else {
        return;
    };
    for alternative in alternatives {
        let Alternative::Expression(expression) = alternative else {
            continue;
        };
        let bound: Vec<Value> = (0..expression.bindings().len())
            .map(|at| values.get(at % values.len().max(1)).cloned())
            .map(Option::unwrap_or_default)
            .collect();
        let limits = EvaluationLimits {
            cost: 100_000,
            ..EvaluationLimits::default()
        };
        let once = expression.evaluate(&bound, &limits);
        let twice = expression.evaluate(&bound, &limits);
        assert_eq!(format!("{once:?}"), format!("{twice:?}"));
        if let Ok(value) = once {
            assert!(!value.exceeds(1_024, 64 << 20), "a result without bounds");
        }
    }
}
