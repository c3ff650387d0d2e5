//! What a model is told whose plan is not sound.

use std::fmt::Write as _;

use planwright_core::{Diagnostic, Diagnostics};

/// The most findings that are told: what comes after them is mostly a consequence.
const MOST: usize = 40;

/// All findings of a plan, as the next message after it. `is_repeated` says that the very same plan came before.
pub fn feedback(findings: &Diagnostics, is_repeated: bool) -> String {
    let mut text = wrong(findings);
    if is_repeated {
        text += REPEATED;
    }
    text + AGAIN
}

const REPEATED: &str = "It is the same plan as before: change what is wrong.\n";

const AGAIN: &str =
    "Answer with the whole plan again, all of this mended, and without any words around it.";

/// As [`feedback`], for a plan in the lines of `text`.
pub(crate) fn feedback_in_lines(findings: &Diagnostics, text: &str, is_repeated: bool) -> String {
    let mut told = wrong_at(findings, "the line of your answer", &|finding| {
        let span = finding.span.filter(|_| finding.source.is_none())?;
        let before = text.get(..span.start)?;
        Some(before.matches('\n').count() + 1)
    });
    if is_repeated {
        told += REPEATED;
    }
    told + AGAIN
}

/// What is wrong, a line for each finding.
pub(crate) fn wrong(findings: &Diagnostics) -> String {
    wrong_at(findings, "the place in your JSON", &|_| None)
}

/// What is wrong, with its place: the line that `line` says, else the pointer.
fn wrong_at(
    findings: &Diagnostics,
    place: &str,
    line: &dyn Fn(&Diagnostic) -> Option<usize>,
) -> String {
    let errors: Vec<_> = findings
        .iter()
        .filter(|finding| finding.is_error())
        .collect();
    let mut text = format!("This cannot be run. What is wrong, with {place}:\n");
    for finding in errors.iter().take(MOST) {
        let _ = match line(finding) {
            Some(line) => writeln!(text, "- line {line}: {}", placeless(finding)),
            None => writeln!(text, "- {finding}"),
        };
    }
    if errors.len() > MOST {
        let _ = writeln!(text, "- and {} more", errors.len() - MOST);
    }
    text
}

/// A finding without its pointer, which says nothing to whoever wrote lines.
fn placeless(finding: &Diagnostic) -> Diagnostic {
    Diagnostic {
        pointer: String::new(),
        ..finding.clone()
    }
}
