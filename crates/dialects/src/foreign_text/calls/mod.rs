//! Calls in the form of other languages, and the lines of a plan that mean the same: Python and JavaScript, arrows, numbered
//! lists of calls, `Action:` with `Action Input:`.
//!
//! The lines are only advice, as edits of the text, and only if all of the text has a meaning. A text with one line that is
//! not understood gets none, because leaving that line out would change the plan.

mod block;
mod order;
mod series;
mod statement;
pub(super) mod values;
mod words;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use planwright_core::{Code, Diagnostic, Diagnostics, TextEdit, Value};

use self::block::Blocks;
use self::series::{list_of_calls, pipeline};
use self::statement::CallStatement;
pub(super) use self::words::{calls_tool, invoked, without_client};
use crate::dialect::Dialect;
use crate::document::{ReadLimits, quote, read_lines};
use crate::foreign_references::ReferenceNames;
use crate::lowering::lines::{line_at, next_line, unchecked_fields};
use crate::native::lines::{Lines, is_prose, to_json};

/// The maximum length of a text that is rewritten, in bytes.
const MAX_BYTES: usize = 10_000;

/// The maximum length of a line in a message, in bytes.
const MAX_SHOWN_LINE: usize = 300;

/// The line that makes the steps of a plan run one after the other.
const ORDERED: &str = "plan {\"ordering\": \"listed\"}";

/// A part of a text, and the lines of a plan that it stands for.
#[derive(Debug, PartialEq, Eq)]
struct Rewrite {
    range: Range<usize>,
    lines: Vec<String>,
    /// True if the part is a line already, and has only to wait for others.
    waits: bool,
}

impl Rewrite {
    /// Returns true if the order of the steps is their order in the text.
    fn is_ordered(&self) -> bool {
        self.lines.first().is_some_and(|line| line == ORDERED)
    }
}

/// Diagnostics, one for each part of `text` that stands for other lines, with the lines; `None` if a part has no meaning, or if all are
/// lines of a plan already.
pub(crate) fn diagnostics(text: &str) -> Option<Diagnostics> {
    if super::program::is_declaration(text) {
        return None;
    }
    let unresolved = unresolved_outputs(text);
    if !unresolved.is_empty() {
        return Some(unresolved);
    }
    let rewrites = rewrites(text)?;
    let found = rewrites.into_iter().map(|rewrite| {
        let written = text[rewrite.range.clone()].trim();
        let first = written.lines().next().unwrap_or_default();
        let (message, help) = if rewrite.is_ordered() {
            let message =
                "the calls of a program run one after the other, and the steps of a plan at once";
            let lines = rewrite.lines.iter().map(|line| shown(line));
            let lines = lines.collect::<Vec<_>>().join(", then ");
            let help = format!(
                "write {lines}; without `ordering`, a step waits only for those that it refers to"
            );
            (message.to_owned(), help)
        } else if rewrite.waits {
            let message =
                "the calls of a program run one after the other, and the steps of a plan at once";
            let lines = rewrite.lines.iter().map(|line| shown(line.trim()));
            let lines = lines.collect::<Vec<_>>().join(", then ");
            let help = format!(
                "write {lines}; without `after`, a step waits only for those that it refers to"
            );
            (message.to_owned(), help)
        } else if rewrite.lines.is_empty() {
            let message = format!("{} is not a line of a plan", quote(first));
            (message, "leave it out".to_owned())
        } else {
            let message = format!("{} is not how a step is written", quote(first));
            let shown = rewrite.lines.iter().map(|line| shown(line));
            let shown = shown.collect::<Vec<_>>().join(", then ");
            let unchecked = unchecked_fields(&rewrite.lines, written);
            (message, format!("write {shown}{unchecked}"))
        };
        let start = rewrite.range.end - text[rewrite.range.clone()].trim_start().len();
        let edit = TextEdit::new(rewrite.range.clone(), rewrite.lines.join("\n"));
        Diagnostic::error(Code::MalformedLine, message)
            .help(help)
            .fixes([edit])
            .at_span("", start..start + first.len())
    });
    Some(found.collect())
}

