//! Lists within the rows of a table, joined to one table of their own.

use std::borrow::Cow;

use planwright_core::{Object, Value};

use super::column::Column;
use super::field_name::{Beside, says_unit_of};
use super::page::{self, Around};
use super::quantity::MAX_UNIT;
use super::report::{Format, Page};
use super::table::Table;
use super::{clipped, embedded};

/// The lists of a field, joined to one table.
pub(super) struct Inner<'t> {
    pub(super) table: Table<'t>,
    pub(super) format: Option<Format>,
    pub(super) page: Option<Page>,
}

/// A list among several.
struct Part<'t> {
    value: &'t Value,
    at: String,
    /// The currency that the records around it name.
    currency: Option<String>,
}

/// The lists that most rows of a table are.
pub(super) fn rows<'t>(table: &'t Table<'_>) -> Option<(Table<'t>, Option<Format>)> {
    let rows = table.rows.iter().enumerate();
    let parts = rows.map(|(number, row)| Part {
        value: &row.value,
        at: table.place(number),
        currency: table.currency(number).map(str::to_owned),
    });
    join(parts, table.rows.len(), &table.at)
}

/// The lists that most records have in a field.
pub(super) fn list<'t>(table: &'t Table<'_>, column: &Column<'t>) -> Option<Inner<'t>> {
    if column.pointer.is_empty() {
        return None;
    }
    let record = |row: usize| table.rows.get(row).and_then(|row| row.value.as_object());
    let parts = column.entries.iter().map(|(row, value)| Part {
        value,
        at: format!("{}{}", table.place(*row), column.pointer),
        currency: record(*row)
            .and_then(currency_in)
            .or_else(|| table.currency(*row).map(str::to_owned)),
    });
    let at = format!("{}{}", table.at, column.pointer);
    let (inner, format) = join(parts, column.entries.len(), &at)?;
    let pages = column.entries.iter().filter_map(|(row, value)| {
        let Value::List(items) = value else {
            return None;
        };
        Some((Around::of_row(record(*row)?, &column.pointer), items.len()))
    });
    let page = page::of_joined(&pages.collect::<Vec<_>>(), &table.at);
    Some(Inner {
        table: inner,
        format,
        page,
    })
}

/// The currency that a record or a record in it names.
fn currency_in(record: &Object) -> Option<String> {
    let own = record.iter().find_map(|(name, value)| {
        let is_currency = says_unit_of(name, "amount") == Some(Beside::Currency);
        let text = value.as_text().filter(|_| is_currency)?;
        Some(clipped(text.trim(), MAX_UNIT))
    });
    own.or_else(|| {
        record
            .values()
            .find_map(|value| currency_in(value.as_object()?))
    })
}

/// One table of all lists among some values, if most of those are lists, or texts that write one down.
fn join<'t>(
    parts: impl Iterator<Item = Part<'t>>,
    count: usize,
    at: &str,
) -> Option<(Table<'t>, Option<Format>)> {
    let mut table = Table::below(format!("{at}/*"));
    let mut format = None;
    for Part {
        value,
        at,
        currency,
    } in parts
    {
        match value {
            Value::List(items) => table.add_list(Cow::Borrowed(items), at),
            Value::Text(text) => match embedded::read(text) {
                Some((found, Value::List(items))) => {
                    format = Some(found);
                    table.add_list(Cow::Owned(items.to_vec()), at);
                }
                Some((found, record @ Value::Object(_))) => {
                    format = Some(found);
                    table.add_value(record, at);
                }
                _ => continue,
            },
            _ => continue,
        }
        table.set_currency(currency);
    }
    let is_most = count < table.lists * 2;
    (is_most && !table.rows.is_empty()).then_some((table, format))
}
