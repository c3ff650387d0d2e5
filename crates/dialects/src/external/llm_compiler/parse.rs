//! Recognises and reads the lines: all calls first, then their references, because references may lead forward.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Action, Node, Step};
use planwright_core::{Diagnostics, Plan, StepId};

use super::reference::{StepNumbers, UNQUOTED, references, without_zeros};
use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, ReadLimits, Syntax, quote};
use crate::foreign_references::ReferenceForm;
use crate::lowering::call_arguments::lower_arguments;
use crate::lowering::lines::{
    LineContext, ValueBudget, code_advice, code_error, digit_count, for_each_line, line_at,
    parse_lines, tool_name_length, trimmed,
};
use crate::lowering::python_arguments::{
    ArgumentError, ArgumentScanner, LineArgument, is_structured,
};

/// The dialect of LLMCompiler's planner.
#[derive(Clone, Copy, Debug)]
pub struct LlmCompiler;

impl Dialect for LlmCompiler {
    fn name(&self) -> &'static str {
        "llm-compiler"
    }

    fn shape(&self) -> &'static str {
        "lines `1. tool(\"argument\")` with `$1`, then `join()`"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Lines
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        MatchConfidence::certain_if(document.any_line(|line| call_head(line).is_some()))
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            write: |path| Some(format!("${{{path}}}")),
            is_own: |text| text.starts_with("${"),
        })
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }
}

/// The name in place of a tool at the end of a plan.
const JOIN: &str = "join";

const FORM: &str = "write `1. tool(\"text\", name=value)`";

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let read = |text: &str, limits: &ReadLimits, context: &mut LineContext<'_>| {
        let mut reader = CallReader {
            text,
            depth: limits.effective_depth(),
            budget: ValueBudget::of(limits),
            calls: Vec::new(),
            thought: None,
            is_over: false,
            is_broken: false,
        };
        reader.read(context);
        reader.calls
    };
    parse_lines(
        document,
        ("no line of the text is a call", FORM),
        read,
        steps,
    )
}

/// A call whose arguments are not lowered yet.
struct CallDraft {
    id: String,
    tool: Range<usize>,
    arguments: Vec<LineArgument>,
    /// The bytes from the number to the closing bracket.
    range: Range<usize>,
    /// The bytes between the brackets.
    inside: Range<usize>,
    thought: Option<Arc<str>>,
}

struct CallReader<'a> {
    text: &'a str,
    depth: usize,
    budget: ValueBudget,
    calls: Vec<CallDraft>,
    thought: Option<Arc<str>>,
    /// True after `join()`.
    is_over: bool,
    /// True after a call that could not be read, whose arguments may continue on other lines.
    is_broken: bool,
}

