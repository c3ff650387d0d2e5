//! Arguments in Python syntax, and Python's string literals.

use std::ops::Range;

use planwright_core::value::number::first_inexact_number;
use planwright_core::{Code, Diagnostic, Value};

use super::lines::ValueBudget;
use super::nested_calls;
use crate::document::{Offsets, is_number, number_out_of_range, quote};

/// An argument of a call.
#[derive(Debug)]
pub(crate) struct LineArgument {
    /// The range of its name in bytes, if it has one.
    pub(crate) name: Option<Range<usize>>,
    pub(crate) value: ArgumentValue,
}

impl LineArgument {
    /// The unquoted words in `range` of `text`.
    pub(crate) fn words(text: &str, range: Range<usize>) -> Self {
        let value = ArgumentValue {
            range: range.clone(),
            kind: ArgumentKind::Text(PythonString::plain(text, range)),
        };
        Self { name: None, value }
    }
}

/// A value as it is written.
#[derive(Debug)]
pub(crate) struct ArgumentValue {
    pub(crate) kind: ArgumentKind,
    pub(crate) range: Range<usize>,
}

impl ArgumentValue {
    /// The value, with its texts as they are.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            ArgumentKind::Plain(value) => value.clone(),
            ArgumentKind::Text(text) => Value::text(&*text.text),
            ArgumentKind::List(items) => Value::list(items.iter().map(Self::to_value)),
            ArgumentKind::Object(fields) => {
                let fields = fields.iter();
                Value::object(fields.map(|(key, value)| (&**key, value.to_value())))
            }
        }
    }
}

#[derive(Debug)]
pub(crate) enum ArgumentKind {
    /// A value without text.
    Plain(Value),
    /// A text, an unquoted reference, or unquoted words.
    Text(PythonString),
    List(Vec<ArgumentValue>),
    Object(Vec<(String, ArgumentValue)>),
}

/// A problem in the arguments, and its byte.
#[derive(Debug)]
pub(crate) struct ArgumentError {
    pub(crate) at: usize,
    pub(crate) diagnostic: Box<Diagnostic>,
}

impl ArgumentError {
    pub(crate) fn new(at: usize, message: impl Into<String>, help: &str) -> Self {
        let diagnostic = Diagnostic::error(Code::MalformedLine, message);
        Self {
            at,
            diagnostic: Box::new(diagnostic.help(help)),
        }
    }
}

/// An unquoted reference in arguments.
#[derive(Clone, Copy)]
pub(crate) struct UnquotedReference {
    pub(crate) sign: char,
    /// The length of the reference after its sign; `None` if there is none.
    pub(crate) length: fn(&str) -> Option<usize>,
    pub(crate) form: &'static str,
}

type ScanResult<T> = Result<T, ArgumentError>;

/// A scanner of arguments.
pub(crate) struct ArgumentScanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    budget: &'a mut ValueBudget,
    reference: UnquotedReference,
}

impl<'a> ArgumentScanner<'a> {
    /// A scanner of the arguments that begin at byte `at` of `text` and nest no deeper than `depth`.
    pub(crate) fn new(
        text: &'a str,
        (at, depth): (usize, usize),
        budget: &'a mut ValueBudget,
        reference: UnquotedReference,
    ) -> Self {
        Self {
            text,
            at,
            depth,
            budget,
            reference,
        }
    }

