//! Literals where a step was meant: `${3}`, `'${a} items'` inside an expression, and `', '.join(list)`.

use std::borrow::Cow;
use std::ops::Range;

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::plan::{Alternative, Form, Reference};
use crate::{Code, Severity, StepId, Value};

/// The names besides steps with which a reference inside a text begins.
const ROOTS: [&str; 6] = ["item", "index", "last", "inputs", "steps", "results"];

/// The whole number that `reference` is, if it is the id of a step: `3` of `${3}`.
pub(in crate::check::passes) fn step_number(
    resolved: &ResolvedPlan<'_>,
    reference: &Reference,
) -> Option<String> {
    let Form::First(alternatives) = &reference.form else {
        return None;
    };
    let [Alternative::Literal(number @ Value::Number(_))] = alternatives.as_slice() else {
        return None;
    };
    let id = number.to_json();
    let is_whole = id.bytes().all(|byte| byte.is_ascii_digit());
    (is_whole && resolved.ids.contains_key(&StepId::new(&*id))).then_some(id)
}

/// The path of the step `id`: the id itself, unless it is read as a number.
pub(super) fn step_path(id: &str) -> Cow<'_, str> {
    if id.starts_with(|sign: char| sign.is_ascii_digit()) {
        Cow::Owned(format!("steps['{id}']"))
    } else {
        Cow::Borrowed(id)
    }
}

/// Reports a number that is the id of a step, `${3}`.
pub(super) fn number_of_step(
    resolved: &ResolvedPlan<'_>,
    usage: ReferenceUse<'_>,
    reporter: &mut Reporter<'_>,
) {
    let Some(id) = step_number(resolved, usage.reference) else {
        return;
    };
    if reporter.count_if_full(Severity::Error) {
        return;
    }
    let written = usage.reference.shown();
    let message = format!("`{written}` is the number {id}, and not the step of that name");
    let place = usage.reference.place;
    let diagnostic = reporter.error(Code::MalformedReference, place, message);
    reporter.push(diagnostic.help(format!("write `${{steps['{id}']}}`")));
}

/// Reports a reference in a text literal inside an expression, which stays text.
pub(super) fn reference_in_text(
    resolved: &ResolvedPlan<'_>,
    usage: ReferenceUse<'_>,
    reporter: &mut Reporter<'_>,
) {
    // A literal alone is how a text with such signs is written.
    if let Form::First(alternatives) = &usage.reference.form
        && matches!(alternatives.as_slice(), [Alternative::Literal(_)])
    {
        return;
    }
    let written = usage.reference.shown();
    let Some(inside) = written
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'))
        .filter(|inside| inside.contains("${"))
    else {
        return;
    };
    let is_step =
        |name: &str| ROOTS.contains(&name) || resolved.ids.contains_key(&StepId::new(name));
    let mut meant = inside.to_owned();
    for literal in text_literals(inside).into_iter().rev() {
        if let Some(sum) = as_sum(inside, literal.clone(), is_step) {
            meant.replace_range(literal, &sum);
        }
    }
    if meant == inside || reporter.count_if_full(Severity::Error) {
        return;
    }
    let message = format!("`{written}` has a reference in a text in quotes, where it stays text");
    let place = usage.reference.place;
    let diagnostic = reporter.error(Code::MalformedReference, place, message);
    reporter.push(diagnostic.help(format!("write `${{{meant}}}`")));
}

/// The places of the text literals of an expression, with their quotes.
fn text_literals(expression: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut is_escaped = false;
    for (at, sign) in expression.char_indices() {
        match open {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if sign == '\\' => is_escaped = true,
            Some((start, quote)) if sign == quote => {
                found.push(start..at + 1);
                open = None;
            }
            None if matches!(sign, '\'' | '"') => open = Some((at, sign)),
            _ => {}
        }
    }
    found
}

