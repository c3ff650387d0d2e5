//! Numbers in texts: `1,200.50`, `1.234,56 €`, `($5.00)`, `5 kg`, `12 %`.

use super::decimal::Decimal;
use super::unit;

/// The longest text that is looked at, in bytes.
const MAX_LENGTH: usize = 60;

/// A number as a text writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) reading: Reading,
    /// The currency or unit beside it.
    pub(super) unit: Option<&'static str>,
}

/// What the digits and separators of a number say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// One number, with the separators that show which sign is which.
    Clear {
        number: Decimal,
        point: Option<char>,
        grouping: Option<char>,
    },
    /// `1,234` or `1.234`: one number if the sign groups digits, another one if it is the decimal point.
    Unclear {
        sign: char,
        grouped: Decimal,
        pointed: Decimal,
    },
}

/// Which signs the numbers of a field use as decimal points, and which to group digits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Convention {
    is_point: [bool; 2],
    is_grouping: [bool; 2],
}

/// The two signs that are either.
const SIGNS: [char; 2] = ['.', ','];

impl Convention {
    /// The signs that clear readings use.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Written>) -> Self {
        let mut convention = Self::default();
        for written in all {
            let Reading::Clear {
                point, grouping, ..
            } = written.reading
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

    /// The number that a text means among its neighbours; `None` if it may be either of two.
    ///
    /// Without any neighbour that tells, a comma before three digits groups them, and a point may do either.
    pub(super) fn resolve(self, written: &Written) -> Option<Decimal> {
        let (sign, grouped, pointed) = match written.reading {
            Reading::Clear { number, .. } => return Some(number),
            Reading::Unclear {
                sign,
                grouped,
                pointed,
            } => (sign, grouped, pointed),
        };
        let (own, other) = if sign == '.' { (0, 1) } else { (1, 0) };
        let is_point = self.is_point[own] || self.is_grouping[other];
        let is_grouping = self.is_grouping[own] || self.is_point[other];
        match (is_point, is_grouping) {
            (true, true) => None,
            (true, false) => Some(pointed),
            (false, true) => Some(grouped),
            (false, false) => (sign == ',').then_some(grouped),
        }
    }
}

/// The number that a text is, with its currency or unit.
pub(super) fn read(text: &str) -> Option<Written> {
    let text = text.trim();
    if MAX_LENGTH < text.len() || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (mut is_negative, text) = match text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    {
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
    let before = unit::leading_currency(rest);
    rest = before.map_or(rest, |(_, rest)| rest.trim_start());
    let (has_other, is_other_minus) = sign(&mut rest);
    if has_sign && has_other || is_negative && (has_sign || has_other) {
        return None;
    }
    is_negative |= is_minus || is_other_minus;
    let (digits, behind) = split_digits(rest);
    // A phone number: `+49 170 123`.
    if text.starts_with('+') && digits.contains(is_space) {
        return None;
    }
    let power = exponent(digits, behind).filter(|_| before.is_none());
    let behind = if power.is_some() { "" } else { behind };
    let (money, scale, unit) = suffix(before.map(|(currency, _)| currency), behind)?;
    let is_bare = money.is_none() && unit.is_none() && !has_sign;
    let reading = match power {
        Some(number) => Reading::Clear {
            number,
            point: None,
            grouping: None,
        },
        None => reading(digits, is_bare)?,
    };
    let adjust = |number: Decimal| {
        let number = number.moved(scale)?;
        if is_negative {
            Decimal::new(0, 0).minus(number)
        } else {
            Some(number)
        }
    };
    let reading = match reading {
        Reading::Clear {
            number,
            point,
            grouping,
        } => Reading::Clear {
            number: adjust(number)?,
            point,
            grouping,
        },
        // A magnitude stands behind few digits: `1.234M` has a decimal point.
        Reading::Unclear { sign, pointed, .. } if scale != 0 => Reading::Clear {
            number: adjust(pointed)?,
            point: Some(sign),
            grouping: None,
        },
        Reading::Unclear {
            sign,
            grouped,
            pointed,
        } => Reading::Unclear {
            sign,
            grouped: adjust(grouped)?,
            pointed: adjust(pointed)?,
        },
    };
    Some(Written {
        reading,
        unit: money.or(unit),
    })
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Digits with the separators between them, and what stands behind them.
fn split_digits(text: &str) -> (&str, &str) {
    let is_inside =
        |letter: char| letter.is_ascii_digit() || ".,'’_".contains(letter) || is_space(letter);
    let end = text.find(|letter| !is_inside(letter)).unwrap_or(text.len());
    let digits = text[..end].trim_end_matches(is_space);
    (digits, &text[digits.len()..])
}

/// `e5` behind digits with a point as their only separator, such as programs write numbers.
fn exponent(digits: &str, behind: &str) -> Option<Decimal> {
    let power = behind.strip_prefix(['e', 'E'])?;
    let number = power.trim_start_matches(['+', '-']);
    let is_power =
        (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    is_power.then(|| Decimal::parse(&format!("{digits}{behind}")))?
}

type Suffix = (Option<&'static str>, i32, Option<&'static str>);

/// What stands behind the digits: the currency, the power of ten and the unit. `None` if it is anything else.
fn suffix(money: Option<&'static str>, behind: &str) -> Option<Suffix> {
    let touches = !behind.starts_with(is_space);
    let word = behind.trim_start_matches(is_space);
    if word.is_empty() {
        return Some((money, 0, None));
    }
    if let Some(currency) = unit::currency(word) {
        return match money {
            None | Some("$" | "¥" | "kr") => Some((Some(currency), 0, None)),
            Some(before) => (before == currency).then_some((money, 0, None)),
        };
    }
    let (first, rest) = word.split_once(is_space).unwrap_or((word, ""));
    let behind_it = rest.trim_start_matches(is_space);
    let currency = if behind_it.is_empty() {
        money
    } else {
        unit::currency(behind_it).filter(|_| money.is_none())
    };
    if let (Some(currency), Some(power)) = (currency, unit::magnitude(first)) {
        return Some((Some(currency), power, None));
    }
    let unit = unit::unit(word, touches).filter(|_| money.is_none())?;
    Some((None, 0, Some(unit)))
}

/// What digits and separators say; `None` if they are no number.
fn reading(digits: &str, is_bare: bool) -> Option<Reading> {
    let is_edged = |text: &str| {
        text.starts_with(|letter: char| letter.is_ascii_digit())
            && text.ends_with(|letter: char| letter.is_ascii_digit())
    };
    if !is_edged(digits) {
        // `.5`
        let fraction = digits.strip_prefix('.')?;
        let number = Decimal::parse(&format!("0.{fraction}"))?;
        return Some(Reading::Clear {
            number,
            point: Some('.'),
            grouping: None,
        });
    }
    let last = digits.rfind(['.', ',']);
    let sign = last.and_then(|at| digits[at..].chars().next());
    let (Some(at), Some(sign)) = (last, sign) else {
        let (number, grouping) = whole(digits, is_bare)?;
        return Some(Reading::Clear {
            number: Decimal::parse(&number)?,
            point: None,
            grouping,
        });
    };
    let (before, fraction) = (&digits[..at], &digits[at + 1..]);
    if before.contains(sign) {
        // The sign comes several times, so it groups.
        let (number, grouping) = whole(digits, false)?;
        return Some(Reading::Clear {
            number: Decimal::parse(&number)?,
            point: None,
            grouping,
        });
    }
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (number, grouping) = whole(before, false)?;
    if is_bare && has_leading_zero(&number) {
        return None;
    }
    let pointed = Decimal::parse(&format!("{number}.{fraction}"))?;
    let may_group =
        grouping.is_none() && fraction.len() == 3 && number.len() <= 3 && !number.starts_with('0');
    if may_group {
        let grouped = Decimal::parse(&format!("{number}{fraction}"))?;
        return Some(Reading::Unclear {
            sign,
            grouped,
            pointed,
        });
    }
    Some(Reading::Clear {
        number: pointed,
        point: Some(sign),
        grouping,
    })
}

fn has_leading_zero(digits: &str) -> bool {
    1 < digits.len() && digits.starts_with('0')
}

/// The digits of a whole number, and the sign that groups them. Those of a code, such as `007`, are none.
fn whole(text: &str, is_bare: bool) -> Option<(String, Option<char>)> {
    let Some(at) = text.find(|letter: char| !letter.is_ascii_digit()) else {
        let is_code = is_bare && (has_leading_zero(text));
        return (!is_code).then(|| (text.to_owned(), None));
    };
    let sign = text[at..].chars().next()?;
    let groups: Vec<&str> = text.split(sign).collect();
    let is_digits =
        |group: &&str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let (first, others) = groups.split_first()?;
    let (last, middle) = others.split_last()?;
    // `12,34,567` is how India groups.
    let is_regular = middle.iter().all(|group| group.len() == 3)
        || sign == ',' && middle.iter().all(|group| group.len() == 2) && first.len() <= 2;
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
