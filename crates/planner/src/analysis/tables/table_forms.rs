//! Tables in other forms: rows that are lists, `[["name", "price"], ["a", 1], ["b", 2]]`; lists nested in the rows of a
//! table, joined into one table; JSON and CSV inside of texts.

use std::borrow::Cow;
use std::sync::Arc;

use planwright_core::{Object, Value};

use super::pagination::{PaginationHints, page_of_joined};
use super::table::{Column, Row, Table};
use crate::analysis::clipped;
use crate::analysis::fields::field_name::{UnitKind, unit_kind_for};
use crate::analysis::fields::is_epoch;
use crate::analysis::numbers::{MAX_UNIT_LENGTH, is_number_text};
use crate::analysis::report::{PageInfo, TableFormat};

/// Maximum number of cells of a row, or of a line of CSV.
const MAX_CELLS: usize = 500;

/// Minimum number of rows of timestamps and numbers that are a table.
const MIN_TIMED_ROWS: usize = 3;

/// Names of fields that list the column names, beside the list of rows.
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

/// The name for an unnamed column of timestamps.
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
    // One list alone, and lists of one item, are rather plain values than rows.
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

/// Returns names for unnamed columns: `time` for timestamps, else the index. `None` unless the kinds of the columns differ: texts beside
/// numbers, or timestamps beside others.
fn names_by_kind(rows: &[&[Value]], width: usize) -> Option<Vec<String>> {
    let is_time = |column: &usize| is_all(rows, *column, is_timestamp);
    let is_numbers = |column: &usize| is_all(rows, *column, is_numeric);
    let is_texts = |column: &usize| {
        is_all(rows, *column, |cell| {
            cell.as_text().is_some() && !is_numeric(cell)
        })
    };
    let times = (0..width).filter(is_time).count();
    // Without a column beside the timestamps, there are no values over time.
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

/// Returns true if a column has cells that are not null, and all of them satisfy a condition.
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

/// Joins the rows of a table that are lists, if most of them are.
pub(crate) fn join_rows<'t>(table: &'t Table<'_>) -> Option<(Table<'t>, Option<TableFormat>)> {
    let rows = table.rows.iter().enumerate();
    let parts = rows.map(|(number, row)| NestedList {
        value: &row.value,
        at: table.pointer(number),
        currency: table.currency(number).map(str::to_owned),
    });
    join(parts, table.rows.len(), &table.at)
}

/// Joins the lists in a field of the records, if most of its values are lists.
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
    // A few lists among other values are not a common table.
    let is_majority = count < table.lists * 2;
    (is_majority && !table.rows.is_empty()).then_some((table, format))
}

/// The longest text that is parsed, in bytes.
const MAX_LENGTH: usize = 16 << 20;

/// Maximum length of a field name, in bytes.
const MAX_NAME_LENGTH: usize = 60;

/// The cell separators, in the order in which they are tried.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// Parses a text that is a JSON object, a JSON list, or a table.
pub(crate) fn parse_embedded(text: &str) -> Option<(TableFormat, Value)> {
    // Exported files may start with a byte order mark.
    let text = without_fence(text.trim_start_matches('\u{feff}').trim());
    if MAX_LENGTH < text.len() {
        return None;
    }
    if text.starts_with(['{', '[']) {
        let whole = Value::from_json(text)
            .ok()
            .map(|value| (TableFormat::Json, value));
        return whole.or_else(|| Some((TableFormat::JsonLines, json_lines(text)?)));
    }
    SEPARATORS
        .into_iter()
        .find_map(|separator| Some((TableFormat::Csv, csv(text, separator)?)))
}

/// Removes the fence of a code block: "```json".
fn without_fence(text: &str) -> &str {
    let inside = || {
        let (_, code) = text.strip_prefix("```")?.split_once('\n')?;
        Some(code.strip_suffix("```")?.trim())
    };
    inside().unwrap_or(text)
}

fn json_lines(text: &str) -> Option<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let values: Option<Vec<Value>> = lines.map(|line| Value::from_json(line).ok()).collect();
    // A single line would have been read as a whole.
    Some(Value::list(values.filter(|values| 1 < values.len())?))
}

/// Parses a table whose first line has the field names; `None` unless all lines have the same number of cells.
fn csv(text: &str, separator: char) -> Option<Value> {
    let mut lines = lines(text, separator)?.into_iter();
    let names = lines.next()?;
    if !(2..=MAX_CELLS).contains(&names.len()) || !are_names(&names) {
        return None;
    }
    let names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
    let mut records = Vec::new();
    for line in lines {
        // Prose has a different number of commas on each line.
        if line.len() != names.len() {
            return None;
        }
        let cells = names.iter().cloned().zip(line);
        let fields = cells.map(|(name, cell)| match &*cell {
            // An empty cell is a missing value; as a text, it would make a column of numbers a mixed one.
            "" => (name, Value::Null),
            cell => (name, Value::text(cell)),
        });
        records.push(Value::Object(fields.collect::<Object>().into()));
    }
    // A single line may be a sentence with as many commas as the line above.
    let is_table =
        2 <= records.len() || separator != ',' && separator != ';' && !records.is_empty();
    is_table.then(|| Value::list(records))
}

