//! Keys, texts, numbers and literals, each with its own problems; and the offsets of the decoded characters of a text.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::value::number::exact_number;
use planwright_core::{Code, Diagnostic, Place, PointerSegment, SourceText, Span, TextEdit};

use super::edits::json;
use super::escapes::{backslashes, inner_quotes};
use super::json_reader::{JsonReader, Unrecoverable};
use super::leniency::Leniency;
use super::template::{QUOTES, end_of_marker};
use super::{Item, ItemKind, Syntax, quote};
use crate::lowering::nested_calls;

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
            Some(quote @ (b'"' | b'\'')) => {
                let text = self.quoted(place, quote)?;
                let found = inner_quotes(&self.text[start..], self.at - start);
                match found.filter(|_| self.is_json_alone()) {
                    Some(found) => ItemKind::Text(self.report_inner_quotes(place, start, found)),
                    None => ItemKind::Text(text),
                }
            }
            Some(quote @ b'`') if self.is_json_alone() => {
                ItemKind::Text(self.quoted(place, quote)?)
            }
            Some(b'$') if self.syntax == Syntax::Lines => self.reference(place)?,
            Some(b'$') if self.text[start..].starts_with("${") => self.bare_reference(place)?,
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
                let edit = TextEdit::new(self.at..self.at + 1, ":");
                self.report_repairable(holder, (self.at, self.at + 1), message, "use `:`", edit);
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
        let is_followed = self.text[end..].trim_start().starts_with(':');
        if self.is_lenient() && is_plain_key(key) && is_followed {
            self.read_leniently(Leniency::BareKey, (start, end), json(key));
            return Ok(key.into());
        }
        let message = format!("the key {} has no quotes", quote(key));
        let help = format!("write `\"{}\"`", quote(key).trim_matches('`'));
        if is_followed {
            let edit = TextEdit::new(start..end, json(key));
            self.report_repairable(holder, (start, end), message, &help, edit);
        } else {
            self.report_structure(holder, start, end, message, &help);
        }
        Ok(key.into())
    }

    fn quoted(&mut self, place: Place, mark: u8) -> Result<Arc<str>, Unrecoverable> {
        let start = self.at;
        let mut problems = Vec::new();
        let mut controls = Vec::new();
        let string_literal = read(self.text, start + 1, mark, &mut |problem| {
            // One diagnostic is enough: a page of prose has hundreds of unescaped line breaks.
            if is_allowed_break(&problem, self.syntax) {
                return;
            }
            if let StringError::Control(at, character) = problem {
                controls.push(TextEdit::new(at..at + 1, escape_of(character)));
                if controls.len() > 1 {
                    return;
                }
            }
            problems.push(problem);
        });
        let text: Arc<str> = string_literal.text.into();
        self.at = string_literal.end;
        if !string_literal.closed {
            // An unclosed string followed by further lines lacks its quote; one at the end of the text is probably cut off.
            let is_last = !self.text[start..].trim_end().contains('\n');
            let mark = char::from(mark);
            let help = if is_last && self.is_json_alone() {
                format!(
                    "the text may be cut off after {}: give all of it; if nothing else is missing, add `{mark}` and the brackets that are open",
                    self.last_words()
                )
            } else {
                format!("add `{mark}` at its end")
            };
            let message = "a text is never closed".to_owned();
            if is_last && self.is_json_alone() {
                self.is_cut = true;
                self.report_error(Code::NotJson, place, start, start + 1, message, Some(help));
            } else {
                self.report_structure(place, start, start + 1, message, &help);
            }
            return Err(Unrecoverable);
        }
        if mark != b'"' && self.is_lenient() {
            // The text that is read may differ from the intended one if it has problems.
            let written = if problems.is_empty() {
                json(&text)
            } else {
                self.text[start..self.at].to_owned()
            };
            let leniency = if mark == b'`' {
                Leniency::Backticks
            } else {
                Leniency::SingleQuotes
            };
            self.read_leniently(leniency, (start, self.at), written);
        } else if mark == b'\'' {
            // Single quotes delimit the text as well, so that nothing but the quotes is reported.
            let message = "a text stands in single quotes".to_owned();
            self.report_structure(place, start, self.at, message, "use double quotes");
        }
        if self.is_lenient()
            && let Some(found) = backslashes(&self.text[start..self.at])
        {
            let is_certain = problems.iter().any(StringError::is_escape) || found.is_single;
            self.report_backslashes(place, start, &found, is_certain);
            problems.retain(|problem| !problem.is_escape());
            if is_certain {
                return Ok(found.meant.into());
            }
        }
        for problem in problems {
            self.report_string_problem(place, &problem, &controls);
        }
        Ok(text)
    }

    /// Reads a reference without quotes as a string whose whole content is the reference.
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

    /// Reads a reference without quotes, which JSON does not have.
    fn bare_reference(&mut self, place: Place) -> Result<ItemKind, Unrecoverable> {
        let start = self.at;
        let kind = self.reference(place)?;
        let written = json(&self.text[start..self.at]);
        let message = format!("{} has no quotes", quote(&self.text[start..self.at]));
        let help = format!("write `{}`", quote(&written).trim_matches('`'));
        let edit = TextEdit::new(start..self.at, written);
        self.report_repairable(place, (start, self.at), message, &help, edit);
        Ok(kind)
    }

    fn number(&mut self, place: Place) -> ItemKind {
        let start = self.at;
        let end = self.end_of_word();
        let written = &self.text[start..end];
        self.at = end;
        if !is_number(written) {
            let message = format!("{} is not a number as JSON writes it", quote(written));
            // The number has one meaning, so that the rest of the plan is checked with it.
            if let Some(meant) = meant_number(written)
                && let Some(number) = exact_number(&meant)
            {
                let help = Some(format!("write `{meant}`"));
                self.report_error(Code::NotJson, place, start, end, message, help);
                return ItemKind::Number(number);
            }
            self.report_structure(place, start, end, message, number_help(written));
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
            "True" | "False" | "None" if self.is_lenient() => {
                let (written, kind) = match word {
                    "True" => ("true", ItemKind::Bool(true)),
                    "False" => ("false", ItemKind::Bool(false)),
                    _ => ("null", ItemKind::Null),
                };
                self.read_leniently(Leniency::PythonLiteral, (start, end), written);
                kind
            }
            // The Acts write the tools of their context as members of `Tool`.
            _ if self.is_json_alone() && is_member_of_tool(word) => {
                self.read_leniently(Leniency::ToolMember, (start, end), json(word));
                ItemKind::Text(word.into())
            }
            _ if self.syntax == Syntax::Lines => self.bare_word(place, start, word),
            _ => {
                let message = format!("{} is not a JSON value", quote(word));
                let help = match word {
                    "True" | "TRUE" => "write `true`",
                    "False" | "FALSE" => "write `false`",
                    "None" | "undefined" | "nil" | "NULL" | "Null" => "write `null`",
                    "NaN" | "Infinity" | "inf" | "nan" => {
                        "JSON has no such number: use `null` or text"
                    }
                    _ if self.is_json_alone() => {
                        let help = format!("put text in double quotes, `{}`", json(word));
                        self.report_error(Code::NotJson, place, start, end, message, Some(help));
                        return Ok(ItemKind::Text(word.into()));
                    }
                    _ => "put text in double quotes",
                };
                self.report_structure(place, start, end, message, help);
                ItemKind::Null
            }
        };
        Ok(kind)
    }

    /// Reports a word of a text in lines that is not a value. Its probable meaning is used, so that no other problem is reported for it.
    fn bare_word(&mut self, place: Place, start: usize, word: &str) -> ItemKind {
        let rest = &self.text[self.at..];
        let is_formatted = matches!(word, "f" | "F") && rest.starts_with(['"', '\'']);
        if is_formatted {
            let mark = rest.as_bytes().first().copied().unwrap_or(b'"');
            let literal = read(self.text, self.at + 1, mark, &mut |_| {});
            if literal.closed {
                self.at = literal.end;
                let text = references_of_format(&literal.text);
                let help = format!("write `\"{}\"`", quote(&text).trim_matches('`'));
                let message = "a text has an `f` before it".to_owned();
                self.report_structure(place, start, self.at, message, &help);
                return ItemKind::Text(text.into());
            }
        }
        if let Some(length) = nested_calls::call_length(&self.text[start..]) {
            let call = &self.text[start..start + length];
            self.at = start + length;
            let is_id = |line: &str, id: &str| {
                let rest = line.trim_start().strip_prefix(id);
                rest.is_some_and(|rest| rest.trim_start().starts_with('='))
            };
            let is_used = |id: &str| self.text.lines().any(|line| is_id(line, id));
            let help = nested_calls::advice(call, is_used);
            let message = format!("the call {} stands in place of a value", quote(call));
            self.report_structure(place, start, self.at, message, &help);
            // Any value, so that nothing else is reported for it.
            return ItemKind::Text("${dyn(null)}".into());
        }
        let message = format!("{} is not a JSON value", quote(word));
        if is_path(word) {
            let reference = format!("${{{word}}}");
            let help = format!("write the reference `{reference}`, or put text in double quotes");
            self.report_structure(place, start, self.at, message, &help);
            return ItemKind::Text(reference.into());
        }
        let help = match word {
            "TRUE" => "write `true`".to_owned(),
            "FALSE" => "write `false`".to_owned(),
            "undefined" | "nil" | "NULL" | "Null" => "write `null`".to_owned(),
            _ => {
                let word = quote(word);
                let word = word.trim_matches('`');
                format!("write `\"{word}\"` for the text, or `${{{word}}}` for what it refers to")
            }
        };
        self.report_structure(place, start, self.at, message, &help);
        ItemKind::Text(word.into())
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

/// Returns true if a key without quotes is unambiguous. `None`, for example, is another key in Python.
fn is_plain_key(key: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    key.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && key.chars().all(is_part)
        && !matches!(key, "True" | "False" | "None")
}

/// Returns true for `Tool.name`.
fn is_member_of_tool(word: &str) -> bool {
    let name = word.strip_prefix("Tool.");
    name.is_some_and(|name| is_plain_key(name) && !name.contains('-'))
}

/// Returns true for names with dots between them.
fn is_path(word: &str) -> bool {
    let mut names = word.split('.');
    word.contains('.') && names.all(is_plain_key)
}

/// A formatted text of Python with references in place of its expressions.
fn references_of_format(text: &str) -> String {
    let mut references = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, inside) = rest.split_at(open);
        references.push_str(before);
        if !before.ends_with('$') {
            references.push('$');
        }
        let end = inside.find('}').map_or(inside.len(), |end| end + 1);
        references.push_str(&inside[..end]);
        rest = &inside[end..];
    }
    references.push_str(rest);
    references
}

