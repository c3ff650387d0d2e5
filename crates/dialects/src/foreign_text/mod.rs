//! Texts that are not a plan in any syntax: malformed YAML, TOML, XML, tables, words, calls without ids. Each gets one diagnostic with the plan in
//! JSON, or at least with the form of a plan.

pub(crate) mod advice;
pub(crate) mod calls;
mod formats;
mod program;
mod remainder;
mod table;
mod toml_plans;
mod values;
mod words;
mod xml;
mod yaml_markers;

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Diagnostics, Value};

use self::advice::{Extent, JSON_FORM, Reading, advice, advice_of, reading};
pub(crate) use self::program::only_reads;
use crate::document::{ReadLimits, quote, read_yaml, yaml_part};
use crate::lowering::lines::tool_name_length;

/// The maximum length of a text whose plan is read, in bytes; advice about a longer one shows only the form of a plan.
const MAX_BYTES: usize = 256 * 1024;

/// The maximum nesting of values on one line.
const MAX_DEPTH: usize = 64;

/// The diagnostics about `text`, which is neither JSON nor lines of calls; `None` if its kind is not known.
pub(crate) fn diagnostics(text: &str) -> Option<Diagnostics> {
    if let Some(found) = of_markup(text) {
        return Some(found);
    }
    let code = fenced(text).unwrap_or(text);
    if let Some(problem) = yaml_problem(text, code) {
        return Some(of_quoted_yaml(text, code).unwrap_or_else(|| [problem].into_iter().collect()));
    }
    if let Some((kind, found)) = plan_in(code) {
        let message = format!("the text is {kind}, and a plan is JSON or lines of calls");
        let extent = extent(code, text).and(found.extent);
        let reading =
            reading(&found.plan, extent).unwrap_or_else(|| Reading::new(found.plan, extent));
        return Some(advice_of(Code::NotJson, &message, &reading, text));
    }
    diagnostic(text, code).map(|found| [found].into_iter().collect())
}

/// The problem of `text`, if its `code` has the form of a plan in YAML and is malformed.
fn yaml_problem(text: &str, code: &str) -> Option<Diagnostic> {
    let part = yaml_part(text)?;
    of_yaml(&significant_lines(code))?;
    let limits = ReadLimits::default();
    read_yaml(text, part, ("", 0), &limits)
        .err()
        .map(|problem| *problem)
}

/// The diagnostics about `text`, whose `code` is a plan in YAML without the quotes around some of its markers.
fn of_quoted_yaml(text: &str, code: &str) -> Option<Diagnostics> {
    if code.len() > MAX_BYTES {
        return None;
    }
    let value = yaml_value(&yaml_markers::with_quotes(code)?)?;
    let found = reading(&value, extent(code, text))?;
    let message = "the text is YAML, where a value with `{{…}}`, or with `${…}` inside of braces, has to stand in quotes";
    Some(advice_of(Code::NotJson, message, &found, text))
}

/// The diagnostics about `text`, a plan in YAML with the fields of other systems, if all of it has a counterpart.
pub(crate) fn of_whole_yaml(text: &str) -> Option<Diagnostics> {
    let code = fenced(text).unwrap_or(text);
    let value = yaml_value(code)?;
    let found = reading(&value, extent(code, text))?;
    let message = "the text is a plan of another system, not of a dialect";
    let diagnostics = advice_of(Code::UnknownDialect, message, &found, text);
    diagnostics
        .apply_fixes(text)
        .is_some()
        .then_some(diagnostics)
}

/// The diagnostics about `text`, if it is TOML or XML; parts of such a text may look like JSON or like lines of a plan.
pub(crate) fn of_markup(text: &str) -> Option<Diagnostics> {
    let code = fenced(text).unwrap_or(text);
    if code.len() > MAX_BYTES {
        return None;
    }
    let toml = toml_plans::value(code).map(|plan| ("TOML", FoundPlan::all(plan)));
    let (kind, found) = toml.or_else(|| Some(("XML", xml::plan(code)?)))?;
    let message = format!("the text is {kind}, and a plan is JSON or lines of calls");
    let extent = extent(code, text).and(found.extent);
    let reading = reading(&found.plan, extent).unwrap_or_else(|| Reading::new(found.plan, extent));
    Some(advice_of(Code::NotJson, &message, &reading, text))
}