/// Returns true if the cells are field names: distinct, and no numbers except for years beside other names.
fn are_names(cells: &[String]) -> bool {
    let is_word = |cell: &str| !cell.starts_with(|letter: char| letter.is_ascii_digit());
    let is_year = |cell: &str| cell.len() == 4 && cell.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |cell: &str| {
        !cell.is_empty() && cell.len() <= MAX_NAME_LENGTH && (is_word(cell) || is_year(cell))
    };
    let are_different = (1..cells.len()).all(|at| !cells[..at].contains(&cells[at]));
    cells.iter().all(|cell| is_name(cell))
        && cells.iter().any(|cell| is_word(cell))
        && are_different
}

/// Splits lines into cells. A quoted cell may contain separators and line breaks.
fn lines(text: &str, separator: char) -> Option<Vec<Vec<String>>> {
    let mut lines = Vec::new();
    let mut cells: Vec<String> = Vec::new();
    let mut rest = text;
    // Most texts are prose, and fail here without being split.
    if !text.lines().next()?.contains(separator) {
        return None;
    }
    loop {
        let start = rest.trim_start_matches(' ');
        let (cell, after) = match start.strip_prefix('"') {
            Some(quoted) => quoted_cell(quoted)?,
            None => {
                let end = rest.find([separator, '\n', '\r']).unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        cells.push(cell);
        if let Some(more) = after.strip_prefix(separator) {
            rest = more;
            continue;
        }
        let line = std::mem::take(&mut cells);
        lines.extend(table_line(line, separator));
        rest = after.trim_start_matches(['\r', '\n']);
        if rest.is_empty() {
            return Some(lines);
        }
        // Text after a closing quote is prose, not CSV.
        if rest.len() == after.len() {
            return None;
        }
    }
}

/// Splits off a quoted cell, and returns the text after the closing quote.
fn quoted_cell(text: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let (inside, after) = rest.split_once('"')?;
        cell.push_str(inside);
        match after.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                rest = more;
            }
            None => return Some((cell, after.trim_start_matches(' '))),
        }
    }
}

/// Drops the empty cells outside of the bars of `| a | b |`; returns `None` for the rule `|---|---|`.
fn table_line(mut cells: Vec<String>, separator: char) -> Option<Vec<String>> {
    if separator == '|' {
        if cells.len() > 2
            && cells.first().is_some_and(String::is_empty)
            && cells.last().is_some_and(String::is_empty)
        {
            cells.pop();
            cells.remove(0);
        }
        let is_rule =
            |cell: &String| cell.len() > 1 && cell.bytes().all(|byte| byte == b'-' || byte == b':');
        if cells.iter().all(is_rule) {
            return None;
        }
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = parse_embedded(text).map(|(_, value)| value.to_json());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn tables_in_texts() {
        check(
            "a,b\n1,2\n3,\n",
            Some(r#"[{"a":"1","b":"2"},{"a":"3","b":null}]"#),
        );
        check(
            "a;b\r\n\"x;\"\"y\"\"\";2\r\n\"p\nq\";4",
            Some(r#"[{"a":"x;\"y\"","b":"2"},{"a":"p\nq","b":"4"}]"#),
        );
        check(
            "| a | b |\n|---|--:|\n| 1 | 2 |\n",
            Some(r#"[{"a":"1","b":"2"}]"#),
        );
        check(" [1, 2] ", Some("[1,2]"));
        check("```json\n[1, 2]\n```\n", Some("[1,2]"));
        check(
            "city,2019\nA,1\nB,2",
            Some(r#"[{"city":"A","2019":"1"},{"city":"B","2019":"2"}]"#),
        );
        check("{\"a\": 1}\n{\"a\": 2}", Some(r#"[{"a":1},{"a":2}]"#));
    }

    #[test]
    fn texts_that_are_no_tables() {
        for text in [
            "",
            "a, b and c",
            "Dear Ada,\nthank you",
            "one, two\nthree, four",
            "a,b\n1,2,3\n4,5",
            "a,a\n1,2\n3,4",
            "{\"a\": ",
            "[link](x)",
            "a,b\n\"1,2\n3,4",
        ] {
            check(text, None);
        }
    }
}
