//! Texts in lines: line bounds, limits, and the places of what the lines hold.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Name, Step};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, Plan, PointerSegment, SourceText, Sources,
};

use super::{foreign_code, prose};
use crate::document::{DiagnosticSink, Document, REDUCE_SIZE, ReadLimits};

/// The line that begins at byte `at` of `text`, without its line break.
pub(crate) fn line_at(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..];
    let length = rest.find('\n').unwrap_or(rest.len());
    let line = &rest[..length];
    at..at + line.strip_suffix('\r').unwrap_or(line).len()
}

/// The start of the line after the one that contains `at`; `None` if that is the last line.
pub(crate) fn next_line(text: &str, at: usize) -> Option<usize> {
    text[at..].find('\n').map(|end| at + end + 1)
}

/// `range` of `text` without surrounding blanks.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// The length of the number at the start of `text`.
pub(crate) fn digit_count(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The length of the tool name at the start of `text`: letters, digits, `_`, `.` and `-`, first a letter or `_`.
pub(crate) fn tool_name_length(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    match text.chars().next() {
        Some(first) if first.is_alphabetic() || first == '_' => {
            text.find(|c| !is_part(c)).unwrap_or(text.len())
        }
        _ => 0,
    }
}

/// Calls `read` for one line after the other. `read` returns the end of the text that it has consumed, since a statement may span
/// several lines; the next line begins after that.
pub(crate) fn for_each_line(text: &str, mut read: impl FnMut(Range<usize>) -> usize) {
    let mut at = Some(0);
    while let Some(start) = at {
        let end = read(line_at(text, start));
        at = next_line(text, end);
    }
}

/// Reads a plan in two passes, because references may lead forward: `read` finds the steps of the text, `build` makes
/// them once all are known. A text without steps gives the error `empty_message` with the advice `form`.
pub(crate) fn parse_lines<D>(
    document: Document,
    (empty_message, form): (&str, &str),
    read: impl FnOnce(&str, &ReadLimits, &mut LineContext<'_>) -> Vec<D>,
    build: impl FnOnce(Vec<D>, &mut LineContext<'_>) -> Vec<Step>,
) -> (Option<Plan>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let mut source = document.source;
    let text = Arc::clone(source.text());
    let mut context = LineContext::new(&mut source, &mut sink, document.root.place);
    let drafts = read(&text, &document.limits, &mut context);
    // Other errors explain already why no step was found.
    if drafts.is_empty() && !context.sink.has_errors() {
        let diagnostic = Diagnostic::error(Code::MalformedLine, empty_message);
        context
            .sink
            .push(document.root.place, diagnostic.help(form));
    }
    let steps = build(drafts, &mut context);
    let diagnostics = sink.finish(&source);
    let plan = (!steps.is_empty()).then(|| Plan {
        steps,
        place: document.root.place,
        sources: Sources::one(source),
        ..Plan::default()
    });
    (plan, diagnostics)
}

/// The advice about a line of code that is not a step, with the form of a step.
pub(crate) fn code_advice(form: &str) -> String {
    format!(
        "{form}; this dialect has no conditions, loops or variables: the native dialect has `when` and `for_each`"
    )
}

/// The problem in a line that is not a step, if it is code and not prose.
pub(crate) fn code_error(line: &str) -> Option<String> {
    if line.trim_start().starts_with("```") {
        return None;
    }
    let code = foreign_code::error(line).map(|(message, _)| message);
    code.or_else(|| prose::error(line).map(|(message, _)| message))
}

/// The number of values that a text may still have. A call counts as the four values that it has in JSON.
#[derive(Debug)]
pub(crate) struct ValueBudget {
    max: usize,
    left: usize,
}

impl ValueBudget {
    /// A budget of as many values as `limits` allow.
    pub(crate) fn of(limits: &ReadLimits) -> Self {
        Self {
            max: limits.values,
            left: limits.values,
        }
    }

    /// Takes one value; returns false if the budget is exhausted.
    pub(crate) fn take_value(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    /// Takes one call; returns false if the budget is exhausted.
    pub(crate) fn take_call(&mut self) -> bool {
        (0..4).all(|_| self.take_value())
    }

    /// The error about an exhausted budget.
    pub(crate) fn exceeded(&self) -> Diagnostic {
        let message = format!(
            "the text has more than the {} values that are allowed",
            self.max
        );
        Diagnostic::error(Code::TooLarge, message).help(REDUCE_SIZE)
    }
}

/// The state of reading a text in lines: adds places and diagnostics. Pointers lead to `/steps/0`, as in JSON.
pub(crate) struct LineContext<'a> {
    pub(crate) source: &'a mut SourceText,
    pub(crate) sink: &'a mut DiagnosticSink,
    steps: Place,
}

impl<'a> LineContext<'a> {
    /// The context of the text whose place is `root`.
    pub(crate) fn new(
        source: &'a mut SourceText,
        sink: &'a mut DiagnosticSink,
        root: Place,
    ) -> Self {
        let span = source.span(root).unwrap_or_default();
        // Plans in JSON have their steps in `steps`, so pointers look the same in both syntaxes.
        let steps = source.add(root, PointerSegment::Key("steps".into()), span);
        Self {
            source,
            sink,
            steps,
        }
    }

    /// The place of the list of steps.
    pub(crate) fn all_steps(&self) -> Place {
        self.steps
    }

    /// The place of the step at `index`.
    pub(crate) fn step(&mut self, index: usize, range: Range<usize>) -> Place {
        self.item(self.steps, index, range)
    }

    /// The place of the part `key` of the value at `parent`.
    pub(crate) fn part(&mut self, parent: Place, key: &str, range: Range<usize>) -> Place {
        let segment = PointerSegment::Key(key.into());
        self.source.add(parent, segment, range.into())
    }

    /// The place of the item at `index` of the value at `parent`.
    pub(crate) fn item(&mut self, parent: Place, index: usize, range: Range<usize>) -> Place {
        let segment = PointerSegment::Index(index);
        self.source.add(parent, segment, range.into())
    }

    /// The tool name in `range`.
    pub(crate) fn tool(&mut self, step: Place, range: Range<usize>) -> Name {
        let text: Arc<str> = self.source.text()[range.clone()].into();
        let place = self.part(step, "tool", range);
        Name { text, place }
    }

    /// Adds `diagnostic` at `range`.
    pub(crate) fn report(&mut self, range: Range<usize>, diagnostic: Diagnostic) {
        let place = self
            .source
            .add(self.steps, PointerSegment::Root, range.into());
        self.sink.push(place, diagnostic);
    }

    /// Reports a malformed line, or part of one, in `range`.
    pub(crate) fn report_malformed(&mut self, range: Range<usize>, message: String, help: &str) {
        let diagnostic = Diagnostic::error(Code::MalformedLine, message);
        self.report(range, diagnostic.help(help));
    }
}

/// The words after advice to write `lines` in place of `written`, if a new reference reads a part of a step's output, which the output need
/// not have.
pub(crate) fn unchecked_fields<'a>(
    lines: impl IntoIterator<Item = &'a String>,
    written: &str,
) -> String {
    const OTHER_ROOTS: [&str; 5] = ["inputs", "vars", "item", "env", "secrets"];
    let read_part = |inside: &'a str| {
        let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
        let end = inside.find(|sign| !is_sign(sign))?;
        let (id, rest) = inside.split_at(end);
        let is_step = !id.is_empty() && !OTHER_ROOTS.contains(&id) && rest.starts_with(['.', '[']);
        // A field in another notation, such as `mail["to"]`, is the author's own. A position is not: most outputs without a schema are texts.
        let is_own = match rest.strip_prefix('.') {
            Some(field) => written.contains(field.split(|sign| !is_sign(sign)).next()?),
            None => rest.starts_with("['") && written.contains(rest.get(2..)?.split('\'').next()?),
        };
        (is_step && !is_own).then_some(id)
    };
    let mut references = lines.into_iter().flat_map(|line| line.split("${").skip(1));
    match references.find_map(read_part) {
        Some(id) => {
            format!("; the fields of `{id}` are checked only if its tool declares an output schema")
        }
        None => String::new(),
    }
}
