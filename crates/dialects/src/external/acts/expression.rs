//! Expressions `†kind.path["odd key"]`, `a || b`, `a && b`: the syntax of references and of output paths.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::Code;
use planwright_core::diagnostic::DiagnosticCounter;
use planwright_core::plan::{Keyword, SlotKind};

use super::context::{kind_words, slot_kind_of, word_for};
use crate::document::{nearest, quote};
use crate::lowering::path::{PathSegment, quoted, write_quoted_name};

/// The sign at the start of a reference.
pub(super) const SIGN: char = '†';

/// An operand, or several joined by an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActsExpression {
    /// The operator; without meaning for a single place.
    pub(super) operator: Operator,
    /// The places, at least one.
    pub(super) operands: Vec<Operand>,
}

/// An operator between places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `||`
    First,
    /// `&&`
    All,
}

/// A place in the data of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    /// The kind of data.
    pub(super) kind: SlotKind,
    /// The keys below the kind.
    pub(super) keys: Vec<Arc<str>>,
}

/// An error in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActsExpressionError {
    /// The bytes of the error.
    pub(super) range: Range<usize>,
    /// The code of the diagnostic.
    pub(super) code: Code,
    /// The message.
    pub(super) message: String,
    /// The advice.
    pub(super) help: String,
    /// The corrected text, if there is little doubt about it.
    pub(super) fix: Option<String>,
}

/// The maximum length of a text for which a correction is computed, because each error shows its correction in full.
const MAX_REPAIR_BYTES: usize = 200;

const FORM: &str = "a reference is a whole text such as `†state.user.name`; there are the kinds `input`, \
                    `state` and `data`, and `††` is a literal `†`";

/// Reads `text` as an expression; surrounding blanks do not count.
///
/// # Errors
///
/// All errors, up to a [limit](DiagnosticCounter::MAX_SHOWN).
pub(super) fn read(text: &str) -> Result<ActsExpression, Vec<ActsExpressionError>> {
    let (parts, operators) = split_operators(text);
    let operator = operators.first().copied().unwrap_or(Operator::First);
    // The original system defines no precedence.
    if operators.iter().any(|other| *other != operator) {
        return Err(vec![mixed_operators(text)]);
    }
    let mut operands = Vec::with_capacity(parts.len());
    let mut errors = Vec::new();
    for part in &parts {
        match operand(&text[part.clone()]) {
            Ok(operand) => operands.push(operand),
            Err(message) => errors.push((part.clone(), message)),
        }
        // Further errors would not be shown.
        if errors.len() > DiagnosticCounter::MAX_SHOWN {
            break;
        }
    }
    if errors.is_empty() {
        return Ok(ActsExpression { operator, operands });
    }
    let repair = if text.len() <= MAX_REPAIR_BYTES {
        repaired(text, &parts, operator)
    } else {
        None
    };
    Err(errors
        .into_iter()
        .map(|(range, message)| ActsExpressionError {
            range,
            code: Code::MalformedReference,
            message,
            help: match &repair {
                Some(repair) => format!("write `{}`", repair.text),
                None => FORM.to_owned(),
            },
            fix: repair
                .as_ref()
                .filter(|repair| !repair.is_guess)
                .map(|repair| repair.text.clone()),
        })
        .collect())
}

/// Returns true if `text` is an expression, valid or not: it begins with exactly one sign.
pub(super) fn is_meant(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(SIGN) && leading_signs(text) == 1
}

/// `text`, which is not an expression, with its escapes resolved.
///
/// # Errors
///
/// The bytes of the first sign that is not escaped.
pub(super) fn unescape(text: &str) -> Result<String, Range<usize>> {
    let mut literal = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find(SIGN) {
        let start = at + found;
        literal.push_str(&text[at..start]);
        let signs = leading_signs(&text[start..]);
        at = start + signs * SIGN.len_utf8();
        if !signs.is_multiple_of(2) {
            return Err(at - SIGN.len_utf8()..at);
        }
        literal.extend(std::iter::repeat_n(SIGN, signs / 2));
    }
    literal.push_str(&text[at..]);
    Ok(literal)
}

/// `text` escaped, so that it is literal.
pub(super) fn escape(text: &str) -> String {
    text.replace(SIGN, "††")
}

impl fmt::Display for ActsExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, operand) in self.operands.iter().enumerate() {
            if position > 0 {
                write!(f, " {} ", self.operator)?;
            }
            write!(f, "{operand}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "||",
            Self::All => "&&",
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = word_for(self.kind).unwrap_or(self.kind.as_str());
        write!(f, "{SIGN}{word}")?;
        for key in &self.keys {
            if is_plain(key) {
                write!(f, ".{key}")?;
            } else {
                f.write_str(&write_quoted_name(key))?;
            }
        }
        Ok(())
    }
}

/// Returns true if `key` can follow a dot.
pub(super) fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_key_char)
}

fn leading_signs(text: &str) -> usize {
    (text.len() - text.trim_start_matches(SIGN).len()) / SIGN.len_utf8()
}