impl CallReader<'_> {
    fn read(&mut self, context: &mut LineContext<'_>) {
        for_each_line(self.text, |line| self.line(line, context));
    }

    /// Reads the line in `range`, and returns the end of what was read: a call may span several lines.
    fn line(&mut self, range: Range<usize>, context: &mut LineContext<'_>) -> usize {
        let line = &self.text[range.clone()];
        if let Some(call) = call_head(line) {
            return self.call(&call, &range, context);
        }
        if let Some(number) = line_number(line) {
            if !self.is_over {
                let line = trimmed(self.text, range.clone());
                let number =
                    quote(&self.text[range.start + number.start..range.start + number.end]);
                context.report_malformed(line, format!("line {number} has no call"), FORM);
            }
        } else if let Some(thought) = line.trim_start().strip_prefix("Thought:") {
            self.thought = Some(thought.trim().into());
        } else if !self.is_broken
            && !is_end(line)
            && let Some(message) = code_error(line)
        {
            let line = trimmed(self.text, range.clone());
            context.report_malformed(line, message, &code_advice(FORM));
        }
        range.end
    }

    fn call(
        &mut self,
        call: &CallHead,
        line: &Range<usize>,
        context: &mut LineContext<'_>,
    ) -> usize {
        let start = line.start;
        if !self.budget.take_call() {
            context.report(line.clone(), self.budget.exceeded());
            // The rest of the text is skipped: every further call would exceed the budget as well.
            return self.text.len();
        }
        let tool = start + call.tool.start..start + call.tool.end;
        let number = &self.text[start + call.number.start..start + call.number.end];
        let id = without_zeros(number).to_owned();
        let inside = start + call.arguments;
        self.is_broken = false;
        let (arguments, end) = match self.arguments(inside, line.end) {
            Ok(read) => read,
            Err(mut error) => {
                // An error on a later line is reported for the step, since the rest of that line is read again.
                let is_here = error.at < line.end;
                let from = if is_here {
                    error.at
                } else {
                    start + call.number.start
                };
                let why = &mut error.diagnostic.message;
                *why = format!("step {} cannot be read: {why}", quote(&id));
                context.report(from..line.end, *error.diagnostic);
                self.is_broken = true;
                (Vec::new(), line.end)
            }
        };
        let range = start + call.number.start..end;
        if self.is_over {
            let message = format!("step {} comes after `{JOIN}()`", quote(&id));
            context.report_malformed(range, message, "put it before, or remove it");
            return end;
        }
        if self.text[tool.clone()] == *JOIN {
            self.is_over = true;
            if !arguments.is_empty() {
                let message = format!("`{JOIN}` takes no arguments");
                context.report_malformed(range, message, "write `join()`: it waits for all steps");
            }
            return end;
        }
        // A call that could not be read may not be closed.
        let written = self.text.get(inside..end).unwrap_or_default();
        self.calls.push(CallDraft {
            id,
            tool,
            arguments,
            range,
            inside: inside..inside + written.strip_suffix(')').unwrap_or(written).len(),
            thought: self.thought.take(),
        });
        end
    }

    /// The arguments that begin at byte `at`, and the byte after their closing bracket.
    fn arguments(
        &mut self,
        at: usize,
        line_end: usize,
    ) -> Result<(Vec<LineArgument>, usize), ArgumentError> {
        let place = (at, self.depth);
        let scanner = ArgumentScanner::new(self.text, place, &mut self.budget, UNQUOTED);
        let read = scanner.arguments(')');
        let ends = |end: usize| is_end(&self.text[end..line_at(self.text, end).end]);
        let error = match read {
            Ok((arguments, end)) if ends(end) => return Ok((arguments, end)),
            Ok((_, end)) => {
                ArgumentError::new(end, "more follows the call", "write one call a line")
            }
            Err(error) => error,
        };
        // Unquoted words are one text, up to the last bracket of the line.
        let line = &self.text[at..line_end];
        let is_bare = !is_structured(line.trim_start());
        match line
            .rfind(')')
            .filter(|close| is_bare && is_end(&line[close + 1..]))
        {
            Some(close) => {
                let words = trimmed(self.text, at..at + close);
                Ok((vec![LineArgument::words(self.text, words)], at + close + 1))
            }
            None => Err(error),
        }
    }
}

fn steps(calls: Vec<CallDraft>, context: &mut LineContext<'_>) -> Vec<Step> {
    let numbers: StepNumbers = calls.iter().map(|call| call.id.clone()).collect();
    let calls = calls.into_iter().enumerate();
    calls
        .map(|(index, call)| step(call, index, &numbers, context))
        .collect()
}

fn step(
    call: CallDraft,
    index: usize,
    numbers: &StepNumbers,
    context: &mut LineContext<'_>,
) -> Step {
    let place = context.step(index, call.range);
    let tool = context.tool(place, call.tool);
    let args = context.part(place, "args", call.inside);
    let lowered = lower_arguments(&call.arguments, args, &references(numbers), context);
    let args = Node::object(lowered.named, args);
    let mut step = Step::new(StepId::new(call.id), Action::Tool(tool), args);
    step.place = place;
    step.positional = lowered.positional;
    step.note = call.thought;
    step
}

/// The parts of a line that begins a call, in bytes of the line.
#[derive(Debug)]
pub(super) struct CallHead {
    pub(super) number: Range<usize>,
    pub(super) tool: Range<usize>,
    /// The byte after `(`.
    pub(super) arguments: usize,
}

/// The head of the call that `line` begins: `1. tool(`.
pub(super) fn call_head(line: &str) -> Option<CallHead> {
    let number = line_number(line)?;
    let rest = &line[number.end + 1..];
    let tool = number.end + 1 + (rest.len() - rest.trim_start().len());
    let name = tool_name_length(&line[tool..]);
    let opens = name > 0 && line[tool + name..].starts_with('(');
    opens.then(|| CallHead {
        number,
        tool: tool..tool + name,
        arguments: tool + name + 1,
    })
}

/// The number at the start of `line`, if `.` or `)` follows it.
pub(super) fn line_number(line: &str) -> Option<Range<usize>> {
    let start = line.len() - line.trim_start().len();
    let number = start..start + digit_count(&line[start..]);
    (!number.is_empty() && line[number.end..].starts_with(['.', ')'])).then_some(number)
}

/// Returns true if only a comment or the end of the plan follows a call on its line.
pub(super) fn is_end(rest: &str) -> bool {
    let rest = rest.trim();
    let rest = rest.strip_prefix("<END_OF_PLAN>").unwrap_or(rest).trim();
    rest.is_empty() || rest.starts_with('#')
}