/// An error for each `{Observation 3}` in `text` that names the output of a call which does not exist.
fn unresolved_outputs(text: &str) -> Diagnostics {
    let read = (text.len() <= MAX_BYTES && text.contains("Action Input:"))
        .then(|| Rewriter::new(text).read())
        .flatten();
    let found = read.into_iter().flat_map(|read| read.unresolved);
    let found = found.map(|(range, calls)| {
        let message = format!(
            "no call before has the output {}",
            quote(&text[range.clone()])
        );
        let outputs = calls.iter().enumerate().map(|(index, id)| {
            let number = index + 1;
            format!("`{{Observation {number}}}` is the output of `{id}`")
        });
        let help = if calls.is_empty() {
            "no call is before it: give the value itself".to_owned()
        } else {
            outputs.collect::<Vec<_>>().join(", ")
        };
        Diagnostic::error(Code::MalformedLine, message)
            .help(help)
            .at_span("", range)
    });
    found.collect()
}

/// The plan in `text`, which is lines of a plan or stands for such; `None` if a part has no meaning, or is words.
pub(crate) fn plan(text: &str) -> Option<Value> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let read = Rewriter::new(text).read();
    match rewrites(text) {
        Some(_) if read.as_ref().is_some_and(|read| read.has_prose) => None,
        Some(found) => to_json(&rewritten(text, &found)),
        None => to_json(text).filter(|_| is_plan(text) && read.is_some_and(|read| !read.has_prose)),
    }
}

fn shown(line: &str) -> String {
    if line.len() > MAX_SHOWN_LINE || line.contains(['\n', '`']) {
        return quote(line);
    }
    format!("`{line}`")
}

/// The parts of `text` that are to be rewritten.
fn rewrites(text: &str) -> Option<Vec<Rewrite>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let found = match list_of_calls(text).or_else(|| pipeline(text)) {
        Some(lines) => vec![Rewrite {
            range: 0..text.len(),
            lines,
            waits: false,
        }],
        None => Rewriter::new(text).read()?.rewrites(),
    };
    (!found.is_empty() && is_plan(&rewritten(text, &found))).then_some(found)
}

/// `text` with the lines of `rewrites` in place of their parts.
fn rewritten(text: &str, rewrites: &[Rewrite]) -> String {
    let mut rewritten = text.to_owned();
    for rewrite in rewrites.iter().rev() {
        rewritten.replace_range(rewrite.range.clone(), &rewrite.lines.join("\n"));
    }
    rewritten
}

/// Returns true if `text` is a plan in lines without problems.
fn is_plan(text: &str) -> bool {
    let (document, _) = read_lines(text, "", 0, &ReadLimits::default());
    document.is_some_and(|document| {
        let (plan, found) = Lines.parse(document);
        plan.is_some() && !found.has_errors()
    })
}

/// The ids of the steps in a statement, which need not wait for each other.
#[derive(Debug)]
struct Group {
    range: Range<usize>,
    ids: Vec<String>,
}

/// The state of reading a text statement by statement.
struct Rewriter<'a> {
    text: &'a str,
    ids: HashSet<String>,
    /// The ids of the steps in their order.
    order: Vec<String>,
    blocks: Blocks,
    found: Vec<Rewrite>,
    /// The tool of an `Action:` whose input follows, and the start of its line.
    action: Option<(String, usize)>,
    /// The texts that a model invented for the outputs of its actions, with the ids of these.
    observations: Vec<(String, String)>,
    /// The places that name the output of a call which does not exist, with the ids of the calls before.
    unresolved: Vec<(Range<usize>, Vec<String>)>,
    /// The name of the function around the calls.
    function: Option<Function>,
    /// The steps in the order of their statements.
    groups: Vec<Group>,
    /// True if the order of the statements has a meaning: they are not all lines of a plan, or a list.
    is_program: bool,
    /// True if a line is words.
    has_prose: bool,
    /// True if the text has lines with the fields of the plan.
    has_plan_fields: bool,
}

