//! JSON numbers, and the detection of those that 64 bits cannot represent.

use super::Number;

/// Minimum number of digits of an integer that may exceed 64 bits.
const MIN_OVERSIZED_DIGITS: usize = 19;

/// Returns the number that the JSON number `written` stands for, or `None` if 64 bits cannot represent it.
pub fn exact_number(written: &str) -> Option<Number> {
    // `-0` has no integer representation that keeps its sign.
    if !written.contains(['.', 'e', 'E']) && written != "-0" {
        let unsigned = written.parse::<u64>().ok().map(Number::from);
        return unsigned.or_else(|| written.parse::<i64>().ok().map(Number::from));
    }
    let number: f64 = written.parse().ok()?;
    let mantissa = written.split(['e', 'E']).next().unwrap_or_default();
    // A number such as `1e-400` underflows to zero without an error.
    let vanished = number == 0.0 && mantissa.contains(|c: char| ('1'..='9').contains(&c));
    if vanished {
        return None;
    }
    Number::from_f64(number)
}

/// Returns the first number in the well-formed `json` that 64 bits cannot represent, so that parsing would round it.
pub fn first_inexact_number(json: &str) -> Option<&str> {
    first_unrepresentable(json, |_| true)
}

/// Returns the first number in `json` that satisfies `is_candidate` and that 64 bits cannot represent.
fn first_unrepresentable(json: &str, is_candidate: impl Fn(&str) -> bool) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[at..];
        if let Some(text) = rest.strip_prefix('"') {
            rest = after_text(text);
            continue;
        }
        let (number, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        if is_candidate(number) && exact_number(number).is_none() {
            return Some(number);
        }
        rest = after;
    }
    None
}

/// Returns the first integer in the well-formed `json` that does not fit into 64 bits. Without long runs of digits it
/// inspects only every 19th byte.
pub fn oversized_integer(json: &[u8]) -> Option<&str> {
    // A long enough run of digits covers at least one of these positions.
    let mut at = MIN_OVERSIZED_DIGITS - 1;
    while let Some(byte) = json.get(at) {
        if !byte.is_ascii_digit() {
            at += MIN_OVERSIZED_DIGITS;
            continue;
        }
        let (head, tail) = json.split_at(at);
        let run = |bytes: &mut dyn Iterator<Item = &u8>| {
            bytes.take_while(|byte| byte.is_ascii_digit()).count()
        };
        let before = run(&mut head.iter().rev());
        let after = run(&mut tail.iter());
        if before + after >= MIN_OVERSIZED_DIGITS {
            let text = std::str::from_utf8(json).ok()?;
            return first_unrepresentable(text, |number| !number.contains(['.', 'e', 'E']));
        }
        at += after.max(1) + MIN_OVERSIZED_DIGITS - 1;
    }
    None
}

/// Returns the rest after a quoted text whose opening quote was already consumed.
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
    fn unrepresentable_numbers_are_found() {
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
            assert_eq!(first_inexact_number(json), wanted, "{json}");
        }
    }

    #[test]
    fn oversized_integers_are_found() {
        let long = format!("[{}, 123456789012345678901]", "1, ".repeat(1000));
        let cases = [
            ("18446744073709551615", None),
            ("18446744073709551616", Some("18446744073709551616")),
            ("-9223372036854775808", None),
            (
                "{\"a\": [-9223372036854775809]}",
                Some("-9223372036854775809"),
            ),
            ("\"123456789012345678901234567890\"", None),
            ("0.123456789012345678901234567890", None),
            ("[1234567890123456789.5, 12345678901234567890123e2]", None),
            (
                "[\"12345678901234567890123\", 12345678901234567890123]",
                Some("12345678901234567890123"),
            ),
            (&long, Some("123456789012345678901")),
            ("", None),
        ];
        for (json, wanted) in cases {
            assert_eq!(oversized_integer(json.as_bytes()), wanted, "{json}");
        }
    }
}