    /// The arguments up to the bracket `end`, and the byte after it.
    pub(crate) fn arguments(mut self, end: char) -> ScanResult<(Vec<LineArgument>, usize)> {
        let mut arguments = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(end) {
                return Ok((arguments, self.at));
            }
            let name = self.name();
            let value = self.value(self.depth)?;
            arguments.push(LineArgument { name, value });
            self.skip_blanks();
            if !self.take(',') && !self.rest().starts_with(end) {
                return Err(self.problem(
                    &format!("`,` or `{end}`"),
                    "put texts in quotes, and a comma between arguments",
                ));
            }
        }
    }

    fn value(&mut self, depth: usize) -> ScanResult<ArgumentValue> {
        self.skip_blanks();
        let start = self.at;
        if !self.budget.take_value() {
            let message = "the text has too many values";
            return Err(ArgumentError::new(
                start,
                message,
                "make several plans of it",
            ));
        }
        let kind = match self.rest().chars().next() {
            Some('"' | '\'') => self.quoted()?,
            Some('[') => ArgumentKind::List(self.items(']', depth)?),
            Some('(') => self.tuple(depth)?,
            Some('{') => ArgumentKind::Object(self.fields(depth)?),
            Some(sign) if sign == self.reference.sign => self.marker()?,
            _ => ArgumentKind::Plain(self.word()?),
        };
        Ok(ArgumentValue {
            kind,
            range: start..self.at,
        })
    }

    fn quoted(&mut self) -> ScanResult<ArgumentKind> {
        let Some(quoted) = PythonString::read(self.text, self.at) else {
            let message = "a text is never closed";
            let help = "add the quote that it began with";
            return Err(ArgumentError::new(self.at, message, help));
        };
        self.at = quoted.range.end;
        Ok(ArgumentKind::Text(quoted))
    }

    /// The values between the next bracket and `end`.
    fn items(&mut self, end: char, depth: usize) -> ScanResult<Vec<ArgumentValue>> {
        let depth = self.nested_depth(depth)?;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(end) {
                return Ok(items);
            }
            items.push(self.value(depth)?);
            self.skip_blanks();
            if !self.take(',') && !self.rest().starts_with(end) {
                return Err(self.problem(&format!("`,` or `{end}`"), "close what was opened"));
            }
        }
    }

    /// Reads a tuple as a list; brackets around one value without a comma have no meaning.
    fn tuple(&mut self, depth: usize) -> ScanResult<ArgumentKind> {
        let start = self.at;
        let mut items = self.items(')', depth)?;
        // `(1,)` is a tuple of one, `(1)` is a number.
        let has_comma = self.text[start..self.at - 1].trim_end().ends_with(',');
        Ok(match (items.pop(), items.is_empty()) {
            (Some(only), true) if !has_comma => only.kind,
            (last, _) => ArgumentKind::List(items.into_iter().chain(last).collect()),
        })
    }

    fn fields(&mut self, depth: usize) -> ScanResult<Vec<(String, ArgumentValue)>> {
        let depth = self.nested_depth(depth)?;
        self.at += 1;
        let mut fields = Vec::new();
        loop {
            self.skip_blanks();
            if self.take('}') {
                return Ok(fields);
            }
            let at = self.at;
            let key = match self.value(depth)?.kind {
                ArgumentKind::Text(quoted) => quoted.text,
                _ => {
                    let message = "a key is not text in quotes";
                    return Err(ArgumentError::new(at, message, "put keys in quotes"));
                }
            };
            self.skip_blanks();
            if !self.take(':') {
                return Err(self.problem("`:`", "a key is followed by a colon and its value"));
            }
            fields.push((key, self.value(depth)?));
            self.skip_blanks();
            if !self.take(',') && !self.rest().starts_with('}') {
                return Err(self.problem("`,` or `}`", "close what was opened"));
            }
        }
    }

    /// An unquoted reference.
    fn marker(&mut self) -> ScanResult<ArgumentKind> {
        let after = &self.rest()[self.reference.sign.len_utf8()..];
        let length = (self.reference.length)(after);
        let Some(length) = length.filter(|length| !after[..*length].contains('\n')) else {
            return Err(self.problem("a reference", self.reference.form));
        };
        let range = self.at..self.at + self.reference.sign.len_utf8() + length;
        self.at = range.end;
        Ok(ArgumentKind::Text(PythonString::plain(self.text, range)))
    }

    /// A number or a keyword such as `True`.
    fn word(&mut self) -> ScanResult<Value> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')))
            .unwrap_or(rest.len());
        let word = &rest[..length];
        let value = match word {
            "True" | "true" => Some(true.into()),
            "False" | "false" => Some(false.into()),
            "None" | "null" => Some(Value::Null),
            _ => match number(word) {
                Some(number) if first_inexact_number(&number).is_some() => {
                    return Err(ArgumentError {
                        at: self.at,
                        diagnostic: Box::new(number_out_of_range(word)),
                    });
                }
                Some(number) => Value::from_json(&number).ok(),
                None => None,
            },
        };
        let Some(value) = value else {
            let is_call = nested_calls::call_length(self.rest()).is_some();
            let help = if is_call {
                "write the call on a line of its own before this one, and a reference to it here"
            } else {
                "put texts in quotes"
            };
            return Err(self.problem("a value", help));
        };
        self.at += length;
        Ok(value)
    }

    /// The name before a `=`, if the next argument has one.
    fn name(&mut self) -> Option<Range<usize>> {
        let name = name_length(self.rest())?;
        let range = self.at..self.at + name;
        self.at = range.end;
        self.skip_blanks();
        self.at += 1;
        Some(range)
    }

    fn nested_depth(&self, depth: usize) -> ScanResult<usize> {
        depth.checked_sub(1).ok_or_else(|| {
            let message = "the arguments are nested too deeply";
            ArgumentError::new(self.at, message, "nest them less")
        })
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn problem(&self, wanted: &str, help: &'static str) -> ArgumentError {
        let found = match self.rest().lines().next() {
            Some(line) if !line.is_empty() => quote(line.trim_end()),
            Some(_) => "the end of the line".to_owned(),
            None => "the end of the text".to_owned(),
        };
        ArgumentError::new(self.at, format!("expected {wanted}, found {found}"), help)
    }
}