/// The shortest invented output that later inputs may repeat, in bytes: a shorter one occurs in other texts as well.
const MIN_OBSERVATION: usize = 4;

/// A function without parameters around the calls, such as `async def main():`.
struct Function {
    name: String,
    /// True while a brace has to be closed.
    has_brace: bool,
}

impl<'a> Rewriter<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            ids: HashSet::new(),
            order: Vec::new(),
            blocks: Blocks::default(),
            found: Vec::new(),
            action: None,
            observations: Vec::new(),
            unresolved: Vec::new(),
            function: None,
            groups: Vec::new(),
            is_program: false,
            has_prose: false,
            has_plan_fields: false,
        }
    }

    fn read(mut self) -> Option<Self> {
        for range in statements(self.text) {
            self.statement(range)?;
        }
        let function = self.function.as_ref();
        let is_open = function.is_some_and(|function| function.has_brace);
        (self.action.is_none() && self.blocks.are_closed() && !is_open).then_some(self)
    }

    /// The parts of the text that are to be rewritten, with the order of its statements if no references say it.
    fn rewrites(mut self) -> Vec<Rewrite> {
        self.return_output();
        if self.is_program
            && !self.has_plan_fields
            && !self.is_chain()
            && !self.wait_for_effects()
            && let Some(first) = self.groups.first()
        {
            let range = first.range.clone();
            let at = self.found.iter().position(|found| found.range == range);
            match at.and_then(|at| self.found.get_mut(at)) {
                Some(rewrite) => rewrite.lines.insert(0, ORDERED.to_owned()),
                None => {
                    let line = self.text[range.clone()].to_owned();
                    let before = self
                        .found
                        .iter()
                        .filter(|found| found.range.start < range.start);
                    let rewrite = Rewrite {
                        range: range.clone(),
                        lines: vec![ORDERED.to_owned(), line],
                        waits: false,
                    };
                    self.found.insert(before.count(), rewrite);
                }
            }
        }
        self.found
    }

    /// Writes a last value with the name `output`, which no other line reads, as the output of the plan.
    fn return_output(&mut self) {
        let (Some(group), Some(rewrite)) = (self.groups.last(), self.found.last_mut()) else {
            return;
        };
        let [id] = &*group.ids else {
            return;
        };
        let is_output = matches!(&**id, "output" | "outputs" | "final_output");
        let ([line], true) = (
            &mut *rewrite.lines,
            is_output && rewrite.range == group.range,
        ) else {
            return;
        };
        let value = line
            .strip_prefix(&**id)
            .and_then(|rest| rest.strip_prefix(" = "));
        let value = value.and_then(|value| {
            let inside = value.strip_prefix("{\"value\": ");
            match inside {
                Some(inside) => inside.strip_suffix('}'),
                None => Some(value).filter(|value| value.starts_with("${")),
            }
        });
        if let Some(value) = value {
            *line = format!("return {value}");
            self.groups.pop();
        }
    }

    /// The JSON `input` with references in place of words such as `{observation.field}`; `None` if it has none.
    fn with_observations(&self, input: &str) -> Option<String> {
        let value = Value::from_json(input).ok()?;
        let referring = self.output_names().as_native(&value)?;
        (referring != value).then(|| referring.to_json())
    }

    /// The names of the calls so far, and of their outputs.
    fn output_names(&self) -> ReferenceNames<'_> {
        let order: Vec<&str> = self.order.iter().map(String::as_str).collect();
        let paths = order.iter().map(|id| (*id, Cow::from(*id))).collect();
        let names = ReferenceNames::of_paths(order, paths, HashMap::new());
        match self.order.last() {
            Some(last) => names.with_previous(last),
            None => names,
        }
    }

    /// Returns true if each step refers to all steps of the statement before.
    fn is_chain(&self) -> bool {
        let text = rewritten(self.text, &self.found);
        let plan = to_json(&text);
        let steps = plan.as_ref().and_then(|plan| plan.get("steps")?.as_list());
        let steps: HashMap<&str, &Value> = steps
            .into_iter()
            .flatten()
            .filter_map(|step| Some((step.get("id")?.as_text()?, step)))
            .collect();
        self.groups.windows(2).all(|pair| {
            let [before, group] = pair else {
                return true;
            };
            group.ids.iter().all(|id| {
                let step = steps.get(&**id);
                step.is_some_and(|step| before.ids.iter().all(|id| refers_to(step, id)))
            })
        })
    }

    fn statement(&mut self, range: Range<usize>) -> Option<()> {
        let written = &self.text[range.clone()];
        let inside = written.trim();
        if inside.starts_with("#E") && inside.contains('=') {
            // A step of ReWOO.
            return None;
        }
        let is_unchanged = ["#", "```", "plan {"]
            .iter()
            .any(|start| inside.starts_with(start));
        if inside.is_empty() || (is_unchanged && self.action.is_none()) {
            self.has_plan_fields |= inside.starts_with("plan {");
            return Some(());
        }
        if let Some(tool) = inside.strip_prefix("Action:") {
            if self.action.is_some() {
                return None;
            }
            self.action = Some((tool.trim().to_owned(), range.start));
            return Some(());
        }
        if let Some(input) = inside.strip_prefix("Action Input:") {
            self.is_program = true;
            let (tool, start) = self.action.take()?;
            let input = input.trim();
            if let Some(found) = self.output_names().unresolved(input) {
                let at = range.start + written.rfind(input)?;
                let found = at + found.start..at + found.end;
                self.unresolved.push((found, self.order.clone()));
            }
            let mut input = with_bracketed_outputs(input);
            for (text, id) in &self.observations {
                input = input.replace(text, &format!("${{{id}}}"));
            }
            if let Some(referring) = self.with_observations(&input) {
                input = referring;
            }
            let call = format!("{tool}({input})");
            let statement = CallStatement::read(&call, &self.ids)?;
            return self.push(start..range.end, &statement);
        }
        if let Some(text) = inside.strip_prefix("Observation:") {
            let text = text.trim();
            if text.len() >= MIN_OBSERVATION
                && let Some(id) = self.order.last()
            {
                self.observations.push((text.to_owned(), id.clone()));
            }
            // JSON is not a word for people in lines of a plan.
            if !is_prose(inside) {
                let lines = Vec::new();
                self.found.push(Rewrite {
                    range,
                    lines,
                    waits: false,
                });
            }
            self.has_prose = true;
            return Some(());
        }
        // The rewritten lines replace all between `Action:` and its input.
        if self.action.is_some() {
            return None;
        }
        if self.surroundings(inside)? {
            self.is_program = true;
            self.found.push(Rewrite {
                range,
                lines: Vec::new(),
                waits: false,
            });
            return Some(());
        }
        let indentation = written.len() - written.trim_start().len();
        if self.blocks.line(inside, indentation, &self.ids)? {
            self.is_program = true;
            self.found.push(Rewrite {
                range,
                lines: Vec::new(),
                waits: false,
            });
            return Some(());
        }
        // A line of a plan stays as it is.
        if !self.blocks.are_open()
            && indentation == 0
            && let Some(id) = id_of_line(inside)
        {
            self.order.push(id.clone());
            self.ids.insert(id.clone());
            self.groups.push(Group {
                range,
                ids: vec![id],
            });
            return Some(());
        }
        let item = self.blocks.item_name().map(str::to_owned);
        let is_new = item.clone().is_some_and(|name| self.ids.insert(name));
        let statement = CallStatement::read(inside, &self.ids);
        if let Some(item) = item.filter(|_| is_new) {
            self.ids.remove(&item);
        }
        let mut statement = match statement {
            Some(statement) => statement,
            None if is_prose(inside) && !words::names_call(inside) && !self.blocks.are_open() => {
                self.has_prose = true;
                return Some(());
            }
            None => return None,
        };
        self.is_program |= !statement.is_line(inside);
        if let Some(field) = self.blocks.field(&statement).ok()? {
            statement.fields.push(field);
        }
        self.push(range, &statement)
    }

    /// Returns true if `line` belongs to the program around the calls: an import, the head or the end of a function without parameters,
    /// the call of that function. `None` if it begins a second function.
    fn surroundings(&mut self, line: &str) -> Option<bool> {
        if words::is_import(line) || line == "if __name__ == \"__main__\":" {
            return Some(true);
        }
        if let Some((name, has_brace)) = words::function_head(line) {
            if self.function.is_some() {
                return None;
            }
            self.function = Some(Function { name, has_brace });
            return Some(true);
        }
        let Some(function) = &mut self.function else {
            return Some(false);
        };
        if function.has_brace && line == "}" && !self.blocks.are_open() {
            function.has_brace = false;
            return Some(true);
        }
        let call = line.trim_end_matches(';');
        let call = call.strip_prefix("await ").unwrap_or(call);
        let inside = call
            .strip_prefix("asyncio.run(")
            .and_then(|call| call.strip_suffix(')'));
        let call = inside.unwrap_or(call);
        let arguments = call.strip_prefix(&*function.name);
        Some(arguments.is_some_and(|rest| rest.starts_with('(') && rest.ends_with(')')))
    }

    /// Adds the lines of `statement`; `None` if it assigns a name again, which no plan can.
    fn push(&mut self, range: Range<usize>, statement: &CallStatement) -> Option<()> {
        let mut statement = statement.clone();
        statement.resolve_positions(&self.order)?;
        let (lines, ids) = statement.lines(&self.ids);
        if ids.iter().any(|id| self.ids.contains(id)) {
            return None;
        }
        self.order.extend(ids.iter().cloned());
        self.ids.extend(ids.iter().cloned());
        if !ids.is_empty() {
            self.groups.push(Group {
                range: range.clone(),
                ids,
            });
        }
        if lines != [&self.text[range.clone()]] {
            self.found.push(Rewrite {
                range,
                lines,
                waits: false,
            });
        }
        Some(())
    }
}

