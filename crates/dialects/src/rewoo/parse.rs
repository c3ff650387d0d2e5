//! Reads the lines: first all steps, then their inputs, for references may lead forward.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Action, Node, Step};
use planwright_core::{Diagnostics, Plan, StepId, Value};

use super::line;
use super::reference::{Ids, fragments, id_of, read};
use crate::document::{Document, Limits, Offsets, quote};
use crate::lines::{Allowance, Sheet, in_lines, line_at, next_line, tool_name, trimmed};
use crate::lowering::{Whole, lower_fragments};

const FORM: &str = "write `#E1 = Tool[input]`";

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let read = |text: &str, limits: &Limits, sheet: &mut Sheet<'_>| {
        let mut reader = Reader {
            text,
            allowance: Allowance::of(limits),
            drafts: Vec::new(),
            plan: None,
        };
        reader.read(sheet);
        reader.drafts
    };
    in_lines(
        document,
        ("no line of the text is a step", FORM),
        read,
        steps,
    )
}

/// A step whose input was not looked at yet.
struct Draft {
    id: String,
    tool: Range<usize>,
    input: Range<usize>,
    /// From the `#` to the closing bracket.
    range: Range<usize>,
    plan: Option<Arc<str>>,
}

struct Reader<'a> {
    text: &'a str,
    allowance: Allowance,
    drafts: Vec<Draft>,
    plan: Option<Arc<str>>,
}

impl Reader<'_> {
    fn read(&mut self, sheet: &mut Sheet<'_>) {
        let mut at = Some(0);
        while let Some(start) = at {
            let end = self.line(line_at(self.text, start), sheet);
            at = next_line(self.text, end);
        }
    }

    /// Reads the line in `range`, and gives where what was read ends: an input may go on over several lines.
    fn line(&mut self, range: Range<usize>, sheet: &mut Sheet<'_>) -> usize {
        let line = &self.text[range.clone()];
        if let Some(evidence) = line::evidence(line) {
            if let Some(plan) = &evidence.plan {
                self.plan = Some(line[plan.clone()].trim().into());
            }
            return self.evidence(&evidence, &range, sheet);
        }
        if let Some(words) = line::plan(line) {
            self.plan = Some(line.trim_start()[words..].trim().into());
        } else if line::seems_evidence(line) {
            let line = trimmed(self.text, range.clone());
            sheet.complain(
                line,
                "a line begins with `#E` and is no step".to_owned(),
                FORM,
            );
        }
        range.end
    }

    fn evidence(
        &mut self,
        evidence: &line::Evidence,
        line: &Range<usize>,
        sheet: &mut Sheet<'_>,
    ) -> usize {
        let start = line.start;
        if !self.allowance.take_call() {
            sheet.report(line.clone(), self.allowance.used_up());
            return self.text.len();
        }
        let number = &self.text[start + evidence.id.start + 1..start + evidence.id.end];
        let id = id_of(number);
        let rest = &self.text[start + evidence.call..line.end];
        let tool = start + evidence.call + (rest.len() - rest.trim_start().len());
        let tool = tool..tool + tool_name(&self.text[tool..line.end]);
        let begin = start + evidence.id.start - 1;
        let mut complain = |what: &str, help: &str| {
            let message = format!("step {} {what}", quote(&id));
            sheet.complain(begin..line.end, message, help);
        };
        let after = &self.text[tool.end..line.end];
        if tool.is_empty() || !after.trim_start().starts_with('[') {
            complain("names no tool with its input in `[…]`", FORM);
            return line.end;
        }
        let open = tool.end + (after.len() - after.trim_start().len()) + 1;
        let Some(close) = self.close(open, line.end) else {
            complain("has an input that is never closed", "add `]`");
            return line.end;
        };
        let end = line_at(self.text, close).end;
        if !self.text[close + 1..end].trim().is_empty() {
            complain("has more behind its input", "write one step a line");
            return end;
        }
        self.drafts.push(Draft {
            id,
            tool,
            input: trimmed(self.text, open..close),
            range: begin..close + 1,
            plan: self.plan.take(),
        });
        end
    }

    /// Where the bracket is that closes the input which begins at `open`: the last one of the line, or of the first
    /// line after it that ends with one.
    fn close(&self, open: usize, line_end: usize) -> Option<usize> {
        if let Some(close) = self.text[open..line_end].rfind(']') {
            return Some(open + close);
        }
        let mut at = line_end;
        while let Some(start) = next_line(self.text, at) {
            let range = line_at(self.text, start);
            let line = &self.text[range.clone()];
            if line::plan(line).is_some() || line::evidence(line).is_some() {
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

fn steps(drafts: Vec<Draft>, sheet: &mut Sheet<'_>) -> Vec<Step> {
    let ids: Ids = drafts.iter().map(|draft| draft.id.clone()).collect();
    let drafts = drafts.into_iter().enumerate();
    drafts
        .map(|(index, draft)| step(draft, index, &ids, sheet))
        .collect()
}

fn step(draft: Draft, index: usize, ids: &Ids, sheet: &mut Sheet<'_>) -> Step {
    let place = sheet.step(index, draft.range);
    let tool = sheet.tool(place, draft.tool);
    let input = sheet.part(place, "input", draft.input.clone());
    let args = Node::literal(Value::empty_object(), input);
    let mut step = Step::new(StepId::new(draft.id), Action::Tool(tool), args);
    step.place = place;
    step.note = draft.plan;
    let text: Arc<str> = sheet.source.text()[draft.input.clone()].into();
    if !text.is_empty() {
        let whole = Whole {
            text: &text,
            place: input,
            offsets: Some(Offsets::plain(draft.input.start, draft.input.len())),
        };
        let borders = (&mut *sheet.source, &mut *sheet.findings);
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
