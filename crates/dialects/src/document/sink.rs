//! The diagnostics of a text, up to a limit, and suggestions of similar names.

use std::sync::Arc;

use planwright_core::diagnostic::DiagnosticCounter;
use planwright_core::{
    Code, Diagnostic, Diagnostics, FixPart, Place, Severity, SourceText, Span, TextEdit,
};

use super::{Item, ItemEntry, edits};

/// The diagnostics of one document, up to the limit of a [`DiagnosticCounter`]; further ones are only counted.
/// [`ReadLimits`](super::ReadLimits::diagnostics) lowers the number that users see.
#[derive(Debug, Default)]
pub struct DiagnosticSink {
    pending: Vec<PendingDiagnostic>,
    ready: Diagnostics,
    tally: DiagnosticCounter,
}

#[derive(Debug)]
struct PendingDiagnostic {
    place: Place,
    /// The key and its span, if the diagnostic is about the key instead of the value.
    key: Option<(Arc<str>, Span)>,
    /// True if the fix of the diagnostic does not change what the plan does.
    is_safe: bool,
    diagnostic: Diagnostic,
}

impl PendingDiagnostic {
    /// The edit of the text that applies the fix.
    fn edit(&self, source: &SourceText) -> Option<TextEdit> {
        let fix = self.diagnostic.fix.as_ref().filter(|_| self.is_safe)?;
        match fix.part {
            FixPart::Key => {
                let (key, span) = self.key.as_ref()?;
                edits::key_edit(source, (key, *span), &fix.replacement)
            }
            FixPart::Value => {
                let span = source.span(self.place)?;
                edits::text_edit(source, span, &fix.replacement)
            }
        }
    }
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
            key: None,
            is_safe: false,
            diagnostic,
        });
    }

    /// Adds `diagnostic` at `place`. Its fix replaces a text, and does not change what the plan does.
    pub fn push_with_safe_fix(&mut self, place: Place, diagnostic: Diagnostic) {
        self.push_pending(PendingDiagnostic {
            place,
            key: None,
            is_safe: true,
            diagnostic,
        });
    }

    /// Adds `diagnostic` at the key of `entry`: the pointer is that of the field, the span that of the key. A fix that renames the key is
    /// safe, because a field with an unknown key has no effect.
    pub fn push_at_key(&mut self, entry: &ItemEntry, diagnostic: Diagnostic) {
        self.push_pending(PendingDiagnostic {
            place: entry.item.place,
            key: Some((Arc::clone(&entry.key), entry.key_span)),
            is_safe: true,
            diagnostic,
        });
    }

    fn push_pending(&mut self, pending: PendingDiagnostic) {
        if self.tally.count(pending.diagnostic.severity) {
            self.pending.push(pending);
        }
    }

    /// Counts an error without its message if the [limit](DiagnosticCounter::MAX_SHOWN) of errors is reached; returns false below the
    /// limit, if the caller has to compose the message and push it.
    #[must_use = "an error that was not counted still has to be reported"]
    pub fn count_error_if_full(&mut self) -> bool {
        self.tally.count_if_full(Severity::Error)
    }

    /// Adds diagnostics that already have their places.
    pub fn extend(&mut self, diagnostics: Diagnostics) {
        self.ready.extend(diagnostics);
    }

    /// Reports that `item`, the value of the field `field`, should have been `wanted` (with its article: "a list").
    pub fn push_wrong_type(&mut self, item: &Item, field: &str, wanted: &str) {
        let message = format!(
            "expected {wanted} in `{field}`, found {}",
            with_article(item.kind_word())
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
    pub fn finish(self, source: &SourceText) -> Diagnostics {
        let mut diagnostics = self.ready;
        for pending in self.pending {
            let edit = pending.edit(source);
            let mut diagnostic = pending.diagnostic;
            diagnostic.pointer = source.pointer(pending.place).unwrap_or_default();
            let key_span = pending.key.map(|(_, span)| span);
            diagnostic.span = key_span.or_else(|| source.span(pending.place));
            // A fix replaces the value at the pointer of its diagnostic.
            if let Some(fix) = &mut diagnostic.fix {
                fix.pointer.clone_from(&diagnostic.pointer);
            }
            if let Some(edit) = edit {
                diagnostic = diagnostic.fixes([edit]);
            }
            diagnostics.push(diagnostic);
        }
        diagnostics.sort();
        self.tally.note_rest_omitted(&mut diagnostics);
        diagnostics
    }
}

/// The name of a kind of value with its article: "a list", "an object", "text".
pub fn with_article(kind: &str) -> String {
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

/// The maximum length of compared names: the cost is quadratic, and long names are not typing errors.
const MAX_NAME_BYTES: usize = 64;

/// The name in `known` that `name` probably stands for: at most a third of its letters differ.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let lower = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    let known: Vec<&str> = known.into_iter().collect();
    let near = known
        .iter()
        .copied()
        .filter(|candidate| candidate.len() <= MAX_NAME_BYTES)
        .map(|candidate| {
            // This distance counts two swapped letters as one mistake.
            let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate);
    // An abbreviation, such as `result` for `result_variable`.
    let begins = |candidate: &&&str| {
        let rest = candidate.strip_prefix(&*lower);
        rest.is_some_and(|rest| rest.starts_with('_'))
    };
    let mut longer = known.iter().filter(begins);
    near.or(match (longer.next(), longer.next()) {
        (Some(only), None) if lower.len() > 3 => Some(*only),
        _ => None,
    })
}

/// Synonyms of field names in the dialects of tool calls. Fields of different units are not synonyms: a name must not
/// turn seconds into milliseconds.
const SYNONYMS: &[&[&str]] = &[
    &[
        "args",
        "arguments",
        "input",
        "inputs",
        "kwargs",
        "parameters",
        "params",
        "tool_input",
    ],
    &["tool", "function", "tool_name"],
    &["id", "step_id"],
    &[
        "after",
        "dependencies",
        "dependsOn",
        "depends_on",
        "needs",
        "requires",
    ],
    &["when", "condition", "if"],
    &["for_each", "forEach", "foreach"],
    &["output", "outputs", "result"],
];

/// The only name in `known` that is a synonym of `written`.
pub(super) fn synonym(written: &str, known: &[&'static str]) -> Option<&'static str> {
    let group = SYNONYMS.iter().find(|words| words.contains(&written))?;
    let mut others = known.iter().filter(|name| group.contains(name));
    let name = others.next()?;
    others.next().is_none().then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_is_found_if_it_is_the_only_one() {
        let check = |written: &str, known: &[&'static str], expected: Option<&str>| {
            assert_eq!(
                synonym(written, known),
                expected,
                "{written} among {known:?}"
            );
        };
        check("arguments", &["id", "tool", "args"], Some("args"));
        check("depends_on", &["after", "args"], Some("after"));
        check("args", &["params"], Some("params"));
        check("args", &["params", "inputs"], None);
        check("args", &["id"], None);
        check("colour", &["args"], None);
    }

    #[test]
    fn no_word_is_in_two_groups() {
        let mut all: Vec<&str> = SYNONYMS.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