/// The parts between the operators of `text`, without surrounding blanks, and the operators.
fn split_operators(text: &str) -> (Vec<Range<usize>>, Vec<Operator>) {
    let mut parts = Vec::new();
    let mut operators = Vec::new();
    let mut start = 0;
    while let Some((at, operator)) = next_operator(text, start) {
        parts.push(trimmed(text, start..at));
        operators.push(operator);
        start = at + 2;
    }
    parts.push(trimmed(text, start..text.len()));
    (parts, operators)
}

/// The next operator from `from` on outside of quoted keys.
fn next_operator(text: &str, from: usize) -> Option<(usize, Operator)> {
    let bytes = text.as_bytes();
    let mut is_quoted = false;
    let mut at = from;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'\\', ..] if is_quoted => at += 1,
            [b'"', ..] if is_quoted => is_quoted = false,
            _ if is_quoted => {}
            // Quoted keys may hold operators.
            [b'[', b'"', ..] => {
                is_quoted = true;
                at += 1;
            }
            [b'|', b'|', ..] => return Some((at, Operator::First)),
            [b'&', b'&', ..] => return Some((at, Operator::All)),
            _ => {}
        }
        at += 1;
    }
    None
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

fn mixed_operators(text: &str) -> ActsExpressionError {
    ActsExpressionError {
        range: trimmed(text, 0..text.len()),
        code: Code::MixedOperators,
        message: format!("{} mixes `||` and `&&`", quote(text.trim())),
        help: "their precedence is not defined: use one of them, and let another call do the rest"
            .to_owned(),
        fix: None,
    }
}

fn operand(part: &str) -> Result<Operand, String> {
    if part.is_empty() {
        return Err("an operand is missing".to_owned());
    }
    let Some(path) = part.strip_prefix(SIGN) else {
        return Err(format!("{} does not begin with `{SIGN}`", quote(part)));
    };
    if path.is_empty() {
        return Err(format!("a name is missing after `{SIGN}`"));
    }
    if path.starts_with(char::is_whitespace) {
        return Err(format!("a blank follows `{SIGN}`"));
    }
    let (word, mut rest) = name(part, path)?;
    let mut keys: Vec<Arc<str>> = Vec::new();
    while !rest.is_empty() {
        let key = if let Some(key) = rest.strip_prefix('.') {
            let (key, after) = name(part, key)?;
            rest = after;
            key.into()
        } else if rest.starts_with("[\"") {
            let (key, after) = quoted(&rest[1..])?;
            rest = after;
            match key {
                PathSegment::Name(key) => key.into(),
                PathSegment::Index(_) | PathSegment::Each | PathSegment::Star => {
                    return Err(unexpected_character('['));
                }
            }
        } else {
            // A name ends at `.` or `[` only, a quoted key at its bracket.
            let next = rest.chars().next().unwrap_or_default();
            return Err(match next {
                next if next.is_whitespace() => trailing_text(&part[..part.len() - rest.len()]),
                next => unexpected_character(next),
            });
        };
        keys.push(key);
    }
    match slot_kind_of(word) {
        Some(kind) => Ok(Operand { kind, keys }),
        None => Err(format!("{} is not a kind of data", quote(word))),
    }
}

/// The name at the start of `rest`, which is the end of `part`, and the text after it.
fn name<'a>(part: &str, rest: &'a str) -> Result<(&'a str, &'a str), String> {
    let (name, after) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
    if let Some(end) = name.find(char::is_whitespace) {
        return Err(trailing_text(&part[..part.len() - rest.len() + end]));
    }
    if let Some(character) = name.chars().find(|c| !is_key_char(*c)) {
        return Err(unexpected_character(character));
    }
    if name.is_empty() {
        return Err(format!("{} has an empty part", quote(part)));
    }
    Ok((name, after))
}

fn trailing_text(reference: &str) -> String {
    format!("text follows the reference {}", quote(reference))
}

fn unexpected_character(character: char) -> String {
    let character = quote(&character.to_string());
    format!("a reference cannot contain {character}")
}

/// Letters of every script, digits, and the characters that models use to join words.
fn is_key_char(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '$' | '@' | ':')
    } else {
        character != SIGN && !character.is_whitespace() && !character.is_control()
    }
}

struct Repair {
    text: String,
    is_guess: bool,
}

/// Returns the probable correction of the text, if that is an expression.
fn repaired(text: &str, parts: &[Range<usize>], operator: Operator) -> Option<Repair> {
    let mut is_guess = false;
    let mut operands = Vec::with_capacity(parts.len());
    for part in parts {
        let path = text[part.clone()].trim_start_matches(|c: char| c == SIGN || c.is_whitespace());
        let path = with_dots(path);
        let end = path.find('.').unwrap_or(path.len());
        let (word, keys) = path.split_at(end);
        let word = if slot_kind_of(word).is_some() {
            word
        } else {
            is_guess = true;
            nearest(word, kind_words())?
        };
        operands.push(operand(&format!("{SIGN}{word}{keys}")).ok()?);
    }
    let text = ActsExpression { operator, operands }.to_string();
    Some(Repair { text, is_guess })
}

/// `path` with `.0` in place of `[0]`.
fn with_dots(path: &str) -> String {
    let mut written = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('[') {
        written.push_str(before);
        let number = after.split_once(']').filter(|(number, _)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if let Some((number, after)) = number {
            written.extend([".", number]);
            rest = after;
        } else {
            written.push('[');
            rest = after;
        }
    }
    written.push_str(rest);
    written
}
