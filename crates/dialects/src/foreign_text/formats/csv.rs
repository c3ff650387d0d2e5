//! Tables with commas, semicolons or tabs, a step in each row.

use planwright_core::Value;

use super::super::table;
use super::diagrams::with_names;

/// The plan in a table whose first row has the titles of its columns.
pub(super) fn plan(text: &str) -> Option<Value> {
    let separator = [',', ';', '\t'].into_iter().find(|separator| {
        text.lines()
            .next()
            .is_some_and(|line| line.contains(*separator))
    })?;
    let rows = rows(text, separator)?;
    let (titles, rows) = rows.split_first()?;
    let plan = table::of_rows(titles, rows)?;
    with_names(&plan)
}

/// The cells of all rows; a cell in quotes may have separators, lines and doubled quotes.
fn rows(text: &str, separator: char) -> Option<Vec<Vec<String>>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut cell = String::new();
    let mut is_quoted = false;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if is_quoted && signs.peek() == Some(&'"') => {
                signs.next();
                cell.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if cell.trim().is_empty() => {
                cell.clear();
                is_quoted = true;
            }
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ if sign == separator && !is_quoted => row.push(std::mem::take(&mut cell)),
            _ => cell.push(sign),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
    let columns = rows.first()?.len();
    let is_table = columns > 1 && rows.len() > 1 && rows.iter().all(|row| row.len() == columns);
    (!is_quoted && is_table).then_some(rows)
}
