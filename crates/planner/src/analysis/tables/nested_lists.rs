//! Lists nested in the rows of a table, joined into one table.

use std::borrow::Cow;

use planwright_core::{Object, Value};

use super::columns::Column;
use super::embedded_table::parse_embedded;
use super::pagination::{PaginationHints, page_of_joined};
use super::table::Table;
use crate::analysis::clipped;
use crate::analysis::fields::field_name::{UnitKind, unit_kind_for};
use crate::analysis::numbers::MAX_UNIT_LENGTH;
use crate::analysis::report::{PageInfo, TableFormat};

/// The lists in a field, joined into one table.
pub(crate) struct JoinedTable<'t> {
    pub(crate) table: Table<'t>,
    pub(crate) format: Option<TableFormat>,
    pub(crate) page: Option<PageInfo>,
}

/// A list to join.
struct NestedList<'t> {
    value: &'t Value,
    at: String,
    /// The currency that the records around it name.
    currency: Option<String>,
}

/// Joins the lists that most rows of a table are.
pub(crate) fn join_rows<'t>(table: &'t Table<'_>) -> Option<(Table<'t>, Option<TableFormat>)> {
    let rows = table.rows.iter().enumerate();
    let parts = rows.map(|(number, row)| NestedList {
        value: &row.value,
        at: table.pointer(number),
        currency: table.currency(number).map(str::to_owned),
    });
    join(parts, table.rows.len(), &table.at)
}

/// Joins the lists that most records have in a field.
pub(crate) fn join_field_lists<'t>(
    table: &'t Table<'_>,
    column: &Column<'t>,
) -> Option<JoinedTable<'t>> {
    // Rows that are lists themselves belong to `join_rows`.
    if column.pointer.is_empty() {
        return None;
    }
    let record = |row: usize| table.rows.get(row).and_then(|row| row.value.as_object());
    let parts = column.entries.iter().map(|(row, value)| NestedList {
        value,
        at: format!("{}{}", table.pointer(*row), column.pointer),
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
        Some((
            PaginationHints::of_row(record(*row)?, &column.pointer),
            items.len(),
        ))
    });
    let page = page_of_joined(&pages.collect::<Vec<_>>(), &table.at);
    Some(JoinedTable {
        table: inner,
        format,
        page,
    })
}

/// Returns the currency that a record, or a record nested in it, names.
fn currency_in(record: &Object) -> Option<String> {
    let own = record.iter().find_map(|(name, value)| {
        let is_currency = unit_kind_for(name, "amount") == Some(UnitKind::Currency);
        let text = value.as_text().filter(|_| is_currency)?;
        Some(clipped(text.trim(), MAX_UNIT_LENGTH))
    });
    own.or_else(|| {
        record
            .values()
            .find_map(|value| currency_in(value.as_object()?))
    })
}

/// Joins all lists among `count` values, if more than half of them are lists or texts that contain one.
fn join<'t>(
    parts: impl Iterator<Item = NestedList<'t>>,
    count: usize,
    at: &str,
) -> Option<(Table<'t>, Option<TableFormat>)> {
    let mut table = Table::new(format!("{at}/*"));
    let mut format = None;
    for NestedList {
        value,
        at,
        currency,
    } in parts
    {
        match value {
            Value::List(items) => table.add_list(Cow::Borrowed(items), at),
            Value::Text(text) => match parse_embedded(text) {
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
