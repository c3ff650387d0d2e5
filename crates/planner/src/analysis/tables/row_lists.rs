//! Tables whose rows are lists, `[["name", "price"], ["a", 1], ["b", 2]]`, and lists nested in the rows of a table, joined
//! into one table.

use std::borrow::Cow;
use std::sync::Arc;

use planwright_core::{Object, Value};

use super::embedded_table::parse_embedded;
use super::pagination::{PaginationHints, page_of_joined};
use super::table::{Column, Row, Table};
use crate::analysis::clipped;
use crate::analysis::fields::field_name::{UnitKind, unit_kind_for};
use crate::analysis::fields::is_epoch;
use crate::analysis::numbers::{MAX_UNIT_LENGTH, is_number_text};
use crate::analysis::report::{PageInfo, TableFormat};

/// The number of cells of a row.
const MAX_CELLS: usize = 500;

/// The fewest rows of timestamps and numbers that are a table.
const MIN_TIMED_ROWS: usize = 3;

/// Names of lists of column names beside a list of rows.
const HEADERS: &[&str] = &[
    "columns",
    "columnNames",
    "column_names",
    "fieldNames",
    "field_names",
    "fields",
    "header",
    "headers",
];

/// The name of a column of timestamps without a name.
const TIME: &str = "time";

/// Returns the column names that an object contains beside its rows: texts, or records with a name.
pub(crate) fn column_names(fields: &Object) -> Vec<String> {
    let name = |value: &Value| match value {
        Value::Text(text) => Some(text.to_string()),
        Value::Object(column) => {
            let name = column.get("name").or_else(|| column.get("title"))?;
            name.as_text().map(str::to_owned)
        }
        _ => None,
    };
    let mut headers = HEADERS.iter().filter_map(|header| fields.get(*header));
    headers
        .find_map(|header| header.as_list()?.iter().map(name).collect())
        .unwrap_or_default()
}

/// Converts a table of lists to one of records whose fields are named by their index, which preserves all pointers.
///
/// `None` unless the lists are rows: scalars in lists of one length, with names from `names` or the first row, or with columns of
/// different kinds.
pub(crate) fn rows_as_records<'r>(table: &Table<'r>, names: &[String]) -> Option<Table<'r>> {
    let cells: Option<Vec<&[Value]>> = table.rows.iter().map(|row| row.value.as_list()).collect();
    let cells = cells?;
    let width = cells.first()?.len();
    let is_row = |row: &&[Value]| {
        let is_scalar = |cell: &Value| !matches!(cell, Value::List(_) | Value::Object(_));
        row.len() == width && row.iter().all(is_scalar)
    };
    if !(2..=MAX_CELLS).contains(&width) || cells.len() < 2 || !cells.iter().all(is_row) {
        return None;
    }
    let header = cells[0];
    let has_header = is_header(header, &cells[1..]);
    let names: Vec<String> = if has_header {
        let texts = header.iter().filter_map(Value::as_text);
        texts.map(str::to_owned).collect()
    } else if names.len() == width {
        names.to_vec()
    } else {
        names_by_kind(&cells, width)?
    };
    // Joined tables may repeat their header.
    let is_data = |row: &Row<'r>| !has_header || row.value.as_list() != Some(header);
    let keys: Vec<Arc<str>> = (0..width).map(|at| at.to_string().into()).collect();
    let record = |row: &Row<'r>| {
        let cells = row.value.as_list().unwrap_or_default();
        let fields: Object = keys.iter().cloned().zip(cells.iter().cloned()).collect();
        Row {
            value: Cow::Owned(Value::Object(fields.into())),
            ..row.clone()
        }
    };
    let rows = table.rows.iter().filter(|row| is_data(row)).map(record);
    Some(table.with_rows(rows.collect(), names))
}

/// Returns true if the first row has names: different texts, above at least one column of numbers.
fn is_header(header: &[Value], rows: &[&[Value]]) -> bool {
    let texts: Vec<&str> = header.iter().filter_map(Value::as_text).collect();
    let is_name = |(at, text): (usize, &&str)| {
        !text.trim().is_empty() && !is_number_text(text) && !texts[..at].contains(text)
    };
    texts.len() == header.len()
        && texts.iter().enumerate().all(is_name)
        && (0..header.len()).any(|column| is_all(rows, column, is_numeric))
}

/// Returns names for columns of different kinds, texts beside numbers or timestamps beside numbers: their indices.
fn names_by_kind(rows: &[&[Value]], width: usize) -> Option<Vec<String>> {
    let is_time = |column: &usize| is_all(rows, *column, is_timestamp);
    let is_numbers = |column: &usize| is_all(rows, *column, is_numeric);
    let is_texts = |column: &usize| {
        is_all(rows, *column, |cell| {
            cell.as_text().is_some() && !is_numeric(cell)
        })
    };
    let times = (0..width).filter(is_time).count();
    let is_timed = MIN_TIMED_ROWS <= rows.len() && (1..width).contains(&times);
    let is_mixed =
        (0..width).any(|column| is_numbers(&column)) && (0..width).any(|column| is_texts(&column));
    let name = |column: usize| {
        if is_time(&column) {
            TIME.to_owned()
        } else {
            column.to_string()
        }
    };
    (is_timed || is_mixed).then(|| (0..width).map(name).collect())
}

/// Returns true if all cells of a column that are not null fulfil a condition, and there is one.
fn is_all(rows: &[&[Value]], column: usize, condition: impl Fn(&Value) -> bool) -> bool {
    let mut cells = rows
        .iter()
        .filter_map(|row| row.get(column))
        .filter(|cell| !matches!(cell, Value::Null))
        .peekable();
    cells.peek().is_some() && cells.all(condition)
}

fn is_numeric(cell: &Value) -> bool {
    match cell {
        Value::Number(_) => true,
        Value::Text(text) => is_number_text(text),
        _ => false,
    }
}

fn is_timestamp(cell: &Value) -> bool {
    matches!(cell, Value::Number(number) if number.as_f64().is_some_and(is_epoch))
}

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
