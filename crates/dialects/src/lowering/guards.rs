//! Guards of calls in the style of programs, `call() if condition else None`, and the fields of a step that mean the same.
//!
//! The advice about such a line never leads to a call without its condition.

use super::lines::tool_name_length;
use crate::foreign_text::program_condition;

/// The maximum length of a condition or a list in advice, in bytes.
const MAX_SHOWN: usize = 120;

/// The advice about `rest`, which follows a call on its line; `None` if it is no guard.
pub(crate) fn advice(rest: &str) -> Option<String> {
    let rest = rest.trim().trim_end_matches(';').trim_end();
    let (word, inside) = guard_word(rest)?;
    let inside = inside.trim().trim_end_matches([':', '{', ' ']);
    match word {
        "if" | "when" | "?" => {
            let (condition, other) = match inside.split_once(" else ") {
                Some((condition, other)) if word == "if" => (condition, Some(other)),
                _ => (inside, None),
            };
            // `condition ? call() : other` has its condition before the call.
            if word == "?" {
                return Some(UNCLEAR.to_owned());
            }
            let field = when(condition);
            Some(match other.filter(|other| has_call(other)) {
                Some(other) => format!(
                    "write {field} after the `)` of the call, and the other call on its own line: {}",
                    line_unless(condition, other)
                ),
                None => match lone_name(condition) {
                    Some(name) => format!(
                        "write the condition after the `)` of the call: `{{\"when\": ${{results.{name}.success}}}}` if it is made after the success of `{name}`, or {field} if `{name}` is true or false"
                    ),
                    None => format!("write the condition after the `)` of the call: {field}"),
                },
            })
        }
        "unless" => Some(format!(
            "write the condition after the `)` of the call: {}",
            when_not(inside)
        )),
        "for" | "foreach" => {
            let (name, list) = inside.split_once(" in ").or_else(|| inside.split_once(" of "))?;
            let (name, list) = (name.trim(), list.trim());
            if !is_shown(list) || !is_shown(name) {
                return Some(LOOP.to_owned());
            }
            Some(format!(
                "write the list after the `)` of the call: `{{\"for_each\": {}}}`, and `${{item}}` for `{name}`",
                listed(list)
            ))
        }
        "while" | "until" => Some(
            "write the condition that ends the loop after the `)` of the call: `{\"repeat\": {\"until\": ${…}}}`".to_owned(),
        ),
        "and" | "&&" | "or" | "||" => Some(UNCLEAR.to_owned()),
        _ => None,
    }
}

/// The name that is all of `condition`: that of a step, whose output is seldom true or false.
fn lone_name(condition: &str) -> Option<&str> {
    let name = condition
        .trim()
        .trim_matches(['$', '{', '}', '(', ')', ' ']);
    let is_name = name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
        && name
            .chars()
            .all(|sign| sign.is_alphanumeric() || sign == '_')
        && !matches!(name, "true" | "false" | "True" | "False" | "item" | "index");
    is_name.then_some(name)
}

/// The advice about `value`, the right side of an assignment, in which a call depends on the text before or after it.
pub(crate) fn advice_on_value(value: &str) -> Option<String> {
    let at = call_start(value)?;
    let before = value[..at].trim_end();
    for (operator, negates) in [("and", false), ("&&", false), ("or", true), ("||", true)] {
        if let Some(condition) = before.strip_suffix(operator)
            && condition.ends_with(' ')
        {
            let field = if negates {
                when_not(condition)
            } else {
                when(condition)
            };
            return Some(format!(
                "write the call alone, and its condition after its `)`: {field}"
            ));
        }
    }
    if let Some(condition) = before.strip_suffix('?') {
        let rest = &value[at..];
        let other = rest.split_once(" : ").map(|(_, other)| other);
        let other = match other.filter(|other| has_call(other)) {
            Some(other) => format!(
                ", and the other call on its own line: {}",
                line_unless(condition, other)
            ),
            None => String::new(),
        };
        return Some(format!(
            "write the call alone, and its condition after its `)`: {}{other}",
            when(condition)
        ));
    }
    None
}

/// The advice if the condition of a call is not understood.
const UNCLEAR: &str = "write each call on its own line, and after the `)` of one that may be left out its condition: `{\"when\": ${…}}`";

const LOOP: &str = "write the list after the `)` of the call: `{\"for_each\": ${…}}`";

/// The keyword or the operator at the start of `rest`, and what follows it.
fn guard_word(rest: &str) -> Option<(&'static str, &str)> {
    const WORDS: [&str; 9] = [
        "if", "when", "unless", "foreach", "for", "while", "until", "and", "or",
    ];
    const SIGNS: [&str; 3] = ["&&", "||", "?"];
    let of_word = |word: &&'static str| {
        let inside = rest.strip_prefix(*word)?;
        inside.starts_with([' ', '(']).then_some((*word, inside))
    };
    let of_sign = |sign: &&'static str| Some((*sign, rest.strip_prefix(*sign)?));
    WORDS
        .iter()
        .find_map(of_word)
        .or_else(|| SIGNS.iter().find_map(of_sign))
}

