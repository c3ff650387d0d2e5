//! The form of a single line, and the names in it.

use std::borrow::Cow;
use std::ops::Range;

use crate::document::quoted_prefix;
use crate::lowering::{foreign_code, guards, prose};

/// The start of a statement, in bytes of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineStart {
    /// `id = tool(`, `id = {` or `id = ${`.
    Step(StepHead),
    /// `plan {`: the byte of the brace.
    Plan(usize),
    /// `return`: the byte after it.
    Return(usize),
}

/// The head of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepHead {
    pub(super) id: Range<usize>,
    pub(super) body: StepBody,
    /// True if it has the syntax of other languages: `let id = tool(`, `id := tool(`, `1. id = tool(`.
    pub(super) is_foreign: bool,
}

/// The action of a step, as far as its head shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepBody {
    /// A call: the tool, and the byte after `(`.
    CallFields(Range<usize>, usize),
    /// An object: the byte of the brace.
    Object(usize),
    /// A reference: the byte of the dollar.
    Reference(usize),
}

/// The statement that `line` begins, if any.
pub(super) fn line_start(line: &str) -> Option<LineStart> {
    // Steps come first: `plan = f()` and `return = f()` are steps.
    if let Some(head) = step_head(line) {
        return Some(LineStart::Step(head));
    }
    let start = indent_length(line);
    let word = &line[start..];
    if let Some(rest) = word.strip_prefix("plan") {
        let brace = start + "plan".len() + indent_length(rest);
        return line[brace..]
            .starts_with('{')
            .then_some(LineStart::Plan(brace));
    }
    let rest = word.strip_prefix("return")?;
    // `returning`, `return(a)` and `return.x` are not statements.
    let is_word = !rest.starts_with(|c: char| is_id_char(c) || matches!(c, '(' | '.' | ':'));
    is_word.then_some(LineStart::Return(start + "return".len()))
}

/// The head of the step that `line` begins.
pub(super) fn step_head(line: &str) -> Option<StepHead> {
    match assigned_id(line) {
        Some((id, at)) => head(line, id, at, false).or_else(|| foreign_head(line)),
        None => foreign_head(line),
    }
}

/// The head of a step in the syntax of other languages: with a number, a keyword, or another operator.
fn foreign_head(line: &str) -> Option<StepHead> {
    let mut start = indent_length(line);
    start += list_marker_length(&line[start..]);
    if let Some(length) = foreign_code::declaration_length(&line[start..]) {
        start += length;
    }
    let end = start + name_length(&line[start..], is_id_char)?;
    let at = end + indent_length(&line[end..]);
    let operator = ["=", ":=", "<-"]
        .iter()
        .find(|sign| line[at..].starts_with(**sign))?;
    let mut at = at + operator.len();
    if line[at..].starts_with('=') {
        return None;
    }
    at += indent_length(&line[at..]);
    if let Some(rest) = line[at..].strip_prefix("await ") {
        at = line.len() - rest.trim_start().len();
    }
    let head = head(line, start..end, at, true)?;
    (!matches!(head.body, StepBody::Object(_))).then_some(head)
}

/// The length of the number or the dash of a list item, with the blanks after it.
fn list_marker_length(line: &str) -> usize {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let sign = &line[digits..];
    let has_marker = if digits > 0 {
        sign.starts_with(". ") || sign.starts_with(") ")
    } else {
        sign.starts_with("- ") || sign.starts_with("* ")
    };
    if !has_marker {
        return 0;
    }
    digits + 1 + indent_length(&sign[1..])
}

fn head(line: &str, id: Range<usize>, at: usize, is_foreign: bool) -> Option<StepHead> {
    let rest = &line[at..];
    let body = if rest.starts_with('{') {
        StepBody::Object(at)
    } else if rest.starts_with("${") {
        StepBody::Reference(at)
    } else {
        let name = name_length(rest, is_tool_char)?;
        let opens = rest[name..].starts_with('(');
        opens.then_some(StepBody::CallFields(at..at + name, at + name + 1))?
    };
    Some(StepHead {
        id,
        body,
        is_foreign,
    })
}