/// Returns true if `problem` is a line break or a tab that a text in lines may hold.
fn is_allowed_break(problem: &StringError, syntax: Syntax) -> bool {
    syntax == Syntax::Lines && matches!(problem, StringError::Control(_, '\n' | '\r' | '\t'))
}

/// The escape that stands for a control character in JSON.
pub(super) fn escape_of(character: char) -> String {
    match character {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        other => format!("\\u{:04x}", u32::from(other)),
    }
}

/// The number of another language in the form of JSON: `1_000`, `0x10`, `.5`, `5.`, `+5`, `10n`.
fn meant_number(written: &str) -> Option<String> {
    let (sign, unsigned) = match written.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", written.strip_prefix('+').unwrap_or(written)),
    };
    // A number with a leading zero may be no quantity.
    let digits = unsigned.replace('_', "");
    let lower = digits.to_lowercase();
    let radix = [("0x", 16), ("0b", 2), ("0o", 8)];
    let other = radix.iter().find_map(|(prefix, radix)| {
        let digits = lower.strip_prefix(prefix)?;
        u64::from_str_radix(digits, *radix).ok()
    });
    if let Some(number) = other {
        return Some(format!("{sign}{number}"));
    }
    let digits = lower.strip_suffix('n').unwrap_or(&lower);
    let digits = match (digits.strip_prefix('.'), digits.strip_suffix('.')) {
        (Some(fraction), _) => format!("0.{fraction}"),
        (None, Some(whole)) => whole.to_owned(),
        (None, None) => digits.to_owned(),
    };
    let meant = format!("{sign}{digits}");
    is_number(&meant).then_some(meant)
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
        "leave out the leading zeros, or put it in double quotes if it is not a quantity"
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

