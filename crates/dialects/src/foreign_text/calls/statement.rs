//! A call with its id, in any order and with words around it.

use std::borrow::Cow;
use std::collections::HashSet;

use super::values::{closing, expression, named, split, unquoted_text, value, with_unquoted_texts};
use super::words::{self, After, Before};
use crate::foreign_text::program::only_reads;
use crate::lowering::lines::tool_name_length;
use crate::native::UsedIds;

/// The effect of a statement of another language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallStatement {
    pub(super) id: Option<String>,
    /// The tool with its arguments, `tool(name=value)`; several calls that a program waits for together.
    pub(super) calls: Vec<StatementCall>,
    /// The value of a step without a call, in the notation of lines.
    pub(super) value: Option<String>,
    /// The fields after the call, as JSON.
    pub(super) fields: Vec<String>,
    /// The output of the plan, in the notation of lines; an empty text for the output of the step.
    pub(super) returns: Option<String>,
}

/// A call in a statement, in the notation of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatementCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) arguments: String,
}

/// Functions that wait for several calls.
const GATHER: [&str; 4] = ["asyncio.gather", "Promise.all", "gather", "parallel"];

/// Functions that print.
const PRINT: [&str; 3] = ["print", "console.log", "println"];

impl CallStatement {
    /// Reads `written`; `None` if it is not a call with words around it whose meaning is known, and no `return`.
    pub(super) fn read(written: &str, ids: &HashSet<String>) -> Option<Self> {
        let written = without_marks(written);
        if let Some(returned) = written.strip_prefix("return ") {
            let returned = returned.trim_end_matches(';');
            if let Some(returned) = value(returned, ids) {
                return Some(Self {
                    returns: Some(returned),
                    ..Self::default()
                });
            }
            let call = Self::call(returned, ids).filter(Self::is_single_call)?;
            return Some(Self {
                returns: Some(String::new()),
                ..call
            });
        }
        let written = words::without_label(written);
        Self::inline_block(written, ids)
            .or_else(|| Self::call(written, ids))
            .filter(|_| written.starts_with("for ") || !written.contains(" for "))
            .or_else(|| Self::assignment(written, ids))
            // Inline code of Markdown.
            .or_else(|| {
                let code = written.contains('`').then(|| written.replace('`', ""))?;
                Self::call(&code, ids)
            })
    }

    /// Reads `for each x in list: f(x)` and `if condition: f()`.
    fn inline_block(written: &str, ids: &HashSet<String>) -> Option<Self> {
        let starts = ["for each ", "for every ", "foreach ", "For each ", "for "];
        let loops = starts.iter().find_map(|start| written.strip_prefix(start));
        let (head, call) = loops
            .or_else(|| written.strip_prefix("if "))?
            .split_once(": ")?;
        let mut inner = ids.clone();
        let field = match loops {
            Some(_) => {
                let (name, list) = head
                    .split_once(" in ")
                    .or_else(|| head.split_once(" of "))?;
                let name = name.trim();
                let list = expression(list, ids)?;
                inner.insert(name.to_owned());
                format!("\"for_each\": ${{{list}}}, \"as\": \"{name}\"")
            }
            None => format!("\"when\": ${{{}}}", expression(head, ids)?),
        };
        let mut statement = Self::call(call, &inner).filter(Self::is_single_call)?;
        statement.fields.push(field);
        if loops.is_some() {
            statement.fields.extend(statement.one_after_the_other());
        }
        Some(statement)
    }

    /// Reads `id = value`.
    fn assignment(written: &str, ids: &HashSet<String>) -> Option<Self> {
        let (name, written) = written.trim_end_matches(';').split_once('=')?;
        let Before { ids: names } = words::before(&format!("{name}="))?;
        let [id] = <[String; 1]>::try_from(names).ok()?;
        if let Some(statement) = Self::comprehension(&id, written, ids) {
            return Some(statement);
        }
        let value = value(written, ids)?;
        Some(Self {
            id: Some(id),
            value: Some(value),
            ..Self::default()
        })
    }

