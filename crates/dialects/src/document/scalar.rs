//! Keys, texts, numbers and literals, each with its own faults.

use std::sync::Arc;

use planwright_core::value::number::exact_number;
use planwright_core::{Code, Diagnostic, Place, PointerSegment, Span};

use super::json_reader::{JsonReader, Unrecoverable};
use super::string_literal::{self, StringFault};
use super::template::{QUOTES, end_of_marker};
use super::{Item, ItemKind, Syntax, quote};

impl JsonReader<'_> {
    /// Reads a value that is neither a list nor an object.
    pub(super) fn scalar(
        &mut self,
        parent: Place,
        segment: PointerSegment,
    ) -> Result<Item, Unrecoverable> {
        let start = self.at;
        let place = self.add_place(parent, segment)?;
        let kind = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => ItemKind::Text(self.quoted(place, quote)?),
            Some(b'$') if self.syntax == Syntax::Lines => self.reference(place)?,
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(place),
            // The token is not consumed: it belongs to the container, only the value is missing.
            Some(b'}' | b']' | b',' | b':') => {
                self.report_missing_value(parent);
                ItemKind::Null
            }
            _ => self.word(place)?,
        };
        let span = self.span(start, self.at);
        self.source.set_span(place, span);
        Ok(Item { kind, place })
    }

    /// Reads a key and the colon after it.
    pub(super) fn key(&mut self, holder: Place) -> Result<(Arc<str>, Span), Unrecoverable> {
        let start = self.at;
        let key: Arc<str> = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.quoted(holder, quote)?,
            _ => self.bare_key(holder)?,
        };
        let span = self.span(start, self.at);
        self.skip_blanks(holder)?;
        match self.peek() {
            Some(b':') => self.at += 1,
            // `=` is read as `:`, so that the rest of the object is still checked.
            Some(b'=') => {
                let message = format!("the key {} is followed by `=`", quote(&key));
                self.report_structure(holder, self.at, self.at + 1, message, "use `:`");
                self.at += 1;
            }
            _ => {
                let message = format!("the key {} is not followed by `:`", quote(&key));
                let end = self.end_of_character(self.at);
                self.report_structure(holder, self.at, end, message, "write `\"key\": value`");
                return Err(Unrecoverable);
            }
        }
        Ok((key, span))
    }

    fn bare_key(&mut self, holder: Place) -> Result<Arc<str>, Unrecoverable> {
        let start = self.at;
        let end = self.end_of_word();
        if end == start {
            return Err(self.report_unexpected_character(holder));
        }
        let key = &self.text[start..end];
        self.at = end;
        let message = format!("the key {} has no quotes", quote(key));
        let help = format!("write `\"{}\"`", quote(key).trim_matches('`'));
        self.report_structure(holder, start, end, message, &help);
        Ok(key.into())
    }

    fn quoted(&mut self, place: Place, mark: u8) -> Result<Arc<str>, Unrecoverable> {
        let start = self.at;
        let mut faults = Vec::new();
        let mut control_seen = false;
        let string_literal = string_literal::read(self.text, start + 1, mark, &mut |fault| {
            // One diagnostic is enough: a page of prose has hundreds of unescaped line breaks.
            let is_control = matches!(fault, StringFault::Control(..));
            if is_control && is_allowed_break(&fault, self.syntax) {
                return;
            }
            let again = is_control && control_seen;
            control_seen |= is_control;
            if !again {
                faults.push(fault);
            }
        });
        let text: Arc<str> = string_literal.text.into();
        self.at = string_literal.end;
        if !string_literal.closed {
            let message = "a text is never closed";
            let help = format!("add `{}` where it ends", char::from(mark));
            self.report_structure(place, start, start + 1, message.to_owned(), &help);
            return Err(Unrecoverable);
        }
        // Single quotes delimit the text as well, so that nothing but the quotes is reported.
        if mark == b'\'' {
            let message = "a text stands in single quotes".to_owned();
            self.report_structure(place, start, self.at, message, "use double quotes");
        }
        for fault in faults {
            self.report_string_fault(place, &fault);
        }
        Ok(text)
    }

    /// Reads a reference without quotes as a text that holds nothing else.
    fn reference(&mut self, place: Place) -> Result<ItemKind, Unrecoverable> {
        let start = self.at;
        if !self.text[start..].starts_with("${") {
            return Err(self.report_unexpected_character(place));
        }
        let Some(end) = end_of_marker(self.text, start + 2, QUOTES) else {
            let message = "a reference is never closed".to_owned();
            self.report_structure(place, start, start + 2, message, "add `}`");
            return Err(Unrecoverable);
        };
        self.at = end + 1;
        Ok(ItemKind::Text(self.text[start..self.at].into()))
    }

    fn number(&mut self, place: Place) -> ItemKind {
        let start = self.at;
        let end = self.end_of_word();
        let written = &self.text[start..end];
        self.at = end;
        if !is_number(written) {
            let message = format!("{} is not a number as JSON writes it", quote(written));
            let help = number_help(written);
            self.report_structure(place, start, end, message, help);
            return ItemKind::Null;
        }
        if let Some(number) = exact_number(written) {
            return ItemKind::Number(number);
        }
        self.push(number_out_of_range(written), place, start, end);
        ItemKind::Null
    }

    fn word(&mut self, place: Place) -> Result<ItemKind, Unrecoverable> {
        let start = self.at;
        let end = self.end_of_word();
        if end == start {
            return Err(self.report_unexpected_character(place));
        }
        let word = &self.text[start..end];
        self.at = end;
        let kind = match word {
            "null" => ItemKind::Null,
            "true" => ItemKind::Bool(true),
            "false" => ItemKind::Bool(false),
            _ => {
                let message = format!("{} is not a JSON value", quote(word));
                let help = match word {
                    "True" | "TRUE" => "write `true`",
                    "False" | "FALSE" => "write `false`",
                    "None" | "undefined" | "nil" | "NULL" | "Null" => "write `null`",
                    "NaN" | "Infinity" | "inf" | "nan" => {
                        "JSON has no such number: use `null` or text"
                    }
                    _ if self.syntax == Syntax::Lines => {
                        "put text in double quotes, and write a reference `${…}`"
                    }
                    _ => "put text in double quotes",
                };
                self.report_structure(place, start, end, message, help);
                ItemKind::Null
            }
        };
        Ok(kind)
    }

    /// The end of the word that starts here.
    pub(super) fn end_of_word(&self) -> usize {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '$')))
            .unwrap_or(rest.len());
        self.at + length
    }

    pub(super) fn end_of_character(&self, at: usize) -> usize {
        let length = self.text[at..].chars().next().map_or(0, char::len_utf8);
        at + length
    }
}

