//! The table of all dialects, and the choice of one by name or by the form of a text.
//!
//! This module alone knows more than one dialect.

use planwright_core::{Code, Diagnostic, Diagnostics, Plan};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{
    Document, EXPECT_JSON, ReadLimits, Syntax, nearest, quote, read_lines, with_article,
};
use crate::external::acts::Acts;
use crate::external::agentle::Agentle;
use crate::external::anthropic::Anthropic;
use crate::external::clear_ai::ClearAi;
use crate::external::concierge::Concierge;
use crate::external::llm_compiler::LlmCompiler;
use crate::external::mcp_cli::McpCli;
use crate::external::nestful::Nestful;
use crate::external::openai::OpenAi;
use crate::external::rewoo::Rewoo;
use crate::foreign_references::ReferenceForm;
use crate::native::Native;
use crate::native::lines::Lines;

static DIALECTS: &[&dyn Dialect] = &[
    &Native,
    &Lines,
    &Concierge,
    &Acts,
    &McpCli,
    &ClearAi,
    &Agentle,
    &ReadOnly(OpenAi),
    &ReadOnly(Anthropic),
    &ReadOnly(LlmCompiler),
    &ReadOnly(Rewoo),
    &ReadOnly(Nestful),
];

/// A dialect that is only read; its refusal to print names the dialects that can be printed.
///
/// The dialects cannot add the names themselves: they do not know each other.
struct ReadOnly<D>(D);

impl<D: Dialect> Dialect for ReadOnly<D> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn shape(&self) -> &'static str {
        self.0.shape()
    }

    fn syntax(&self) -> Syntax {
        self.0.syntax()
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        self.0.recognise(document)
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        self.0.parse(document)
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        self.0.reference_form()
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        let (text, mut diagnostics) = self.0.print(plan);
        for diagnostic in &mut diagnostics {
            let writable = names(dialects().iter().filter(|dialect| dialect.is_writable()));
            diagnostic.help = Some(format!("plans can be written in {writable}"));
        }
        (text, diagnostics)
    }
}

/// All dialects, the native one first.
pub fn dialects() -> &'static [&'static dyn Dialect] {
    DIALECTS
}

/// The dialect with the name `name`.
pub fn dialect(name: &str) -> Option<&'static dyn Dialect> {
    let mut dialects = dialects().iter().copied();
    dialects.find(|dialect| dialect.name() == name)
}

/// The names of `dialects` in backticks, for messages.
fn names<'d>(dialects: impl IntoIterator<Item = &'d &'d dyn Dialect>) -> String {
    let names = dialects
        .into_iter()
        .map(|dialect| format!("`{}`", dialect.name()));
    names.collect::<Vec<_>>().join(", ")
}

/// The names of `dialects` with the forms of their plans, for messages.
fn forms(dialects: impl Iterator<Item = &'static dyn Dialect>) -> String {
    let forms = dialects.map(|dialect| format!("{}: {}", dialect.name(), dialect.shape()));
    forms.collect::<Vec<_>>().join("; ")
}

fn of_syntax(syntax: Syntax) -> impl Iterator<Item = &'static dyn Dialect> {
    let dialects = dialects().iter().copied();
    dialects.filter(move |dialect| dialect.syntax() == syntax)
}

