//! Plans as tables of Markdown, a step in each row.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::advice::Extent;
use super::calls::values::{named, split};
use super::{FoundPlan, object};

/// The plan in the table in `text`; `None` if there is none, has a column without a meaning, or a row with more cells than columns.
pub(super) fn plan(text: &str) -> Option<FoundPlan> {
    let mut lines = text.lines().map(str::trim).peekable();
    let is_row = |line: &str| line.starts_with('|');
    let mut has_words = false;
    while let Some(line) = lines.next_if(|line| !is_row(line)) {
        has_words |= !line.is_empty();
    }
    let owned = |cells: Vec<&str>| cells.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let titles = owned(cells(lines.next()?)?);
    let rule = lines.next()?;
    let is_rule = rule.chars().all(|sign| "|-: ".contains(sign));
    is_rule.then_some(())?;
    let mut rows = Vec::new();
    while let Some(line) = lines.next_if(|line| is_row(line)) {
        rows.push(owned(cells(line)?));
    }
    for line in lines {
        // A second table has other columns.
        if is_row(line) {
            return None;
        }
        has_words |= !line.is_empty();
    }
    Some(FoundPlan {
        plan: of_rows(&titles, &rows)?,
        extent: if has_words { Extent::Part } else { Extent::All },
    })
}

