//! Calls in place of values, as in `sum(a=1, b=sum(a=2, b=3))`: each becomes a step of its own.

use planwright_core::Value;

use super::lines::ValueBudget;
use super::python_arguments::{ArgumentScanner, LineArgument, UnquotedReference};
use crate::document::ReadLimits;

/// The maximum length of advice, in bytes.
const MAX_SHOWN: usize = 400;

/// The maximum length of a call, in bytes, so that the cost of many openings is linear.
const MAX_CALL: usize = 2000;

/// The maximum number of calls inside of each other.
const MAX_CALLS: usize = 8;

/// The length of the call at the start of `text`, a name and a pair of brackets; `None` if there is none.
pub(crate) fn call_length(text: &str) -> Option<usize> {
    let text = &text[..text.floor_char_boundary(MAX_CALL)];
    let name = name_length(text);
    let is_call = name > 0 && text[name..].starts_with('(');
    is_call.then(|| group_length(&text[name..]).map(|group| name + group))?
}

/// The advice to write `call`, which stands in place of a value, as steps before; `is_used` tells whether a name is that of another
/// step.
pub(crate) fn advice(call: &str, is_used: impl Fn(&str) -> bool) -> String {
    let general = "write the call as a step of its own before this one, and `${ID.FIELD}` here";
    let is_shown = call.len() <= MAX_SHOWN && !call.contains(['`', '\n']);
    let Some((steps, id)) = is_shown.then(|| steps(call, is_used)).flatten() else {
        return general.to_owned();
    };
    let shown: Vec<String> = steps.iter().map(|step| format!("`{step}`")).collect();
    let advice = format!(
        "write {} before this line, and `${{{id}}}` here, or a field of it",
        shown.join(" and ")
    );
    if advice.len() > MAX_SHOWN {
        return general.to_owned();
    }
    advice
}

/// The advice for an expression that is a call with names of arguments, which only tools have: `get-sum(a=1, b=2)`.
pub(crate) fn step_advice(call: &str) -> Option<String> {
    // A reference would need its own form in the step.
    let (tool, args) = named_call(call, |_| None)?;
    // `a.rows.sort()` is a method of a part of a result.
    if tool.matches('.').count() > 1 {
        return None;
    }
    let is_tool = !args.is_empty() || tool.contains(['-', '.']);
    let id = tool.replace(|sign: char| !sign.is_alphanumeric(), "_");
    let step = Value::object([
        ("id", Value::text(&*id)),
        ("tool", Value::text(&*tool)),
        ("args", Value::object(args)),
    ]);
    let json = step.to_json();
    (is_tool && json.len() <= MAX_SHOWN && !json.contains('`')).then(|| {
        format!("an expression cannot call a tool: write the step `{json}` before this one, and `${{{id}}}` here, or a field of it")
    })
}

/// The tool and the arguments of `call`, a call with names of all arguments; `reference` is the length of a reference after its `$`.
pub(crate) fn named_call(
    call: &str,
    reference: fn(&str) -> Option<usize>,
) -> Option<(String, Vec<(String, Value)>)> {
    if call_length(call)? != call.len() {
        return None;
    }
    let (tool, _) = call.split_once('(')?;
    let limits = ReadLimits::default();
    let mut budget = ValueBudget::of(&limits);
    let reference = UnquotedReference {
        sign: '$',
        length: reference,
        form: "",
    };
    let at = (tool.len() + 1, MAX_CALLS);
    let scanner = ArgumentScanner::new(call, at, &mut budget, reference);
    let (arguments, _) = scanner.arguments(')').ok()?;
    let named = |argument: &LineArgument| {
        let name = call.get(argument.name.clone()?)?;
        Some((name.to_owned(), argument.value.to_value()))
    };
    let args = arguments.iter().map(named).collect::<Option<_>>()?;
    Some((tool.to_owned(), args))
}

/// The lines for `call` and the calls in it, the innermost first, and the id of the last one.
fn steps(call: &str, is_used: impl Fn(&str) -> bool) -> Option<(Vec<String>, String)> {
    let mut rest = call.to_owned();
    let mut steps: Vec<String> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    while steps.len() < MAX_CALLS {
        let (start, length) = innermost(&rest)?;
        let inner = &rest[start..start + length];
        let tool = &inner[..name_length(inner)];
        let name: String = tool
            .rsplit(['.', '/', ':'])
            .next()?
            .chars()
            .map(|sign| if sign.is_alphanumeric() { sign } else { '_' })
            .collect();
        let mut numbered = (2..100).map(|number| format!("{name}_{number}"));
        let is_free = |id: &String| !is_used(id) && !ids.contains(id);
        let id = if is_free(&name) {
            name
        } else {
            numbered.find(is_free)?
        };
        steps.push(format!("{id} = {inner}"));
        let is_all = length == rest.len();
        rest.replace_range(start..start + length, &format!("${{{id}}}"));
        ids.push(id);
        if is_all {
            return Some((steps, ids.pop()?));
        }
    }
    None
}

/// The start and the length of the last call in `text` that has no other one in it.
fn innermost(text: &str) -> Option<(usize, usize)> {
    let mut quote = None;
    let mut found = None;
    let mut end = 0;
    for (at, sign) in text.char_indices() {
        match (quote, sign) {
            (Some(open), sign) if open == sign => quote = None,
            (None, '"' | '\'') => quote = Some(sign),
            (None, sign) if at >= end && is_of_name(sign) => {
                end = at + name_length(&text[at..]).max(sign.len_utf8());
                if let Some(length) = call_length(&text[at..]) {
                    found = Some((at, length));
                }
            }
            (Some(_) | None, _) => {}
        }
    }
    found
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || "_-./:".contains(sign)
}

/// The length of the name of a tool at the start of `text`.
fn name_length(text: &str) -> usize {
    if !text.starts_with(|sign: char| sign.is_alphabetic() || sign == '_') {
        return 0;
    }
    text.find(|sign| !is_of_name(sign)).unwrap_or(text.len())
}

/// The length of the group that the bracket at the start of `text` opens.
fn group_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, sign) in text.char_indices() {
        match (quote, sign) {
            (Some(open), sign) if open == sign => quote = None,
            (None, '"' | '\'') => quote = Some(sign),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            (Some(_) | None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_steps() {
        let check = |call: &str, expected: &str| {
            assert_eq!(call_length(call), Some(call.len()), "{call}");
            assert_eq!(advice(call, |id| id == "used"), expected, "{call}");
        };
        check(
            "get-sum(a=1, b=2)",
            "write `get_sum = get-sum(a=1, b=2)` before this line, and `${get_sum}` here, or a field of it",
        );
        check(
            "srv.used(x=\"f(1)\")",
            "write `used_2 = srv.used(x=\"f(1)\")` before this line, and `${used_2}` here, or a field of it",
        );
        check(
            "f(a=f(a=1), b=[g-h(2)])",
            "write `g_h = g-h(2)` and `f = f(a=1)` and `f_2 = f(a=${f}, b=[${g_h}])` before this line, and `${f_2}` here, or a field of it",
        );
        check(
            "f(`)",
            "write the call as a step of its own before this one, and `${ID.FIELD}` here",
        );
    }

    #[test]
    fn other_texts_are_no_calls() {
        for text in ["", "f", "f (1)", "(1)", "f(1", "1(2)", "f)", "\"f\"(1)"] {
            assert_eq!(call_length(text), None, "{text}");
        }
    }
}
