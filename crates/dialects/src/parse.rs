//! The entry point: reads a text, recognises its dialect, lowers it to a plan.

use std::sync::Arc;

use planwright_core::{Diagnostic, Diagnostics, Plan};

use crate::dialect::Dialect;
use crate::document::{Limits, Syntax, read, read_lines};
use crate::registry::{by_name, detect, mention_lines, syntax_of};

/// How a text is to be read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// What people call the text: a file name, `stdin`, a library plan's name.
    pub name: &'a str,
    /// The dialect; recognised by the shape where there is none.
    pub dialect: Option<&'a str>,
    /// The bounds.
    pub limits: Limits,
    /// The first number of the plan's places, for texts that join one plan.
    pub base: u32,
}

impl<'a> ReadOptions<'a> {
    /// A text called `name` in whichever dialect, within the usual bounds.
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            dialect: None,
            limits: Limits::default(),
            base: 0,
        }
    }

    /// The same text, known to be written in `dialect`.
    pub fn in_dialect(self, dialect: &'a str) -> Self {
        Self {
            dialect: Some(dialect),
            ..self
        }
    }
}

/// What became of a text.
#[derive(Clone, Debug)]
#[must_use = "findings that nobody reads are lost"]
pub struct ParseResult {
    /// The plan, as far as it could be read. Where the findings hold errors it is there only so that the
    /// checks can add theirs.
    pub plan: Option<Plan>,
    /// The dialect, as far as it is known.
    pub dialect: Option<&'static str>,
    /// The findings.
    pub diagnostics: Diagnostics,
    /// The text, for showing snippets; empty where it was too large to look at.
    pub source: Arc<str>,
}

impl From<Plan> for ParseResult {
    /// A plan that was never written down, or whose findings were read elsewhere.
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

/// Reads a plan.
pub fn parse(text: &[u8], options: &ReadOptions<'_>) -> ParseResult {
    let chosen = options.dialect.map(by_name).transpose();
    read_plan(text, options, chosen)
}

/// Reads a plan that is written in `dialect`, which need not be one of [`dialects`](crate::dialects()).
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
        Ok(None) | Err(_) => syntax_of(text),
    };
    let read = match syntax {
        Syntax::Json => read,
        Syntax::Lines => read_lines,
    };
    let (document, mut diagnostics) = read(text, options.name, options.base, &options.limits);
    let Some(document) = document else {
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
    ParseResult {
        plan,
        dialect: Some(dialect.name()),
        diagnostics: bounded(diagnostics, options.limits.diagnostics),
        source,
    }
}

fn snippet_text(text: &[u8], limits: &Limits) -> Arc<str> {
    if text.len() > limits.bytes {
        return Arc::default();
    }
    String::from_utf8_lossy(text).into()
}

/// The first `most` findings, errors before warnings where there are too many; the last one says how many
/// were left out.
fn bounded(mut diagnostics: Diagnostics, most: usize) -> Diagnostics {
    diagnostics.sort();
    if diagnostics.len() <= most {
        return diagnostics;
    }
    let (total, is_all) = (diagnostics.len(), !diagnostics.has_untold());
    let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) =
        diagnostics.into_iter().partition(Diagnostic::is_error);
    let mut kept: Diagnostics = errors.into_iter().chain(warnings).take(most).collect();
    let more = total - most;
    if is_all {
        kept.tell_untold(more);
    } else {
        kept.tell_untold(format_args!("more than {more}"));
    }
    kept
}
