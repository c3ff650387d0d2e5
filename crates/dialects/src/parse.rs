//! The entry point: reads a text, recognises its dialect, lowers it to a plan.

use std::sync::Arc;

use planwright_core::{Diagnostic, Diagnostics, Plan};

use crate::dialect::Dialect;
use crate::document::{ReadLimits, Syntax, read, read_lines};
use crate::foreign_references::check_plan;
use crate::registry::{by_name, detect, mention_lines, syntax_of};

/// The options of reading a text.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// The name of the text in messages: a file name, `stdin`, the name of a stored plan.
    pub name: &'a str,
    /// The dialect; recognised by the form of the text if absent.
    pub dialect: Option<&'a str>,
    /// The limits of reading.
    pub limits: ReadLimits,
    /// The number of the first place, for texts that extend an existing plan.
    pub base: u32,
}

impl<'a> ReadOptions<'a> {
    /// Options for a text called `name` in any dialect, with default limits.
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            dialect: None,
            limits: ReadLimits::default(),
            base: 0,
        }
    }

    /// The same options for the dialect `dialect`.
    pub fn in_dialect(self, dialect: &'a str) -> Self {
        Self {
            dialect: Some(dialect),
            ..self
        }
    }
}

/// The result of reading a text.
#[derive(Clone, Debug)]
#[must_use = "the diagnostics should be shown"]
pub struct ParseResult {
    /// The plan, as far as it could be read. If the diagnostics hold errors, it is for further checks only.
    pub plan: Option<Plan>,
    /// The dialect, if it is known.
    pub dialect: Option<&'static str>,
    /// The diagnostics.
    pub diagnostics: Diagnostics,
    /// The text, for snippets; empty if it exceeded the size limit.
    pub source: Arc<str>,
}

impl From<Plan> for ParseResult {
    /// The result for a plan without a text, or without diagnostics of its own.
    fn from(plan: Plan) -> Self {
        let source = plan.sources.iter().next();
        Self {
            source: source
                .map(|source| Arc::clone(source.text()))
                .unwrap_or_default(),
            plan: Some(plan),
            dialect: None,
            diagnostics: Diagnostics::new(),
        }
    }
}

/// Reads a plan in the chosen or the recognised dialect.
pub fn parse(text: &[u8], options: &ReadOptions<'_>) -> ParseResult {
    let chosen = options.dialect.map(by_name).transpose();
    read_plan(text, options, chosen)
}

/// Reads a plan in `dialect`, which need not be one of [`dialects`](crate::dialects()).
pub fn parse_as(dialect: &dyn Dialect, text: &[u8], options: &ReadOptions<'_>) -> ParseResult {
    read_plan(text, options, Ok(Some(dialect)))
}

fn read_plan(
    text: &[u8],
    options: &ReadOptions<'_>,
    chosen: Result<Option<&dyn Dialect>, Box<Diagnostic>>,
) -> ParseResult {
    let syntax = match &chosen {
        Ok(Some(dialect)) => dialect.syntax(),
        // An unknown dialect needs a syntax as well, so that the faults of the text are reported.
        Ok(None) | Err(_) => syntax_of(text),
    };
    let read = match syntax {
        Syntax::Json => read,
        Syntax::Lines => read_lines,
    };
    let (document, mut diagnostics) = read(text, options.name, options.base, &options.limits);
    let Some(document) = document else {
        // The syntax was only guessed: the text may be a malformed plan in lines.
        if let Ok(None) = chosen {
            mention_lines(&mut diagnostics);
        }
        diagnostics.extend(
            chosen
                .err()
                .map(|diagnostic| *diagnostic)
                .into_iter()
                .collect(),
        );
        return ParseResult {
            plan: None,
            dialect: None,
            diagnostics,
            source: snippet_text(text, &options.limits),
        };
    };
    let source = Arc::clone(document.source.text());
    let dialect = chosen.and_then(|chosen| chosen.map_or_else(|| detect(&document), Ok));
    let dialect = match dialect {
        Ok(dialect) => dialect,
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            return ParseResult {
                plan: None,
                dialect: None,
                diagnostics,
                source,
            };
        }
    };
    let (plan, of_plan) = dialect.parse(document);
    diagnostics.extend(of_plan);
    if let (Some(plan), Some(form)) = (&plan, dialect.reference_form()) {
        diagnostics.extend(check_plan(plan, form));
    }
    ParseResult {
        plan,
        dialect: Some(dialect.name()),
        diagnostics: bounded(diagnostics, options.limits.diagnostics),
        source,
    }
}

fn snippet_text(text: &[u8], limits: &ReadLimits) -> Arc<str> {
    if text.len() > limits.bytes {
        return Arc::default();
    }
    String::from_utf8_lossy(text).into()
}

/// The first `max` diagnostics, errors before warnings if there are too many; the last one states how many were left
/// out.
fn bounded(mut diagnostics: Diagnostics, max: usize) -> Diagnostics {
    diagnostics.sort();
    if diagnostics.len() <= max {
        return diagnostics;
    }
    // If diagnostics were left out before, only a lower bound of their number is known.
    let (total, is_all) = (diagnostics.len(), !diagnostics.mentions_omitted());
    let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) =
        diagnostics.into_iter().partition(Diagnostic::is_error);
    let mut shown: Diagnostics = errors.into_iter().chain(warnings).take(max).collect();
    let more = total - max;
    if is_all {
        shown.note_omitted(more);
    } else {
        shown.note_omitted(format_args!("more than {more}"));
    }
    shown
}
