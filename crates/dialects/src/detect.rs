//! Which dialect a text is written in, by its shape.

use planwright_core::{Code, Diagnostic, Diagnostics};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, GIVE_JSON, Limits, Syntax, nearest, quote, read_lines};
use crate::registry::{dialect, dialects, names};

/// The dialect called `name`.
///
/// # Errors
///
/// A finding that names those there are.
pub fn by_name(name: &str) -> Result<&'static dyn Dialect, Box<Diagnostic>> {
    dialect(name).ok_or_else(|| {
        let message = format!("no dialect is called {}", quote(name));
        let known = dialects().iter().map(|dialect| dialect.name());
        let help = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`? there are {}", names()),
            None => format!("there are {}", names()),
        };
        Box::new(Diagnostic::error(Code::UnknownDialect, message).help(help))
    })
}

/// What a text is made of: JSON, unless a dialect of lines sees its own.
pub(crate) fn syntax_of(text: &[u8]) -> Syntax {
    let begins = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if matches!(begins, Some(b'{' | b'[')) {
        return Syntax::Json;
    }
    let (Some(document), _) = read_lines(text, "", 0, &Limits::default()) else {
        return Syntax::Json;
    };
    let sees = |dialect: &&dyn Dialect| dialect.recognise(&document) > Likeness::No;
    match of_syntax(Syntax::Lines).find(sees) {
        Some(_) => Syntax::Lines,
        None => Syntax::Json,
    }
}

/// Says with a text that is no JSON that there are notations of lines, too.
pub(crate) fn mention_lines(diagnostics: &mut Diagnostics) {
    let is_first = |finding: &&mut Diagnostic| {
        finding.code == Code::NotJson && finding.help.as_deref() == Some(GIVE_JSON)
    };
    if let Some(finding) = diagnostics.iter_mut().find(is_first) {
        let shapes: Vec<String> = of_syntax(Syntax::Lines)
            .map(|dialect| format!("{}: {}", dialect.name(), dialect.shape()))
            .collect();
        finding.help = Some(format!("{GIVE_JSON}, or lines; {}", shapes.join("; ")));
    }
}

fn of_syntax(syntax: Syntax) -> impl Iterator<Item = &'static dyn Dialect> {
    let fits = move |dialect: &&dyn Dialect| dialect.syntax() == syntax;
    dialects().iter().copied().filter(fits)
}

/// The dialect that `document` is written in.
///
/// # Errors
///
/// A finding, where the shape is that of none or of several.
pub fn detect(document: &Document) -> Result<&'static dyn Dialect, Box<Diagnostic>> {
    let mut best = Likeness::Possible;
    let mut candidates: Vec<&'static dyn Dialect> = Vec::new();
    for dialect in of_syntax(document.syntax) {
        let likeness = dialect.recognise(document);
        if likeness > best {
            best = likeness;
            candidates.clear();
        }
        if likeness == best {
            candidates.push(dialect);
        }
    }
    let finding = match candidates.as_slice() {
        [only] => return Ok(*only),
        [] => unknown(document),
        several => ambiguous(several),
    };
    let span = document
        .source
        .span(document.root.place)
        .unwrap_or_default();
    Err(Box::new(finding.at_span("", span)))
}

fn unknown(document: &Document) -> Diagnostic {
    let shapes: Vec<String> = dialects()
        .iter()
        .map(|dialect| format!("{}: {}", dialect.name(), dialect.shape()))
        .collect();
    let found = crate::document::article(document.root.kind_word());
    let message = match document.root.as_object() {
        Some([]) => "the text has the shape of no dialect: it is an empty object".to_owned(),
        Some(entries) => {
            let keys: Vec<String> = entries
                .iter()
                .take(8)
                .map(|entry| quote(&entry.key))
                .collect();
            format!(
                "the text has the shape of no dialect: it is an object with {}",
                keys.join(", ")
            )
        }
        None => format!("the text has the shape of no dialect: it is {found}"),
    };
    let help = format!(
        "choose one with `--dialect` to see what is wrong with it; the shapes are {}",
        shapes.join("; ")
    );
    Diagnostic::error(Code::UnknownDialect, message).help(help)
}

fn ambiguous(candidates: &[&'static dyn Dialect]) -> Diagnostic {
    let names: Vec<String> = candidates
        .iter()
        .map(|dialect| format!("`{}`", dialect.name()))
        .collect();
    let message = format!(
        "the text has the shape of several dialects: {}",
        names.join(", ")
    );
    Diagnostic::error(Code::AmbiguousDialect, message)
        .help("they differ in what they make of it: choose one with `--dialect`")
}