/// `input` with braces around each `Observation 1` that has no bracket.
fn with_bracketed_outputs(input: &str) -> String {
    const WORD: &str = "Observation ";
    let mut parts = input.split(WORD);
    let mut bracketed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_digit = |sign: char| sign.is_ascii_digit();
        let (number, rest) = part.split_at(part.find(|sign| !is_digit(sign)).unwrap_or(part.len()));
        if number.is_empty() || bracketed.ends_with(['{', '<', '[', '(']) {
            bracketed.extend([WORD, part]);
        } else {
            bracketed.extend(["{", WORD, number, "}", rest]);
        }
    }
    bracketed
}

/// Returns true if a text in `value` names `id`, in a reference or in `after`.
fn refers_to(value: &Value, id: &str) -> bool {
    match value {
        Value::Text(text) => {
            let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '-';
            &**text == id
                || text.match_indices(id).any(|(at, _)| {
                    text[..at].contains("${")
                        && !text[..at].ends_with(is_of_name)
                        && !text[at + id.len()..].starts_with(is_of_name)
                })
        }
        Value::List(items) => items.iter().any(|item| refers_to(item, id)),
        Value::Object(fields) => {
            let others = fields.iter().filter(|(key, _)| &***key != "id");
            others.into_iter().any(|(_, field)| refers_to(field, id))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The id of the step in `line`, which is a line of a plan without problems; otherwise `None`.
fn id_of_line(line: &str) -> Option<String> {
    let plan = to_json(line)?;
    let steps = plan.as_object()?.get("steps")?.as_list()?;
    let id = steps.first()?.as_object()?.get("id")?.as_text()?;
    Some(id.to_string())
}

/// The statements of `text`: lines, joined while a bracket or a text is open.
fn statements(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = Some(0);
    while let Some(start) = at {
        let mut range = line_at(text, start);
        at = next_line(text, start);
        while let Some(next) = at
            && values::is_open(&text[range.clone()])
        {
            range.end = line_at(text, next).end;
            at = next_line(text, next);
        }
        found.push(range);
    }
    found
}

#[cfg(test)]
mod tests;
