//! Numbers as JSON writes them.

use planwright_core::{Code, Diagnostic, Number};

use super::findings::quote;

/// Whether `text` is a number by the grammar of RFC 8259, section 6.
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

/// The number that `written` stands for, unless 64 bits cannot keep it.
pub(crate) fn kept_number(written: &str) -> Option<Number> {
    if !written.contains(['.', 'e', 'E']) && written != "-0" {
        let unsigned = written.parse::<u64>().ok().map(Number::from);
        return unsigned.or_else(|| written.parse::<i64>().ok().map(Number::from));
    }
    let number: f64 = written.parse().ok()?;
    let mantissa = written.split(['e', 'E']).next().unwrap_or_default();
    let vanished = number == 0.0 && mantissa.contains(|c: char| ('1'..='9').contains(&c));
    if vanished {
        return None;
    }
    Number::from_f64(number)
}

/// The first number in `json`, which is sound JSON, that 64 bits cannot keep.
pub(crate) fn unkept_number(json: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[at..];
        if let Some(text) = rest.strip_prefix('"') {
            rest = after_text(text);
            continue;
        }
        let (number, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        if kept_number(number).is_none() {
            return Some(number);
        }
        rest = after;
    }
    None
}

/// The finding about a number, as it was `written`, that 64 bits cannot keep.
pub(crate) fn number_out_of_range(written: &str) -> Diagnostic {
    let message = format!("the number {} does not fit into 64 bits", quote(written));
    let finding = Diagnostic::error(Code::NumberOutOfRange, message);
    finding.help("write it as text, or with fewer digits")
}

/// What follows a text in quotes, the first of which is gone already.
fn after_text(text: &str) -> &str {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return &text[at + 1..],
            '\\' => characters.next(),
            _ => None,
        };
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_kept_are_found() {
        let cases = [
            ("1", None),
            ("-0.5e3", None),
            ("18446744073709551615", None),
            ("18446744073709551616", Some("18446744073709551616")),
            ("[1, {\"a\": 1e400}]", Some("1e400")),
            ("{\"1e400\": \"\\\"1e400\"}", None),
            (
                "[\"\\\\\", -9223372036854775809, 1e400]",
                Some("-9223372036854775809"),
            ),
            ("[true, null, 1E-400]", Some("1E-400")),
        ];
        for (json, wanted) in cases {
            assert_eq!(unkept_number(json), wanted, "{json}");
        }
    }
}
