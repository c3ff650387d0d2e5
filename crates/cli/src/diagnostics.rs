//! Findings as people read them: with the spot in the text where there is a terminal, one a line where there is none.

mod excerpt;
mod render;

#[cfg(test)]
mod tests;

use planwright::core::{Diagnostics, Severity};
use planwright::terminal_text;

use super::printer::Printer;
use render::{Look, compact, graphical};

/// More diagnostics than this are not read at one go.
const MOST: usize = 40;

/// Shows diagnostics. `texts` are the texts that they are about, by name, the plan's own first.
pub(crate) fn show(diagnostics: &Diagnostics, texts: &[(String, String)], printer: Printer) {
    if diagnostics.is_empty() {
        return;
    }
    let mut count = count_line(diagnostics);
    let first: Diagnostics = diagnostics.iter().take(MOST).cloned().collect();
    if diagnostics.len() > MOST {
        let others = if diagnostics.mentions_omitted() {
            "more"
        } else {
            "them all"
        };
        count = format!("{count}; the first {MOST} are shown, `--format json` has {others}");
    }
    let diagnostics = &first;
    let shown = if Printer::is_watched() {
        let shown = graphical(
            diagnostics,
            texts,
            Look {
                width: Printer::talk_width(),
                coloured: printer.colours_talk(),
            },
        );
        format!("{}\n\n{count}", shown.trim_end())
    } else {
        compact(diagnostics, texts) + &count
    };
    printer.talk(&shown);
}

/// `2 errors, 1 warning`, `more than 100 errors`
fn count_line(diagnostics: &Diagnostics) -> String {
    let count = |severity| {
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    };
    let counted = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        count => Some(format!("{count} {what}s")),
    };
    let counts = [
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
    ];
    let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if diagnostics.mentions_omitted() {
        format!("more than {counts}")
    } else {
        counts
    }
}

/// The name and text that a diagnostic is about.
fn text_of<'t>(source: Option<&str>, texts: &'t [(String, String)]) -> Option<(&'t str, &'t str)> {
    let found = match source {
        Some(name) => texts.iter().find(|(known, _)| known == name),
        None => texts.first(),
    };
    found.map(|(name, text)| (name.as_str(), text.as_str()))
}

fn one_line(text: &str) -> String {
    terminal_text::one_line(text).into_owned()
}
