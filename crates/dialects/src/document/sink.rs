//! A collector of diagnostics whose pointers and spans are resolved at the end.

use planwright_core::diagnostic::DiagnosticCounter;
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Severity, Source, Span};

use super::{Entry, Item};

/// The diagnostics of one document, up to the limit of a [`DiagnosticCounter`]; further ones are only counted.
/// [`Limits`](super::Limits::diagnostics) lowers the number that users see.
#[derive(Debug, Default)]
pub struct DiagnosticSink {
    pending: Vec<PendingDiagnostic>,
    ready: Diagnostics,
    tally: DiagnosticCounter,
}

#[derive(Debug)]
struct PendingDiagnostic {
    place: Place,
    span: Option<Span>,
    diagnostic: Diagnostic,
}

impl DiagnosticSink {
    /// An empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `diagnostic` at `place`.
    pub fn push(&mut self, place: Place, diagnostic: Diagnostic) {
        self.push_pending(PendingDiagnostic {
            place,
            span: None,
            diagnostic,
        });
    }

    /// Adds `diagnostic` at the key of `entry`: the pointer is that of the field, the span that of the key.
    pub fn push_at_key(&mut self, entry: &Entry, diagnostic: Diagnostic) {
        self.push_pending(PendingDiagnostic {
            place: entry.item.place,
            span: Some(entry.key_span),
            diagnostic,
        });
    }

    fn push_pending(&mut self, pending: PendingDiagnostic) {
        if self.tally.count(pending.diagnostic.severity) {
            self.pending.push(pending);
        }
    }

    /// Returns true if the [limit](DiagnosticCounter::MAX_SHOWN) of errors is reached, and counts one more error then. The caller can
    /// skip composing the message.
    #[must_use = "an error that was not counted still has to be reported"]
    pub fn is_error_limit_reached(&mut self) -> bool {
        self.tally.count_if_full(Severity::Error)
    }

    /// Adds diagnostics that have their places already.
    pub fn extend(&mut self, diagnostics: Diagnostics) {
        self.ready.extend(diagnostics);
    }

    /// Reports that `item`, the value of the field `field`, should have been `wanted` (with its article: "a list").
    pub fn push_wrong_type(&mut self, item: &Item, field: &str, wanted: &str) {
        let message = format!(
            "expected {wanted} in `{field}`, found {}",
            article(item.kind_word())
        );
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
        self.push(item.place, diagnostic);
    }

    /// The number of diagnostics so far.
    pub fn count(&self) -> usize {
        self.ready.len() + self.tally.total()
    }

    /// Returns true if there are errors.
    pub fn has_errors(&self) -> bool {
        self.tally.has_errors() || self.ready.has_errors()
    }

    /// The diagnostics in the order of the text, each with its place in `source`; the last one states how many were
    /// left out.
    pub fn finish(self, source: &Source) -> Diagnostics {
        let mut diagnostics = self.ready;
        for pending in self.pending {
            let mut diagnostic = pending.diagnostic;
            diagnostic.pointer = source.pointer(pending.place).unwrap_or_default();
            diagnostic.span = pending.span.or_else(|| source.span(pending.place));
            // A fix replaces the value at the pointer of its diagnostic.
            if let Some(fix) = &mut diagnostic.fix {
                fix.pointer.clone_from(&diagnostic.pointer);
            }
            diagnostics.push(diagnostic);
        }
        diagnostics.sort();
        self.tally.note_rest_omitted(&mut diagnostics);
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

/// A piece of user text for a message: in backticks, on one line, shortened.
pub fn quote(text: &str) -> String {
    const MAX_QUOTED_CHARS: usize = 60;
    let mut quoted = String::from("`");
    for (count, character) in text.chars().enumerate() {
        if count == MAX_QUOTED_CHARS {
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