/// A quoted text.
pub(super) struct StringLiteral<'a> {
    /// The content, escapes resolved.
    pub(super) text: Cow<'a, str>,
    /// The byte after the closing quote, or the end of the text if there is none.
    pub(super) end: usize,
    /// True if the closing quote exists.
    pub(super) closed: bool,
}

/// A problem in a quoted text, with its bytes.
pub(super) enum StringError {
    /// A control character that was not escaped.
    Control(usize, char),
    /// An escape that does not exist, from its backslash to its end.
    Escape(usize, usize),
    /// Half of a surrogate pair, from its backslash to its end.
    Surrogate(usize, usize),
}

impl StringError {
    fn is_escape(&self) -> bool {
        matches!(self, Self::Escape(..))
    }
}

/// Reads the quoted text that begins at byte `start` of `text`, after the opening `quote`.
///
/// Each problem goes to `report` and is replaced by the obvious character, so that reading can continue.
pub(super) fn read<'a>(
    text: &'a str,
    start: usize,
    quote: u8,
    report: &mut dyn FnMut(StringError),
) -> StringLiteral<'a> {
    scan(text, start, quote, report, &mut |_, _| {})
}

/// The offsets of the quoted text that begins at byte `start`, after the opening quote.
fn offset_runs(text: &str, start: usize, quote: u8) -> Vec<OffsetRun> {
    let mut offset_runs = vec![OffsetRun {
        inner: 0,
        outer: start,
    }];
    scan(text, start, quote, &mut |_| {}, &mut |inner, outer| {
        offset_runs.push(OffsetRun { inner, outer });
    });
    offset_runs
}

