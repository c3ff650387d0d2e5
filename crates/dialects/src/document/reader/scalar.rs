//! Keys, texts, numbers and words, each with its own faults.

use std::sync::Arc;

use planwright_core::value::number::kept_number;
use planwright_core::{Place, PointerSegment, Span};

use super::super::literal::{self, Fault};
use super::super::number::{is_number, number_out_of_range};
use super::super::{Item, ItemKind, quote};
use super::{Lost, Manner, Reader};
use crate::template::{QUOTES, end_of_marker};

impl Reader<'_> {
    /// Reads a value that is neither list nor object.
    pub(super) fn scalar(&mut self, parent: Place, segment: PointerSegment) -> Result<Item, Lost> {
        let start = self.at;
        let place = self.add_place(parent, segment)?;
        let kind = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => ItemKind::Text(self.quoted(place, quote)?),
            Some(b'$') if self.manner == Manner::Lines => self.reference(place)?,
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(place),
            Some(b'}' | b']' | b',' | b':') => {
                self.complain_about_missing_value(parent);
                ItemKind::Null
            }
            _ => self.word(place)?,
        };
        let span = self.span(start, self.at);
        self.source.set_span(place, span);
        Ok(Item { kind, place })
    }

    /// Reads a key and the colon behind it.
    pub(super) fn key(&mut self, holder: Place) -> Result<(Arc<str>, Span), Lost> {
        let start = self.at;
        let key: Arc<str> = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.quoted(holder, quote)?,
            _ => self.bare_key(holder)?,
        };
        let span = self.span(start, self.at);
        self.skip_blanks(holder)?;
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(b'=') => {
                let message = format!("the key {} is followed by `=`", quote(&key));
                self.complain_about_structure(holder, self.at, self.at + 1, message, "use `:`");
                self.at += 1;
            }
            _ => {
                let message = format!("the key {} is not followed by `:`", quote(&key));
                let end = self.end_of_character(self.at);
                self.complain_about_structure(
                    holder,
                    self.at,
                    end,
                    message,
                    "write `\"key\": value`",
                );
                return Err(Lost);
            }
        }
        Ok((key, span))
    }

    fn bare_key(&mut self, holder: Place) -> Result<Arc<str>, Lost> {
        let start = self.at;
        let end = self.end_of_word();
        if end == start {
            return Err(self.complain_about_character(holder));
        }
        let key = &self.text[start..end];
        self.at = end;
        let message = format!("the key {} has no quotes", quote(key));
        let help = format!("write `\"{}\"`", quote(key).trim_matches('`'));
        self.complain_about_structure(holder, start, end, message, &help);
        Ok(key.into())
    }

    fn quoted(&mut self, place: Place, mark: u8) -> Result<Arc<str>, Lost> {
        let start = self.at;
        let mut faults = Vec::new();
        let mut control_seen = false;
        let literal = literal::read(self.text, start + 1, mark, &mut |fault| {
            // One unescaped line break in a text says it all; a page of prose has hundreds.
            let is_control = matches!(fault, Fault::Control(..));
            if is_control && is_break(&fault, self.manner) {
                return;
            }
            let again = is_control && control_seen;
            control_seen |= is_control;
            if !again {
                faults.push(fault);
            }
        });
        let text: Arc<str> = literal.text.into();
        self.at = literal.end;
        if !literal.closed {
            let message = "a text is never closed";
            let help = format!("add `{}` where it ends", char::from(mark));
            self.complain_about_structure(place, start, start + 1, message.to_owned(), &help);
            return Err(Lost);
        }
        if mark == b'\'' {
            let message = "a text stands in single quotes".to_owned();
            self.complain_about_structure(place, start, self.at, message, "use double quotes");
        }
        for fault in faults {
            self.complain_about_literal(place, &fault);
        }
        Ok(text)
    }

    /// A reference without quotes: the text that holds it and nothing else.
    fn reference(&mut self, place: Place) -> Result<ItemKind, Lost> {
        let start = self.at;
        if !self.text[start..].starts_with("${") {
            return Err(self.complain_about_character(place));
        }
        let Some(end) = end_of_marker(self.text, start + 2, QUOTES) else {
            let message = "a reference is never closed".to_owned();
            self.complain_about_structure(place, start, start + 2, message, "add `}`");
            return Err(Lost);
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
            self.complain_about_structure(place, start, end, message, help);
            return ItemKind::Null;
        }
        if let Some(number) = kept_number(written) {
            return ItemKind::Number(number);
        }
        self.report(number_out_of_range(written), place, start, end);
        ItemKind::Null
    }

    fn word(&mut self, place: Place) -> Result<ItemKind, Lost> {
        let start = self.at;
        let end = self.end_of_word();
        if end == start {
            return Err(self.complain_about_character(place));
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
                    _ if self.manner == Manner::Lines => {
                        "put text in double quotes, and write a reference `${…}`"
                    }
                    _ => "put text in double quotes",
                };
                self.complain_about_structure(place, start, end, message, help);
                ItemKind::Null
            }
        };
        Ok(kind)
    }

    /// The end of the run of letters, digits and the like that starts here.
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

/// Whether `fault` is a break or a tab that may stand in a text as it is.
fn is_break(fault: &Fault, manner: Manner) -> bool {
    manner == Manner::Lines && matches!(fault, Fault::Control(_, '\n' | '\r' | '\t'))
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
