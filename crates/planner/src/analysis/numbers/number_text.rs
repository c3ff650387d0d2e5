//! Parses numbers in texts: `1,200.50`, `1.234,56 €`, `($5.00)`, `5 kg`, `12 %`.

use super::amount::Decimal;
use super::unit::{currency, leading_currency, magnitude, magnitude_word, unit_of};

/// The longest text that is parsed, in bytes.
const MAX_LENGTH: usize = 60;

/// A number parsed from a text, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParsedNumber {
    pub(crate) digits: ParsedDigits,
    /// The currency or unit beside the number.
    pub(crate) unit: Option<&'static str>,
}

/// The value of digits and separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParsedDigits {
    /// A single number, with its decimal point and its grouping separator.
    Unambiguous {
        number: Decimal,
        point: Option<char>,
        grouping: Option<char>,
    },
    /// `1,234` or `1.234`: the separator either groups digits or is the decimal point.
    Ambiguous {
        sign: char,
        as_grouped: Decimal,
        as_decimal: Decimal,
    },
}

impl ParsedDigits {
    fn unambiguous(number: Decimal, point: Option<char>, grouping: Option<char>) -> Self {
        Self::Unambiguous {
            number,
            point,
            grouping,
        }
    }
}

/// The separators that the numbers of a field use as decimal point and for grouping.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeparatorConvention {
    is_point: [bool; 2],
    is_grouping: [bool; 2],
}

/// The separators that can be either.
const SIGNS: [char; 2] = ['.', ','];

impl SeparatorConvention {
    /// Collects the separators of the unambiguous numbers.
    pub(crate) fn of<'a>(all: impl Iterator<Item = &'a ParsedNumber>) -> Self {
        let mut convention = Self::default();
        for parsed in all {
            let ParsedDigits::Unambiguous {
                point, grouping, ..
            } = parsed.digits
            else {
                continue;
            };
            for (at, sign) in SIGNS.into_iter().enumerate() {
                convention.is_point[at] |= point == Some(sign);
                convention.is_grouping[at] |= grouping == Some(sign);
            }
        }
        convention
    }

    /// Resolves a number by the convention of its field; `None` if it stays ambiguous.
    ///
    /// Without evidence, a comma before three digits groups them, and a point stays ambiguous.
    pub(crate) fn resolve(self, parsed: &ParsedNumber) -> Option<Decimal> {
        let (sign, as_grouped, as_decimal) = match parsed.digits {
            ParsedDigits::Unambiguous { number, .. } => return Some(number),
            ParsedDigits::Ambiguous {
                sign,
                as_grouped,
                as_decimal,
            } => (sign, as_grouped, as_decimal),
        };
        let (own, other) = if sign == '.' { (0, 1) } else { (1, 0) };
        let is_point = self.is_point[own] || self.is_grouping[other];
        let is_grouping = self.is_grouping[own] || self.is_point[other];
        match (is_point, is_grouping) {
            (true, true) => None,
            (true, false) => Some(as_decimal),
            (false, true) => Some(as_grouped),
            (false, false) => (sign == ',').then_some(as_grouped),
        }
    }
}

/// Returns true if a text is a number with an optional currency or unit.
pub(crate) fn is_number_text(text: &str) -> bool {
    parse_number(text).is_some()
}

