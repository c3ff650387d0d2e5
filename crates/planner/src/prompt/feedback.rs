//! Feedback to a model whose plan has errors.

use std::fmt::Write as _;

use planwright_core::{Diagnostic, Diagnostics};

/// Maximum number of diagnostics in a message; later ones are mostly consequences of earlier ones.
const MAX_DIAGNOSTICS: usize = 40;

const REPEATED_NOTICE: &str = "It is the same plan as before: change what is wrong.\n";

const RETRY_REQUEST: &str =
    "Answer with the whole plan again, all of this mended, and without any words around it.";

/// Formats all errors of a plan as the next message to the model. `is_repeated` tells it that it sent the same plan before.
pub fn feedback(diagnostics: &Diagnostics, is_repeated: bool) -> String {
    let mut text = error_list(diagnostics);
    if is_repeated {
        text += REPEATED_NOTICE;
    }
    text + RETRY_REQUEST
}

/// Like [`feedback`], for a plan in the lines of `text`.
pub(crate) fn lines_feedback(diagnostics: &Diagnostics, text: &str, is_repeated: bool) -> String {
    let mut feedback = error_list_at(diagnostics, "the line of your answer", &|diagnostic| {
        // A diagnostic with a source of its own is about another text.
        let span = diagnostic.span.filter(|_| diagnostic.source.is_none())?;
        let before = text.get(..span.start)?;
        Some(before.matches('\n').count() + 1)
    });
    if is_repeated {
        feedback += REPEATED_NOTICE;
    }
    feedback + RETRY_REQUEST
}

/// Formats the errors, one per line.
pub(crate) fn error_list(diagnostics: &Diagnostics) -> String {
    error_list_at(diagnostics, "the place in your JSON", &|_| None)
}

/// Formats the errors with their places: the line number from `line`, or else the JSON pointer.
fn error_list_at(
    diagnostics: &Diagnostics,
    place: &str,
    line: &dyn Fn(&Diagnostic) -> Option<usize>,
) -> String {
    let errors: Vec<_> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .collect();
    let mut text = format!("This cannot be run. What is wrong, with {place}:\n");
    for diagnostic in errors.iter().take(MAX_DIAGNOSTICS) {
        let _ = match line(diagnostic) {
            Some(line) => writeln!(text, "- line {line}: {}", without_pointer(diagnostic)),
            None => writeln!(text, "- {diagnostic}"),
        };
    }
    if errors.len() > MAX_DIAGNOSTICS {
        let _ = writeln!(text, "- and {} more", errors.len() - MAX_DIAGNOSTICS);
    }
    text
}

/// Removes the JSON pointer, which means nothing to a model that wrote lines.
fn without_pointer(diagnostic: &Diagnostic) -> Diagnostic {
    Diagnostic {
        pointer: String::new(),
        ..diagnostic.clone()
    }
}