/// Returns true if arguments with this beginning are in Python syntax, rather than unquoted words.
pub(crate) fn is_structured(arguments: &str) -> bool {
    arguments.starts_with(['"', '\'', '[', '{']) || name_length(arguments).is_some()
}

/// The length of the name before a `=`.
fn name_length(text: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let first = text.chars().next()?;
    if !(first.is_alphabetic() || first == '_') {
        return None;
    }
    let length = text.find(|c| !is_part(c))?;
    let after = text[length..].trim_start();
    (after.starts_with('=') && !after.starts_with("==")).then_some(length)
}

/// The JSON form of a number in JSON or Python syntax.
fn number(word: &str) -> Option<String> {
    let plain = word.strip_prefix('+').unwrap_or(word);
    let signless = plain.strip_prefix('-').unwrap_or(plain);
    if !signless.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    // Python allows `1.`, `.5` and `1_000`, JSON does not.
    let full = if plain.ends_with('.') {
        format!("{plain}0")
    } else if signless.starts_with('.') {
        plain.replacen('.', "0.", 1)
    } else {
        plain.replace('_', "")
    };
    is_number(&full).then_some(full)
}

/// A text, escapes resolved, and the places of its bytes.
#[derive(Debug)]
pub(crate) struct PythonString {
    pub(crate) text: String,
    pub(crate) range: Range<usize>,
    runs: Vec<(usize, usize)>,
}

impl PythonString {
    /// The text in `range` of `source` without escapes.
    pub(crate) fn plain(source: &str, range: Range<usize>) -> Self {
        Self {
            text: source[range.clone()].to_owned(),
            runs: vec![(0, range.start)],
            range,
        }
    }

    /// The text whose opening quote is at byte `start`; `None` if it is not closed. A single quote closes it on its
    /// line, a triple quote anywhere.
    pub(crate) fn read(source: &str, start: usize) -> Option<Self> {
        let mark = &source[start..=start];
        let long = mark.repeat(3);
        let mark = if source[start..].starts_with(&long) {
            &long
        } else {
            mark
        };
        let mut quoted = Self {
            text: String::new(),
            range: start..start,
            runs: vec![(0, start + mark.len())],
        };
        let mut at = start + mark.len();
        loop {
            let rest = &source[at..];
            if rest.starts_with(mark) {
                quoted.range.end = at + mark.len();
                return Some(quoted);
            }
            let first = rest.chars().next()?;
            if first == '\n' && mark.len() == 1 {
                return None;
            }
            let (character, length) = match first {
                '\\' => escape(rest)?,
                _ => (Some(first), first.len_utf8()),
            };
            quoted.text.extend(character);
            at += length;
            // From here on, the text and its source differ in length.
            if character.is_none_or(|character| character.len_utf8() != length) {
                quoted.runs.push((quoted.text.len(), at));
            }
        }
    }

    pub(crate) fn offsets(&self) -> Offsets {
        let mut offsets = Offsets::plain(self.range.start, self.range.len());
        for (inner, outer) in &self.runs {
            offsets.push_run(*inner, *outer);
        }
        offsets
    }
}

/// The character of the escape at the start of `rest`, and its length; `None` at the end of the text. Python preserves
/// the backslash of an unknown escape.
fn escape(rest: &str) -> Option<(Option<char>, usize)> {
    let letter = rest[1..].chars().next()?;
    let simple = match letter {
        '\n' => return Some((None, 2)),
        '\\' | '\'' | '"' => letter,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '0' => '\0',
        'x' => return Some(code(rest, 2)),
        'u' => return Some(code(rest, 4)),
        'U' => return Some(code(rest, 8)),
        _ => return Some((Some('\\'), 1)),
    };
    Some((Some(simple), 2))
}

/// The character whose code is in `digits` digits after `\x`; the backslash if the code is invalid.
fn code(rest: &str, digit_count: usize) -> (Option<char>, usize) {
    let character = rest
        .get(2..2 + digit_count)
        .filter(|written| written.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|written| u32::from_str_radix(written, 16).ok())
        .and_then(char::from_u32);
    match character {
        Some(character) => (Some(character), 2 + digit_count),
        None => (Some('\\'), 1),
    }
}
