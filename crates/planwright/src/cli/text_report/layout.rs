//! Values as people read them: aligned fields, tables of flat objects, lists; JSON where nothing reads better.

use planwright::core::{Object, Value};
use planwright::legible;

/// How deep values are laid out; below that they are JSON.
const DEEPEST: usize = 5;

/// The most columns of a table.
const MOST_COLUMNS: usize = 8;

/// The longest that an entry of a table may be, in columns.
const LONGEST_ENTRY: usize = 60;

/// `value` in lines of at most `width` columns where that can be done without cutting anything, each line ended.
pub(super) fn lay_out(value: &Value, width: usize) -> String {
    let mut text = String::new();
    for line in block(value, width, 0) {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The lines of `value`.
fn block(value: &Value, width: usize, depth: usize) -> Vec<String> {
    if let Some(line) = short(value) {
        return vec![line];
    }
    match value {
        Value::Text(text) => legible::lines(text).lines().map(str::to_owned).collect(),
        Value::Object(_) | Value::List(_) if depth >= DEEPEST => json(value),
        Value::Object(fields) => object(fields, width, depth),
        Value::List(items) => list(items, width, depth),
        other => vec![other.to_json()],
    }
}

/// `value` where it takes a part of one line: a scalar, or nothing at all.
fn short(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if text.is_empty() => Some("\"\"".to_owned()),
        Value::Text(text) if text.trim_end_matches('\n').contains('\n') => None,
        Value::Text(text) => Some(legible::one_line(text).into_owned()),
        Value::List(items) if items.is_empty() => Some("[]".to_owned()),
        Value::Object(fields) if fields.is_empty() => Some("{}".to_owned()),
        Value::List(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_json()),
    }
}

/// Fields, those with short values aligned, the others with their values below.
fn object(fields: &Object, width: usize, depth: usize) -> Vec<String> {
    let entries: Vec<(String, Option<String>, &Value)> = fields
        .iter()
        .map(|(key, value)| (label(key), inline(value, width), value))
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for group in entries.chunk_by(|one, next| one.1.is_some() && next.1.is_some()) {
        // A paragraph of its own, where it is a part of the whole output.
        if depth == 0 && !lines.is_empty() {
            lines.push(String::new());
        }
        let labels = group
            .iter()
            .map(|(label, ..)| legible::width(label))
            .max()
            .unwrap_or(0)
            .min(LONGEST_ENTRY / 2);
        for (label, line, value) in group {
            if let Some(line) = line {
                lines.push(format!("{} {line}", legible::padded(label, labels)));
            } else {
                lines.push(label.clone());
                lines.extend(indented(block(value, width.saturating_sub(2), depth + 1)));
            }
        }
    }
    lines
}

fn label(key: &str) -> String {
    if key.is_empty() {
        return "\"\":".to_owned();
    }
    format!("{}:", legible::one_line(key))
}

/// `value` behind its label: a scalar, or a short list of scalars.
fn inline(value: &Value, width: usize) -> Option<String> {
    if let Some(line) = short(value) {
        return Some(line);
    }
    let line = scalars(value.as_list()?)?;
    (legible::width(&line) <= width / 2).then_some(line)
}

/// Scalars in one line, where none of them is long or has a comma in it.
fn scalars(items: &[Value]) -> Option<String> {
    let items: Option<Vec<String>> = items
        .iter()
        .map(|item| {
            let line = match item {
                Value::List(_) | Value::Object(_) => return None,
                scalar => short(scalar)?,
            };
            (!line.contains(',') && legible::width(&line) <= LONGEST_ENTRY / 2).then_some(line)
        })
        .collect();
    items.map(|items| items.join(", "))
}

fn list(items: &[Value], width: usize, depth: usize) -> Vec<String> {
    if let Some(line) = scalars(items).filter(|line| legible::width(line) <= width) {
        return vec![line];
    }
    if let Some(lines) = table(items, width) {
        return lines;
    }
    items
        .iter()
        .flat_map(|item| {
            let lines = block(item, width.saturating_sub(2), depth + 1);
            lines.into_iter().enumerate().map(|(position, line)| {
                let bullet = if position == 0 { "- " } else { "  " };
                format!("{bullet}{line}")
            })
        })
        .collect()
}

/// Flat objects as a table, where they have fields in common and the table is not wider than `width`.
fn table(items: &[Value], width: usize) -> Option<Vec<String>> {
    let rows: Vec<&Object> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut keys: Vec<&str> = Vec::new();
    for row in &rows {
        for key in row.keys() {
            if !keys.contains(&&**key) {
                keys.push(key);
                if keys.len() > MOST_COLUMNS {
                    return None;
                }
            }
        }
    }
    let filled: usize = rows.iter().map(|row| row.len()).sum();
    // A table that is mostly empty says less than its rows one by one.
    if items.len() < 2 || filled * 2 < rows.len() * keys.len() {
        return None;
    }
    let mut columns = Vec::new();
    let mut total = 0;
    for key in keys {
        let column = Column::of(key, &rows)?;
        total += column.width + 2;
        columns.push(column);
    }
    if total > width + 2 {
        return None;
    }
    let line = |entry: &dyn Fn(&Column) -> String| {
        let entries: Vec<String> = columns.iter().map(entry).collect();
        entries.join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&|column| column.aligned(&column.title))];
    lines.push(line(&|column| "─".repeat(column.width)));
    for row in 0..rows.len() {
        lines.push(line(&|column| {
            column.aligned(column.entries.get(row).map_or("", String::as_str))
        }));
    }
    Some(lines)
}

struct Column {
    title: String,
    entries: Vec<String>,
    width: usize,
    is_numeric: bool,
}

impl Column {
    /// The values at `key`, where all of them are short.
    fn of(key: &str, rows: &[&Object]) -> Option<Self> {
        let values = rows.iter().map(|row| row.get(key));
        let is_numeric = values
            .clone()
            .flatten()
            .all(|value| matches!(value, Value::Number(_) | Value::Null));
        let entries: Vec<String> = values
            .map(|value| {
                let entry = value.map_or(Some(String::new()), |value| inline(value, LONGEST_ENTRY));
                entry.filter(|entry| legible::width(entry) <= LONGEST_ENTRY)
            })
            .collect::<Option<_>>()?;
        let title = legible::one_line(key).into_owned();
        let width = entries
            .iter()
            .map(|entry| legible::width(entry))
            .chain([legible::width(&title)])
            .max()
            .unwrap_or(0);
        Some(Self {
            title,
            entries,
            width,
            is_numeric,
        })
    }

    fn aligned(&self, entry: &str) -> String {
        if self.is_numeric {
            let gap = self.width.saturating_sub(legible::width(entry));
            format!("{}{entry}", " ".repeat(gap))
        } else {
            legible::padded(entry, self.width)
        }
    }
}

fn indented(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| format!("  {line}"))
}

fn json(value: &Value) -> Vec<String> {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_json());
    legible::lines(&text).lines().map(str::to_owned).collect()
}
