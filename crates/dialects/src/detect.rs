//! Which dialect a text is written in, by its shape.

use planwright_core::{Code, Diagnostic};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, nearest, quote};
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

/// The dialect that `document` is written in.
///
/// # Errors
///
/// A finding, where the shape is that of none or of several.
pub fn detect(document: &Document) -> Result<&'static dyn Dialect, Box<Diagnostic>> {
    let mut best = Likeness::Possible;
    let mut candidates: Vec<&'static dyn Dialect> = Vec::new();
    for dialect in dialects().iter().copied() {
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
