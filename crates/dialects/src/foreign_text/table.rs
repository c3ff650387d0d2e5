//! Plans as tables of Markdown, a step in each row.

use std::sync::Arc;

use planwright_core::Value;

use super::calls::values::{named, split};

/// The plan in the table `text`; `None` if it is none, or has a column without a meaning.
pub(super) fn plan(text: &str) -> Option<Value> {
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('|'));
    let titles: Vec<String> = cells(lines.next()?).map(str::to_owned).collect();
    let rule = lines.next()?;
    let is_rule = rule.chars().all(|sign| "|-: ".contains(sign));
    is_rule.then_some(())?;
    let rows: Vec<Vec<String>> = lines
        .map(|line| cells(line).map(str::to_owned).collect())
        .collect();
    of_rows(&titles, &rows)
}

/// The plan in `rows` below `titles`; `None` if a column has no meaning.
pub(super) fn of_rows(titles: &[String], rows: &[Vec<String>]) -> Option<Value> {
    let fields: Vec<Option<&str>> = titles.iter().map(|title| field(title)).collect();
    if !fields.contains(&Some("tool")) {
        return None;
    }
    let columns = |name: &str| fields.iter().position(|field| *field == Some(name));
    // The name of a result is the id, and a number beside it only that of the row.
    let names: Vec<Option<(&str, &str)>> = rows
        .iter()
        .map(|row| {
            let name = row.get(columns("name")?)?.trim().trim_matches(['`', '$']);
            let number = columns("id").and_then(|column| row.get(column));
            let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
            let is_id = !name.is_empty() && name.chars().all(is_name);
            is_id.then(|| (number.map_or("", |number| number.trim()), name))
        })
        .collect();
    let id_of = |number: &str| -> Value {
        let mut known = names.iter().flatten();
        let found = known.find(|(known, _)| *known == number);
        Value::text(found.map_or(number, |(_, name)| *name))
    };
    let steps = rows.iter().zip(&names).map(|(row, name)| {
        let cells = fields.iter().zip(row);
        let cells = cells.map(|(field, cell)| (field, cell.trim()));
        let entries = cells.filter(|(_, cell)| !matches!(*cell, "" | "-" | "–" | "—" | "none"));
        let mut entries: Vec<(Arc<str>, Value)> = entries
            .map(|(field, cell)| {
                let field = (*field)?;
                let value = match field {
                    "args" => arguments(cell)?,
                    "after" => {
                        let ids = split(cell)?.into_iter();
                        Value::list(ids.map(id_of))
                    }
                    _ => Value::text(cell),
                };
                Some((Arc::from(field), value))
            })
            .collect::<Option<_>>()?;
        entries.retain(|(field, _)| &**field != "name");
        if let Some((_, name)) = name {
            entries.retain(|(field, _)| &**field != "id");
            entries.insert(0, ("id".into(), Value::text(*name)));
        }
        Some(Value::object(entries))
    });
    let steps: Vec<Value> = steps.collect::<Option<_>>()?;
    (!steps.is_empty()).then(|| Value::object([("steps", Value::list(steps))]))
}

/// The cells of a row, without the marks of code and emphasis.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    let inside = line.strip_prefix('|').unwrap_or(line);
    let inside = inside.strip_suffix('|').unwrap_or(inside);
    inside
        .split('|')
        .map(|cell| cell.trim().trim_matches(['`', '*']).trim())
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
        ("no", "id"),
    ];
    let of_results = ["result", "output", "save", "store", "variable"];
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
    let parts = split(cell)?.into_iter().map(|part| {
        let (name, value) = named(part, &['=', ':'])?;
        let value = value.trim().trim_matches('`');
        let value =
            Value::from_json(value).unwrap_or_else(|_| Value::text(value.trim_matches('\'')));
        Some((Arc::from(name), value))
    });
    Some(Value::object(parts.collect::<Option<Vec<_>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_steps() {
        let check = |text: &str, expected: Option<&str>| {
            let found = plan(text).map(|plan| plan.to_json());
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
        check("", None);
    }
}
