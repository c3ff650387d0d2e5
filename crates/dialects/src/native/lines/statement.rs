//! Splits a text into statements: a statement continues as long as something in it is open.

use std::ops::Range;

use super::line::{self, LineStart};
use crate::dialect::MatchConfidence;
use crate::lowering::lines::{line_at, next_line};

/// A part of the text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineToken {
    /// A statement.
    Statement(LineStatement),
    /// Any other line.
    OtherLine(Range<usize>),
    /// The start or the end of a block of code.
    Fence(Range<usize>),
}

/// A step, the plan's own fields, or its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineStatement {
    pub(super) kind: StatementKind,
    pub(super) range: Range<usize>,
    /// True if all brackets, texts and references in it are closed.
    pub(super) is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementKind {
    Step,
    Plan,
    Return,
}

/// A splitter that takes a text line by line.
#[derive(Clone, Debug, Default)]
pub(super) struct StatementSplitter {
    open: Option<OpenStatement>,
}

/// A statement that is not complete yet.
#[derive(Clone, Debug)]
struct OpenStatement {
    kind: StatementKind,
    range: Range<usize>,
    inside: ScanState,
    brackets: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanState {
    Values,
    /// Inside of a text, with its opening quote.
    Text(u8),
    /// Inside a reference, with the number of open braces, and the quote of an open string in it.
    Reference(usize, Option<u8>),
}

impl StatementSplitter {
    /// Takes the line in `range` of `text`, and returns the statements that are complete.
    pub(super) fn line(&mut self, text: &str, range: Range<usize>) -> Vec<LineToken> {
        let line = &text[range.clone()];
        let mut found = Vec::new();
        let begins = line::line_start(line).map(|start| match start {
            LineStart::Step(_) => StatementKind::Step,
            LineStart::Plan(_) => StatementKind::Plan,
            LineStart::Return(_) => StatementKind::Return,
        });
        let mut open = match self.open.take() {
            Some(open) if !open.is_ended_by(line, begins) => open,
            before => {
                found.extend(before.map(|open| open.statement(false)));
                let Some(kind) = begins else {
                    found.push(if line::is_fence(line) {
                        LineToken::Fence(range)
                    } else {
                        LineToken::OtherLine(range)
                    });
                    return found;
                };
                OpenStatement {
                    kind,
                    range: range.clone(),
                    inside: ScanState::Values,
                    brackets: 0,
                }
            }
        };
        open.read(line);
        open.range.end = range.end;
        if open.is_whole() {
            found.push(open.statement(true));
        } else {
            self.open = Some(open);
        }
        found
    }

    /// The incomplete statement at the end of the text.
    pub(super) fn end(&mut self) -> Option<LineToken> {
        self.open.take().map(|open| open.statement(false))
    }
}

impl OpenStatement {
    fn statement(self, is_closed: bool) -> LineToken {
        LineToken::Statement(LineStatement {
            kind: self.kind,
            range: self.range,
            is_closed,
        })
    }

    fn is_whole(&self) -> bool {
        self.inside == ScanState::Values && self.brackets == 0
    }

    /// Returns true if `line` ends the statement although it is not closed, so that a missing quote costs one step and
    /// not the rest of the plan.
    fn is_ended_by(&self, line: &str, begins: Option<StatementKind>) -> bool {
        match self.inside {
            // A text may hold lines such as `return 1`, but a line that looks like a step ends it, see `docs/design/dialects.md`.
            ScanState::Text(_) => begins == Some(StatementKind::Step),
            _ => begins.is_some() || line::is_fence(line),
        }
    }

    fn read(&mut self, line: &str) {
        let mut bytes = line.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match (&mut self.inside, byte) {
                (ScanState::Text(_) | ScanState::Reference(_, Some(_)), b'\\') => {
                    bytes.next();
                }
                (ScanState::Text(quote), byte) => {
                    if *quote == byte {
                        self.inside = ScanState::Values;
                    }
                }
                (ScanState::Reference(_, quote @ Some(_)), byte) => {
                    if *quote == Some(byte) {
                        *quote = None;
                    }
                }
                (ScanState::Reference(_, quote), b'"' | b'\'') => *quote = Some(byte),
                (ScanState::Reference(braces, _), b'{') => *braces += 1,
                (ScanState::Reference(0, _), b'}') => self.inside = ScanState::Values,
                (ScanState::Reference(braces, _), b'}') => *braces -= 1,
                (ScanState::Values, b'"' | b'\'') => self.inside = ScanState::Text(byte),
                (ScanState::Values, b'$') if bytes.peek() == Some(&b'{') => {
                    bytes.next();
                    self.inside = ScanState::Reference(0, None);
                }
                (ScanState::Values, b'(' | b'[' | b'{') => self.brackets += 1,
                (ScanState::Values, b')' | b']' | b'}') => {
                    // The parser reports superfluous brackets.
                    self.brackets = self.brackets.saturating_sub(1);
                }
                (ScanState::Values, b'#') => return,
                (ScanState::Values | ScanState::Reference(..), _) => {}
            }
        }
    }
}

/// All parts of `text`, in order.
pub(super) fn all(text: &str) -> impl Iterator<Item = LineToken> {
    // Lazily, because the parser stops early at its limits.
    let mut splitter = StatementSplitter::default();
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let Some(start) = at else {
            return splitter.end().map(|found| vec![found]);
        };
        at = next_line(text, start);
        Some(splitter.line(text, line_at(text, start)))
    })
    .flatten()
}