/// The plan in `rows` below `titles`; `None` if a column has no meaning, or a row more cells than there are titles.
pub(super) fn of_rows(titles: &[String], rows: &[Vec<String>]) -> Option<Value> {
    let fields: Vec<Option<&str>> = titles.iter().map(|title| field(title)).collect();
    if !fields.contains(&Some("tool")) || rows.is_empty() {
        return None;
    }
    let column = |name: &str| fields.iter().position(|field| *field == Some(name));
    let (name_column, id_column) = (column("name"), column("id"));
    // The name of a result is the id, and a number beside it only that of the row.
    let name_in = |row: &[String]| {
        let name = row.get(name_column?)?.trim().trim_matches(['`', '$']);
        let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
        (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
    };
    let number_in = |row: &[String]| Some(row.get(id_column?)?.trim().to_owned());
    let mut names: HashMap<String, String> = HashMap::new();
    for row in rows {
        if let (Some(number), Some(name)) = (number_in(row), name_in(row)) {
            names.entry(number).or_insert(name);
        }
    }
    let steps = rows
        .iter()
        .map(|row| step(&fields, row, name_in(row), &names));
    let steps = steps.collect::<Option<Vec<_>>>()?;
    Some(Value::object([("steps", Value::list(steps))]))
}

/// The step in `row`, whose cells are the values of `fields`; its id is `name`, and `names` are the ids by the numbers of rows.
fn step(
    fields: &[Option<&'static str>],
    row: &[String],
    name: Option<String>,
    names: &HashMap<String, String>,
) -> Option<Value> {
    if row.len() > fields.len() {
        return None;
    }
    let cells = fields.iter().zip(row);
    let cells = cells.map(|(field, cell)| (field, cell.trim()));
    let entries = cells.filter(|(_, cell)| !matches!(*cell, "" | "-" | "–" | "—" | "none"));
    let entries = entries.map(|(field, cell)| {
        let field = (*field)?;
        let value = match field {
            "args" => arguments(cell)?,
            "after" => {
                let ids = split(cell)?.into_iter();
                Value::list(ids.map(|id| Value::text(names.get(id).map_or(id, |name| name))))
            }
            _ => Value::text(cell),
        };
        Some((Arc::from(field), value))
    });
    let mut entries: Vec<(Arc<str>, Value)> = entries.collect::<Option<_>>()?;
    if let Some(name) = name {
        entries.retain(|(field, _)| !matches!(&**field, "id" | "name"));
        entries.insert(0, ("id".into(), Value::text(name)));
    }
    // Words about a result are for people.
    for (field, _) in &mut entries {
        if &**field == "name" {
            *field = "note".into();
        }
    }
    object(entries)
}

/// The cells of a row, without the marks of code and emphasis; `None` if a cell has an escaped `|`.
fn cells(line: &str) -> Option<Vec<&str>> {
    if line.contains("\\|") {
        return None;
    }
    let inside = line.strip_prefix('|').unwrap_or(line);
    let inside = inside.strip_suffix('|').unwrap_or(inside);
    let cells = inside
        .split('|')
        .map(|cell| cell.trim().trim_matches(['`', '*']).trim());
    Some(cells.collect())
}

/// The field that a column holds.
fn field(title: &str) -> Option<&'static str> {
    let title = title.to_lowercase();
    let words = [
        ("tool", "tool"),
        ("function", "tool"),
        ("action", "tool"),
        ("call", "tool"),
        ("arg", "args"),
        ("param", "args"),
        ("input", "args"),
        ("depend", "after"),
        ("after", "after"),
        ("needs", "after"),
        ("when", "when"),
        ("condition", "when"),
        ("note", "note"),
        ("description", "note"),
        ("purpose", "note"),
        ("why", "note"),
        ("id", "id"),
        ("step", "id"),
        ("name", "id"),
        ("#", "id"),
        ("werkzeug", "tool"),
        ("herramienta", "tool"),
        ("outil", "tool"),
        ("ferramenta", "tool"),
        ("strumento", "tool"),
        ("depende", "after"),
        ("abh\u{e4}ng", "after"),
        ("dipende", "after"),
        ("paso", "id"),
        ("schritt", "id"),
        ("\u{e9}tape", "id"),
        ("passo", "id"),
        ("nr", "id"),
        ("no", "id"),
    ];
    let of_results = [
        "result", "output", "save", "store", "variable", "guardar", "speicher", "ergebnis",
        "salida",
    ];
    if of_results.iter().any(|word| title.contains(word)) {
        return Some("name");
    }
    let found = words.iter().find(|(word, _)| title.contains(word));
    found.map(|(_, field)| *field)
}

/// The arguments in a cell: JSON, or `name=value, name: value`.
pub(super) fn arguments(cell: &str) -> Option<Value> {
    if let Some(found) = Value::from_json(cell)
        .ok()
        .filter(|value| value.as_object().is_some())
    {
        return Some(found);
    }
    // With semicolons, commas are parts of the values.
    let parts = if cell.contains(';') || cell.matches(" = ").count() == 1 {
        cell.split(';')
            .filter(|part| !part.trim().is_empty())
            .collect()
    } else {
        split(cell)?
    };
    let parts = parts.into_iter().map(|part| {
        let (name, value) = named(part, &['=', ':'])?;
        let value = value.trim().trim_matches('`');
        let value =
            Value::from_json(value).unwrap_or_else(|_| Value::text(value.trim_matches('\'')));
        Some((Arc::from(name), value))
    });
    object(parts.collect::<Option<Vec<_>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_steps() {
        let check = |text: &str, expected: Option<&str>| {
            let found = plan(text).map(|found| found.plan.to_json());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            "| # | Tool | Arguments | Depends on |\n|---|:--|--|--|\n| 1 | `f` | n=1, t=${x.y} | - |\n| 2 | g | {\"a\": [1]} | 1 |",
            Some(
                r#"{"steps":[{"id":"1","tool":"f","args":{"n":1,"t":"${x.y}"}},{"id":"2","tool":"g","args":{"a":[1]},"after":["1"]}]}"#,
            ),
        );
        check("| a | b |\n|--|--|\n| 1 | 2 |", None);
        check("| tool | colour |\n|--|--|\n| f | red |", None);
        check("| tool |", None);
        let rows = |rows: &str| format!("| tool | when | args |\n|--|--|--|\n{rows}");
        check(&rows("| f | ${a || b} | n=1 |"), None);
        check(&rows("| f | ${a \\|\\| b} | n=1 |"), None);
        check(&rows("| f | | n=1, n=2 |"), None);
        check(&rows("| f |\n\n| tool | id |\n|--|--|\n| g | a |"), None);
        check("", None);
    }
}