/// Returns true if `text` begins like a guard, `if x`, and not like another word.
pub(crate) fn begins_guard(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix("only ").unwrap_or(text);
    guard_word(text).is_some_and(|(word, _)| matches!(word, "if" | "when" | "unless"))
}

/// The start of the first call in `text`, if it is not at its start.
fn call_start(text: &str) -> Option<usize> {
    let mut at = 0;
    for (index, _) in text.match_indices([' ', '(']).take(64) {
        let word = &text[at..];
        let length = tool_name_length(word);
        let is_call = length > 0 && word[length..].starts_with('(');
        if at > 0 && is_call && word[..length].contains(['.', '_']) {
            return Some(at);
        }
        at = index + 1;
    }
    None
}

/// Returns true if a call is at the start of `text`.
fn has_call(text: &str) -> bool {
    let text = text.trim_start();
    let length = tool_name_length(text);
    length > 0 && text[length..].starts_with('(')
}

fn is_shown(text: &str) -> bool {
    !text.is_empty() && text.len() < MAX_SHOWN && !text.contains(['`', '\n'])
}

fn when(condition: &str) -> String {
    match shown_condition(condition) {
        Some(condition) => format!("`{{\"when\": ${{{condition}}}}}`"),
        None => "`{\"when\": ${…}}`".to_owned(),
    }
}

fn when_not(condition: &str) -> String {
    match shown_condition(condition) {
        Some(condition) => format!("`{{\"when\": ${{!({condition})}}}}`"),
        None => "`{\"when\": ${!(…)}}`".to_owned(),
    }
}

/// The line of a step that makes the call `call` if `condition` is false, with an id of its own.
fn line_unless(condition: &str, call: &str) -> String {
    let call = call.trim();
    let field = when_not(condition);
    // Another operator may follow the call.
    if !is_shown(call) || !call.ends_with(')') || call.contains(") ") {
        return format!("an id, ` = `, the call, and {field}");
    }
    let tool = &call[..tool_name_length(call)];
    let name = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    format!(
        "`{name}_else = {call} {}",
        field.strip_prefix('`').unwrap_or(&field)
    )
}

/// `condition` in the language of references, or as it is written.
fn shown_condition(condition: &str) -> Option<String> {
    let condition = condition.trim();
    let inside = condition
        .strip_prefix("${")
        .and_then(|inside| inside.strip_suffix('}'))
        .unwrap_or(condition);
    if !is_shown(inside) {
        return None;
    }
    // Each name may be a step.
    let names = inside.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let names: Vec<String> = names
        .filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .map(str::to_owned)
        .collect();
    Some(program_condition(inside, &names).unwrap_or_else(|| inside.to_owned()))
}

/// `list` as a value of a line: a literal as it is, and all else as a reference.
fn listed(list: &str) -> String {
    if list.starts_with(['[', '$']) {
        list.to_owned()
    } else {
        format!("${{{list}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_behind_calls() {
        let check = |rest: &str, expected: &str| {
            let found = advice(rest).unwrap_or_default();
            assert!(found.contains(expected), "{rest}: {found}");
        };
        check("if t[\"ok\"] else None", "`{\"when\": ${t.ok}}`");
        check("if t.ok", "`{\"when\": ${t.ok}}`");
        check(
            "if t",
            "`{\"when\": ${results.t.success}}` if it is made after the success of `t`, or `{\"when\": ${t}}` if",
        );
        check("if (t.n > 5)", "`{\"when\": ${t.n > 5}}`");
        check(
            "if t.ok else s.g(x=1)",
            "own line: `g_else = s.g(x=1) {\"when\": ${!(t.ok)}}`",
        );
        check("if t.ok else g(x=1) if b else h()", "` = `, the call, and");
        check("unless t.ok", "`{\"when\": ${!(t.ok)}}`");
        check("when ${t.ok}", "`{\"when\": ${t.ok}}`");
        check("for z in [1, 2]", "`{\"for_each\": [1, 2]}`");
        check("for z in g.items", "`{\"for_each\": ${g.items}}`");
        check("while t.ok", "until");
        check("or g()", "`{\"when\": ${…}}`");
        check("&& g()", "`{\"when\": ${…}}`");
        for rest in ["then g", "format", "// words", "-> x", ""] {
            assert_eq!(advice(rest), None, "{rest}");
        }
    }

    #[test]
    fn guards_before_calls() {
        let check = |value: &str, expected: &str| {
            let found = advice_on_value(value).unwrap_or_default();
            assert!(found.contains(expected), "{value}: {found}");
        };
        check("t.ok and f.write(x=1)", "`{\"when\": ${t.ok}}`");
        check("t.ok && f.write(x=1)", "`{\"when\": ${t.ok}}`");
        check("t.ok or f.write(x=1)", "`{\"when\": ${!(t.ok)}}`");
        check("t.ok ? f.write(x=1) : null", "`{\"when\": ${t.ok}}`");
        check(
            "t.ok ? f.write(x=1) : f.read()",
            "`read_else = f.read() {\"when\": ${!(t.ok)}}`",
        );
        assert_eq!(advice_on_value("f.write(x=1)"), None);
        assert_eq!(advice_on_value("a + f.write(x=1)"), None);
    }
}