/// The error in a line that is a malformed step or belongs to a program, and the advice; `None` for prose.
pub(super) fn error(line: &str) -> Option<(String, String)> {
    let start = indent_length(line);
    if let Some((id, at)) = assigned_id(line) {
        let value = line[at..].trim_end().trim_end_matches(';');
        let id = line[id].trim_matches('"');
        let message = format!("`{id}` does nothing");
        if let Some(help) = guards::advice_on_value(value) {
            return Some((message, help));
        }
        let is_value = value.starts_with(['[', '"', '\'']) || value.parse::<f64>().is_ok();
        let help = if is_value && value.len() < MAX_SHOWN_VALUE && !value.contains('`') {
            format!("write `{id} = {{\"value\": {value}}}` for a value")
        } else {
            "write `id = tool(name=value)`, or `id = ${…}` for a value".to_owned()
        };
        return Some((message, help));
    }
    let rest = line[start..].trim_end();
    if rest.starts_with('{') {
        let message = "an object stands alone".to_owned();
        let help = "a step's other fields stand after its `)`, on the same line";
        return Some((message, help.to_owned()));
    }
    if rest.contains(" else ")
        && !rest.ends_with([':', '{'])
        && guards::begins_guard(rest)
        && let Some(help) = guards::advice(rest)
    {
        return Some(("the line is the condition of a call".to_owned(), help));
    }
    if let Some(error) = foreign_code::error(line) {
        return Some(error);
    }
    if let Some((name, end)) = call_at_start(rest)
        && let Some(help) = guards::advice(&rest[end..])
    {
        return Some((
            format!("the call of `{name}` has no id, and a condition as in a program"),
            help,
        ));
    }
    let Some(name) = call_without_id(rest) else {
        return prose::error(line).map(|(message, help)| (message, help.to_owned()));
    };
    let help = if prints(name, rest) {
        "a plan prints nothing: write `return` and a value"
    } else {
        FORM
    };
    Some((format!("the call of `{name}` has no id"), help.to_owned()))
}

/// Returns true if `line` is prose for people, which has no effect.
pub(crate) fn is_prose(line: &str) -> bool {
    line_start(line).is_none() && error(line).is_none()
}

/// The tool of a call without an id that is all of `text`.
fn call_without_id(text: &str) -> Option<&str> {
    let length = name_length(text, is_tool_char).unwrap_or_default();
    let (name, rest) = text.split_at(length);
    let is_call = rest.starts_with('(') && rest.ends_with([')', '}', ';']);
    // `f(x) | g` and `f(x) && g(y)` are more than one call.
    let is_chain = [") | ", ") |> ", ") && ", ") || ", ").", ") -> ", ") >> "]
        .iter()
        .any(|sign| rest.contains(sign));
    let is_guarded =
        call_at_start(text).is_some_and(|(_, end)| guards::advice(&text[end..]).is_some());
    (!name.is_empty() && is_call && !is_chain && !is_guarded).then_some(name)
}

/// The tool of the call at the start of `text`, and the byte after its closing bracket.
fn call_at_start(text: &str) -> Option<(&str, usize)> {
    let length = name_length(text, is_tool_char)?;
    text[length..].starts_with('(').then_some(())?;
    let mut brackets = 0_usize;
    let mut quote = None;
    let mut signs = text.char_indices().skip_while(|(at, _)| *at < length);
    while let Some((at, sign)) = signs.next() {
        match (quote, sign) {
            (Some(_), '\\') => {
                signs.next();
            }
            (Some(open), sign) if open == sign => quote = None,
            (None, '"' | '\'') => quote = Some(sign),
            (None, '(' | '[' | '{') => brackets += 1,
            (None, ')' | ']' | '}') => {
                brackets = brackets.saturating_sub(1);
                if brackets == 0 {
                    return Some((&text[..length], at + 1));
                }
            }
            (Some(_) | None, _) => {}
        }
    }
    None
}

/// The tool of a line that lacks only the id of a step.
pub(super) fn bare_call(line: &str) -> Option<&str> {
    let is_other = assigned_id(line).is_some() || foreign_code::error(line).is_some();
    let line = line.trim();
    let name = call_without_id(line).filter(|_| !is_other)?;
    (!prints(name, line)).then_some(name)
}

/// Returns true if `call`, a call of `name`, prints as in a program. A call with names of arguments or with fields of a step is that
/// of a tool such as `echo`.
fn prints(name: &str, call: &str) -> bool {
    let arguments = call.get(name.len()..).unwrap_or_default();
    let arguments = arguments.trim_start_matches('(').trim_start();
    let length = name_length(arguments, is_tool_char).unwrap_or_default();
    let after = arguments[length..].trim_start();
    let is_named = length > 0 && after.starts_with('=') && !after.starts_with("==");
    PRINT_FUNCTIONS.contains(&name) && !is_named && !call.ends_with('}')
}

/// The maximum length of a value in advice, in bytes.
const MAX_SHOWN_VALUE: usize = 100;

/// Functions that print, in several languages.
const PRINT_FUNCTIONS: [&str; 6] = ["print", "println", "printf", "console.log", "echo", "puts"];

/// Returns true if `line` begins a step in the syntax of other languages.
pub(super) fn is_foreign_step(line: &str) -> bool {
    step_head(line).is_some_and(|head| head.is_foreign)
}

/// The indentation of `line`.
pub(super) fn indentation(line: &str) -> &str {
    &line[..indent_length(line)]
}

/// The form of a step.
pub(super) const FORM: &str = "write `id = tool(name=value)`";

/// Returns true if `line` opens or closes a block of code.
pub(super) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Returns true if `line` is blank or a comment.
pub(super) fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// The name at `range` of `text`.
pub(super) fn name_at(text: &str, range: Range<usize>) -> Cow<'_, str> {
    let written = &text[range];
    match quoted_prefix(written) {
        Some((name, _)) => name,
        None => written.into(),
    }
}

