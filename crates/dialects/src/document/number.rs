//! Numbers as JSON writes them.

use planwright_core::{Code, Diagnostic};

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

/// The finding about a number, as it was `written`, that 64 bits cannot keep.
pub(crate) fn number_out_of_range(written: &str) -> Diagnostic {
    let message = format!("the number {} does not fit into 64 bits", quote(written));
    let finding = Diagnostic::error(Code::NumberOutOfRange, message);
    finding.help("write it as text, or with fewer digits")
}
