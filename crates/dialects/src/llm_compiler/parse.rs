//! Reads the lines: first all calls as they are written, then their arguments, for references may lead forward.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Action, Node, Step};
use planwright_core::{Diagnostics, Plan, StepId};

use super::argument::{Argument, Fault, Scanner, Written, WrittenKind, is_structured};
use super::line::{self, is_end};
use super::lower::lower;
use super::quoted::Quoted;
use super::reference::{Numbers, canonical};
use crate::document::{Document, Limits, quote};
use crate::lines::{Allowance, Sheet, in_lines, line_at, next_line, trimmed};

/// What stands in place of a tool where the plan ends.
const JOIN: &str = "join";

const FORM: &str = "write `1. tool(\"text\", name=value)`";

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let read = |text: &str, limits: &Limits, sheet: &mut Sheet<'_>| {
        let mut reader = Reader {
            text,
            depth: limits.depth_in_force(),
            allowance: Allowance::of(limits),
            calls: Vec::new(),
            thought: None,
            is_over: false,
        };
        reader.read(sheet);
        reader.calls
    };
    in_lines(
        document,
        ("no line of the text is a call", FORM),
        read,
        steps,
    )
}

/// A call whose arguments were not looked at yet.
struct Call {
    id: String,
    tool: Range<usize>,
    arguments: Vec<Argument>,
    /// From the number to the closing bracket.
    range: Range<usize>,
    /// What stands between the brackets.
    inside: Range<usize>,
    thought: Option<Arc<str>>,
}

struct Reader<'a> {
    text: &'a str,
    depth: usize,
    allowance: Allowance,
    calls: Vec<Call>,
    thought: Option<Arc<str>>,
    /// Whether `join()` was read.
    is_over: bool,
}

impl Reader<'_> {
    fn read(&mut self, sheet: &mut Sheet<'_>) {
        let mut at = Some(0);
        while let Some(start) = at {
            let end = self.line(line_at(self.text, start), sheet);
            at = next_line(self.text, end);
        }
    }

    /// Reads the line in `range`, and gives where what was read ends: a call may go on over several lines.
    fn line(&mut self, range: Range<usize>, sheet: &mut Sheet<'_>) -> usize {
        let line = &self.text[range.clone()];
        if let Some(call) = line::call(line) {
            return self.call(&call, &range, sheet);
        }
        if let Some(number) = line::number(line) {
            if !self.is_over {
                let line = trimmed(self.text, range.clone());
                let number =
                    quote(&self.text[range.start + number.start..range.start + number.end]);
                sheet.complain(line, format!("line {number} calls nothing"), FORM);
            }
        } else if let Some(thought) = line.trim_start().strip_prefix("Thought:") {
            self.thought = Some(thought.trim().into());
        }
        range.end
    }

    fn call(&mut self, call: &line::Call, line: &Range<usize>, sheet: &mut Sheet<'_>) -> usize {
        let start = line.start;
        if !self.allowance.take_call() {
            sheet.report(line.clone(), self.allowance.used_up());
            return self.text.len();
        }
        let tool = start + call.tool.start..start + call.tool.end;
        let number = &self.text[start + call.number.start..start + call.number.end];
        let id = canonical(number).to_owned();
        let inside = start + call.arguments;
        let (arguments, end) = match self.arguments(inside, line.end) {
            Ok(read) => read,
            Err(mut fault) => {
                let is_here = fault.at < line.end;
                let from = if is_here {
                    fault.at
                } else {
                    start + call.number.start
                };
                let why = &mut fault.finding.message;
                *why = format!("step {} cannot be read: {why}", quote(&id));
                sheet.report(from..line.end, *fault.finding);
                (Vec::new(), line.end)
            }
        };
        let range = start + call.number.start..end;
        if self.is_over {
            let message = format!("step {} stands after `{JOIN}()`", quote(&id));
            sheet.complain(range, message, "put it before, or take it away");
            return end;
        }
        if self.text[tool.clone()] == *JOIN {
            self.is_over = true;
            if !arguments.is_empty() {
                let message = format!("`{JOIN}` takes no arguments");
                sheet.complain(range, message, "write `join()`: it waits for all steps");
            }
            return end;
        }
        // A call that could not be read may never be closed.
        let written = self.text.get(inside..end).unwrap_or_default();
        self.calls.push(Call {
            id,
            tool,
            arguments,
            range,
            inside: inside..inside + written.strip_suffix(')').unwrap_or(written).len(),
            thought: self.thought.take(),
        });
        end
    }

    /// The arguments that begin at byte `at`, and the byte after the bracket that ends them.
    fn arguments(&mut self, at: usize, line_end: usize) -> Result<(Vec<Argument>, usize), Fault> {
        let read = Scanner::new(self.text, at, self.depth, &mut self.allowance).arguments();
        let ends = |end: usize| is_end(&self.text[end..line_at(self.text, end).end]);
        let fault = match read {
            Ok((arguments, end)) if ends(end) => return Ok((arguments, end)),
            Ok((_, end)) => Fault::new(end, "more follows the call", "write one call a line"),
            Err(fault) => fault,
        };
        // Words without quotes are one text, up to the last bracket of the line.
        let line = &self.text[at..line_end];
        let is_bare = !is_structured(line.trim_start());
        match line
            .rfind(')')
            .filter(|close| is_bare && is_end(&line[close + 1..]))
        {
            Some(close) => {
                let words = trimmed(self.text, at..at + close);
                let value = Written {
                    range: words.clone(),
                    kind: WrittenKind::Text(Quoted::plain(self.text, words)),
                };
                let argument = Argument { name: None, value };
                Ok((vec![argument], at + close + 1))
            }
            None => Err(fault),
        }
    }
}

fn steps(calls: Vec<Call>, sheet: &mut Sheet<'_>) -> Vec<Step> {
    let numbers: Numbers = calls.iter().map(|call| call.id.clone()).collect();
    let calls = calls.into_iter().enumerate();
    calls
        .map(|(index, call)| step(call, index, &numbers, sheet))
        .collect()
}

fn step(call: Call, index: usize, numbers: &Numbers, sheet: &mut Sheet<'_>) -> Step {
    let place = sheet.step(index, call.range);
    let tool = sheet.tool(place, call.tool);
    let args = sheet.part(place, "args", call.inside);
    let lowered = lower(&call.arguments, args, numbers, sheet);
    let args = Node::object(lowered.named, args);
    let mut step = Step::new(StepId::new(call.id), Action::Tool(tool), args);
    step.place = place;
    step.positional = lowered.positional;
    step.note = call.thought;
    step
}
