//! What a model is told whose plan is not sound.

use std::fmt::Write as _;

use planwright_core::Diagnostics;

/// The most findings that are told: what comes after them is mostly a consequence.
const MOST: usize = 40;

/// All findings of a plan, as the next message after it. `is_repeated` says that the very same plan came before.
pub fn feedback(findings: &Diagnostics, is_repeated: bool) -> String {
    let mut text = wrong(findings);
    if is_repeated {
        text += "It is the same plan as before: change what is wrong.\n";
    }
    text + "Answer with the whole plan again, all of this mended, and without any words around it."
}

/// What is wrong, a line for each finding.
pub(crate) fn wrong(findings: &Diagnostics) -> String {
    let errors: Vec<_> = findings
        .iter()
        .filter(|finding| finding.is_error())
        .collect();
    let mut text =
        String::from("This cannot be run. What is wrong, with the place in your JSON:\n");
    for finding in errors.iter().take(MOST) {
        let _ = writeln!(text, "- {finding}");
    }
    if errors.len() > MOST {
        let _ = writeln!(text, "- and {} more", errors.len() - MOST);
    }
    text
}
