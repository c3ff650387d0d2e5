//! Reads the lines: all steps first, then their references, because references may lead forward.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Action, Node, Step};
use planwright_core::{Diagnostics, Plan, StepId, Value};

use super::reference::{EvidenceIds, fragments, id_of, read};
use crate::document::{Document, Limits, Offsets, quote};
use crate::lowering::lines::{
    LineContext, ValueBudget, code_advice, code_fault, digit_count, line_at, next_line,
    parse_lines, tool_name_length, trimmed,
};
use crate::lowering::{MarkedText, lower_fragments};

const FORM: &str = "write `#E1 = Tool[input]`";

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let read = |text: &str, limits: &Limits, context: &mut LineContext<'_>| {
        let mut reader = EvidenceReader {
            text,
            budget: ValueBudget::of(limits),
            drafts: Vec::new(),
            plan: None,
            is_broken: false,
        };
        reader.read(context);
        reader.drafts
    };
    parse_lines(
        document,
        ("no line of the text is a step", FORM),
        read,
        steps,
    )
}

/// A step whose input is not lowered yet.
struct EvidenceDraft {
    id: String,
    tool: Range<usize>,
    input: Range<usize>,
    /// The bytes from the `#` to the closing bracket.
    range: Range<usize>,
    plan: Option<Arc<str>>,
}

struct EvidenceReader<'a> {
    text: &'a str,
    budget: ValueBudget,
    drafts: Vec<EvidenceDraft>,
    plan: Option<Arc<str>>,
    /// True after a step whose input is never closed, since the next lines may be part of it.
    is_broken: bool,
}

impl EvidenceReader<'_> {
    fn read(&mut self, context: &mut LineContext<'_>) {
        let mut at = Some(0);
        while let Some(start) = at {
            let end = self.line(line_at(self.text, start), context);
            at = next_line(self.text, end);
        }
    }

    /// Reads the line in `range`, and returns the end of what was read: an input may span several lines.
    fn line(&mut self, range: Range<usize>, context: &mut LineContext<'_>) -> usize {
        let line = &self.text[range.clone()];
        if let Some(evidence) = evidence_head(line) {
            if let Some(plan) = &evidence.plan {
                self.plan = Some(line[plan.clone()].trim().into());
            }
            return self.evidence(&evidence, &range, context);
        }
        if let Some(text) = plan_text(line) {
            self.plan = Some(text.trim().into());
        } else if seems_evidence(line) {
            let line = trimmed(self.text, range.clone());
            context.report_malformed(
                line,
                "a line begins with `#E` and is no step".to_owned(),
                FORM,
            );
        } else if !self.is_broken
            && let Some(message) = code_fault(line)
        {
            let line = trimmed(self.text, range.clone());
            context.report_malformed(line, message, &code_advice(FORM));
        }
        range.end
    }

    fn evidence(
        &mut self,
        evidence: &EvidenceHead,
        line: &Range<usize>,
        context: &mut LineContext<'_>,
    ) -> usize {
        let start = line.start;
        if !self.budget.take_call() {
            context.report(line.clone(), self.budget.exceeded());
            // The rest of the text is skipped: every further call would exceed the budget as well.
            return self.text.len();
        }
        self.is_broken = false;
        let number = &self.text[start + evidence.id.start + 1..start + evidence.id.end];
        let id = id_of(number);
        let rest = &self.text[start + evidence.call..line.end];
        let tool = start + evidence.call + (rest.len() - rest.trim_start().len());
        let tool = tool..tool + tool_name_length(&self.text[tool..line.end]);
        let begin = start + evidence.id.start - 1;
        let mut report_malformed = |what: &str, help: &str| {
            let message = format!("step {} {what}", quote(&id));
            context.report_malformed(begin..line.end, message, help);
        };
        let after = &self.text[tool.end..line.end];
        if tool.is_empty() || !after.trim_start().starts_with('[') {
            report_malformed("names no tool with its input in `[…]`", FORM);
            return line.end;
        }
        let open = tool.end + (after.len() - after.trim_start().len()) + 1;
        let Some(close) = self.close(open, line.end) else {
            report_malformed("has an input that is never closed", "add `]`");
            self.is_broken = true;
            return line.end;
        };
        let end = line_at(self.text, close).end;
        if !self.text[close + 1..end].trim().is_empty() {
            report_malformed("has more behind its input", "write one step a line");
            return end;
        }
        self.drafts.push(EvidenceDraft {
            id,
            tool,
            input: trimmed(self.text, open..close),
            range: begin..close + 1,
            plan: self.plan.take(),
        });
        end
    }

    /// The bracket that closes the input which begins at `open`: the last one of the line, or the end of the first
    /// line after it that ends with one.
    fn close(&self, open: usize, line_end: usize) -> Option<usize> {
        if let Some(close) = self.text[open..line_end].rfind(']') {
            return Some(open + close);
        }
        let mut at = line_end;
        while let Some(start) = next_line(self.text, at) {
            let range = line_at(self.text, start);
            let line = &self.text[range.clone()];
            // The next step begins before the input is closed.
            if plan_text(line).is_some() || evidence_head(line).is_some() {
                return None;
            }
            if let Some(before) = line.trim_end().strip_suffix(']') {
                return Some(range.start + before.len());
            }
            at = range.end;
        }
        None
    }
}

