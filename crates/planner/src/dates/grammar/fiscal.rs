//! Fiscal years and their parts: `FY24`, `Q1 of fiscal 2024`, `last fiscal quarter`.

use super::parser::{Parsed, lookup, one_of, sign, year_number};
use crate::dates::phrase::{FiscalPart, FiscalYear, Period};
use crate::dates::token;
use crate::dates::token::{DateToken, DateTokenKind};

/// `FY2024`, `FY24 Q1`, `Q1 of fiscal year 2024`, `fiscal Q1 2024`, `this fiscal year`, `last fiscal quarter`
pub(super) fn fiscal(tokens: &[DateToken]) -> Parsed<Period> {
    let period = |part, year| Period::Fiscal { part, year };
    // Before the years, because `last fiscal` begins both.
    if let Some((offset, used)) = quarter_from_today(tokens) {
        return Some((Period::FiscalQuarter(offset), used));
    }
    if let Some((year, used)) = fiscal_year(tokens) {
        let dash = sign(tokens.get(used..)?, '-').unwrap_or(0);
        if let Some((part, more)) = part(tokens.get(used + dash..)?) {
            return Some((period(part, year), used + dash + more));
        }
        return Some((period(FiscalPart::Year, year), used));
    }
    // `fiscal Q1 2024`
    if let Some(lead) = fiscal_word(tokens) {
        let (part, more) = part(tokens.get(lead..)?)?;
        let (year, last) = year_number(tokens.get(lead + more..)?)?;
        return Some((period(part, FiscalYear::Numbered(year)), lead + more + last));
    }
    let (part, mut used) = part(tokens)?;
    used += one_of(tokens.get(used..)?, &["in", "of"]).unwrap_or(0);
    used += one_of(tokens.get(used..)?, &["the"]).unwrap_or(0);
    let (year, more) = fiscal_year(tokens.get(used..)?)?;
    Some((period(part, year), used + more))
}

fn fiscal_word(tokens: &[DateToken]) -> Option<usize> {
    one_of(tokens, &["financial", "fiscal"])
}

/// `FY24`, `FY 2024`, `fiscal 2024`, `financial year 2024`, `last fiscal year`
fn fiscal_year(tokens: &[DateToken]) -> Parsed<FiscalYear> {
    let first = tokens.first()?.word()?;
    if let Some(digits) = first.strip_prefix("fy") {
        if digits.is_empty() {
            let (year, used) = short_year(tokens.get(1..)?)?;
            return Some((FiscalYear::Numbered(year), 1 + used));
        }
        return Some((FiscalYear::Numbered(written_year(digits)?), 1));
    }
    if let Some((offset, used)) = offset(tokens) {
        let used = used + fiscal_word(tokens.get(used..)?)?;
        let used = used + one_of(tokens.get(used..)?, &["year"])?;
        return Some((FiscalYear::Relative(offset), used));
    }
    let used = fiscal_word(tokens)?;
    let used = used + one_of(tokens.get(used..)?, &["year"]).unwrap_or(0);
    let (year, more) = year_number(tokens.get(used..)?)?;
    Some((FiscalYear::Numbered(year), used + more))
}

/// `last fiscal quarter`
fn quarter_from_today(tokens: &[DateToken]) -> Parsed<i32> {
    let (offset, used) = offset(tokens)?;
    let used = used + fiscal_word(tokens.get(used..)?)?;
    let used = used + one_of(tokens.get(used..)?, &["quarter"])?;
    Some((offset.into(), used))
}

fn offset(tokens: &[DateToken]) -> Parsed<i16> {
    let offset = |word: &str| match word {
        "last" | "previous" | "prior" => Some(-1),
        "current" | "this" => Some(0),
        "next" => Some(1),
        _ => None,
    };
    lookup(tokens, offset)
}

/// `Q1`, `first quarter`, `H1`, `second half`
fn part(tokens: &[DateToken]) -> Parsed<FiscalPart> {
    let half = |word: &str| match word {
        "h1" | "1h" => Some(FiscalPart::Half(1)),
        "h2" | "2h" => Some(FiscalPart::Half(2)),
        _ => None,
    };
    if let Some(found) = lookup(tokens, half) {
        return Some(found);
    }
    let (number, used) = lookup(tokens, token::quarter)?;
    if tokens.first()?.word()?.starts_with('q') {
        return Some((FiscalPart::Quarter(number), used));
    }
    let rest = tokens.get(used..)?;
    // `first` and `second` are read as quarters, and a half has the same words.
    if let Some(more) = one_of(rest, &["half"]).filter(|_| number <= 2) {
        return Some((FiscalPart::Half(number), used + more));
    }
    Some((
        FiscalPart::Quarter(number),
        used + one_of(rest, &["quarter"])?,
    ))
}

/// Parses a year of two or four digits.
fn short_year(tokens: &[DateToken]) -> Parsed<i16> {
    match tokens.first()?.kind {
        DateTokenKind::Number(value, 2) => Some((2000 + i16::try_from(value).ok()?, 1)),
        _ => year_number(tokens),
    }
}

fn written_year(digits: &str) -> Option<i16> {
    let year: i16 = digits.parse().ok()?;
    match digits.len() {
        // Fiscal years of the last century are written in full.
        2 => Some(2000 + year),
        4 => Some(year).filter(|year| 0 < *year),
        _ => None,
    }
}
