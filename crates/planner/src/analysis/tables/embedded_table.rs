//! JSON and CSV inside of texts.

use std::sync::Arc;

use planwright_core::{Object, Value};

use crate::analysis::report::TableFormat;

/// The longest text that is parsed, in bytes.
const MAX_LENGTH: usize = 16 << 20;

/// The number of cells of a line.
const MAX_CELLS: usize = 500;

/// The length of a field name, in bytes.
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
        if line.len() != names.len() {
            return None;
        }
        let cells = names.iter().cloned().zip(line);
        let fields = cells.map(|(name, cell)| match &*cell {
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