    /// Reads `[f(x) for x in list]`, whose output is `id`.
    fn comprehension(id: &str, written: &str, ids: &HashSet<String>) -> Option<Self> {
        let inside = written.trim().strip_prefix('[')?.strip_suffix(']')?;
        let (call, rest) = inside.split_once(" for ")?;
        let (name, list) = rest.split_once(" in ")?;
        if list.contains(" if ") || list.contains(" for ") {
            return None;
        }
        let list = expression(list, ids)?;
        let name = name.trim();
        let mut inner = ids.clone();
        inner.insert(name.to_owned());
        let mut statement = Self::call(call, &inner).filter(Self::is_single_call)?;
        let call = statement
            .calls
            .first_mut()
            .filter(|call| call.id.is_none())?;
        call.id = Some(id.to_owned());
        statement.id = Some(id.to_owned());
        statement
            .fields
            .push(format!("\"for_each\": ${{{list}}}, \"as\": \"{name}\""));
        statement.fields.extend(statement.one_after_the_other());
        Some(statement)
    }

    /// The field of a loop whose call may write: a program handles one item after the other.
    pub(super) fn one_after_the_other(&self) -> Option<String> {
        let reads = self.calls.iter().all(|call| only_reads(&call.tool));
        (!reads).then(|| "\"max_parallel\": 1".to_owned())
    }

    pub(super) fn call(written: &str, ids: &HashSet<String>) -> Option<Self> {
        let (start, length, open) = head(written)?;
        let tool = &written[start..start + length];
        let (inside, behind) = match written[open..].chars().next() {
            Some('(' | '{') => {
                let end = open + closing(&written[open..])?;
                let is_object = written[open..].starts_with('{');
                let inside = if is_object {
                    &written[open..=end]
                } else {
                    &written[open + 1..end]
                };
                (inside, &written[end + 1..])
            }
            _ => written[open..].split_at(loose_end(&written[open..])),
        };
        // The last line of LLMCompiler.
        if tool == "join" {
            return None;
        }
        let Before { ids: before } = words::before(&written[..start])?;
        let After {
            id,
            waits_for,
            returns,
        } = words::after(behind, ids)?;
        let names: Vec<String> = before.into_iter().chain(id).collect();
        let mut statement = Self {
            returns: returns.then(String::new),
            ..Self::default()
        };
        if !waits_for.is_empty() {
            let list: Vec<String> = waits_for.iter().map(|id| format!("\"{id}\"")).collect();
            statement
                .fields
                .push(format!("\"after\": [{}]", list.join(", ")));
        }
        if PRINT.contains(&tool) {
            return (names.is_empty() && statement.fields.is_empty()).then_some(Self {
                returns: Some(value(inside, ids)?),
                ..Self::default()
            });
        }
        if GATHER.contains(&tool) {
            let inside = inside.trim();
            let inside = inside
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
                .unwrap_or(inside);
            let calls = split(inside)?.into_iter().map(|call| {
                let (start, length, _) = head(call)?;
                // Calls that are waited for together do not wait for others inside.
                if GATHER.contains(&&call[start..start + length]) {
                    return None;
                }
                Self::call(call, ids)
            });
            let calls: Vec<Self> = calls.collect::<Option<_>>()?;
            let mut names = names.into_iter();
            for inner in calls {
                let [call] = <[StatementCall; 1]>::try_from(inner.calls).ok()?;
                statement.calls.push(StatementCall {
                    id: names.next(),
                    ..call
                });
            }
            return names.next().is_none().then_some(statement);
        }
        let mut names = names.into_iter();
        let tool = words::without_client(tool);
        let is_object = inside.trim_start().starts_with('{');
        let tool = words::invoked(tool).filter(|_| is_object).unwrap_or(tool);
        let (tool, arguments) = if words::calls_tool(tool) {
            named_call(inside, ids)?
        } else {
            (tool.to_owned(), arguments(inside, ids)?)
        };
        let call = StatementCall {
            id: names.next(),
            tool,
            arguments,
        };
        if names.next().is_some() {
            return None;
        }
        statement.id.clone_from(&call.id);
        statement.calls.push(call);
        Some(statement)
    }

