//! The printed form of diagnostics. Each has an excerpt of its text: a few lines, cut around the marked part if they are long.

use std::cell::OnceCell;
use std::fmt::{self, Write as _};

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use planwright::core::{Diagnostic, Diagnostics, Severity, Span, Value};
use planwright::dialects::document;
use planwright::dialects::native::lines;
use planwright::loaded_plan::LoadedPlan;
use planwright::terminal_text;

use crate::args::RunFormat;
use crate::view::printer::Printer;

/// The maximum number of diagnostics that are shown.
const MAX_SHOWN: usize = 40;

/// Shows the diagnostics of a plan to people; programs find them in the report instead.
pub(crate) fn show_for(loaded: &LoadedPlan, format: RunFormat, printer: Printer) {
    if format == RunFormat::Text {
        show(&loaded.diagnostics, &loaded.texts, printer);
    }
}

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
        format!(
            "{}\n\n{count}{}",
            shown.trim_end(),
            explanation(diagnostics)
        )
    } else {
        compact(diagnostics, texts) + &count
    };
    printer.status(&shown);
}

/// The command that explains the first code.
fn explanation(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().next().map_or_else(String::new, |first| {
        format!(
            "\n  hint: `planwright explain {}` explains a code",
            first.code
        )
    })
}

/// `2 errors, 1 warning`, `more than 100 errors`
pub(super) fn count_line(diagnostics: &Diagnostics) -> String {
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
        counted(count(Severity::Note), "note"),
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

pub(super) fn one_line(text: &str) -> String {
    terminal_text::one_line(text).into_owned()
}

/// The style of diagnostics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// The columns of the terminal.
    pub(super) width: usize,
    /// True if the output has colours.
    pub(super) coloured: bool,
}

/// The width of line numbers and frames beside an excerpt.
const FRAME: usize = 12;

/// Each diagnostic with its excerpt.
pub(super) fn graphical(
    diagnostics: &Diagnostics,
    texts: &[(String, String)],
    look: Look,
) -> String {
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
    let steps = Steps::of(texts);
    for diagnostic in diagnostics {
        let report = Report::of(diagnostic, &steps, look.width);
        // Writing to a text cannot fail; if rendering does, the compact form is used.
        if handler.render_report(&mut shown, &report).is_err() {
            shown.push_str(&compact_line(diagnostic, &steps));
        }
        shown.push('\n');
    }
    shown
}

/// Returns a diagnostic a line, `plan.json:3:14: error PW0201: message (help)`, with its excerpt and its step below.
pub(super) fn compact(diagnostics: &Diagnostics, texts: &[(String, String)]) -> String {
    let steps = Steps::of(texts);
    diagnostics
        .iter()
        .map(|diagnostic| compact_line(diagnostic, &steps))
        .collect()
}

/// The columns of an excerpt without a terminal.
const WINDOW: usize = 76;

fn compact_line(diagnostic: &Diagnostic, steps: &Steps) -> String {
    let mut line = place(diagnostic, steps.texts);
    let _ = write!(
        line,
        "{} {}: {}",
        severity(diagnostic.severity),
        diagnostic.code,
        one_line(&diagnostic.message)
    );
    // The line already has line and column, which say more.
    if diagnostic.span.is_none() && !diagnostic.pointer.is_empty() {
        let _ = write!(line, " at {}", one_line(&diagnostic.pointer));
    }
    if let Some(help) = &diagnostic.help {
        let _ = write!(line, " ({})", terminal_text::escaped_line(help));
    }
    line.push('\n');
    for hop in diagnostic.path.iter() {
        let _ = writeln!(line, "    {}", one_line(&hop.text));
    }
    let text = text_of(diagnostic.source.as_deref(), steps.texts);
    let text = text.filter(|(_, text)| !text.trim().is_empty());
    if let (Some((name, text)), Some(span)) = (text, diagnostic.span) {
        let excerpt = Excerpt::of(name, text, span, WINDOW);
        let (shown, mark) = excerpt.marked_line();
        // The indentation says nothing about a single line.
        let indentation = (shown.len() - shown.trim_start().len()).min(mark.find('^').unwrap_or(0));
        let (shown, mark) = (shown[indentation..].trim_end(), &mark[indentation..]);
        let step = steps.label(diagnostic);
        let step = step.map_or_else(String::new, |step| format!(" {step}"));
        let _ = writeln!(line, "    {shown}\n    {mark}{step}");
    }
    line
}

/// The steps of the texts that diagnostics are about, by the places in them. A text that is not JSON has none.
struct Steps<'t> {
    texts: &'t [(String, String)],
    values: Vec<OnceCell<Option<Value>>>,
}

impl<'t> Steps<'t> {
    fn of(texts: &'t [(String, String)]) -> Self {
        Self {
            texts,
            values: texts.iter().map(|_| OnceCell::new()).collect(),
        }
    }

