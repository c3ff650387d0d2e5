//! Which lines belong together: a step goes on as long as something in it is open.

use std::ops::Range;

use super::line::{self, Beginning};
use crate::dialect::Likeness;
use crate::lines::{line_at, next_line};

/// Something that was found among the lines, in bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A step, the plan's own fields, or its output.
    Statement(Statement),
    /// A line of its own.
    Apart(Range<usize>),
    /// The beginning or the end of a block of code.
    Fence(Range<usize>),
}

/// A step, the plan's own fields, or its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    /// Whether everything in it is closed.
    pub(super) is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Step,
    Plan,
    Return,
}

/// Follows a text line by line.
#[derive(Clone, Debug, Default)]
pub(super) struct Follower {
    open: Option<Open>,
}

/// What is not closed yet.
#[derive(Clone, Debug)]
struct Open {
    kind: Kind,
    range: Range<usize>,
    inside: Inside,
    brackets: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Values,
    /// A text, and the quote that it began with.
    Text(u8),
    /// A reference, how many braces are open in it, and the quote of a text in it.
    Reference(usize, Option<u8>),
}

impl Follower {
    /// Takes in the line in `range` of `text`, and gives what has come to its end.
    pub(super) fn line(&mut self, text: &str, range: Range<usize>) -> Vec<Found> {
        let line = &text[range.clone()];
        let mut found = Vec::new();
        let begins = line::beginning(line).map(|beginning| match beginning {
            Beginning::Step(_) => Kind::Step,
            Beginning::Plan(_) => Kind::Plan,
            Beginning::Return(_) => Kind::Return,
        });
        let mut open = match self.open.take() {
            Some(open) if !open.is_ended_by(line, begins) => open,
            before => {
                found.extend(before.map(|open| open.statement(false)));
                let Some(kind) = begins else {
                    found.push(if line::is_fence(line) {
                        Found::Fence(range)
                    } else {
                        Found::Apart(range)
                    });
                    return found;
                };
                Open {
                    kind,
                    range: range.clone(),
                    inside: Inside::Values,
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

    /// What is open at the end of the text.
    pub(super) fn end(&mut self) -> Option<Found> {
        self.open.take().map(|open| open.statement(false))
    }
}

impl Open {
    fn statement(self, is_closed: bool) -> Found {
        Found::Statement(Statement {
            kind: self.kind,
            range: self.range,
            is_closed,
        })
    }

    fn is_whole(&self) -> bool {
        self.inside == Inside::Values && self.brackets == 0
    }

    /// Whether `line` does not belong to it any more, though it is not closed. So one forgotten quote costs one step and not all.
    fn is_ended_by(&self, line: &str, begins: Option<Kind>) -> bool {
        match self.inside {
            Inside::Text(_) => begins == Some(Kind::Step),
            _ => begins.is_some() || line::is_fence(line),
        }
    }

    fn read(&mut self, line: &str) {
        let mut bytes = line.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match (&mut self.inside, byte) {
                (Inside::Text(_) | Inside::Reference(_, Some(_)), b'\\') => {
                    bytes.next();
                }
                (Inside::Text(quote), byte) => {
                    if *quote == byte {
                        self.inside = Inside::Values;
                    }
                }
                (Inside::Reference(_, quote @ Some(_)), byte) => {
                    if *quote == Some(byte) {
                        *quote = None;
                    }
                }
                (Inside::Reference(_, quote), b'"' | b'\'') => *quote = Some(byte),
                (Inside::Reference(braces, _), b'{') => *braces += 1,
                (Inside::Reference(0, _), b'}') => self.inside = Inside::Values,
                (Inside::Reference(braces, _), b'}') => *braces -= 1,
                (Inside::Values, b'"' | b'\'') => self.inside = Inside::Text(byte),
                (Inside::Values, b'$') if bytes.peek() == Some(&b'{') => {
                    bytes.next();
                    self.inside = Inside::Reference(0, None);
                }
                (Inside::Values, b'(' | b'[' | b'{') => self.brackets += 1,
                (Inside::Values, b')' | b']' | b'}') => {
                    self.brackets = self.brackets.saturating_sub(1);
                }
                (Inside::Values, b'#') => return,
                (Inside::Values | Inside::Reference(..), _) => {}
            }
        }
    }
}

/// Everything in `text`, in order.
pub(super) fn all(text: &str) -> impl Iterator<Item = Found> {
    let mut follower = Follower::default();
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let Some(start) = at else {
            return follower.end().map(|found| vec![found]);
        };
        at = next_line(text, start);
        Some(follower.line(text, line_at(text, start)))
    })
    .flatten()
}

/// Whether `text` looks like a plan in lines: surely, where it holds nothing else.
pub(super) fn likeness(text: &str) -> Likeness {
    let mut has_step = false;
    let mut has_words = false;
    for found in all(text) {
        match found {
            Found::Statement(statement) => has_step |= statement.kind == Kind::Step,
            Found::Apart(range) => {
                let line = &text[range];
                if is_of_a_program(line) {
                    return Likeness::No;
                }
                has_words |= !line::is_blank(line);
            }
            Found::Fence(_) => {}
        }
    }
    match (has_step, has_words) {
        (true, false) => Likeness::Certain,
        (true, true) => Likeness::Possible,
        (false, _) => Likeness::No,
    }
}

/// Whether `line` is one of a program that is more than a plan in the wrong words: assignments look alike in many languages.
fn is_of_a_program(line: &str) -> bool {
    const SIGNS: [(&str, &str); 3] = [("class ", ":"), ("class ", "{"), ("#include", "<")];
    let line = line.trim_start();
    let has = |(word, sign): &(&str, &str)| line.starts_with(word) && line.contains(sign);
    SIGNS.iter().any(has) || is_import(line)
}

/// `import os`, which has none of the signs.
fn is_import(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    matches!(words.as_slice(), ["import", _] | ["from", _, "import", ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |found| match found {
            Found::Statement(one) => {
                let mark = if one.is_closed { "" } else { "…" };
                format!("{:?} {}{mark}", one.kind, &text[one.range])
            }
            Found::Apart(range) => format!("- {}", &text[range]),
            Found::Fence(range) => format!("fence {}", &text[range]),
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
        let check = |text: &str, wanted| assert_eq!(likeness(text), wanted, "{text}");
        check("# A plan\n\na = f(x=1)\nreturn ${a}", Likeness::Certain);
        check("```\na = f()\n```", Likeness::Certain);
        check("Here it is:\na = f()", Likeness::Possible);
        check("plan {}\nreturn 1", Likeness::No);
        check("import os\na = f(1)", Likeness::No);
        check("from os import path\na = f(1)", Likeness::No);
        check("a = f(1)\nprint(a)", Likeness::Possible);
        check("if a:\n    b = f(1)", Likeness::Possible);
        check("a = f(1)\nimport the results there", Likeness::Possible);
        check("1. f(1)", Likeness::No);
        check("a = b", Likeness::No);
    }
}
