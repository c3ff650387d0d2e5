//! The lexer: a cursor that reads names, numbers and quoted text.

use crate::expression::{ExpressionError, MAX_EXPRESSION_DEPTH, function};
use crate::{Number, Value};

/// A position in a text, with the nesting depth.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    nested: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            nested: 0,
        }
    }

    /// Enters a nested expression, up to the maximum depth.
    pub(super) fn enter(&mut self) -> Result<(), ExpressionError> {
        self.nested += 1;
        if self.nested > MAX_EXPRESSION_DEPTH {
            return Err(ExpressionError::too_large(
                format!("the expression is nested more than {MAX_EXPRESSION_DEPTH} levels deep"),
                self.at,
            ));
        }
        Ok(())
    }

    /// Leaves a nested expression.
    pub(super) fn leave(&mut self) {
        self.nested = self.nested.saturating_sub(1);
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<char> {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.rest().chars().next(),
            None => None,
        }
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    #[inline]
    pub(super) fn skip_space(&mut self) {
        // The usual case: a visible ASCII character, which begins no comment.
        let next = self.text.as_bytes().get(self.at);
        if !next.is_some_and(|next| next.is_ascii_graphic() && *next != b'/') {
            self.skip_blanks();
        }
    }

    fn skip_blanks(&mut self) {
        // Most runs of blanks are a single one before a visible ASCII character.
        while let Some(next) = self.text.as_bytes().get(self.at) {
            match next {
                b' ' => self.at += 1,
                b'/' => break,
                b'!'..=b'~' => return,
                _ => break,
            }
        }
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            // A CEL comment extends to the end of its line.
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Consumes `sign` if it comes next.
    #[inline]
    pub(super) fn take(&mut self, sign: &str) -> bool {
        let found = self.is_at(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    /// Returns true if `sign` comes next.
    #[inline]
    pub(super) fn is_at(&self, sign: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        // Most operators differ in their first character, and most have only one.
        rest.first() == sign.as_bytes().first()
            && (sign.len() == 1 || rest.starts_with(sign.as_bytes()))
    }

    /// Consumes any whitespace, and returns true if an operand ends here: no operator follows.
    pub(super) fn ends_operand(&mut self) -> bool {
        self.skip_space();
        let next = self.text.as_bytes().get(self.at);
        next.is_none_or(|next| matches!(next, b')' | b',' | b']' | b'}' | b':'))
    }

    /// Consumes `sign` and any whitespace before it.
    #[inline]
    pub(super) fn take_spaced(&mut self, sign: &str) -> bool {
        self.skip_space();
        self.take(sign)
    }

    /// Consumes any whitespace, and returns true if `sign` comes next.
    pub(super) fn is_spaced(&mut self, sign: &str) -> bool {
        self.skip_space();
        self.is_at(sign)
    }

    /// Consumes `sign`, or returns an error that it is missing.
    pub(super) fn expect(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.take_spaced(sign) {
            return Ok(());
        }
        Err(self.unexpected(&format!("expected `{sign}`")))
    }

    /// Returns an error about the next character.
    pub(super) fn unexpected(&self, expected: &str) -> ExpressionError {
        let message = match self.peek() {
            Some(found) => format!("{expected}, found `{found}`"),
            None => format!("{expected}, found the end"),
        };
        let error = ExpressionError::new(message, self.at);
        match function::foreign_text(self.rest()) {
            Some(hint) => error.help(hint),
            None => error,
        }
    }

    /// Returns true if a number that begins with its decimal point comes next.
    pub(super) fn is_at_fraction(&self) -> bool {
        let mut letters = self.rest().chars();
        letters.next() == Some('.') && letters.next().is_some_and(|next| next.is_ascii_digit())
    }

    /// Consumes the opening bracket of a call and any whitespace before it.
    pub(super) fn take_call(&mut self) -> bool {
        let start = self.at;
        let found = self.take_spaced("(");
        if !found {
            // Whitespace belongs to the call only if the bracket follows.
            self.at = start;
        }
        found
    }

    /// Consumes a name or a path segment: letters and digits of any script, `_`, and hyphens between them.
    pub(super) fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let length = name_length(rest);
        self.at += length;
        rest.get(..length).filter(|name| !name.is_empty())
    }

    /// Parses an unsigned number, which may begin with its decimal point.
    pub(super) fn number(&mut self) -> Result<Value, ExpressionError> {
        let start = self.at;
        let rest = self.rest();
        // CEL has hexadecimal integers.
        if let Some(digits) = rest.strip_prefix("0x") {
            let length = digits
                .find(|letter: char| !letter.is_ascii_hexdigit())
                .unwrap_or(digits.len());
            self.at += 2 + length;
            self.skip_unsigned_suffix();
            self.end_of_number(start)?;
            return u64::from_str_radix(digits.get(..length).unwrap_or_default(), 16)
                .map(Value::from)
                .map_err(|_| bad_number(start));
        }
        let mut scan = rest.chars().peekable();
        let mut length = 0;
        let digits = |scan: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut count = 0;
            while scan.next_if(char::is_ascii_digit).is_some() {
                count += 1;
            }
            count
        };
        length += digits(&mut scan);
        let mut is_whole = true;
        let mut ahead = scan.clone();
        if ahead.next() == Some('.') {
            let count = digits(&mut ahead);
            // `1.` is not a number: the point begins an accessor.
            if count > 0 {
                length += 1 + count;
                is_whole = false;
                scan = ahead;
            }
        }
        let mut ahead = scan.clone();
        if matches!(ahead.next(), Some('e' | 'E')) {
            let sign = usize::from(ahead.next_if(|sign| matches!(sign, '+' | '-')).is_some());
            let count = digits(&mut ahead);
            if count > 0 {
                length += 1 + sign + count;
                is_whole = false;
            }
        }
        let written = rest.get(..length).unwrap_or_default();
        self.at += length;
        if is_whole {
            self.skip_unsigned_suffix();
        }
        self.end_of_number(start)?;
        if is_whole && let Ok(number) = written.parse::<u64>() {
            return Ok(number.into());
        }
        written
            .parse::<f64>()
            .ok()
            .filter(|_| !is_whole)
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| bad_number(start))
    }

    /// Skips the suffix of an unsigned CEL number: `1u` equals `1`.
    fn skip_unsigned_suffix(&mut self) {
        let _ = self.take("u") || self.take("U");
    }

    fn end_of_number(&self, start: usize) -> Result<(), ExpressionError> {
        match self.peek() {
            Some(letter) if letter.is_alphanumeric() || letter == '_' => {
                // The id of a step may begin with a digit, as in `1st`.
                let rest = self.text.get(start..).unwrap_or_default();
                let name = rest.get(..name_length(rest)).unwrap_or_default();
                let message = format!("the name `{name}` begins with a digit");
                Err(ExpressionError::new(message, start)
                    .help(format!("write `steps['{name}']` for the step of that name")))
            }
            _ => Ok(()),
        }
    }

    /// Parses a quoted text. The caller consumes the `r` of `r"…"` and sets `is_raw`.
    pub(super) fn quoted(&mut self, is_raw: bool) -> Result<String, ExpressionError> {
        let start = self.at;
        let unclosed = || ExpressionError::new("the quoted text does not end", start);
        let Some(quote) = self.bump() else {
            return Err(unclosed());
        };
        let triple = if quote == '"' { "\"\"" } else { "''" };
        // Two quotes that no triple quote follows are an empty text.
        let is_triple = self.rest().starts_with(triple)
            && (self
                .rest()
                .get(2..)
                .is_some_and(|rest| rest.contains(&format!("{quote}{triple}"))));
        if is_triple {
            self.at += 2;
        }
        // The usual case: no escape comes before the quote that ends the text.
        if !is_triple
            && let Some((plain, _)) = self.rest().split_once(quote)
            && (is_raw || !plain.contains('\\'))
        {
            self.at += plain.len() + quote.len_utf8();
            return Ok(plain.to_owned());
        }
        let mut text = String::new();
        loop {
            let at = self.at;
            match self.bump().ok_or_else(unclosed)? {
                letter if letter == quote && (!is_triple || self.take(triple)) => {
                    return Ok(text);
                }
                '\\' if !is_raw => text.push(self.escape(at)?),
                letter => text.push(letter),
            }
        }
    }

    fn escape(&mut self, start: usize) -> Result<char, ExpressionError> {
        let unknown = || ExpressionError::new("the escape is not a character", start);
        let letter = match self.bump().ok_or_else(unknown)? {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            same @ ('\\' | '/' | '"' | '\'' | '`' | '?') => same,
            'x' | 'X' => {
                return self
                    .code(2, 16)
                    .and_then(char::from_u32)
                    .ok_or_else(unknown);
            }
            'U' => {
                return self
                    .code(8, 16)
                    .and_then(char::from_u32)
                    .ok_or_else(unknown);
            }
            'u' => {
                let first = self.code(4, 16).ok_or_else(unknown)?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first).ok_or_else(unknown);
                }
                // JSON escapes characters beyond 16 bits as a surrogate pair.
                let second = if self.take("\\u") {
                    self.code(4, 16)
                } else {
                    None
                };
                let low = second
                    .filter(|second| (0xdc00..0xe000).contains(second))
                    .ok_or_else(unknown)?;
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(code).ok_or_else(unknown);
            }
            // CEL has three-digit octal escapes.
            '0'..='3' => {
                self.at -= 1;
                return self.code(3, 8).and_then(char::from_u32).ok_or_else(unknown);
            }
            _ => return Err(unknown()),
        };
        Ok(letter)
    }

    fn code(&mut self, length: usize, radix: u32) -> Option<u32> {
        let digits = self.rest().get(..length)?;
        if !digits.chars().all(|digit| digit.is_digit(radix)) {
            return None;
        }
        self.at += length;
        u32::from_str_radix(digits, radix).ok()
    }
}