/// Parses a text that is a number with an optional currency or unit.
pub(crate) fn parse_number(text: &str) -> Option<ParsedNumber> {
    let text = text.trim();
    if MAX_LENGTH < text.len() || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Accounting writes negative numbers in parentheses or with the sign at the end.
    let accounting = in_parentheses(text).or_else(|| text.strip_suffix(['-', '−']));
    let (mut is_negative, text) = match accounting {
        Some(inside) => (true, inside.trim()),
        None => (false, text),
    };
    let sign = |text: &mut &str| {
        let found = text.strip_prefix(['-', '−', '+']);
        let is_minus = found.is_some() && !text.starts_with('+');
        *text = found.unwrap_or(*text).trim_start();
        (found.is_some(), is_minus)
    };
    let mut rest = text;
    let (has_sign, is_minus) = sign(&mut rest);
    let before = leading_currency(rest);
    rest = before.map_or(rest, |(_, rest)| rest.trim_start());
    let (has_other, is_other_minus) = sign(&mut rest);
    if has_sign && has_other || is_negative && (has_sign || has_other) {
        return None;
    }
    if let Some(inside) = in_parentheses(rest).filter(|_| before.is_some()) {
        if is_negative || has_sign || has_other {
            return None;
        }
        is_negative = true;
        rest = inside.trim();
    }
    is_negative |= is_minus || is_other_minus;
    let (digits, after) = split_digits(rest);
    // `+49 170 123` is a phone number.
    if text.starts_with('+') && digits.contains(is_space) {
        return None;
    }
    let power = exponent(digits, after).filter(|_| before.is_none());
    let after = if power.is_some() { "" } else { after };
    let (money, scale, unit) = suffix(before.map(|(currency, _)| currency), after)?;
    let is_bare = money.is_none() && unit.is_none() && !has_sign;
    let parsed = match power {
        Some(number) => ParsedDigits::unambiguous(number, None, None),
        None => parse_digits(digits, is_bare)?,
    };
    let adjust = |number: Decimal| {
        let number = number.shifted(scale)?;
        if is_negative {
            Decimal::new(0, 0).minus(number)
        } else {
            Some(number)
        }
    };
    let digits = match parsed {
        ParsedDigits::Unambiguous {
            number,
            point,
            grouping,
        } => ParsedDigits::unambiguous(adjust(number)?, point, grouping),
        // A magnitude follows few digits: `1.234M` has a decimal point.
        ParsedDigits::Ambiguous {
            sign, as_decimal, ..
        } if scale != 0 => ParsedDigits::unambiguous(adjust(as_decimal)?, Some(sign), None),
        ParsedDigits::Ambiguous {
            sign,
            as_grouped,
            as_decimal,
        } => ParsedDigits::Ambiguous {
            sign,
            as_grouped: adjust(as_grouped)?,
            as_decimal: adjust(as_decimal)?,
        },
    };
    let unit = money.or(unit);
    Some(ParsedNumber { digits, unit })
}

