//! The expression to write in place of one with a comparison whose result is always the same, or with a pattern of another language.

use crate::Value;
use crate::expression::typing::ConstantComparison;

/// The expression `text` with what is meant by `comparison`: literals of the right kind, or no comparison for a boolean.
pub(super) fn with_meant(text: &str, comparison: &ConstantComparison) -> Option<String> {
    let mut meant = text.to_owned();
    for (literal, value) in &comparison.meant {
        let (at, written) = only_place(&meant, literal)?;
        let range = at..at + written.len();
        if let Value::Bool(is_true) = value
            && comparison.with_boolean
            && let [_] = comparison.meant.as_slice()
            && let Some((start, path)) = compared_path(&meant, range.clone(), comparison.sign)
        {
            let not = if *is_true == (comparison.sign == "==") {
                ""
            } else {
                "!"
            };
            let path = format!("{not}{path}");
            meant.replace_range(start..range.end, &path);
        } else {
            let quote = written.chars().next().filter(|sign| "'\"".contains(*sign));
            let value = match value {
                Value::Text(text) => {
                    let quote = quote.unwrap_or('\'');
                    format!("{quote}{text}{quote}")
                }
                value => value.to_json(),
            };
            meant.replace_range(range, &value);
        }
    }
    (meant != text).then_some(meant)
}

/// The advice to write the expression `text` with the pattern of `help` in place of the one that `message` names.
pub(super) fn with_pattern(text: &str, message: &str, help: &str) -> Option<String> {
    let meant = help
        .strip_prefix("write the pattern as `")?
        .strip_suffix('`')?;
    let (_, pattern) = message.rsplit_once("gives the text `")?;
    let (pattern, _) = pattern.rsplit_once("` for each time")?;
    let (at, written) = only_place(text, &Value::text(pattern))?;
    let quote = written.chars().next()?;
    let is_shown = !text.contains(['`', '\n']);
    let (before, after) = (text.get(..at)?, text.get(at + written.len()..)?);
    is_shown.then(|| format!("write `{before}{quote}{meant}{quote}{after}`"))
}

/// The place where `literal` is written in `text`, if there is only one, with its form there.
fn only_place(text: &str, literal: &Value) -> Option<(usize, String)> {
    let forms = match literal {
        Value::Text(inside) => vec![format!("'{inside}'"), format!("\"{inside}\"")],
        other => vec![other.to_json()],
    };
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.' | '\'' | '"');
    let places = forms.into_iter().flat_map(|form| {
        let places: Vec<usize> = text
            .match_indices(&form)
            .map(|(at, _)| at)
            .filter(|at| {
                let before = text.get(..*at).unwrap_or_default();
                let after = text.get(at + form.len()..).unwrap_or_default();
                !before.ends_with(is_part) && !after.starts_with(is_part)
            })
            .collect();
        places.into_iter().map(move |at| (at, form.clone()))
    });
    let mut places = places.take(2);
    let found = places.next()?;
    places.next().is_none().then_some(found)
}

/// The path that is compared by the operator `sign` with the literal at `literal`, and nothing else, with its start.
fn compared_path(
    text: &str,
    literal: std::ops::Range<usize>,
    sign: &str,
) -> Option<(usize, String)> {
    let after = text.get(literal.end..)?.trim_start();
    let ends = ["}", ")", ",", "&&", "||", "?", ":"];
    ends.iter()
        .any(|end| after.starts_with(end))
        .then_some(())?;
    let before = text.get(..literal.start)?.trim_end().strip_suffix(sign)?;
    let operand = before.trim_end();
    let is_path = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.' | '[' | ']');
    let outside = operand.trim_end_matches(is_path);
    let path = operand.get(outside.len()..)?;
    let starts = ["{", "(", ",", "&&", "||", "?", ":"];
    let is_alone = starts
        .iter()
        .any(|start| outside.trim_end().ends_with(start));
    let is_name = path.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
    (is_alone && is_name).then(|| (outside.len(), path.to_owned()))
}