/// The dialect with the name `name`.
///
/// # Errors
///
/// A diagnostic that lists the known names.
pub fn by_name(name: &str) -> Result<&'static dyn Dialect, Box<Diagnostic>> {
    dialect(name).ok_or_else(|| {
        let message = format!("no dialect is called {}", quote(name));
        let known = dialects().iter().map(|dialect| dialect.name());
        let all = names(dialects());
        let help = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`? there are {all}"),
            None => format!("there are {all}"),
        };
        Box::new(Diagnostic::error(Code::UnknownDialect, message).help(help))
    })
}

/// The syntax of a text that begins with no JSON: that of lines, if a dialect in lines recognises it.
pub(crate) fn syntax_of(text: &[u8]) -> Syntax {
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if matches!(first, Some(b'{' | b'[')) {
        return Syntax::Json;
    }
    let (Some(document), _) = read_lines(text, "", 0, &ReadLimits::default()) else {
        return Syntax::Json;
    };
    let is_in_lines =
        of_syntax(Syntax::Lines).any(|dialect| dialect.recognise(&document) > MatchConfidence::No);
    if is_in_lines {
        Syntax::Lines
    } else {
        Syntax::Json
    }
}

/// Extends the advice for a text that is not JSON by the forms of the dialects in lines.
pub(crate) fn mention_lines(diagnostics: &mut Diagnostics) {
    let expects_json = |diagnostic: &&mut Diagnostic| {
        diagnostic.code == Code::NotJson && diagnostic.help.as_deref() == Some(EXPECT_JSON)
    };
    if let Some(diagnostic) = diagnostics.iter_mut().find(expects_json) {
        let forms = forms(of_syntax(Syntax::Lines));
        diagnostic.help = Some(format!("{EXPECT_JSON}, or lines; {forms}"));
    }
}

/// The dialect in which `document` is written, recognised by its form.
///
/// # Errors
///
/// A diagnostic, if no dialect or several dialects have this form.
pub fn detect(document: &Document) -> Result<&'static dyn Dialect, Box<Diagnostic>> {
    let diagnostic = match candidates(document).as_slice() {
        [only] => return Ok(*only),
        [] => unknown(document),
        several => ambiguous(several),
    };
    let span = document.source.span(document.root.place);
    Err(Box::new(diagnostic.at_span("", span.unwrap_or_default())))
}

/// The dialects that recognise the form of `document`, all with the same confidence.
pub(crate) fn candidates(document: &Document) -> Vec<&'static dyn Dialect> {
    // Only candidates of the highest confidence compete: a certain match beats all possible ones.
    let mut best = MatchConfidence::Possible;
    let mut candidates: Vec<&'static dyn Dialect> = Vec::new();
    for dialect in of_syntax(document.syntax) {
        let confidence = dialect.recognise(document);
        if confidence > best {
            best = confidence;
            candidates.clear();
        }
        if confidence == best {
            candidates.push(dialect);
        }
    }
    candidates
}

/// The native dialect in JSON.
pub(crate) static NATIVE: &dyn Dialect = &Native;

fn unknown(document: &Document) -> Diagnostic {
    let found = match document.root.as_object() {
        Some([]) => "an empty object".to_owned(),
        Some(entries) => {
            let keys = entries.iter().take(8).map(|entry| quote(&entry.key));
            format!("an object with {}", keys.collect::<Vec<_>>().join(", "))
        }
        None => with_article(document.root.kind_word()),
    };
    let message = format!("the text matches no dialect: it is {found}");
    Diagnostic::error(Code::UnknownDialect, message)
        .help("choose one with `--dialect` to see all that is wrong with it")
}

fn ambiguous(candidates: &[&'static dyn Dialect]) -> Diagnostic {
    let message = format!("the text matches several dialects: {}", names(candidates));
    Diagnostic::error(Code::AmbiguousDialect, message)
        .help("they interpret it differently: choose one with `--dialect`")
}

/// The maximum length of a text that is compared with all dialects.
const MAX_COMPARED_BYTES: usize = 64 * 1024;

/// Notes about the two dialects that are nearest to a text of no dialect, each with the missing part.
pub(crate) fn nearest_dialects(document: &Document) -> Diagnostics {
    if document.source.text().len() > MAX_COMPARED_BYTES {
        return Diagnostics::new();
    }
    let mut found: Vec<(usize, &'static dyn Dialect, Diagnostic)> = Vec::new();
    for dialect in of_syntax(document.syntax) {
        let (_, diagnostics) = dialect.parse(document.clone());
        let errors = diagnostics.iter().filter(|found| found.is_error()).count();
        let first = diagnostics.into_iter().find(Diagnostic::is_error);
        found.extend(first.map(|first| (errors, dialect, first)));
    }
    // Ours comes first; the sort is stable.
    found.sort_by_key(|(errors, dialect, _)| (dialect.name() != NATIVE.name(), *errors));
    let start = document.source.span(document.root.place);
    let start = start.unwrap_or_default().start;
    let notes = found.into_iter().take(2).map(|(_, dialect, first)| {
        let help = first
            .help
            .map_or_else(String::new, |help| format!(" ({help})"));
        let message = format!("as `{}`: {}{help}", dialect.name(), first.message);
        Diagnostic::note(Code::ReadAs, message)
            .at_span("", start..start)
            .help(format!("its form is {}", dialect.shape()))
    });
    notes.collect()
}