/// The value of a plan, and the part of the text that it stands for.
#[derive(Debug)]
struct FoundPlan {
    plan: Value,
    extent: Extent,
}

impl FoundPlan {
    fn all(plan: Value) -> Self {
        Self {
            plan,
            extent: Extent::All,
        }
    }
}

/// The diagnostics about `text`, if it is a program that calls tools, or a format for other programs.
pub(crate) fn of_program(text: &str) -> Option<Diagnostics> {
    let code = fenced(text).unwrap_or(text);
    let program = program::plan(code).map(|plan| ("a program", plan));
    let Some((kind, plan)) = program.or_else(|| formats::plan(code)) else {
        return of_script(text, code);
    };
    let message = format!("the text is {kind}, and a plan is JSON or lines of calls");
    let extent = extent(code, text);
    Some(advice(Code::NotJson, &message, &plan, extent, text))
}

/// The diagnostics about a script of a shell that does more than a plan can.
fn of_script(text: &str, code: &str) -> Option<Diagnostics> {
    let (plan, left_out) = formats::script_parts::plan(code)?;
    let message = "the text is a script of a shell, and a plan is JSON or lines of calls: `$(…)` is the reference `${ID}`, and `for` the `for_each` of a step";
    let reading = Reading {
        left_out,
        ..Reading::new(plan, Extent::Part)
    };
    Some(advice_of(Code::NotJson, message, &reading, text))
}

/// The diagnostics about JSON with typographic quotes in place of straight ones.
pub(crate) fn of_typographic_quotes(text: &str) -> Option<Diagnostics> {
    let code = fenced(text).unwrap_or(text);
    let value = formats::with_straight_quotes(code)?;
    let message = "the text has typographic quotes, and JSON has straight ones";
    let extent = extent(code, text);
    let reading = reading(&value, extent).unwrap_or_else(|| Reading::new(value, extent));
    Some(advice_of(Code::NotJson, message, &reading, text))
}

/// The condition `written` in the style of Python or Jinja, whose names are those of steps; `None` if it has no counterpart.
pub(crate) fn program_condition(written: &str, names: &[String]) -> Option<String> {
    program::condition(written, names)
}

/// The plan in `code` with the name of its syntax, if that is not JSON.
fn plan_in(code: &str) -> Option<(&'static str, FoundPlan)> {
    if code.len() > MAX_BYTES {
        return None;
    }
    values::value(code)
        .map(|plan| ("a list of JSON values", FoundPlan::all(plan)))
        .or_else(|| Some(("a table", table::plan(code)?)))
        .or_else(|| {
            let plan = yaml_value(code).filter(is_plan)?;
            Some(("YAML", FoundPlan::all(plan)))
        })
}

/// The value of the YAML in `code`; `None` if it has problems.
fn yaml_value(code: &str) -> Option<Value> {
    let limits = ReadLimits {
        depth: MAX_DEPTH,
        ..ReadLimits::default()
    };
    let document = read_yaml(code, yaml_part(code)?, ("", 0), &limits).ok()?;
    Some(document.root.to_value())
}

/// The object with `fields`; `None` if two of them have the same name.
fn object(fields: Vec<(Arc<str>, Value)>) -> Option<Value> {
    let mut names = HashSet::with_capacity(fields.len());
    let is_unique = fields
        .iter()
        .all(|(name, _)| names.insert(Arc::clone(name)));
    is_unique.then(|| Value::object(fields))
}

/// Returns true if the value of YAML may be a plan: blocks of keys occur in other texts as well.
fn is_plan(value: &Value) -> bool {
    reading(value, Extent::All).is_some()
}

