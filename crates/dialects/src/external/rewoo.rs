//! The dialect of ReWOO: plans in words, each with the evidence that a tool finds.
//!
//! ```text
//! Plan: Find out who made the telescope.
//! #E1 = Google[maker of the first telescope]
//! Plan: Find out when that was.
//! #E2 = LLM[When did #E1 live? Given context: #E1]
//! ```
//!
//! - A line `#E1 = Tool[input]` is a step with the id `E1`; it may follow the plan on one line. The input extends from
//!   the first `[` to the last `]` of the line, or of the lines after it if that one has none. It is one text for the
//!   first parameter of the tool, which the checks name; an empty one is not an argument. An input that is an object of JSON
//!   has the arguments by their names; quoted, named or several values in Python syntax are the arguments of a call.
//!   `#E1: Tool(input)` is the same.
//! - `Plan:` becomes the note of the next step. Other lines are ignored if they are words; a line of
//!   code is an error.
//! - A reference is `#E1`: as the whole input it preserves the type of the value, inside of it the value is inserted;
//!   the original system adds square brackets. `#E10` does not contain `#E1`. References may lead forward; independent
//!   steps run in parallel, whereas the original system runs them in order.
//! - `#E1.name[0]` is a part of the value. `#E1` followed by more of a word, `#E` without a number, `#e1` if there is a step `E1`, and the number
//!   of no step are errors; the original system passes them on.
//! - Literal: `##E1` stands for `#E1`: each pair of `#` before a reference is one literal `#`. Any other `#` is itself.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Action, Node, NodeKind, Read, Reference, Source, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, StepId, Value};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Item, ItemKind, Offsets, ReadLimits, Syntax, quote, read_inside};
use crate::foreign_references::ReferenceForm;
use crate::lowering::call_arguments::{
    LineReferences, lower_arguments, path_length, path_segments,
};
use crate::lowering::lines::{
    LineContext, ValueBudget, code_advice, code_error, digit_count, for_each_line, line_at,
    next_line, parse_lines, tool_name_length, trimmed,
};
use crate::lowering::python_arguments::{
    ArgumentError, ArgumentKind, ArgumentScanner, LineArgument, UnquotedReference, is_structured,
};
use crate::lowering::{Fragment, LowerResult, MarkedText, ReferenceSyntax, lower, lower_fragments};

/// The dialect of ReWOO's planner.
#[derive(Clone, Copy, Debug)]
pub struct Rewoo;

impl Dialect for Rewoo {
    fn name(&self) -> &'static str {
        "rewoo"
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            write: |path| Some(format!("#{path}")),
            is_own: |text| text.starts_with("#E"),
        })
    }

    fn shape(&self) -> &'static str {
        "lines `Plan: …` and `#E1 = Tool[input]` with `#E1`"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Lines
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        MatchConfidence::certain_if(document.any_line(|line| evidence_head(line).is_some()))
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }
}

const FORM: &str = "write `#E1 = Tool[input]`";

/// Reads a plan.
fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let read = |text: &str, limits: &ReadLimits, context: &mut LineContext<'_>| {
        let mut reader = EvidenceReader {
            text,
            depth: limits.effective_depth(),
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
    /// The values of an input in Python syntax.
    arguments: Option<Vec<LineArgument>>,
    /// The bytes from the `#` to the closing bracket.
    range: Range<usize>,
    plan: Option<Arc<str>>,
}

struct EvidenceReader<'a> {
    text: &'a str,
    depth: usize,
    budget: ValueBudget,
    drafts: Vec<EvidenceDraft>,
    plan: Option<Arc<str>>,
    /// True after a step whose input is never closed, since the next lines may be part of it.
    is_broken: bool,
}