/// True for the bytes of ASCII letters and digits, and of `_`.
#[allow(
    clippy::indexing_slicing,
    reason = "a byte is a position in the table, which is filled by the compiler"
)]
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    table
};

/// Returns the length in bytes of the name at the start of `text`; 0 if there is none.
pub(in crate::expression) fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    // The usual case: a name of ASCII letters and digits, before a sign.
    let mut plain = 0;
    while let Some(byte) = bytes.get(plain)
        && PLAIN.get(usize::from(*byte)) == Some(&true)
    {
        plain += 1;
    }
    if bytes
        .get(plain)
        .is_none_or(|next| next.is_ascii() && *next != b'-')
    {
        return plain;
    }
    let mut length = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let follows = letters
            .peek()
            .is_some_and(|(_, next)| is_name_letter(*next));
        if is_name_letter(letter) || (letter == '-' && length > 0 && follows) {
            length = at + letter.len_utf8();
        } else {
            break;
        }
    }
    length
}

fn is_name_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn bad_number(at: usize) -> ExpressionError {
    ExpressionError::new("the number is malformed or too large", at)
}

/// Returns true if `name` can be a loop variable: no hyphen, no leading digit, no keyword.
pub(super) fn plain_name(name: &str) -> bool {
    !name.contains('-')
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && !["true", "false", "null", "in"].contains(&name)
}