/// The lines of `code` that are neither blank nor comments, without their indentation.
fn significant_lines(code: &str) -> Vec<&str> {
    code.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("```"))
        .collect()
}

/// The diagnostic about the text `code`, whose value is not known.
fn diagnostic(text: &str, code: &str) -> Option<Diagnostic> {
    let lines = significant_lines(code);
    let (message, help) = of_toml(&lines)
        .or_else(|| of_xml(&lines))
        .or_else(|| listed_calls(code))
        .or_else(|| of_yaml(&lines))
        .or_else(|| call(&lines))
        .or_else(|| list(&lines))?;
    let start = text.len() - text.trim_start().len();
    let end = text[start..]
        .find('\n')
        .map_or(text.len(), |end| start + end);
    let diagnostic = Diagnostic::error(Code::NotJson, message).help(help);
    Some(diagnostic.at_span("", start..end))
}

/// The inside of the only fenced block of `text`.
fn fenced(text: &str) -> Option<&str> {
    let (_, inside) = text.split_once("```")?;
    let (_, inside) = inside.split_once('\n')?;
    let (inside, after) = inside.split_once("```").unwrap_or((inside, ""));
    // With several blocks, the plan may be in any of them.
    (!after.contains("```")).then_some(inside)
}

/// The extent of `code`, which is `text` or the inside of its fenced block.
fn extent(code: &str, text: &str) -> Extent {
    let Some((before, inside)) = text.split_once("```").filter(|_| code.len() < text.len()) else {
        return Extent::All;
    };
    let after = inside.split_once("```").map_or("", |(_, after)| after);
    if before.trim().is_empty() && after.trim().is_empty() {
        Extent::All
    } else {
        Extent::Part
    }
}

/// Fields of YAML: `key:` and `- key: value`.
fn of_yaml(lines: &[&str]) -> Option<(String, String)> {
    let key = |line: &str| {
        let line = line.trim_start_matches("- ");
        let (key, value) = line.split_once(':')?;
        let is_key = !key.is_empty()
            && key
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        (is_key && (value.is_empty() || value.starts_with(' '))).then(|| key.to_owned())
    };
    let keys: Vec<String> = lines.iter().filter_map(|line| key(line)).collect();
    let of_plans = [
        "steps", "tasks", "jobs", "nodes", "actions", "workflow", "tool", "uses",
    ];
    // `- get_weather:` is a call.
    let is_call = |line: &&str| line.starts_with("- ") && line.contains('_');
    let is_plan = keys.iter().any(|key| of_plans.contains(&&**key)) || lines.iter().any(is_call);
    if !is_plan || keys.len() * 2 < lines.len() {
        return None;
    }
    Some((
        "the text is YAML, and a plan is JSON or lines of calls".to_owned(),
        format!("write it as JSON, {JSON_FORM}"),
    ))
}

/// Tables of TOML: `[[steps]]`.
fn of_toml(lines: &[&str]) -> Option<(String, String)> {
    let (first, others) = lines.split_first()?;
    let is_table = first.starts_with("[[")
        && first.ends_with("]]")
        && first[2..].starts_with(char::is_alphabetic);
    let is_toml = is_table && others.iter().any(|line| line.contains(" = "));
    is_toml.then(|| {
        let message = "the text is TOML, and a plan is JSON or lines of calls".to_owned();
        (message, format!("write it as JSON, {JSON_FORM}"))
    })
}

/// Elements of XML: `<plan>`.
fn of_xml(lines: &[&str]) -> Option<(String, String)> {
    let (first, last) = (lines.first()?, lines.last()?);
    let is_element = first.starts_with("<?xml")
        || first
            .strip_prefix('<')?
            .starts_with(|c: char| c.is_ascii_alphabetic());
    (is_element && last.ends_with('>') && last.contains("</")).then(|| {
        let message = "the text is XML, and a plan is JSON or lines of calls".to_owned();
        (message, format!("write it as JSON, {JSON_FORM}"))
    })
}

