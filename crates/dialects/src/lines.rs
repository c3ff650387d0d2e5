//! Texts in lines: where each line is, and the places of what is found in them.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::plan::{Name, Step};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, Plan, PointerSegment, Source, Sources,
};

use crate::document::{Document, Findings, Limits, TAKE_LESS};

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
pub(crate) fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The length of the tool's name that `text` begins with: letters, digits, `_`, `.` and `-`, a letter or `_` first.
pub(crate) fn tool_name(text: &str) -> usize {
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
pub(crate) fn in_lines<D>(
    document: Document,
    (none, form): (&str, &str),
    read: impl FnOnce(&str, &Limits, &mut Sheet<'_>) -> Vec<D>,
    build: impl FnOnce(Vec<D>, &mut Sheet<'_>) -> Vec<Step>,
) -> (Option<Plan>, Diagnostics) {
    let mut findings = Findings::new();
    let mut source = document.source;
    let text = Arc::clone(source.text());
    let mut sheet = Sheet::new(&mut source, &mut findings, document.root.place);
    let drafts = read(&text, &document.limits, &mut sheet);
    if drafts.is_empty() && !sheet.findings.has_errors() {
        let finding = Diagnostic::error(Code::MalformedLine, none);
        sheet.findings.push(document.root.place, finding.help(form));
    }
    let steps = build(drafts, &mut sheet);
    let diagnostics = findings.finish(&source);
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
pub(crate) struct Allowance {
    most: usize,
    left: usize,
}

impl Allowance {
    /// As many as `limits` allow.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            most: limits.values,
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
    pub(crate) fn used_up(&self) -> Diagnostic {
        let message = format!(
            "the text has more than the {} values that are allowed",
            self.most
        );
        Diagnostic::error(Code::TooLarge, message).help(TAKE_LESS)
    }
}

/// Gives places to what is found in a text in lines; pointers lead to `/steps/0`, as if it were JSON.
pub(crate) struct Sheet<'a> {
    pub(crate) source: &'a mut Source,
    pub(crate) findings: &'a mut Findings,
    steps: Place,
}

impl<'a> Sheet<'a> {
    /// The sheet of the text whose place is `root`.
    pub(crate) fn new(source: &'a mut Source, findings: &'a mut Findings, root: Place) -> Self {
        let span = source.span(root).unwrap_or_default();
        let steps = source.add(root, PointerSegment::Key("steps".into()), span);
        Self {
            source,
            findings,
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
    pub(crate) fn report(&mut self, range: Range<usize>, finding: Diagnostic) {
        let place = self
            .source
            .add(self.steps, PointerSegment::Root, range.into());
        self.findings.push(place, finding);
    }

    /// Says what is wrong with the line, or the part of it, in `range`.
    pub(crate) fn complain(&mut self, range: Range<usize>, message: String, help: &str) {
        let finding = Diagnostic::error(Code::MalformedLine, message);
        self.report(range, finding.help(help));
    }
}