    /// Replaces the positions in `after` (`#1` for the first step) by ids; `None` if there is no such step.
    pub(super) fn resolve_positions(&mut self, order: &[String]) -> Option<()> {
        for field in &mut self.fields {
            let Some(list) = field.strip_prefix("\"after\": [") else {
                continue;
            };
            let ids = list.trim_end_matches(']').split(", ").map(|id| {
                let Some(position) = id.strip_prefix("\"#").and_then(|id| id.strip_suffix('"'))
                else {
                    return Some(id.to_owned());
                };
                let index = position.parse::<usize>().ok()?.checked_sub(1)?;
                Some(format!("\"{}\"", order.get(index)?))
            });
            let ids = ids.collect::<Option<Vec<_>>>()?.join(", ");
            *field = format!("\"after\": [{ids}]");
        }
        Some(())
    }

    /// Returns true if `written` is a line of a plan but for its values, `id = tool(name=value)`.
    pub(super) fn is_line(&self, written: &str) -> bool {
        let [call] = &*self.calls else {
            return self.calls.is_empty() && self.value.is_none();
        };
        let Some(id) = &call.id else {
            return false;
        };
        let head = written
            .strip_prefix(&**id)
            .and_then(|rest| rest.trim_start().strip_prefix('='));
        let head = head.and_then(|rest| rest.trim_start().strip_prefix(&*call.tool));
        head.is_some_and(|rest| rest.starts_with('(')) && !written.ends_with(';')
    }

    /// Returns true if it makes exactly one call and gives nothing back.
    pub(super) fn is_single_call(&self) -> bool {
        self.calls.len() == 1 && self.returns.is_none()
    }

    /// The equivalent lines of a plan, and their ids. Generated ids must not be in `ids`.
    pub(super) fn lines(&self, ids: &HashSet<String>) -> (Vec<String>, Vec<String>) {
        let mut taken: UsedIds = ids.iter().cloned().collect();
        let mut lines = Vec::new();
        let mut own = Vec::new();
        if let (Some(id), Some(value)) = (&self.id, &self.value) {
            lines.push(if value.starts_with("${") {
                format!("{id} = {value}")
            } else {
                format!("{id} = {{\"value\": {value}}}")
            });
            own.push(id.clone());
        }
        for call in &self.calls {
            let id = call.id.clone().unwrap_or_else(|| taken.add_for(&call.tool));
            taken.insert(id.clone());
            let mut line = format!("{id} = {}({})", call.tool, call.arguments);
            if !self.fields.is_empty() {
                line.extend([" {", &self.fields.join(", "), "}"]);
            }
            lines.push(line);
            own.push(id);
        }
        match &self.returns {
            Some(returned) if returned.is_empty() => {
                let list: Vec<String> = own.iter().map(|id| format!("\"{id}\"")).collect();
                lines.push(format!("return [{}]", list.join(", ")));
            }
            Some(returned) => lines.push(format!("return {returned}")),
            None => {}
        }
        (lines, own)
    }
}

/// The start and the length of the tool's name in `written`, and the start of its arguments.
fn head(written: &str) -> Option<(usize, usize, usize)> {
    let mut before = ' ';
    let mut words = Vec::new();
    for (at, sign) in written.char_indices() {
        let begins = (sign.is_alphabetic() || sign == '_')
            && !(before.is_alphanumeric() || "_.-$\"'".contains(before));
        before = sign;
        if !begins {
            continue;
        }
        let length = tool_name_length(&written[at..]);
        let rest = &written[at + length..];
        if rest.starts_with('(') {
            return Some((at, length, at + length));
        }
        let blank = rest.len() - rest.trim_start().len();
        let opens = blank > 0 && rest.trim_start().starts_with('{');
        // A word before an object is a tool only if nothing says otherwise: `a = {…}` is a value.
        if opens && !matches!(&written[at..at + length], "with" | "input" | "args") {
            return Some((at, length, at + length + blank));
        }
        words.push((at, length));
    }
    // `tool with a = 1, b = 2`
    let with = written.find(" with ")?;
    let (at, length) = *words.iter().rfind(|(at, length)| at + length == with)?;
    Some((at, length, with + " with ".len()))
}