impl EvidenceReader<'_> {
    fn read(&mut self, context: &mut LineContext<'_>) {
        for_each_line(self.text, |line| self.line(line, context));
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
                "a line begins with `#E` and is not a step".to_owned(),
                FORM,
            );
        } else if !self.is_broken
            && let Some(message) = code_error(line)
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
        let bracket = match after.trim_start().chars().next() {
            Some('[') if !tool.is_empty() => ']',
            Some('(') if !tool.is_empty() => ')',
            _ => {
                report_malformed("names no tool with its input in `[…]`", FORM);
                return line.end;
            }
        };
        let open = tool.end + (after.len() - after.trim_start().len()) + 1;
        let Some(close) = self.close(open, line.end, bracket) else {
            report_malformed(
                "has an input that is never closed",
                &format!("add `{bracket}`"),
            );
            self.is_broken = true;
            return line.end;
        };
        let end = line_at(self.text, close).end;
        if !self.text[close + 1..end].trim().is_empty() {
            report_malformed("has text after its input", "write one step a line");
            return end;
        }
        let input = trimmed(self.text, open..close);
        let arguments = match self.arguments(&input, close, bracket) {
            Ok(arguments) => arguments,
            Err(error) => {
                context.report(error.at..line.end.max(error.at), *error.diagnostic);
                return end;
            }
        };
        self.drafts.push(EvidenceDraft {
            id,
            tool,
            input,
            arguments,
            range: begin..close + 1,
            plan: self.plan.take(),
        });
        end
    }

    /// The values of the `input` before the `bracket` at `close`, if it is no text: an unquoted value or references alone are text
    /// in square brackets.
    fn arguments(
        &mut self,
        input: &Range<usize>,
        close: usize,
        bracket: char,
    ) -> Result<Option<Vec<LineArgument>>, ArgumentError> {
        let at = (input.start, self.depth);
        let scanner = ArgumentScanner::new(self.text, at, &mut self.budget, UNQUOTED);
        let (arguments, end) = match scanner.arguments(bracket) {
            Ok(read) => read,
            // Words are one text in either brackets.
            Err(error) if bracket == ')' && is_structured(&self.text[input.clone()]) => {
                return Err(error);
            }
            Err(_) => return Ok(None),
        };
        let is_reference = |argument: &LineArgument| {
            argument.name.is_none() && self.text[argument.value.range.clone()].starts_with('#')
        };
        let is_text = match arguments.as_slice() {
            [one] if one.name.is_none() => matches!(one.value.kind, ArgumentKind::Plain(_)),
            _ => false,
        };
        let is_text = bracket == ']' && (is_text || arguments.iter().all(is_reference));
        Ok((end == close + 1 && !is_text).then_some(arguments))
    }

    /// The `bracket` that closes the input that begins at `open`: the last one of the line, or the end of the first later line that
    /// ends with a bracket.
    fn close(&self, open: usize, line_end: usize, bracket: char) -> Option<usize> {
        if let Some(close) = self.text[open..line_end].rfind(bracket) {
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
            if let Some(before) = line.trim_end().strip_suffix(bracket) {
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
    let text: Arc<str> = context.source.text()[draft.input.clone()].into();
    let named = named_arguments(&text, (place, draft.input.clone()), ids, context);
    let is_named = named.is_some();
    let input = context.part(place, "input", draft.input.clone());
    let args = named.unwrap_or_else(|| Node::literal(Value::empty_object(), input));
    let mut step = Step::new(StepId::new(draft.id), Action::Tool(tool), args);
    step.place = place;
    step.note = draft.plan;
    if is_named {
        return step;
    }
    if let Some(arguments) = draft.arguments {
        let references = LineReferences {
            ids,
            fragments,
            read,
        };
        let lowered = lower_arguments(&arguments, input, &references, context);
        step.args = Node::object(lowered.named, input);
        match <[Node; 1]>::try_from(lowered.positional) {
            // An object with unquoted references is as one of JSON.
            Ok([only]) if matches!(only.kind, NodeKind::Object(_)) => step.args = only,
            Ok(one) => step.positional = one.into(),
            Err(all) => step.positional = all,
        }
    } else if !text.is_empty() {
        let whole = MarkedText {
            text: &text,
            place: input,
            offsets: Some(Offsets::plain(draft.input.start, draft.input.len())),
        };
        let borders = (&mut *context.source, &mut *context.sink);
        step.positional.push(Node {
            kind: lower_fragments(whole, fragments(&text, ids), borders, &mut read),
            place: input,
        });
    }
    step
}

/// The arguments in an input that is an object of JSON.
fn named_arguments(
    text: &Arc<str>,
    (step, range): (Place, Range<usize>),
    ids: &EvidenceIds,
    context: &mut LineContext<'_>,
) -> Option<Node> {
    if !text.starts_with('{') || Value::from_json(text).is_err() {
        return None;
    }
    let written = Item {
        kind: ItemKind::Text(Arc::clone(text)),
        place: context.part(step, "args", range),
    };
    let (item, _) = read_inside(context.source, &written, &ReadLimits::default());
    let mut references = EvidenceReferences { ids, context };
    Some(lower(&item?, &mut references))
}

/// The references in the texts of an object.
struct EvidenceReferences<'e, 'c> {
    ids: &'e EvidenceIds,
    context: &'e mut LineContext<'c>,
}

impl ReferenceSyntax for EvidenceReferences<'_, '_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let whole = MarkedText {
            text,
            place,
            offsets: None,
        };
        let borders = (&mut *self.context.source, &mut *self.context.sink);
        lower_fragments(whole, fragments(text, self.ids), borders, &mut read)
    }
}

/// An unquoted `#E1` or `#E1.name`.
const UNQUOTED: UnquotedReference = UnquotedReference {
    sign: '#',
    length: |after| {
        let digits = digit_count(after.strip_prefix('E')?);
        (digits > 0).then(|| 1 + digits + path_length(&after[1 + digits..]))
    },
    form: REFERENCE_FORM,
};

/// The prefix of a line that says why the next step exists.
const PLAN: &str = "Plan:";

/// The parts of a line that begins a step, in bytes of the line.
#[derive(Debug)]
struct EvidenceHead {
    /// The text of a plan on the same line.
    plan: Option<Range<usize>>,
    /// `E1`
    id: Range<usize>,
    /// The byte after `=` or `:`.
    call: usize,
}

