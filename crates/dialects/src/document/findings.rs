//! Findings that wait for their pointer: a dialect names the place, the text is asked at the end.

use planwright_core::{Code, Diagnostic, Diagnostics, Place, Source, Span};

use super::{Entry, Item};

/// What a dialect finds while it reads a document.
#[derive(Debug, Default)]
pub struct Findings {
    pending: Vec<Pending>,
    ready: Diagnostics,
    errors: usize,
    warnings: usize,
}

#[derive(Debug)]
struct Pending {
    place: Place,
    span: Option<Span>,
    diagnostic: Diagnostic,
}

impl Findings {
    /// How many errors are kept, and how many warnings; the rest is only counted. Whoever reads a plan is shown
    /// [fewer](super::Limits::findings) still.
    pub const MOST: usize = 1000;

    /// No findings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `diagnostic` at `place`.
    pub fn push(&mut self, place: Place, diagnostic: Diagnostic) {
        self.keep(Pending {
            place,
            span: None,
            diagnostic,
        });
    }

    /// Adds `diagnostic` at the key of `entry`: the pointer is that of the field, the span that of the key.
    pub fn push_key(&mut self, entry: &Entry, diagnostic: Diagnostic) {
        self.keep(Pending {
            place: entry.item.place,
            span: Some(entry.key_span),
            diagnostic,
        });
    }

    fn keep(&mut self, pending: Pending) {
        let count = if pending.diagnostic.is_error() {
            &mut self.errors
        } else {
            &mut self.warnings
        };
        *count += 1;
        if *count <= Self::MOST {
            self.pending.push(pending);
        }
    }

    /// Whether further errors would only be counted.
    pub fn has_enough_errors(&self) -> bool {
        self.errors >= Self::MOST
    }

    /// Counts an error that is not told, since there are [enough](Self::has_enough_errors).
    pub fn count_error(&mut self) {
        self.errors += 1;
    }

    /// Adds findings that know their place already.
    pub fn extend(&mut self, diagnostics: Diagnostics) {
        self.ready.extend(diagnostics);
    }

    /// Adds that `item`, which is the value of the field `field`, should have been `wanted` (with its
    /// article: "a list").
    pub fn wrong_type(&mut self, item: &Item, field: &str, wanted: &str) {
        let message = format!(
            "expected {wanted} in `{field}`, found {}",
            article(item.kind_word())
        );
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
        self.push(item.place, diagnostic);
    }

    /// How many findings there are so far.
    pub fn count(&self) -> usize {
        self.ready.len() + self.errors + self.warnings
    }

    /// Whether something was found that no plan can run with.
    pub fn has_errors(&self) -> bool {
        self.errors > 0 || self.ready.has_errors()
    }

    /// The findings, each with its place in `source`, in the order of the text; the last one says how many more there would
    /// have been.
    pub fn finish(self, source: &Source) -> Diagnostics {
        let mut diagnostics = self.ready;
        for pending in self.pending {
            let mut diagnostic = pending.diagnostic;
            diagnostic.pointer = source.pointer(pending.place).unwrap_or_default();
            diagnostic.span = pending.span.or_else(|| source.span(pending.place));
            if let Some(fix) = &mut diagnostic.fix {
                fix.pointer.clone_from(&diagnostic.pointer);
            }
            diagnostics.push(diagnostic);
        }
        diagnostics.sort();
        let unkept =
            self.errors.saturating_sub(Self::MOST) + self.warnings.saturating_sub(Self::MOST);
        if unkept > 0 {
            diagnostics.tell_untold(unkept);
        }
        diagnostics
    }
}

/// The word for a kind of value with its article: "a list", "an object", "text".
pub fn article(kind: &str) -> String {
    match kind {
        "null" | "text" => kind.to_owned(),
        "object" => "an object".to_owned(),
        other => format!("a {other}"),
    }
}

/// A piece of a user's text for a message: in backticks, on one line, not too long.
pub fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut quoted = String::from("`");
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST {
            quoted.push('…');
            break;
        }
        if character.is_control() {
            quoted.extend(character.escape_default());
        } else {
            quoted.push(character);
        }
    }
    quoted.push('`');
    quoted
}