/// The arguments of a call, in the notation of lines.
fn arguments(inside: &str, ids: &HashSet<String>) -> Option<String> {
    let inside = inside.trim();
    // `tool({name: value})`
    let fields = inside
        .strip_prefix('{')
        .filter(|_| closing(inside) == Some(inside.len() - 1))
        .and_then(|rest| rest.strip_suffix('}'));
    let parts = split(fields.unwrap_or(inside))?;
    let parts = match fields {
        Some(_) => parts.into_iter().map(Cow::from).collect(),
        None => with_unquoted_texts(parts, ids),
    };
    let mut written = Vec::new();
    for part in &parts {
        let part = &**part;
        let sign: &[char] = if fields.is_some() {
            &[':']
        } else {
            &['=', ':']
        };
        match named(part, sign) {
            Some((name, inner)) => {
                let read = value(inner, ids).or_else(|| unquoted_text(inner, ids));
                written.push(format!("{name}={}", read?));
            }
            // `{city}` of JavaScript
            None if fields.is_some() => {
                written.push(format!("{part}=${{{}}}", expression(part, ids)?));
            }
            None => match part.split_once(' ') {
                // `city "Oslo"`
                Some((name, text))
                    if tool_name_length(name) == name.len() && text.starts_with('"') =>
                {
                    written.push(format!("{name}={}", value(text, ids)?));
                }
                Some(_) | None => written.push(value(part, ids)?),
            },
        }
    }
    Some(written.join(", "))
}

/// The end of arguments that are written without brackets, `city "Oslo", days = 3 and keep it`.
fn loose_end(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start();
        let name = tool_name_length(rest);
        let signs = rest[name..].trim_start_matches([' ', '=', ':']);
        let length = match signs
            .chars()
            .next()
            .filter(|sign| matches!(sign, '"' | '\''))
        {
            Some(quote) => signs[1..].find(quote).map(|end| end + 2),
            None => Some(signs.find([' ', ',']).unwrap_or(signs.len())),
        };
        let Some(length) = length.filter(|_| name > 0) else {
            return text.len();
        };
        at = text.len() - signs.len() + length;
        match text[at..].trim_start().strip_prefix(',') {
            Some(rest) => at = text.len() - rest.len(),
            None => return at,
        }
    }
}

/// The tool and the arguments of `call_tool("tool", {…})` and of `callTool({name: "tool", arguments: {…}})`.
fn named_call(inside: &str, ids: &HashSet<String>) -> Option<(String, String)> {
    let inside = inside.trim();
    let fields = inside
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let mut tool = None;
    let mut variables = None;
    for part in split(fields.unwrap_or(inside))? {
        let (name, part) = match named(part, if fields.is_some() { &[':'] } else { &['='] }) {
            Some((name, part)) => (name, part),
            None if tool.is_none() => ("name", part),
            None => ("arguments", part),
        };
        match name {
            "name" | "tool" | "tool_name" => {
                let quotes: [char; 3] = ['"', '\'', '`'];
                let text = part.trim().strip_prefix(quotes)?.strip_suffix(quotes)?;
                tool = Some(text.to_owned()).filter(|text| tool_name_length(text) == text.len());
            }
            "arguments" | "args" | "input" | "params" if part.trim().starts_with('{') => {
                variables = Some(arguments(part, ids)?);
            }
            _ => return None,
        }
    }
    Some((tool?, variables.unwrap_or_default()))
}

/// `written` without list markers and keywords of declarations.
fn without_marks(written: &str) -> &str {
    let mut rest = written.trim();
    for mark in ["- ", "* ", "+ ", "• "] {
        rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
    }
    // An item that is not done yet.
    rest = rest.strip_prefix("[ ]").unwrap_or(rest).trim_start();
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < rest.len() && digits.starts_with(['.', ')']) {
        rest = digits[1..].trim_start();
    }
    rest
}