/// The sum that the text literal at `literal` was meant to be; `None` if it has no reference to a step.
fn as_sum(
    expression: &str,
    literal: Range<usize>,
    is_step: impl Fn(&str) -> bool,
) -> Option<String> {
    let written = expression.get(literal.clone())?;
    let quote = written.get(..1)?;
    let mut rest = written.get(1..written.len() - 1)?;
    let mut parts: Vec<String> = Vec::new();
    let mut has_step = false;
    while let Some(start) = rest.find("${") {
        let (before, reference) = rest.split_at(start);
        let (inner, after) = reference.get(2..)?.split_once('}')?;
        // A doubled dollar, another text, or braces inside are not certain.
        if before.ends_with('$') || inner.contains(['{', '\\', '\'', '"', '`']) {
            return None;
        }
        let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
        has_step |= inner.split(|sign| !is_of_name(sign)).any(&is_step);
        if !before.is_empty() {
            parts.push(format!("{quote}{before}{quote}"));
        }
        parts.push(format!("string({})", inner.trim()));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(format!("{quote}{rest}{quote}"));
    }
    has_step.then_some(())?;
    let sum = parts.join(" + ");
    let after = expression.get(literal.end..)?.trim_start();
    Some(if after.starts_with(['.', '[']) {
        format!("({sum})")
    } else {
        sum
    })
}

/// The advice for the sum of a list that is divided by its size in the expression `text`.
pub(super) fn mean_of_list(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("sum(")?;
    let (list, rest) = rest.split_once(')')?;
    let counted = rest.trim_start().strip_prefix('/')?.trim_start();
    let (counted, after) = counted.strip_prefix("size(")?.split_once(')')?;
    let items = list.strip_prefix(counted)?;
    let is_function = !before.ends_with(|sign: char| sign.is_alphanumeric() || "_.".contains(sign));
    let is_path = |sign: char| sign.is_alphanumeric() || "_.[*]".contains(sign);
    let is_same = items.is_empty() || items.starts_with("[*]");
    (is_function && is_same && list.chars().all(is_path))
        .then(|| format!("write `{before}avg({list}){after}`"))
}

/// The advice for `', '.join(list)`, where the receiver is the separator as in Python.
pub(super) fn joined_list(written: &str) -> Option<String> {
    const JOIN: &str = ".join(";
    let literals = text_literals(written);
    let separator = literals.iter().find(|literal| {
        let after = written.get(literal.end..);
        after.is_some_and(|after| after.starts_with(JOIN))
    })?;
    let start = separator.end + JOIN.len();
    let mut depth = 0_usize;
    let mut end = None;
    for (at, sign) in written.get(start..)?.char_indices() {
        let at = start + at;
        if literals.iter().any(|literal| literal.contains(&at)) {
            continue;
        }
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                end = Some(at);
                break;
            }
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            // A second argument is none of Python.
            ',' if depth == 0 => return None,
            _ => {}
        }
    }
    let end = end?;
    let list = written.get(start..end)?.trim();
    let list = as_operand(list);
    let quoted = written.get(separator.clone())?;
    let mut meant = written.to_owned();
    meant.replace_range(separator.start..=end, &format!("{list}.join({quoted})"));
    Some(format!("write `{meant}`"))
}

/// The advice for the text `value` as a condition.
pub(super) fn text_condition(value: &str) -> String {
    let value = as_operand(value);
    format!("compare it: `${{{value} != ''}}` is true if the text is not empty")
}

/// `expression` in parentheses, unless it is a path, a call or a list.
fn as_operand(expression: &str) -> String {
    let literals = text_literals(expression);
    let mut depth = 0_usize;
    let is_operation = expression.char_indices().any(|(at, sign)| {
        if literals.iter().any(|literal| literal.contains(&at)) {
            return false;
        }
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && " +-*/%<>=!&|".contains(sign)
    });
    if is_operation {
        format!("({expression})")
    } else {
        expression.to_owned()
    }
}