/// The head of the step that `line` begins: `#E1 =` or `#E1: tool[`, at its start or after `Plan:`.
fn evidence_head(line: &str) -> Option<EvidenceHead> {
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
    let is_call = |call: &str| {
        let name = tool_name_length(call);
        name > 0 && call[name..].starts_with(['[', '('])
    };
    let after = rest.trim_start();
    let call = after.strip_prefix(':').map(str::trim_start);
    let begins = after.starts_with('=') || call.is_some_and(is_call);
    (number > 0 && begins).then(|| EvidenceHead {
        plan,
        id: at + 1..end,
        call: end + (rest.len() - rest.trim_start().len()) + 1,
    })
}

/// The text after `Plan:`, if `line` begins with it.
fn plan_text(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix(PLAN)
}

/// Returns true if `line` begins a step, even a malformed one.
fn seems_evidence(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("#E");
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
}

const REFERENCE_FORM: &str = "write `#E1`, or `#E1.name` for a field, without a word directly after it, and `##E1` for a literal `#E1`";

/// The ids of a plan's steps.
type EvidenceIds = HashSet<String>;

/// The id of the step with the number `digits`, which may begin with zeros.
fn id_of(digit_count: &str) -> String {
    let number = digit_count.trim_start_matches('0');
    format!("E{}", if number.is_empty() { "0" } else { number })
}

/// Splits `text` into literals and references to steps.
fn fragments<'t>(text: &'t str, ids: &EvidenceIds) -> Vec<Fragment<'t>> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(hash) = text[at..].find('#').map(|found| at + found) {
        literal.push_str(&text[at..hash]);
        let rest = &text[hash..];
        let run = rest.len() - rest.trim_start_matches('#').len();
        let start = hash + run;
        at = start;
        let Some(length) = marker(&text[start..], ids) else {
            literal.push_str(&text[hash..start]);
            continue;
        };
        // Each pair of `#` before a reference is one literal `#`.
        literal.extend(std::iter::repeat_n('#', run / 2));
        at = start + length;
        if run.is_multiple_of(2) {
            literal.push_str(&text[start..at]);
            continue;
        }
        if !literal.is_empty() {
            found.push(Fragment::Literal(std::mem::take(&mut literal).into()));
        }
        let range = start - 1..at;
        found.push(match problem(&text[start..at], ids) {
            None => Fragment::Marker(&text[start..at], range),
            Some(diagnostic) => Fragment::Problem(diagnostic, range),
        });
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        found.push(Fragment::Literal(literal.into()));
    }
    found
}

/// The length of the text after a `#` that is a reference, or seems to be one.
fn marker(rest: &str, ids: &EvidenceIds) -> Option<usize> {
    let number = digit_count(rest.get(1..)?);
    let after = &rest[1 + number..];
    match rest.as_bytes().first() {
        Some(b'E') if number > 0 => {
            let path = path_length(after);
            Some(1 + number + path + continuation(&after[path..]))
        }
        Some(b'E') => (!after.starts_with(char::is_alphanumeric)).then_some(1),
        Some(b'e') if number > 0 && continuation(after) == 0 => {
            let meant = id_of(&rest[1..=number]);
            ids.contains(&meant).then_some(1 + number)
        }
        _ => None,
    }
}

/// The length of the word or path that continues at the start of `after`.
fn continuation(after: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let inside = after.strip_prefix('.').unwrap_or(after);
    if inside.starts_with(is_word) {
        let skipped = after.len() - inside.len();
        return skipped + inside.find(|c| !is_word(c)).unwrap_or(inside.len());
    }
    usize::from(after.starts_with('['))
}

/// The problem in the text after a `#`.
fn problem(written: &str, ids: &EvidenceIds) -> Option<Box<Diagnostic>> {
    let (number, path) = written[1..].split_at(digit_count(&written[1..]));
    let is_whole = !number.is_empty() && path_length(path) == path.len();
    if is_whole && written.starts_with('E') && ids.contains(&id_of(number)) {
        return None;
    }
    let shown = quote(&format!("#{written}"));
    let (code, message) = if is_whole {
        match written.strip_prefix('e') {
            Some(number) => (
                Code::MalformedReference,
                format!("{shown} is not a reference: the step is `#E{number}`"),
            ),
            None => (
                Code::UnknownStep,
                format!("{shown} refers to no step of the plan"),
            ),
        }
    } else if written.len() > 1 {
        let message = format!("{shown} is not a reference: more follows the number");
        (Code::MalformedReference, message)
    } else {
        let message = format!("{shown} is not a reference: the number is missing");
        (Code::MalformedReference, message)
    };
    Some(Box::new(
        Diagnostic::error(code, message).help(REFERENCE_FORM),
    ))
}

/// The reference that is `written` after the `#`: an `E` with a number, and the path of a field.
fn read(written: &str, place: Place) -> LowerResult<Reference> {
    let text = format!("#{written}");
    let number = written.trim_start_matches('E');
    let (number, path) = number.split_at(digit_count(number));
    let path = path_segments(path).map_err(|what| {
        let message = format!("{} is not a reference: {what}", quote(&text));
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(REFERENCE_FORM))
    })?;
    let read = Read::part(Source::Step(StepId::new(id_of(number))), path);
    Ok(Reference::read(read, text, place))
}