fn scan<'a>(
    text: &'a str,
    start: usize,
    quote: u8,
    report: &mut dyn FnMut(StringError),
    on_run: &mut dyn FnMut(usize, usize),
) -> StringLiteral<'a> {
    let bytes = text.as_bytes();
    let mut resolved: Option<String> = None;
    // The bytes from `copied` to `at` need no change and are copied at the next escape.
    let mut copied = start;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        if byte == quote {
            return finish(text, resolved, copied, at, at + 1, true);
        }
        match byte {
            b'\\' => {
                let buffer = resolved.get_or_insert_default();
                buffer.push_str(&text[copied..at]);
                let escape = Escape::read(text, at, quote);
                on_run(buffer.len(), at);
                buffer.push(escape.character);
                if let Some(problem) = escape.problem {
                    report(problem);
                }
                at = escape.end;
                copied = at;
                on_run(buffer.len(), at);
            }
            0..=0x1f => {
                report(StringError::Control(at, char::from(byte)));
                at += 1;
            }
            _ => at += 1,
        }
    }
    finish(text, resolved, copied, bytes.len(), bytes.len(), false)
}

fn finish(
    text: &str,
    resolved: Option<String>,
    copied: usize,
    until: usize,
    end: usize,
    closed: bool,
) -> StringLiteral<'_> {
    let rest = &text[copied..until];
    let text = match resolved {
        Some(mut buffer) => {
            buffer.push_str(rest);
            Cow::Owned(buffer)
        }
        None => Cow::Borrowed(rest),
    };
    StringLiteral { text, end, closed }
}

struct Escape {
    character: char,
    end: usize,
    problem: Option<StringError>,
}

impl Escape {
    /// Reads the escape whose backslash stands at `at`.
    fn read(text: &str, at: usize, quote: u8) -> Self {
        let Some(letter) = text[at + 1..].chars().next() else {
            return Self::problem('\\', at + 1, StringError::Escape(at, at + 1));
        };
        let end = at + 1 + letter.len_utf8();
        let character = match letter {
            '"' | '\\' | '/' => letter,
            '\'' if quote == b'\'' => letter,
            '`' if quote == b'`' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return Self::unicode(text, at),
            _ => return Self::problem(letter, end, StringError::Escape(at, end)),
        };
        Self {
            character,
            end,
            problem: None,
        }
    }

