//! Texts in lines: where each line is, and the places of what is found in them.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Name, Step};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, Plan, PointerSegment, Source, Sources,
};

use crate::document::{Document, Findings, Limits, REDUCE_SIZE};

/// The line that begins at byte `at` of `text`, without its end.
pub(crate) fn line_at(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..];
    let length = rest.find('\n').unwrap_or(rest.len());
    let line = &rest[..length];
    at..at + line.strip_suffix('\r').unwrap_or(line).len()
}

/// Where the line after the one that `at` is in begins; nothing where that is the last one.
pub(crate) fn next_line(text: &str, at: usize) -> Option<usize> {
    text[at..].find('\n').map(|end| at + end + 1)
}

/// `range` of `text` without the blanks at its ends.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// The length of the number that `text` begins with.
pub(crate) fn digit_count(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The length of the tool's name that `text` begins with: letters, digits, `_`, `.` and `-`, a letter or `_` first.
pub(crate) fn tool_name_length(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    match text.chars().next() {
        Some(first) if first.is_alphabetic() || first == '_' => {
            text.find(|c| !is_part(c)).unwrap_or(text.len())
        }
        _ => 0,
    }
}

/// Reads a plan in two rounds, for references may lead forward: `read` finds the steps of the text, and `build` makes each of them when
/// all are known. A text without any is told `none`, and `form` as the way out.
pub(crate) fn parse_lines<D>(
    document: Document,
    (empty_message, form): (&str, &str),
    read: impl FnOnce(&str, &Limits, &mut LineContext<'_>) -> Vec<D>,
    build: impl FnOnce(Vec<D>, &mut LineContext<'_>) -> Vec<Step>,
) -> (Option<Plan>, Diagnostics) {
    let mut sink = Findings::new();
    let mut source = document.source;
    let text = Arc::clone(source.text());
    let mut context = LineContext::new(&mut source, &mut sink, document.root.place);
    let drafts = read(&text, &document.limits, &mut context);
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

/// How many values a text may still have. A call counts as the four that it would be in JSON.
#[derive(Debug)]
pub(crate) struct ValueBudget {
    max: usize,
    left: usize,
}

impl ValueBudget {
    /// As many as `limits` allow.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            max: limits.values,
            left: limits.values,
        }
    }

    /// Takes one value; `false` where there was none left.
    pub(crate) fn take_value(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    /// Takes one call; `false` where there was not enough left.
    pub(crate) fn take_call(&mut self) -> bool {
        (0..4).all(|_| self.take_value())
    }

    /// The finding that no more is read.
    pub(crate) fn exceeded(&self) -> Diagnostic {
        let message = format!(
            "the text has more than the {} values that are allowed",
            self.max
        );
        Diagnostic::error(Code::TooLarge, message).help(REDUCE_SIZE)
    }
}

/// Gives places to what is found in a text in lines; pointers lead to `/steps/0`, as if it were JSON.
pub(crate) struct LineContext<'a> {
    pub(crate) source: &'a mut Source,
    pub(crate) sink: &'a mut Findings,
    steps: Place,
}

impl<'a> LineContext<'a> {
    /// The sheet of the text whose place is `root`.
    pub(crate) fn new(source: &'a mut Source, sink: &'a mut Findings, root: Place) -> Self {
        let span = source.span(root).unwrap_or_default();
        let steps = source.add(root, PointerSegment::Key("steps".into()), span);
        Self {
            source,
            sink,
            steps,
        }
    }

    /// The place of all steps.
    pub(crate) fn all_steps(&self) -> Place {
        self.steps
    }

    /// The place of the step number `index`.
    pub(crate) fn step(&mut self, index: usize, range: Range<usize>) -> Place {
        self.item(self.steps, index, range)
    }

    /// The place of the part `key` of what stands at `parent`.
    pub(crate) fn part(&mut self, parent: Place, key: &str, range: Range<usize>) -> Place {
        let segment = PointerSegment::Key(key.into());
        self.source.add(parent, segment, range.into())
    }

    /// The place of item number `index` of what stands at `parent`.
    pub(crate) fn item(&mut self, parent: Place, index: usize, range: Range<usize>) -> Place {
        let segment = PointerSegment::Index(index);
        self.source.add(parent, segment, range.into())
    }

    /// The tool that is named in `range`.
    pub(crate) fn tool(&mut self, step: Place, range: Range<usize>) -> Name {
        let text: Arc<str> = self.source.text()[range.clone()].into();
        let place = self.part(step, "tool", range);
        Name { text, place }
    }

    /// Adds `finding` at `range`.
    pub(crate) fn report(&mut self, range: Range<usize>, diagnostic: Diagnostic) {
        let place = self
            .source
            .add(self.steps, PointerSegment::Root, range.into());
        self.sink.push(place, diagnostic);
    }

    /// Says what is wrong with the line, or the part of it, in `range`.
    pub(crate) fn report_malformed(&mut self, range: Range<usize>, message: String, help: &str) {
        let diagnostic = Diagnostic::error(Code::MalformedLine, message);
        self.report(range, diagnostic.help(help));
    }
}
