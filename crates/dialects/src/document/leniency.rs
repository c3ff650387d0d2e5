//! Unambiguous notations of other languages, which are read with a note.

use planwright_core::{Code, Diagnostic, Place, TextEdit};

use super::Syntax;
use super::json_reader::JsonReader;

/// A notation that JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leniency {
    /// Texts in single quotes.
    SingleQuotes,
    /// Texts in backticks, as in JavaScript.
    Backticks,
    /// Keys without quotes.
    BareKey,
    /// `True`, `False` and `None`.
    PythonLiteral,
    /// A comment that begins with `#`.
    HashComment,
    /// A semicolon after the value.
    Semicolon,
    /// `Tool.name` for the text `"Tool.name"`.
    ToolMember,
}

impl Leniency {
    const ALL: [Self; 7] = [
        Self::SingleQuotes,
        Self::Backticks,
        Self::BareKey,
        Self::PythonLiteral,
        Self::HashComment,
        Self::Semicolon,
        Self::ToolMember,
    ];

    /// The name of the notation in messages.
    fn describe(self) -> &'static str {
        match self {
            Self::SingleQuotes => "single quotes",
            Self::Backticks => "backticks",
            Self::BareKey => "keys without quotes",
            Self::PythonLiteral => "`True`, `False` or `None`",
            Self::HashComment => "comments after `#`",
            Self::Semicolon => "a semicolon",
            Self::ToolMember => "members of `Tool`",
        }
    }
}

/// Maximum number of edits of one note. After these edits, the next reading returns the others.
const MAX_EDITS: usize = 10_000;

/// The notations that were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leniencies {
    /// The first byte of each notation.
    first: [Option<usize>; Leniency::ALL.len()],
    /// The edits that write them as JSON.
    edits: Vec<TextEdit>,
}

impl Leniencies {
    /// Adds a notation with the edit that writes it as JSON.
    pub(super) fn add(&mut self, leniency: Leniency, edit: TextEdit) {
        if let Some(first) = self.first.get_mut(leniency as usize) {
            first.get_or_insert(edit.span.start);
        }
        if self.edits.len() < MAX_EDITS {
            self.edits.push(edit);
        }
    }

    /// Adds the notations that were read later.
    pub(crate) fn extend(&mut self, later: Self) {
        for (first, later) in self.first.iter_mut().zip(later.first) {
            *first = first.or(later);
        }
        let room = MAX_EDITS.saturating_sub(self.edits.len());
        self.edits.extend(later.edits.into_iter().take(room));
    }

    /// The note about all notations, and the position of the first; `None` if there are none.
    pub(crate) fn note(&self) -> Option<(Diagnostic, usize)> {
        let first = self.first.iter().flatten().min()?;
        let found = Leniency::ALL.iter().zip(self.first);
        let words = found.filter_map(|(leniency, at)| at.map(|_| leniency.describe()));
        let words = words.collect::<Vec<_>>().join(", ");
        let message = format!("the text is read as JSON, although it has {words}");
        let note = Diagnostic::note(Code::ReadAs, message).fixes(self.edits.iter().cloned());
        Some((note, *first))
    }
}

impl JsonReader<'_> {
    /// Returns true if other notations are read. They are read in the outer text only, because programs write JSON inside of a text.
    pub(super) fn is_lenient(&self) -> bool {
        self.offsets.is_none()
    }

    /// Returns true if the text is all JSON, and not the inside of another text.
    pub(super) fn is_json_alone(&self) -> bool {
        self.is_lenient() && self.syntax == Syntax::Json
    }

    /// Records a notation from byte `start` to `end`. Its form in JSON is `written`.
    pub(super) fn read_leniently(
        &mut self,
        leniency: Leniency,
        (start, end): (usize, usize),
        written: impl Into<String>,
    ) {
        self.leniencies
            .add(leniency, TextEdit::new(start..end, written));
    }

    /// Adds the note about the notations that were read.
    pub(super) fn report_leniencies(&mut self) {
        if let Some((note, at)) = self.leniencies.note()
            && !self.is_broken
        {
            let end = self.text.ceil_char_boundary(at + 1);
            self.push(note, Place::NOWHERE, at, end);
        }
    }
}