/// Calls in a list: `[tool(name=value), tool(name=value)]`.
fn listed_calls(code: &str) -> Option<(String, String)> {
    let inside = code.trim().strip_prefix('[')?.trim_start();
    let length = tool_name_length(inside);
    if length == 0 || !inside[length..].starts_with('(') {
        return None;
    }
    let end = inside.find(')').map_or(inside.len(), |end| end + 1);
    let message = "the text is a list of calls, which have no ids".to_owned();
    let help = format!(
        "write each on its own line: {}",
        quote(&format!("a = {}", &inside[..end]))
    );
    Some((message, help))
}

/// Returns true if `text` begins like JSON, but is TOML or a list of calls.
pub(crate) fn only_looks_like_json(text: &str) -> bool {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    of_toml(&lines).is_some()
        || listed_calls(text).is_some()
        || values::value(text).is_some()
        || (text.len() <= MAX_BYTES && toml_plans::value(text).is_some())
}

/// Calls without ids: `tool(name=value)`.
fn call(lines: &[&str]) -> Option<(String, String)> {
    let is_call = |line: &&&str| {
        let length = tool_name_length(line);
        length > 0 && line[length..].starts_with('(') && line.trim_end_matches(';').ends_with(')')
    };
    let line = lines.iter().find(is_call)?.trim_end_matches(';');
    let message = format!("the call {} has no id", quote(line));
    let help = format!(
        "write {}, and so each call with an id",
        quote(&format!("a = {line}"))
    );
    Some((message, help))
}

/// Words in a numbered list.
fn list(lines: &[&str]) -> Option<(String, String)> {
    let item = |line: &str| {
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = digits.len() < line.len() && digits.starts_with(['.', ')']);
        let rest = if is_numbered {
            digits[1..].trim_start()
        } else {
            line.strip_prefix("- ")
                .or_else(|| line.strip_prefix("* "))?
        };
        Some(rest.to_owned())
    };
    let items: Vec<String> = lines.iter().filter_map(|line| item(line)).collect();
    if items.is_empty() || items.len() * 2 < lines.len() {
        return None;
    }
    let message = "the text is a list of words, and a plan is made of calls of tools".to_owned();
    Some((message, words::advice(&items)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_plans() {
        let check = |text: &str, expected: Option<&str>| {
            let found = diagnostics(text);
            let found = found.and_then(|found| found.iter().next()?.help.clone());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            "steps:\n  - id: t\n    tool: clock\n",
            Some("write it as JSON: `{\"steps\":[{\"id\":\"t\",\"tool\":\"clock\"}]}`"),
        );
        check(
            "f(x=1);",
            Some("write `a = f(x=1)`, and so each call with an id"),
        );
        check(
            "1. Call get_time.\n2. Say it.",
            Some(
                "write each item as a step, with the tool that it calls and its arguments: `{\"ordering\":\"listed\",\"steps\":[{\"id\":\"step1\",\"tool\":\"get_time\",\"args\":{},\"note\":\"Call get_time.\"},{\"id\":\"step2\",\"tool\":\"TOOL\",\"args\":{},\"note\":\"Say it.\"}]}`, where `${step1}` is the result of an item",
            ),
        );
        check("Dear all,\nnote: this is not a plan", None);
        check(
            "[f(x=1), g()]",
            Some("write each on its own line: `a = f(x=1)`"),
        );
        check(
            "[[steps]]\nid = \"a\"",
            Some("write it as JSON: `{\"steps\":[{\"id\":\"a\"}]}`"),
        );
        check("[1, 2]", None);
        check(
            "<plan>\n<step tool=\"f\"/>\n</plan>",
            Some(
                "write it as JSON, `{\"steps\": [{\"id\": \"a\", \"tool\": \"TOOL\", \"args\": {\"NAME\": VALUE}}]}`",
            ),
        );
        check("<plan> is a word", None);
        check("", None);
    }
}
