//! Days, months and years in digits.

use super::reading::{Read, any, year_number};
use crate::dates::phrase::{Period, YearOf};
use crate::dates::token::{Kind, Token};

/// `2025-10-05`, `2025/10/05`, `2025-10`
pub(super) fn iso(tokens: &[Token]) -> Read<Period> {
    let (year, _) = year_number(tokens)?;
    let year = YearOf::Given(year);
    let sign = sign_between(tokens.get(1..)?)?;
    let (month, digits) = part(tokens.get(2)?)?;
    if sign_between(tokens.get(3..)?) == Some(sign)
        && let Some((day, _)) = part(tokens.get(4)?)
        && sign != '.'
    {
        let dates = Period::Dates {
            month,
            first: day,
            last: day,
            year,
            weekday: None,
        };
        return Some((dates, 5));
    }
    let is_month = sign == '-' && digits == 2 && (1..=12).contains(&month);
    is_month.then_some((Period::Month { month, year }, 3))
}

/// `10/12/2025` in either order, and `12.10.2025`, in which the day is always first.
pub(super) fn slashed(tokens: &[Token]) -> Read<Period> {
    let (first, _) = part(tokens.first()?)?;
    let sign = sign_between(tokens.get(1..)?)?;
    let (second, _) = part(tokens.get(2)?)?;
    if sign_between(tokens.get(3..)?)? != sign {
        return None;
    }
    let (year, _) = year_number(tokens.get(4..)?)?;
    if sign == '.' {
        let dates = Period::Dates {
            month: second,
            first,
            last: first,
            year: YearOf::Given(year),
            weekday: None,
        };
        return Some((dates, 5));
    }
    let numbers = (first, second);
    Some((Period::Slashed { numbers, year }, 5))
}

/// `2024`, `the year 2024`
pub(super) fn year(tokens: &[Token]) -> Read<Period> {
    let said = any(tokens, &["year"]).unwrap_or(0);
    let (year, more) = year_number(tokens.get(said..)?)?;
    let is_likely = said == 1 || (1900..=2100).contains(&year);
    is_likely.then_some((Period::Year(year), said + more))
}

/// The sign that joins two numbers without a space.
fn sign_between(tokens: &[Token]) -> Option<char> {
    match tokens {
        [
            Token {
                kind: Kind::Sign(sign @ ('-' | '/' | '.')),
                touches: true,
                ..
            },
            Token { touches: true, .. },
            ..,
        ] => Some(*sign),
        _ => None,
    }
}

/// A number of one or two digits, and how many they are.
fn part(token: &Token) -> Option<(i8, usize)> {
    match token.kind {
        Kind::Number(value, digits @ 1..=2) => Some((i8::try_from(value).ok()?, digits)),
        _ => None,
    }
}