    /// Returns ``step `a` `` for a diagnostic about a part of that step.
    fn label(&self, diagnostic: &Diagnostic) -> Option<String> {
        let index = match &diagnostic.source {
            Some(name) => self.texts.iter().position(|(known, _)| **known == **name)?,
            None => 0,
        };
        let (_, text) = self.texts.get(index)?;
        let value = self.values.get(index)?;
        let mut at = value.get_or_init(|| value_of(text)).as_ref()?;
        let mut step = None;
        let segments = diagnostic.pointer.split('/').skip(1);
        // An `id` in the arguments of a step is not the id of a step.
        for segment in segments.take_while(|segment| !is_arguments(segment)) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            at = match at {
                Value::List(items) => items.get(segment.parse::<usize>().ok()?)?,
                other => other.get(&segment)?,
            };
            if let Some(id) = at.get("id").and_then(Value::as_text) {
                step = Some(id);
            }
        }
        let id = terminal_text::one_line(step?);
        let id = terminal_text::shortened(&id, MAX_ID_WIDTH, "…");
        Some(format!("step `{id}`"))
    }
}

/// Parses a plan's text, in lenient JSON or as lines, so that the pointers of diagnostics can be resolved.
fn value_of(text: &str) -> Option<Value> {
    let strict = Value::from_json(text).ok();
    strict
        .or_else(|| {
            let (document, _) = document::read(text, "", 0, &document::ReadLimits::default());
            document.map(|document| document.root.to_value())
        })
        .or_else(|| lines::to_json(text))
}

/// Returns true if a field of a step holds values rather than steps, in any dialect.
fn is_arguments(field: &str) -> bool {
    matches!(field, "args" | "arguments" | "params" | "value" | "inputs")
}

/// The longest id of a step that is shown whole, in columns.
const MAX_ID_WIDTH: usize = 32;

pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The place of a diagnostic, such as `plan.json:3:14: `; less if less is known.
pub(super) fn place(diagnostic: &Diagnostic, texts: &[(String, String)]) -> String {
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
    label: String,
}

impl<'a> Report<'a> {
    fn of(diagnostic: &'a Diagnostic, steps: &Steps, width: usize) -> Self {
        let text = text_of(diagnostic.source.as_deref(), steps.texts);
        let step = steps.label(diagnostic);
        let excerpt = text
            .filter(|(_, text)| !text.trim().is_empty())
            .zip(diagnostic.span)
            .map(|((name, text), span)| {
                let room = width.saturating_sub(FRAME);
                let within = |room: usize| Excerpt::of(&one_line(name), text, span, room.max(24));
                let excerpt = within(room);
                // The label stands to the right of the spot.
                let label = step.as_deref().map_or(0, terminal_text::width);
                let end = FRAME + excerpt.indentation() + label;
                match end.saturating_sub(width) {
                    0 => excerpt,
                    excess => within(room.saturating_sub(excess)),
                }
            });
        let mut message = one_line(&diagnostic.message);
        if excerpt.is_none() {
            message.push_str(&location_text(diagnostic));
        }
        let label = match (step, &*diagnostic.pointer) {
            (None, "") => "here".to_owned(),
            (None, pointer) => one_line(pointer),
            (Some(step), pointer) => {
                let whole = format!("{step}: {}", one_line(pointer));
                let start = excerpt.as_ref().map_or(0, Excerpt::indentation);
                let is_narrow = width < FRAME + start + terminal_text::width(&whole);
                if is_narrow { step } else { whole }
            }
        };
        Self {
            diagnostic,
            message,
            excerpt,
            label,
        }
    }
}

/// ` at /steps/0 in `plan.json``, for a diagnostic whose spot cannot be shown.
fn location_text(diagnostic: &Diagnostic) -> String {
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
            Severity::Note => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.diagnostic.help.as_ref()?;
        let mut text = String::new();
        for hop in self.diagnostic.path.iter() {
            text.push_str(&one_line(&hop.text));
            text.push('\n');
        }
        text.push_str(&terminal_text::escaped_line(help));
        Some(Box::new(text))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt
            .as_ref()
            .map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = LabeledSpan::new_with_span(Some(self.label.clone()), excerpt.spot());
        Some(Box::new(std::iter::once(label)))
    }
}

/// The lines shown before the spot, and after it.
const AROUND: usize = 1;

/// The lines shown after a spot that goes over several lines: its own first ones.
const AFTER_LONG: usize = 2;

/// The number of bytes that are read for each shown column. A plan may be one line of megabytes, with many diagnostics in it.
const BYTES_OF_COLUMN: usize = 16;

/// A few lines of a text, with the spot marked.
#[derive(Debug)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    /// The spot in `text`.
    spot: (usize, usize),
    first_line: usize,
    line: usize,
    column: usize,
    line_count: usize,
}

