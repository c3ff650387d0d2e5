//! Whole outputs of tools without a schema where their type matters: as a condition, `"when": "${a}"`, and in a comparison with a text that
//! is JSON, `${a != "[]"}`.

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::check::type_inference::TypeInference;
use crate::plan::{Action, Missing, NodeKind, Read, Source};
use crate::schema::Type;
use crate::{Code, Severity, StepId, Value};

/// Warns of `read`, the whole output of the step `on`, if the plan needs another type than a tool gives that says nothing about its output.
pub(super) fn check(
    (resolved, types): (&ResolvedPlan<'_>, &TypeInference<'_>),
    (usage, on): (&ReferenceUse<'_>, u32),
    read: &Read,
    reporter: &mut Reporter<'_>,
) {
    let (Source::Step(id), Missing::Fail, []) = (&read.source, &read.missing, &*read.path) else {
        return;
    };
    let is_call = resolved
        .step(on)
        .is_some_and(|step| matches!(step.action, Action::Tool(_)) && step.for_each.is_none());
    if !is_call || !matches!(types.output_type(on), Type::Any) {
        return;
    }
    let is_condition = usage.step.is_some_and(|(_, step)| {
        let when = step.when.as_ref().map(|when| &when.kind);
        matches!(when, Some(NodeKind::Reference(when)) if std::ptr::eq(when, usage.reference))
    });
    let text = usage.reference.shown();
    let Some(inside) = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'))
    else {
        return;
    };
    let path = if inside.contains("steps[") {
        format!("steps['{id}']")
    } else {
        id.to_string()
    };
    let not = inside.strip_prefix('!').map_or("", |_| "!");
    let place = usage.reference.place;
    if is_condition && inside.trim_start_matches('!') == path {
        if reporter.count_if_full(Severity::Warning) {
            return;
        }
        let message = format!(
            "a condition is true or false, and `{text}` is the output of `{id}`, of which its tool says nothing"
        );
        let diagnostic = reporter.warning(Code::WrongReferenceType, place, message);
        let result = result(id);
        let outcome = if not.is_empty() { "success" } else { "failure" };
        let help = format!(
            "write `${{{not}{result}.success}}` if the step runs after the {outcome} of `{id}`"
        );
        reporter.push(diagnostic.help(help));
        return;
    }
    let Some(meant) = with_text(inside, &path) else {
        return;
    };
    if reporter.count_if_full(Severity::Warning) {
        return;
    }
    let message = format!(
        "`{text}` compares the output of `{id}` with a text, and an output that is JSON is no text"
    );
    let diagnostic = reporter.warning(Code::WrongOperandType, place, message);
    reporter.push(diagnostic.help(format!("write `${{{meant}}}`")));
}

/// The path of the result of the step `id`.
fn result(id: &StepId) -> String {
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    if id.as_str().chars().all(is_name)
        && !id.as_str().starts_with(|sign: char| sign.is_ascii_digit())
    {
        format!("results.{id}")
    } else {
        format!("results['{id}']")
    }
}

/// `expression` with `string(…)` around `path` where it is compared with a text that is JSON; `None` if it never is.
fn with_text(expression: &str, path: &str) -> Option<String> {
    let is_json = |text: &str| {
        let quote = text.chars().next().filter(|sign| "'\"".contains(*sign));
        let inside = quote.and_then(|quote| {
            let (inside, after) = text.get(1..)?.split_once(quote)?;
            let ends = ["", "&&", "||", ")", "?", ":"];
            let after = after.trim_start();
            let is_whole =
                after.is_empty() || ends.iter().skip(1).any(|end| after.starts_with(end));
            is_whole.then_some(inside)
        });
        inside.is_some_and(|inside| {
            Value::from_json(inside).is_ok_and(|value| value.as_text().is_none())
        })
    };
    let is_part = |sign: char| sign.is_alphanumeric() || "_.]'".contains(sign);
    let mut places = expression.match_indices(path);
    let (at, _) = places.find(|(at, _)| {
        let after = expression.get(at + path.len()..).unwrap_or_default();
        let value = [" == ", " != "]
            .iter()
            .find_map(|sign| after.strip_prefix(sign));
        let before = expression.get(..*at).unwrap_or_default();
        value.is_some_and(is_json) && !before.ends_with(is_part)
    })?;
    let mut meant = expression.to_owned();
    meant.replace_range(at..at + path.len(), &format!("string({path})"));
    Some(meant)
}

#[cfg(test)]
mod tests {
    use super::with_text;

    #[test]
    fn outputs_are_compared_with_json() {
        for (expression, expected) in [
            (r#"rows != "[]""#, Some(r#"string(rows) != "[]""#)),
            (
                "rows == '{}' && x.n > 1",
                Some("string(rows) == '{}' && x.n > 1"),
            ),
            ("a.rows != '[]'", None),
            ("rows.n != '[]'", None),
            ("rows != 'none'", None),
            ("rows != '3' + x", None),
        ] {
            assert_eq!(
                with_text(expression, "rows").as_deref(),
                expected,
                "{expression}"
            );
        }
    }
}
