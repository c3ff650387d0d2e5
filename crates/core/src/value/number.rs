//! JSON numbers, and the detection of those that 64 bits cannot represent.

use super::Number;

/// Minimum number of adjacent digits in a number that 64 bits may not represent: the largest integers have 19 or 20.
const LONG_RUN: usize = 19;

/// Maximum number of digits of a decimal that a double always represents: writing the double gives the same digits again.
const SAFE_DIGITS: usize = 15;

/// Returns the number that the JSON number `written` stands for, or `None` if 64 bits cannot represent it.
pub fn exact_number(written: &str) -> Option<Number> {
    // `-0` has no integer representation that keeps its sign.
    if !written.contains(['.', 'e', 'E']) && written != "-0" {
        let unsigned = written.parse::<u64>().ok().map(Number::from);
        return unsigned.or_else(|| written.parse::<i64>().ok().map(Number::from));
    }
    let number = written.parse().ok().and_then(Number::from_f64)?;
    // The usual case, without an exponent.
    if written.len() <= SAFE_DIGITS && !written.contains(['e', 'E']) {
        return Some(number);
    }
    // A double can underflow to zero, and has about 16 digits; the number must be written again unchanged.
    (Decimal::of(written) == Decimal::of(&number.to_string())).then_some(number)
}

/// The value of a JSON number, apart from its sign: `0.{digits}` times ten to the power of `exponent`.
#[derive(PartialEq)]
struct Decimal {
    /// The digits without zeros at either end.
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Returns the value of `written`; `None` if its exponent exceeds 64 bits.
    fn of(written: &str) -> Option<Self> {
        let (mantissa, exponent) = written.split_once(['e', 'E']).unwrap_or((written, "0"));
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self {
                digits: String::new(),
                exponent: 0,
            });
        }
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let shift = i64::try_from(whole.len()).ok()?.checked_sub(zeros)?;
        Some(Self {
            digits: significant.trim_end_matches('0').to_owned(),
            exponent: exponent.parse::<i64>().ok()?.checked_add(shift)?,
        })
    }
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
    long_numbers(json).and_then(|text| first_unrepresentable(text, |number| !is_decimal(number)))
}

/// Returns the first decimal in the well-formed `json` that has a run of at least 19 digits and that a double rounds. Without
/// such runs it inspects only every 19th byte. Shorter runs are not searched: with up to 17 digits each double has a
/// decimal that stands for it.
pub fn rounded_decimal(json: &[u8]) -> Option<&str> {
    long_numbers(json).and_then(|text| first_unrepresentable(text, is_decimal))
}

fn is_decimal(number: &str) -> bool {
    number.contains(['.', 'e', 'E'])
}

/// Returns `json` as text if it has a run of at least 19 digits.
fn long_numbers(json: &[u8]) -> Option<&str> {
    // A long enough run of digits covers at least one of these positions.
    let mut at = LONG_RUN - 1;
    while let Some(byte) = json.get(at) {
        if !byte.is_ascii_digit() {
            at += LONG_RUN;
            continue;
        }
        let (head, tail) = json.split_at(at);
        let run = |bytes: &mut dyn Iterator<Item = &u8>| {
            bytes.take_while(|byte| byte.is_ascii_digit()).count()
        };
        let before = run(&mut head.iter().rev());
        let after = run(&mut tail.iter());
        if before + after >= LONG_RUN {
            return std::str::from_utf8(json).ok();
        }
        at += after.max(1) + LONG_RUN - 1;
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
            ("[0.1, 1.0, -0.0, -0, 1E5, 1e+5, 0e9, 100e-2, 1.10]", None),
            (
                "[5e-324, 1.7976931348623157e308, 123456789012345680000.0]",
                None,
            ),
            (
                "0.1000000000000000055511151231257827",
                Some("0.1000000000000000055511151231257827"),
            ),
            (
                "[1, 3.14159265358979323846]",
                Some("3.14159265358979323846"),
            ),
            ("12345678901234567890.5", Some("12345678901234567890.5")),
            ("1e99999999999999999999", Some("1e99999999999999999999")),
            ("0.5000000000000000000000000000000000000000", None),
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

    #[test]
    fn rounded_decimals_are_found() {
        let cases = [
            ("[1.5, 0.30000000000000004]", None),
            ("18446744073709551616", None),
            ("0.5000000000000000000000000000000000000000", None),
            (
                "{\"pi\": 3.14159265358979323846}",
                Some("3.14159265358979323846"),
            ),
            ("\"3.14159265358979323846\"", None),
        ];
        for (json, wanted) in cases {
            assert_eq!(rounded_decimal(json.as_bytes()), wanted, "{json}");
        }
    }
}
