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
    if let Some(plan) = table::of_rows(titles, rows) {
        return with_names(&plan);
    }
    with_pairs(titles, rows)
}

/// The steps of a table whose columns after that of the tool are names and values of arguments in turn, `param1;value1;param2;value2`.
fn with_pairs(titles: &[String], rows: &[Vec<String>]) -> Option<Value> {
    let is_numbered = |title: &String| title.trim().ends_with(|sign: char| sign.is_ascii_digit());
    let first = titles.iter().position(is_numbered)?;
    let is_paired =
        titles.get(first..)?.iter().all(is_numbered) && (titles.len() - first).is_multiple_of(2);
    let before: Vec<String> = titles
        .get(..first)?
        .iter()
        .map(|title| title.trim().to_lowercase())
        .collect();
    let column = |words: &[&str]| before.iter().position(|title| words.contains(&&**title));
    let tool = column(&[
        "tool",
        "werkzeug",
        "function",
        "action",
        "herramienta",
        "outil",
    ])
    .filter(|_| is_paired)?;
    let server = column(&["server", "service", "servidor", "serveur"]);
    let id = column(&["id", "nr", "no", "step", "#", "schritt", "paso"]);
    let known = [Some(tool), server, id].iter().flatten().count();
    (known == before.len()).then_some(())?;
    let steps = rows.iter().map(|row| {
        let cell = |at: usize| row.get(at).map(|cell| cell.trim());
        let name = cell(tool)?;
        let name = match server.and_then(cell) {
            Some(server) if !server.is_empty() => format!("{server}.{name}"),
            _ => name.to_owned(),
        };
        let mut args = Vec::new();
        for pair in row.get(first..)?.chunks(2) {
            let [name, value] = pair else { return None };
            match (name.trim(), value.trim()) {
                ("", "") => {}
                ("", _) => return None,
                (name, value) => args.push((name.to_owned(), argument(value))),
            }
        }
        let id = id.and_then(cell).map(|id| ("id", Value::text(id)));
        let rest = [("tool", Value::text(name)), ("args", Value::object(args))];
        Some(Value::object(id.into_iter().chain(rest)))
    });
    let steps = steps.collect::<Option<Vec<_>>>()?;
    // Rows run one after the other.
    Some(Value::object([
        ("ordering", Value::text("listed")),
        ("steps", Value::list(steps)),
    ]))
}

/// The value in a cell: a number as it is, anything else as text.
fn argument(cell: &str) -> Value {
    let is_number = cell.parse::<f64>().is_ok()
        && cell.starts_with(|sign: char| sign.is_ascii_digit() || sign == '-');
    let number = Value::from_json(cell).ok().filter(|_| is_number);
    number.unwrap_or_else(|| Value::text(cell))
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
