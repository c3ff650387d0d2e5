//! `[dates]`: the calendar of phrases of time.

use std::sync::Arc;

use planwright_core::Value;
use serde::Deserialize;
use toml::Spanned;

use super::setting::{ConfigText, List};

/// The calendar of phrases of time such as `this week` and `last fiscal year`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "dates"))]
pub(super) struct DatesTable {
    /// The first day of the week, such as `sunday`; without it, `monday`.
    #[cfg_attr(test, schemars(with = "String"))]
    first_weekday: Option<Spanned<FirstWeekday>>,
    /// The first month of the fiscal year, such as `april`; without it, phrases such as `FY24` have no meaning.
    #[cfg_attr(test, schemars(with = "String"))]
    fiscal_year: Option<Spanned<FirstMonth>>,
    /// The calendar year whose number a fiscal year has: that of its `end` or its `start`; without it, `end`.
    #[cfg_attr(test, schemars(with = "String"))]
    fiscal_year_number: Option<Spanned<FiscalYearNumber>>,
}

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The first day of the week, 1 for Monday to 7 for Sunday.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct FirstWeekday(u8);

impl TryFrom<String> for FirstWeekday {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let message = || format!("`{word}` is not a day of the week (write `monday` to `sunday`)");
        number(&WEEKDAYS, &word).map(Self).ok_or_else(message)
    }
}

/// The first month of a fiscal year, 1 to 12.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct FirstMonth(u8);

impl TryFrom<String> for FirstMonth {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let message = || format!("`{word}` is not a month (write `january` to `december`)");
        number(&MONTHS, &word).map(Self).ok_or_else(message)
    }
}

/// The calendar year whose number a fiscal year has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum FiscalYearNumber {
    /// The year in which the fiscal year starts.
    Start,
    /// The year in which it ends.
    #[default]
    End,
}

impl TryFrom<String> for FiscalYearNumber {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "start" => Ok(Self::Start),
            "end" => Ok(Self::End),
            _ => Err(format!(
                "no fiscal year has the number of its `{word}` (write `start` or `end`)"
            )),
        }
    }
}

fn number(names: &[&str], word: &str) -> Option<u8> {
    let at = names
        .iter()
        .position(|name| name.eq_ignore_ascii_case(word))?;
    u8::try_from(at + 1).ok()
}

fn name(names: &[&'static str], number: u8) -> &'static str {
    let at = usize::from(number).checked_sub(1);
    at.and_then(|at| names.get(at)).copied().unwrap_or_default()
}

/// The calendar of phrases of time.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DatesSettings {
    /// The first day of the week, 1 for Monday to 7 for Sunday.
    pub first_weekday: Option<u8>,
    /// The first month of the fiscal year, 1 to 12.
    pub fiscal_month: Option<u8>,
    /// The calendar year whose number a fiscal year has.
    pub fiscal_year_number: FiscalYearNumber,
    settings: Vec<(&'static str, &'static str, Arc<str>)>,
}

impl DatesSettings {
    /// Adds the settings of a file. A calendar grants no permissions, so a project's settings replace the user's own.
    pub(super) fn add(&mut self, table: &DatesTable, source: &ConfigText) {
        if let Some(day) = &table.first_weekday {
            let number = day.get_ref().0;
            self.first_weekday = Some(number);
            self.set("first_weekday", name(&WEEKDAYS, number), source.place(day));
        }
        if let Some(month) = &table.fiscal_year {
            let number = month.get_ref().0;
            self.fiscal_month = Some(number);
            self.set("fiscal_year", name(&MONTHS, number), source.place(month));
        }
        if let Some(year) = &table.fiscal_year_number {
            self.fiscal_year_number = *year.get_ref();
            let word = match year.get_ref() {
                FiscalYearNumber::Start => "start",
                FiscalYearNumber::End => "end",
            };
            self.set("fiscal_year_number", word, source.place(year));
        }
    }

    fn set(&mut self, word: &'static str, value: &'static str, place: Arc<str>) {
        self.settings.retain(|(known, ..)| *known != word);
        self.settings.push((word, value, place));
    }

    /// Lists the settings that are set.
    pub(super) fn list(&self, list: &mut List) {
        for (word, value, place) in &self.settings {
            list.push(&format!("dates.{word}"), Value::from(*value), Some(place));
        }
    }
}