fn in_parentheses(text: &str) -> Option<&str> {
    text.strip_prefix('(')?.strip_suffix(')')
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Splits a text after its digits and separators.
fn split_digits(text: &str) -> (&str, &str) {
    let is_inside =
        |letter: char| letter.is_ascii_digit() || ".,'’_".contains(letter) || is_space(letter);
    let end = text.find(|letter| !is_inside(letter)).unwrap_or(text.len());
    let digits = text[..end].trim_end_matches(is_space);
    (digits, &text[digits.len()..])
}

/// Parses `e5` after digits whose only separator is a point, the notation of programs.
fn exponent(digits: &str, after: &str) -> Option<Decimal> {
    let power = after.strip_prefix(['e', 'E'])?;
    let number = power.trim_start_matches(['+', '-']);
    let is_power =
        (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    is_power.then(|| Decimal::parse(&format!("{digits}{after}")))?
}

/// The currency, the power of ten, and the unit after the digits.
type Suffix = (Option<&'static str>, i32, Option<&'static str>);

/// Parses the text after the digits; `None` if it is not a currency, a magnitude, or a unit.
fn suffix(money: Option<&'static str>, after: &str) -> Option<Suffix> {
    let is_adjacent = !after.starts_with(is_space);
    let word = after.trim_start_matches(is_space);
    if word.is_empty() {
        return Some((money, 0, None));
    }
    if let Some(currency) = currency(word) {
        return match money {
            // A code makes an ambiguous symbol precise: `$5 CAD`.
            None | Some("$" | "¥" | "kr") => Some((Some(currency), 0, None)),
            Some(before) => (before == currency).then_some((money, 0, None)),
        };
    }
    let (first, rest) = word.split_once(is_space).unwrap_or((word, ""));
    let after_magnitude = rest.trim_start_matches(is_space);
    let currency = if after_magnitude.is_empty() {
        money
    } else {
        currency(after_magnitude).filter(|_| money.is_none())
    };
    if let (Some(currency), Some(power)) = (currency, magnitude(first)) {
        return Some((Some(currency), power, None));
    }
    if let (None, Some(power)) = (money, magnitude_word(word)) {
        return Some((None, power, None));
    }
    let unit = unit_of(word, is_adjacent).filter(|_| money.is_none())?;
    Some((None, 0, Some(unit)))
}

/// Parses digits and separators; `None` if they are not a number.
fn parse_digits(digits: &str, is_bare: bool) -> Option<ParsedDigits> {
    let is_edged = |text: &str| {
        text.starts_with(|letter: char| letter.is_ascii_digit())
            && text.ends_with(|letter: char| letter.is_ascii_digit())
    };
    if !is_edged(digits) {
        // `.5`
        let fraction = digits.strip_prefix('.')?;
        let number = Decimal::parse(&format!("0.{fraction}"))?;
        return Some(ParsedDigits::unambiguous(number, Some('.'), None));
    }
    let last = digits.rfind(['.', ',']);
    let sign = last.and_then(|at| digits[at..].chars().next());
    let (Some(at), Some(sign)) = (last, sign) else {
        let (number, grouping) = whole(digits, is_bare)?;
        return Some(ParsedDigits::unambiguous(
            Decimal::parse(&number)?,
            None,
            grouping,
        ));
    };
    let (before, fraction) = (&digits[..at], &digits[at + 1..]);
    if before.contains(sign) {
        // A repeated separator groups digits.
        let (number, grouping) = whole(digits, false)?;
        return Some(ParsedDigits::unambiguous(
            Decimal::parse(&number)?,
            None,
            grouping,
        ));
    }
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (number, grouping) = whole(before, false)?;
    if is_bare && has_leading_zero(&number) {
        return None;
    }
    let as_decimal = Decimal::parse(&format!("{number}.{fraction}"))?;
    // Only a single separator before exactly three digits is ambiguous.
    let may_group =
        grouping.is_none() && fraction.len() == 3 && number.len() <= 3 && !number.starts_with('0');
    if may_group {
        let as_grouped = Decimal::parse(&format!("{number}{fraction}"))?;
        return Some(ParsedDigits::Ambiguous {
            sign,
            as_grouped,
            as_decimal,
        });
    }
    Some(ParsedDigits::unambiguous(as_decimal, Some(sign), grouping))
}

fn has_leading_zero(digits: &str) -> bool {
    1 < digits.len() && digits.starts_with('0')
}

/// Parses the integer part, and returns its digits and grouping separator. Codes such as `007` are not numbers.
fn whole(text: &str, is_bare: bool) -> Option<(String, Option<char>)> {
    let Some(at) = text.find(|letter: char| !letter.is_ascii_digit()) else {
        let is_code = is_bare && has_leading_zero(text);
        return (!is_code).then(|| (text.to_owned(), None));
    };
    let sign = text[at..].chars().next()?;
    let groups: Vec<&str> = text.split(sign).collect();
    let is_digits =
        |group: &&str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let (first, others) = groups.split_first()?;
    let (last, middle) = others.split_last()?;
    // `12,34,567` is Indian grouping.
    let is_regular = middle.iter().all(|group| group.len() == 3)
        || sign == ',' && middle.iter().all(|group| group.len() == 2) && first.len() <= 2;
    // An IPv4 address is not a grouped number.
    let is_octet = |group: &&str| group.parse::<u8>().is_ok();
    if sign == '.' && groups.len() == 4 && groups.iter().all(is_octet) {
        return None;
    }
    let is_grouped = groups.iter().all(is_digits)
        && last.len() == 3
        && first.len() <= 3
        && is_regular
        && !has_leading_zero(first);
    is_grouped.then(|| (groups.concat(), Some(sign)))
}