/// The name before a `=`, and the start of the text after it.
pub(super) fn assigned_name(text: &str) -> Option<(Range<usize>, usize)> {
    let length = name_length(text, is_argument_char)?;
    Some((0..length, after_equals(text, length)?))
}

/// The id before a `=`, and the start of the text after it.
fn assigned_id(line: &str) -> Option<(Range<usize>, usize)> {
    let start = indent_length(line);
    let end = start + name_length(&line[start..], is_id_char)?;
    Some((start..end, after_equals(line, end)?))
}

/// The start of the text after the `=` that follows byte `at`.
fn after_equals(text: &str, at: usize) -> Option<usize> {
    let at = at + indent_length(&text[at..]);
    let rest = text[at..].strip_prefix('=')?;
    (!rest.starts_with('=')).then(|| at + 1 + indent_length(rest))
}

/// The length of the name at the start of `text`, quotes included.
fn name_length(text: &str, is_part: fn(char) -> bool) -> Option<usize> {
    if text.starts_with('"') {
        return quoted_prefix(text).map(|(_, length)| length);
    }
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.starts_with(is_first_char).then_some(length)
}

/// Returns true if `id` needs no quotes.
pub(super) fn is_bare_id(id: &str) -> bool {
    is_bare(id, is_id_char)
}

/// Returns true if the name of an argument needs no quotes.
pub(super) fn is_bare_argument(name: &str) -> bool {
    is_bare(name, is_argument_char)
}

/// Returns true if the name of a tool needs no quotes.
pub(super) fn is_bare_tool(name: &str) -> bool {
    is_bare(name, is_tool_char)
}

fn is_bare(name: &str, is_part: fn(char) -> bool) -> bool {
    name.starts_with(is_first_char) && name.chars().all(is_part)
}

fn is_first_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_id_char(c: char) -> bool {
    is_first_char(c) || c == '-'
}

fn is_argument_char(c: char) -> bool {
    is_id_char(c) || c == '.'
}

fn is_tool_char(c: char) -> bool {
    is_argument_char(c) || matches!(c, '/' | ':')
}

fn indent_length(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        match line_start(line) {
            Some(LineStart::Step(StepHead { id, body, .. })) => {
                let id = &line[id];
                match body {
                    StepBody::CallFields(tool, at) => {
                        format!("{id} calls {} {}", &line[tool], &line[at..])
                    }
                    StepBody::Object(at) | StepBody::Reference(at) => {
                        format!("{id} is {}", &line[at..])
                    }
                }
            }
            Some(LineStart::Plan(at)) => format!("plan {}", &line[at..]),
            Some(LineStart::Return(at)) => format!("return{}", &line[at..]),
            None => error(line).map_or_else(|| "words".to_owned(), |(message, _)| message),
        }
    }

    #[test]
    fn beginnings_of_lines() {
        let cases = [
            ("a = f(x=1)", "a calls f x=1)"),
            ("  a=f()", "a calls f )"),
            ("a-b = server/tool.x(", "a-b calls server/tool.x "),
            (
                "\"odd id\" = \"odd tool\"(1)",
                "\"odd id\" calls \"odd tool\" 1)",
            ),
            ("größe = messen()", "größe calls messen )"),
            ("1 = f()", "1 calls f )"),
            ("plan = f()", "plan calls f )"),
            ("return = f()", "return calls f )"),
            ("a = {\"value\": 1}", "a is {\"value\": 1}"),
            ("a = ${b.c}", "a is ${b.c}"),
            ("plan {\"name\": \"n\"}", "plan {\"name\": \"n\"}"),
            ("plan{}", "plan {}"),
            ("plan the work", "words"),
            ("return ${a}", "return ${a}"),
            ("return", "return"),
            ("returning home", "words"),
            ("return(a)", "the call of `return` has no id"),
            ("a = b", "`a` does nothing"),
            ("a = [1]", "`a` does nothing"),
            ("a == f()", "the line is neither a step nor words"),
            ("f(x=1)", "the call of `f` has no id"),
            ("a note (in words)", "words"),
            ("note(s) to keep", "words"),
            ("{\"when\": true}", "an object stands alone"),
            ("1. f(1)", "the line is neither a step nor words"),
            ("#E1 = f[x]", "words"),
            ("a.b = f()", "`a.b` cannot be the id of a step"),
            ("const a = f()", "a calls f )"),
            ("let a = await f(x)", "a calls f x)"),
            ("a := f()", "a calls f )"),
            ("1. a = f()", "a calls f )"),
            ("- a = f()", "a calls f )"),
            ("const a = {", "`const a` cannot be the id of a step"),
            ("if a.b:", "`if` opens a block"),
            ("print(a)", "the call of `print` has no id"),
        ];
        for (line, wanted) in cases {
            assert_eq!(shown(line), wanted, "{line}");
        }
    }
}