    /// Reads the escape `\uXXXX` at `at`, and the second half of a surrogate pair.
    fn unicode(text: &str, at: usize) -> Self {
        let end = at + 6;
        let Some(first) = hexadecimal(text, at + 2) else {
            return Self::problem('u', at + 2, StringError::Escape(at, at + 2));
        };
        if let Some(character) = char::from_u32(first) {
            return Self {
                character,
                end,
                problem: None,
            };
        }
        let second = match text.get(end..end + 2) {
            Some("\\u") if first < 0xdc00 => hexadecimal(text, end + 2),
            _ => None,
        };
        let pair = second
            .filter(|second| (0xdc00..0xe000).contains(second))
            .and_then(|second| {
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            });
        match pair {
            Some(character) => Self {
                character,
                end: end + 6,
                problem: None,
            },
            None => Self::problem(
                char::REPLACEMENT_CHARACTER,
                end,
                StringError::Surrogate(at, end),
            ),
        }
    }

    fn problem(character: char, end: usize, problem: StringError) -> Self {
        Self {
            character,
            end,
            problem: Some(problem),
        }
    }
}

fn hexadecimal(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// The map from the bytes of a text value to the place where each was written.
#[derive(Debug)]
pub struct Offsets {
    whole: Span,
    runs: Option<Vec<OffsetRun>>,
}

/// A run of bytes over which both sides advance byte by byte, up to the next run.
#[derive(Clone, Copy, Debug)]
struct OffsetRun {
    inner: usize,
    outer: usize,
}

impl Offsets {
    /// The offsets of the text value at `place`. If they cannot be known (a text inside of a text inside of a text),
    /// every byte maps to the whole value.
    pub fn of(source: &SourceText, place: Place) -> Self {
        let whole = source.span(place).unwrap_or_default();
        let written = source
            .text()
            .get(whole.start..whole.end)
            .unwrap_or_default();
        let runs = match written.bytes().next() {
            // A quote that YAML writes twice is no end of the text.
            Some(b'\'') if written.len() > 2 && written.contains("''") => None,
            Some(quote @ (b'"' | b'\'' | b'`')) => {
                Some(offset_runs(source.text(), whole.start + 1, quote))
            }
            // A plain text of YAML. Blocks of text begin with their sign.
            Some(first) if !matches!(first, b'\\' | b'|' | b'>') && !written.contains('\n') => {
                Some(vec![OffsetRun {
                    inner: 0,
                    outer: whole.start,
                }])
            }
            Some(_) | None => None,
        };
        Self { whole, runs }
    }

    /// The offsets of a text without escapes that is `length` bytes long and begins at byte `start` of the text around
    /// it.
    pub(crate) fn plain(start: usize, length: usize) -> Self {
        Self {
            whole: (start..start + length).into(),
            runs: Some(vec![OffsetRun {
                inner: 0,
                outer: start,
            }]),
        }
    }

    /// Adds a run: byte `inner` of the value is byte `outer` of the text around it.
    pub(crate) fn push_run(&mut self, inner: usize, outer: usize) {
        if let Some(runs) = &mut self.runs {
            runs.push(OffsetRun { inner, outer });
        }
    }

    /// The span of `range` of the value.
    pub fn span(&self, range: Range<usize>) -> Span {
        match &self.runs {
            Some(runs) => {
                let start = locate(runs, range.start);
                let end = locate(runs, range.end);
                Span {
                    start,
                    end: end.max(start),
                }
            }
            None => self.whole,
        }
    }

    /// Adds a place to `source` for `range` of the value at `place`; its pointer is that of the value.
    pub fn place(&self, source: &mut SourceText, place: Place, range: Range<usize>) -> Place {
        source.add(place, PointerSegment::Root, self.span(range))
    }
}

fn locate(runs: &[OffsetRun], inner: usize) -> usize {
    // Runs are sorted, so the last one that begins at or before the byte applies.
    let after = runs.partition_point(|push_run| push_run.inner <= inner);
    match runs[..after].last() {
        Some(push_run) => push_run.outer + (inner - push_run.inner),
        None => inner,
    }
}
