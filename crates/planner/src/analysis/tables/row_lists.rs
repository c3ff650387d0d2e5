//! Tables whose rows are lists: `[["name", "price"], ["a", 1], ["b", 2]]`.

use std::borrow::Cow;
use std::sync::Arc;

use planwright_core::{Object, Value};

use super::table::{Row, Table};
use crate::analysis::fields::is_epoch;
use crate::analysis::numbers::is_number_text;

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