fn steps(drafts: Vec<EvidenceDraft>, context: &mut LineContext<'_>) -> Vec<Step> {
    let ids: EvidenceIds = drafts.iter().map(|draft| draft.id.clone()).collect();
    let drafts = drafts.into_iter().enumerate();
    drafts
        .map(|(index, draft)| step(draft, index, &ids, context))
        .collect()
}

fn step(
    draft: EvidenceDraft,
    index: usize,
    ids: &EvidenceIds,
    context: &mut LineContext<'_>,
) -> Step {
    let place = context.step(index, draft.range);
    let tool = context.tool(place, draft.tool);
    let input = context.part(place, "input", draft.input.clone());
    let args = Node::literal(Value::empty_object(), input);
    let mut step = Step::new(StepId::new(draft.id), Action::Tool(tool), args);
    step.place = place;
    step.note = draft.plan;
    let text: Arc<str> = context.source.text()[draft.input.clone()].into();
    if !text.is_empty() {
        let whole = MarkedText {
            text: &text,
            place: input,
            offsets: Some(Offsets::plain(draft.input.start, draft.input.len())),
        };
        let borders = (&mut *context.source, &mut *context.sink);
        step.positional.push(Node {
            kind: lower_fragments(
                whole,
                fragments(&text, ids),
                borders,
                &mut |written, place| Ok(read(written, place)),
            ),
            place: input,
        });
    }
    step
}

/// The prefix of a line that says why the next step exists.
const PLAN: &str = "Plan:";

/// The parts of a line that begins a step, in bytes of the line.
#[derive(Debug)]
pub(super) struct EvidenceHead {
    /// The text of a plan on the same line.
    plan: Option<Range<usize>>,
    /// `E1`
    id: Range<usize>,
    /// The byte after `=`.
    call: usize,
}

/// The head of the step that `line` begins: `#E1 =`, at its start or after `Plan:`.
pub(super) fn evidence_head(line: &str) -> Option<EvidenceHead> {
    let start = line.len() - line.trim_start().len();
    if line[start..].starts_with('#') {
        return evidence_head_at(line, start, None);
    }
    let plan = line.len() - plan_text(line)?.len();
    line.match_indices("#E")
        .find_map(|(at, _)| evidence_head_at(line, at, Some(plan..at)))
}

fn evidence_head_at(line: &str, at: usize, plan: Option<Range<usize>>) -> Option<EvidenceHead> {
    let number = line[at..].strip_prefix("#E").map(digit_count)?;
    let end = at + 2 + number;
    let rest = &line[end..];
    let equals = rest.trim_start().starts_with('=');
    (number > 0 && equals).then(|| EvidenceHead {
        plan,
        id: at + 1..end,
        call: end + (rest.len() - rest.trim_start().len()) + 1,
    })
}

/// The text after `Plan:`, if `line` begins with it.
fn plan_text(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix(PLAN)
}

/// Returns true if `line` is meant to begin a step, even if it is malformed.
fn seems_evidence(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("#E");
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
}