/// Returns true if `fault` is a line break or a tab that a text in lines may hold.
fn is_allowed_break(fault: &StringFault, syntax: Syntax) -> bool {
    syntax == Syntax::Lines && matches!(fault, StringFault::Control(_, '\n' | '\r' | '\t'))
}

fn number_help(written: &str) -> &'static str {
    let unsigned = written.trim_start_matches(['+', '-']);
    if written.starts_with('+') {
        "leave out the `+`"
    } else if unsigned.starts_with('.') {
        "write a digit before the point"
    } else if unsigned.ends_with('.') {
        "write a digit after the point"
    } else if unsigned.len() > 1 && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        "leave out the leading zeros, or put it in double quotes if it is no quantity"
    } else {
        "put text in double quotes"
    }
}

/// Returns true if `text` is a number by the grammar of RFC 8259, section 6.
pub(crate) fn is_number(text: &str) -> bool {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned.starts_with('0')) {
        return false;
    }
    let mut rest = &unsigned[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// The error for a number, as it was `written`, that does not fit into 64 bits.
pub(crate) fn number_out_of_range(written: &str) -> Diagnostic {
    let message = format!("the number {} does not fit into 64 bits", quote(written));
    let diagnostic = Diagnostic::error(Code::NumberOutOfRange, message);
    diagnostic.help("write it as text, or with fewer digits")
}