/// The confidence that `text` is a plan in lines: certain if it has no other lines.
pub(super) fn confidence(text: &str) -> MatchConfidence {
    let mut has_step = false;
    let mut has_words = false;
    let mut has_calls = false;
    let is_foreign = |range: &Range<usize>| line::is_foreign_step(&text[range.clone()]);
    for found in all(text) {
        match found {
            LineToken::Statement(statement) => {
                has_step |= statement.kind == StatementKind::Step;
                has_words |= is_foreign(&statement.range);
            }
            LineToken::OtherLine(range) => {
                let line = &text[range];
                if is_program_line(line) {
                    return MatchConfidence::No;
                }
                // `join()` is a word of other systems.
                if line::bare_call(line).is_some() && !line.contains("()") {
                    has_calls = true;
                } else {
                    has_words |= !line::is_blank(line);
                }
            }
            LineToken::Fence(_) => {}
        }
    }
    match (has_step, has_calls, has_words) {
        (true, false, false) => MatchConfidence::Certain,
        // Calls without ids are a plan if the text has no other lines.
        (true, _, _) | (false, true, false) => MatchConfidence::Possible,
        (false, _, _) => MatchConfidence::No,
    }
}

/// Returns true if `line` belongs to a program that is more than a plan: assignments look alike in many languages.
fn is_program_line(line: &str) -> bool {
    const SIGNS: [(&str, &str); 3] = [("class ", ":"), ("class ", "{"), ("#include", "<")];
    let line = line.trim_start();
    let has = |(word, sign): &(&str, &str)| line.starts_with(word) && line.contains(sign);
    SIGNS.iter().any(has) || is_import(line)
}

/// Returns true for a line such as `import os`: a statement of a program without brackets or operators.
fn is_import(line: &str) -> bool {
    let choices: Vec<&str> = line.split_whitespace().take(5).collect();
    matches!(
        choices.as_slice(),
        ["import", _] | ["from", _, "import", ..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |found| match found {
            LineToken::Statement(one) => {
                let mark = if one.is_closed { "" } else { "…" };
                format!("{:?} {}{mark}", one.kind, &text[one.range])
            }
            LineToken::OtherLine(range) => format!("- {}", &text[range]),
            LineToken::Fence(range) => format!("fence {}", &text[range]),
        };
        all(text).map(show).collect()
    }

    #[test]
    fn lines_that_belong_together() {
        let check = |text: &str, wanted: &[&str]| assert_eq!(shown(text), wanted, "{text}");
        check("a = f()\r\nb = g()", &["Step a = f()", "Step b = g()"]);
        check(
            "a = f(\n x=1, # (\n y=2)\n\nyes",
            &["Step a = f(\n x=1, # (\n y=2)", "- ", "- yes"],
        );
        check("a = f(x=\"one\ntwo)\")", &["Step a = f(x=\"one\ntwo)\")"]);
        check("a = f(x=\"\\\")\")", &["Step a = f(x=\"\\\")\")"]);
        check("a = ${b[\"}\"]}\nc", &["Step a = ${b[\"}\"]}", "- c"]);
        check(
            "a = ${b.map(x, {'y': x})\n}",
            &["Step a = ${b.map(x, {'y': x})\n}"],
        );
        check(
            "a = f(x=\"one)\nb = g()",
            &["Step a = f(x=\"one)…", "Step b = g()"],
        );
        check(
            "a = f(x=[1\nreturn 1",
            &["Step a = f(x=[1…", "Return return 1"],
        );
        check(
            "a = f(x=\"1\nreturn 1\")",
            &["Step a = f(x=\"1\nreturn 1\")"],
        );
        check(
            "```\na = f(\n```\nb",
            &["fence ```", "Step a = f(…", "fence ```", "- b"],
        );
        check("a = f()))(\n)", &["Step a = f()))(\n)"]);
        check(
            "plan {\n}\nreturn {",
            &["Plan plan {\n}", "Return return {…"],
        );
        check("", &["- "]);
    }

    #[test]
    fn what_looks_like_a_plan_in_lines() {
        let check = |text: &str, wanted| assert_eq!(confidence(text), wanted, "{text}");
        check(
            "# A plan\n\na = f(x=1)\nreturn ${a}",
            MatchConfidence::Certain,
        );
        check("```\na = f()\n```", MatchConfidence::Certain);
        check("Here it is:\na = f()", MatchConfidence::Possible);
        check("plan {}\nreturn 1", MatchConfidence::No);
        check("import os\na = f(1)", MatchConfidence::No);
        check("from os import path\na = f(1)", MatchConfidence::No);
        check("a = f(1)\nprint(a)", MatchConfidence::Possible);
        check("f(x=1)\n\n# then\ng(2)", MatchConfidence::Possible);
        check("join()", MatchConfidence::No);
        check("First f:\nf(x=1)", MatchConfidence::No);
        check("print(1)", MatchConfidence::No);
        check("if a:\n    b = f(1)", MatchConfidence::Possible);
        check(
            "a = f(1)\nimport the results there",
            MatchConfidence::Possible,
        );
        check("1. f(1)", MatchConfidence::No);
        check("a = b", MatchConfidence::No);
    }
}
