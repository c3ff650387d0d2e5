//! What the reader says about what it finds.

use planwright_core::place::push_pointer_segment;
use planwright_core::{Code, Diagnostic, Diagnostics, Place, PointerSegment};

use super::super::literal::Fault;
use super::super::{Entry, quote};
use super::{Lost, Manner, Open, OpenKind, Reader};

/// The advice for a text that has nothing of JSON.
pub(crate) const GIVE_JSON: &str = "give a JSON object";

impl Reader<'_> {
    /// Adds one finding about the bytes from `start` to `end`, which belong to `place`.
    pub(super) fn complain(
        &mut self,
        code: Code,
        place: Place,
        start: usize,
        end: usize,
        message: String,
        help: Option<String>,
    ) {
        let mut finding = Diagnostic::error(code, message);
        finding.help = help;
        self.report(finding, place, start, end);
    }

    /// Adds `finding`, which is about the bytes from `start` to `end`; they belong to `place`.
    pub(super) fn report(&mut self, finding: Diagnostic, place: Place, start: usize, end: usize) {
        if self.diagnostics.len() >= self.limits.findings {
            self.unshown += 1;
            return;
        }
        let pointer = self.source.pointer(place).unwrap_or_default();
        let span = self.span(start, end);
        self.diagnostics.push(finding.at_span(pointer, span));
    }

    /// Adds a finding about the structure: what is read from here on is for further findings only.
    pub(super) fn complain_about_structure(
        &mut self,
        place: Place,
        start: usize,
        end: usize,
        message: String,
        help: &str,
    ) {
        self.broken = true;
        self.complain(
            Code::NotJson,
            place,
            start,
            end,
            message,
            Some(help.to_owned()),
        );
    }

    /// The findings; the last one says how many more there would have been.
    pub(super) fn take_diagnostics(&mut self) -> Diagnostics {
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        diagnostics.sort();
        if self.unshown > 0 {
            diagnostics.tell_untold(self.unshown);
        }
        diagnostics
    }

    /// Complains unless something that may be JSON starts here.
    pub(super) fn expect_json(&mut self, parent: Place) -> Result<(), Lost> {
        let Some(byte) = self.peek() else {
            let message = "the text is empty".to_owned();
            self.complain_about_structure(parent, self.at, self.at, message, GIVE_JSON);
            return Err(Lost);
        };
        let rest = &self.text[self.at..];
        let word = &self.text[self.at..self.end_of_word()];
        let is_start = matches!(byte, b'{' | b'[' | b'"' | b'\'' | b'-' | b'0'..=b'9');
        let is_word = !word.is_empty() && rest.trim_end() == word;
        if is_start || is_word {
            return Ok(());
        }
        let first_line = rest.lines().next().unwrap_or_default().trim_end();
        let message = format!("the text is not JSON, it begins with {}", quote(first_line));
        let help = if rest.contains("```") {
            "give the JSON alone, without the Markdown fence around it"
        } else if rest.contains('{') {
            "give the JSON alone, without the words around it"
        } else {
            GIVE_JSON
        };
        let end = self.at + first_line.len();
        self.complain_about_structure(parent, self.at, end, message, help);
        Err(Lost)
    }

    pub(super) fn complain_about_rest(&mut self, root: Place) {
        let rest = self.text[self.at..].trim_end();
        let first_line = rest.lines().next().unwrap_or_default().trim_end();
        let message = format!("after the value comes more text: {}", quote(first_line));
        let end = self.at + rest.len();
        self.complain_about_structure(root, self.at, end, message, "one text holds one value");
    }

    pub(super) fn complain_about_open(&mut self, stack: &[Open]) -> Lost {
        if let Some(open) = stack.last() {
            let (word, end) = open.kind.words();
            let message = format!("{word} is never closed");
            let help = match stack.len() {
                1 => format!("add `{end}` where it ends"),
                count => format!(
                    "add `{end}` where it ends; {} around it {} open too",
                    count - 1,
                    if count == 2 { "is" } else { "are" }
                ),
            };
            let (place, start) = (open.place, open.start);
            self.complain_about_structure(place, start, start + 1, message, &help);
        }
        Lost
    }

    pub(super) fn complain_about_depth(&mut self, place: Place, start: usize) -> Lost {
        let message = format!(
            "the text is nested deeper than the {} levels that are allowed",
            self.limits.depth_in_force()
        );
        let help = "flatten the value, or let it be an input of the run".to_owned();
        self.complain(Code::TooDeep, place, start, start + 1, message, Some(help));
        Lost
    }

    pub(super) fn complain_about_character(&mut self, holder: Place) -> Lost {
        let end = self.end_of_character(self.at);
        let found = &self.text[self.at..end];
        let message = format!("{} has no meaning here", quote(found));
        let help = match found {
            "“" | "”" | "„" | "‘" | "’" | "`" => "use straight double quotes",
            "/" if self.manner == Manner::Lines => "a comment starts with `#`",
            "/" => "a comment starts with `//` or `/*`",
            "#" => "a comment starts with `//`",
            _ => "put text in double quotes",
        };
        self.complain_about_structure(holder, self.at, end, message, help);
        Lost
    }

    pub(super) fn complain_about_comment(&mut self, holder: Place) -> Lost {
        let message = "a comment is never closed".to_owned();
        self.complain_about_structure(holder, self.at, self.at + 2, message, "add `*/`");
        Lost
    }

    pub(super) fn complain_about_missing_value(&mut self, holder: Place) {
        let message = "a value is missing".to_owned();
        let end = self.end_of_character(self.at);
        self.complain_about_structure(holder, self.at, end, message, "write a value or `null`");
    }

    pub(super) fn complain_about_missing_key(&mut self, holder: Place) {
        let message = "a comma has nothing before it".to_owned();
        self.complain_about_structure(holder, self.at, self.at + 1, message, "leave it out");
    }

    /// Something else stands where a comma or the closing bracket should. What could begin a further value
    /// is taken for one, so that a forgotten comma hides no other fault.
    pub(super) fn complain_about_missing_comma(
        &mut self,
        open: &Open,
        byte: u8,
        wanted: char,
    ) -> Result<(), Lost> {
        let end = self.end_of_character(self.at);
        let found = quote(&self.text[self.at..end]);
        let message = format!("expected `,` or `{wanted}`, found {found}");
        let (word, _) = open.kind.words();
        let help = match byte {
            b'}' | b']' | b')' => format!("close {word} with `{wanted}` first"),
            _ => "put a comma between the two".to_owned(),
        };
        self.complain_about_structure(open.place, self.at, end, message, &help);
        let goes_on = match open.kind {
            OpenKind::List(_) => matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9'),
            OpenKind::Object { .. } => byte == b'"',
        };
        if goes_on { Ok(()) } else { Err(Lost) }
    }

    pub(super) fn complain_about_duplicate(&mut self, place: Place, first: &Entry, again: &Entry) {
        if self.diagnostics.len() >= self.limits.findings {
            self.unshown += 1;
            return;
        }
        let position = Position::of(self.source.text(), first.key_span.start);
        let message = format!("the object has the key {} twice", quote(&again.key));
        let help = format!(
            "the first is in line {}, column {}: leave one of them out",
            position.line, position.column
        );
        let mut pointer = self.source.pointer(place).unwrap_or_default();
        push_pointer_segment(&mut pointer, &PointerSegment::Key(again.key.clone()));
        let diagnostic = Diagnostic::error(Code::DuplicateKey, message)
            .at_span(pointer, again.key_span)
            .help(help);
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn complain_about_literal(&mut self, place: Place, fault: &Fault) {
        match *fault {
            Fault::Control(at, character) => {
                let escape = match character {
                    '\n' => "\\n".to_owned(),
                    '\r' => "\\r".to_owned(),
                    '\t' => "\\t".to_owned(),
                    other => format!("\\u{:04x}", u32::from(other)),
                };
                let message = "a text holds a control character that is not escaped".to_owned();
                let help = Some(format!("write `{escape}`"));
                self.complain(Code::NotJson, place, at, at + 1, message, help);
            }
            Fault::Escape(start, end) => {
                let message = format!("{} is not an escape", quote(&self.text[start..end]));
                let help = Some("write `\\\\` for a backslash".to_owned());
                self.complain(Code::NotJson, place, start, end, message, help);
            }
            Fault::Surrogate(start, end) => {
                let written = quote(&self.text[start..end]);
                let message = format!("the escape {written} is half of a character");
                let help = "a character beyond `\\uffff` takes two escapes, the first from \
                            `\\ud800` to `\\udbff`, the second from `\\udc00` to `\\udfff`";
                let help = Some(help.to_owned());
                self.complain(Code::LoneSurrogate, place, start, end, message, help);
            }
        }
    }
}

impl OpenKind {
    fn words(&self) -> (&'static str, char) {
        match self {
            Self::List(_) => ("the list", ']'),
            Self::Object { .. } => ("the object", '}'),
        }
    }
}

/// A position as people count it.
struct Position {
    line: usize,
    column: usize,
}

impl Position {
    fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
