//! Diagnostics with their place in the text.

pub(crate) mod excerpt;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt::{self, Write as _};

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use planwright::core::{Diagnostic, Diagnostics, Severity};
use planwright::terminal_text;

use self::excerpt::Excerpt;
use super::printer::Printer;

/// More diagnostics than this are not read at one go.
const MAX_SHOWN: usize = 40;

/// Shows diagnostics. `texts` are the texts that they are about, by name, the plan's own first.
pub(crate) fn show(diagnostics: &Diagnostics, texts: &[(String, String)], printer: Printer) {
    if diagnostics.is_empty() {
        return;
    }
    let mut count = count_line(diagnostics);
    let first: Diagnostics = diagnostics.iter().take(MAX_SHOWN).cloned().collect();
    if diagnostics.len() > MAX_SHOWN {
        let others = if diagnostics.mentions_omitted() {
            "more"
        } else {
            "them all"
        };
        count = format!("{count}; the first {MAX_SHOWN} are shown, `--format json` has {others}");
    }
    let diagnostics = &first;
    let shown = if Printer::is_watched() {
        let shown = graphical(
            diagnostics,
            texts,
            Look {
                width: Printer::status_width(),
                coloured: printer.colours_status(),
            },
        );
        format!("{}\n\n{count}", shown.trim_end())
    } else {
        compact(diagnostics, texts) + &count
    };
    printer.status(&shown);
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

/// The style of diagnostics.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// The columns of the terminal.
    width: usize,
    /// True if to colour.
    coloured: bool,
}

/// The width of line numbers and frames beside an excerpt.
const FRAME: usize = 12;

/// Each diagnostic with its excerpt.
fn graphical(diagnostics: &Diagnostics, texts: &[(String, String)], look: Look) -> String {
    let theme = if look.coloured {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(look.width.max(40))
        .with_break_words(false);
    let mut shown = String::new();
    for diagnostic in diagnostics {
        let report = Report::of(diagnostic, texts, look.width);
        // Writing to a text cannot fail; if rendering does, the compact form is used.
        if handler.render_report(&mut shown, &report).is_err() {
            shown.push_str(&compact_line(diagnostic, texts));
        }
        shown.push('\n');
    }
    shown
}

/// Returns a diagnostic a line: `plan.json:3:14: error PW0201: message (help)`.
fn compact(diagnostics: &Diagnostics, texts: &[(String, String)]) -> String {
    diagnostics
        .iter()
        .map(|diagnostic| compact_line(diagnostic, texts))
        .collect()
}

fn compact_line(diagnostic: &Diagnostic, texts: &[(String, String)]) -> String {
    let mut line = place(diagnostic, texts);
    let _ = write!(
        line,
        "{} {}: {}",
        severity(diagnostic.severity),
        diagnostic.code,
        one_line(&diagnostic.message)
    );
    // Line and column say it better.
    if diagnostic.span.is_none() && !diagnostic.pointer.is_empty() {
        let _ = write!(line, " at {}", one_line(&diagnostic.pointer));
    }
    if let Some(help) = &diagnostic.help {
        let _ = write!(line, " ({})", one_line(help));
    }
    line.push('\n');
    for hop in &diagnostic.way {
        let _ = writeln!(line, "    {}", one_line(&hop.text));
    }
    line
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// `plan.json:3:14: `, as far as it is known.
fn place(diagnostic: &Diagnostic, texts: &[(String, String)]) -> String {
    match (
        text_of(diagnostic.source.as_deref(), texts),
        diagnostic.span,
    ) {
        (Some((name, text)), Some(span)) => {
            let (line, column) = Excerpt::of(name, text, span, 80).position();
            format!("{}:{line}:{column}: ", one_line(name))
        }
        (Some((name, _)), None) => format!("{}: ", one_line(name)),
        (None, _) => diagnostic
            .source
            .as_deref()
            .map_or_else(String::new, |name| format!("{}: ", one_line(name))),
    }
}

/// A diagnostic as miette requires it.
#[derive(Debug)]
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    message: String,
    excerpt: Option<Excerpt>,
}

impl<'a> Report<'a> {
    fn of(diagnostic: &'a Diagnostic, texts: &[(String, String)], width: usize) -> Self {
        let text = text_of(diagnostic.source.as_deref(), texts);
        let excerpt = text
            .filter(|(_, text)| !text.trim().is_empty())
            .zip(diagnostic.span)
            .map(|((name, text), span)| {
                let room = width.saturating_sub(FRAME).max(24);
                Excerpt::of(&one_line(name), text, span, room)
            });
        let mut message = one_line(&diagnostic.message);
        if excerpt.is_none() {
            message.push_str(&whereabouts(diagnostic));
        }
        Self {
            diagnostic,
            message,
            excerpt,
        }
    }
}

/// ` at /steps/0 in `plan.json``, for a diagnostic whose spot cannot be shown.
fn whereabouts(diagnostic: &Diagnostic) -> String {
    let mut text = String::new();
    if !diagnostic.pointer.is_empty() {
        let _ = write!(text, " at {}", one_line(&diagnostic.pointer));
    }
    if let Some(source) = &diagnostic.source {
        let _ = write!(text, " in `{}`", one_line(source));
    }
    text
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let severity = severity(self.diagnostic.severity);
        Some(Box::new(format!("{severity} {}", self.diagnostic.code)))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.diagnostic.help.as_ref()?;
        let mut text = String::new();
        for hop in &self.diagnostic.way {
            text.push_str(&one_line(&hop.text));
            text.push('\n');
        }
        text.push_str(&one_line(help));
        Some(Box::new(text))
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("docs/codes/{}.md", self.diagnostic.code)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt
            .as_ref()
            .map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = if self.diagnostic.pointer.is_empty() {
            "here".to_owned()
        } else {
            one_line(&self.diagnostic.pointer)
        };
        let label = LabeledSpan::new_with_span(Some(label), excerpt.spot());
        Some(Box::new(std::iter::once(label)))
    }
}