impl Excerpt {
    /// The lines of `text` around `span`, none longer than `width` columns. Of a span over several lines, the first is
    /// marked.
    pub(super) fn of(name: &str, text: &str, span: Span, width: usize) -> Self {
        // A part that is missing at the end of a text is marked after its last word.
        let start = floor_char_boundary(text, span.start).min(text.trim_end().len());
        let end = floor_char_boundary(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let is_long = end > line_end;
        let end = end.min(line_end).max(start);
        let line = text[..start].matches('\n').count();

        let before: Vec<&str> = text[..line_start].lines().rev().take(AROUND).collect();
        let after = if is_long { AFTER_LONG } else { AROUND };
        let after: Vec<&str> = text[line_end..].lines().skip(1).take(after).collect();

        let mut shown = String::new();
        for context in before.iter().rev() {
            shown.push_str(&terminal_text::shortened(
                &clean(bounded_start(context, width)),
                width,
                "…",
            ));
            shown.push('\n');
        }
        let spot = push_marked_line(
            &mut shown,
            &clean(bounded_end(&text[line_start..start], width)),
            &clean(bounded_start(&text[start..end], width)),
            clean(bounded_start(&text[end..line_end], width)).trim_end(),
            width,
        );
        for context in &after {
            shown.push('\n');
            shown.push_str(&terminal_text::shortened(
                &clean(bounded_start(context, width)),
                width,
                "…",
            ));
        }
        Self {
            name: name.to_owned(),
            text: shown,
            spot,
            first_line: line - before.len(),
            line,
            column: text[line_start..start].chars().count(),
            line_count: before.len() + 1 + after.len(),
        }
    }

    /// The spot, in the excerpt.
    pub(super) fn spot(&self) -> SourceSpan {
        (self.spot.0, self.spot.1 - self.spot.0).into()
    }

    /// The line with the spot, and a line that marks the spot below it.
    fn marked_line(&self) -> (&str, String) {
        let (start, end) = self.spot;
        let begin = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[begin..].lines().next().unwrap_or_default();
        let before = terminal_text::width(&self.text[begin..start]);
        let marked = terminal_text::width(&self.text[start..end]).max(1);
        (line, " ".repeat(before) + &"^".repeat(marked))
    }

    /// The columns before the middle of the spot, where its label begins.
    fn indentation(&self) -> usize {
        let (_, mark) = self.marked_line();
        let marked = mark.trim_start().len();
        mark.len() - marked + marked / 2
    }

    /// The spot's line and column in the whole text, from 1.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.line + 1, self.column + 1)
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let name = self.name.clone();
        let contents = if lines_before + lines_after > 0 {
            let whole: SourceSpan = (0, self.text.len()).into();
            let bytes = self.text.as_bytes();
            MietteSpanContents::new_named(name, bytes, whole, self.first_line, 0, self.line_count)
        } else {
            let bytes = self
                .text
                .as_bytes()
                .get(span.offset()..span.offset() + span.len())
                .ok_or(MietteError::OutOfBounds)?;
            MietteSpanContents::new_named(name, bytes, *span, self.line, self.column, 1)
        };
        Ok(Box::new(contents))
    }
}

/// Appends the line with the spot, cut on both sides if it is too long, and returns the new position of the spot.
fn push_marked_line(
    shown: &mut String,
    before: &str,
    marked: &str,
    after: &str,
    width: usize,
) -> (usize, usize) {
    // The end of a line has nothing to underline but a space.
    let marked = if marked.is_empty() && after.is_empty() {
        " "
    } else {
        marked
    };
    let marked = terminal_text::shortened(marked, width * 2 / 3, "…");
    let room = width.saturating_sub(terminal_text::width(&marked));
    // The text before the spot is more informative than the text after it.
    let spare = room.saturating_sub(terminal_text::width(after));
    let before = last_columns(before, spare.max(room * 2 / 3));
    let room = room.saturating_sub(terminal_text::width(&before));
    let after = terminal_text::shortened(after, room, "…");
    shown.push_str(&before);
    let start = shown.len();
    shown.push_str(&marked);
    let end = shown.len();
    shown.push_str(&after);
    (start, end)
}

/// The end of `text`, in at most `columns`.
fn last_columns(text: &str, columns: usize) -> String {
    if terminal_text::width(text) <= columns {
        return text.to_owned();
    }
    let mut start = text.len();
    let mut taken = 1;
    for (at, character) in text.char_indices().rev() {
        taken += terminal_text::width(character.encode_utf8(&mut [0; 4]));
        if taken > columns {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
}

/// Returns a beginning of `text` that is not longer than `columns` columns may be in bytes.
fn bounded_start(text: &str, columns: usize) -> &str {
    &text[..floor_char_boundary(text, columns.saturating_mul(BYTES_OF_COLUMN))]
}

/// Returns an end of `text` that is not longer than `columns` columns may be in bytes.
fn bounded_end(text: &str, columns: usize) -> &str {
    let start = text
        .len()
        .saturating_sub(columns.saturating_mul(BYTES_OF_COLUMN));
    &text[floor_char_boundary(text, start)..]
}

/// Returns `text` without control characters.
fn clean(text: &str) -> String {
    terminal_text::lines(text).replace('\n', "")
}

/// Returns `at`, or the start of the character around it.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
