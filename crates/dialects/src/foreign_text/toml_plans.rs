//! The value of a plan in TOML, for advice: tables, lists of tables, texts, numbers, lists and inline tables.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::MAX_DEPTH;
use super::calls::values::{closing, is_open, split, split_at};

/// The maximum length of a value over several lines, in bytes.
const MAX_STATEMENT_BYTES: usize = 4096;

/// The maximum number of lines of a value. Each one reads the lines before it again.
const MAX_STATEMENT_LINES: usize = 200;

/// The value of the TOML in `text`; `None` if it has no table, or more than this.
pub(super) fn value(text: &str) -> Option<Value> {
    let mut root = Table::default();
    let mut at: Vec<String> = Vec::new();
    let mut has_table = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut statement = without_comment(line).trim().to_owned();
        if statement.is_empty() {
            continue;
        }
        if statement.starts_with('[') {
            let (path, is_item) = header(&statement)?;
            has_table = true;
            root.open(&path, is_item)?;
            at = path;
            continue;
        }
        let mut count = 1;
        while is_open(&statement) {
            count += 1;
            if statement.len() > MAX_STATEMENT_BYTES || count > MAX_STATEMENT_LINES {
                return None;
            }
            statement.push(' ');
            statement.push_str(without_comment(lines.next()?).trim());
        }
        let (key, written) = statement.split_once('=')?;
        let mut path = at.clone();
        path.extend(keys(key)?);
        root.set(&path, scalar(written.trim(), path.len())?)?;
    }
    has_table.then(|| root.into_value())
}

/// The path of a table's header, and whether the table is an item of a list; `None` if `line` is not a header.
fn header(line: &str) -> Option<(Vec<String>, bool)> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let item = inside
        .strip_prefix('[')
        .and_then(|inside| inside.strip_suffix(']'));
    Some((keys(item.unwrap_or(inside))?, item.is_some()))
}

/// The keys of a dotted key.
fn keys(written: &str) -> Option<Vec<String>> {
    let parts = split_at(written, '.')?;
    if parts.len() > MAX_DEPTH {
        return None;
    }
    let keys = parts.into_iter().map(|part| {
        let key = part.trim_matches(['"', '\'']);
        let is_key = !key.is_empty() && !key.contains(['[', ']', '"', '=', ' ', '(', '{']);
        is_key.then(|| key.to_owned())
    });
    keys.collect()
}

/// `line` without its comment.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, sign) in line.char_indices() {
        match (quote, sign) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(sign),
            (Some(open), sign) if sign == open => quote = None,
            (None | Some(_), _) => {}
        }
    }
    line
}

/// The value `written`, which is `depth` levels deep.
fn scalar(written: &str, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH || written.starts_with("\"\"\"") || written.starts_with("'''") {
        return None;
    }
    match written.chars().next()? {
        '\'' => {
            let inside = written.strip_prefix('\'')?.strip_suffix('\'')?;
            (!inside.contains('\'')).then(|| Value::text(inside))
        }
        '[' if closing(written) == Some(written.len() - 1) => {
            let items = split(&written[1..written.len() - 1])?;
            let items = items.into_iter().map(|item| scalar(item, depth + 1));
            Some(Value::list(items.collect::<Option<Vec<_>>>()?))
        }
        '{' if closing(written) == Some(written.len() - 1) => {
            let mut table = Table::default();
            for part in split(&written[1..written.len() - 1])? {
                let (key, value) = part.split_once('=')?;
                let path = keys(key)?;
                table.set(&path, scalar(value.trim(), depth + path.len())?)?;
            }
            Some(table.into_value())
        }
        '"' => Value::from_json(written).ok(),
        '0'..='9' | '-' => Value::from_json(&written.replace('_', "")).ok(),
        _ => match written {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
    }
}

/// A table in the making.
#[derive(Debug, Default)]
struct Table {
    entries: Vec<(String, Entry)>,
    /// The positions of the entries by their keys.
    positions: HashMap<String, usize>,
}

#[derive(Debug)]
enum Entry {
    Value(Value),
    Table(Table),
    List(Vec<Table>),
}

impl Table {
    /// Opens the table at `path`, a new item of a list there if it `is_item`.
    fn open(&mut self, path: &[String], is_item: bool) -> Option<()> {
        let (last, parents) = path.split_last()?;
        let table = self.descend(parents)?;
        match table.entry(last) {
            Some(Entry::List(items)) if is_item => items.push(Self::default()),
            Some(Entry::Table(_)) if !is_item => {}
            Some(_) => return None,
            None => {
                let entry = if is_item {
                    Entry::List(vec![Self::default()])
                } else {
                    Entry::Table(Self::default())
                };
                table.push(last, entry);
            }
        }
        Some(())
    }

    fn set(&mut self, path: &[String], value: Value) -> Option<()> {
        let (last, parents) = path.split_last()?;
        let table = self.descend(parents)?;
        table
            .entry(last)
            .is_none()
            .then(|| table.push(last, Entry::Value(value)))
    }

    /// The table at `path`, of a list its last item; those that do not exist are made.
    fn descend(&mut self, path: &[String]) -> Option<&mut Self> {
        let mut table = self;
        for key in path {
            if table.entry(key).is_none() {
                table.push(key, Entry::Table(Self::default()));
            }
            table = match table.entry(key)? {
                Entry::Table(inner) => inner,
                Entry::List(items) => items.last_mut()?,
                Entry::Value(_) => return None,
            };
        }
        Some(table)
    }

    fn entry(&mut self, key: &str) -> Option<&mut Entry> {
        let position = *self.positions.get(key)?;
        self.entries.get_mut(position).map(|(_, entry)| entry)
    }

    fn push(&mut self, key: &str, entry: Entry) {
        self.positions.insert(key.to_owned(), self.entries.len());
        self.entries.push((key.to_owned(), entry));
    }

    fn into_value(self) -> Value {
        let fields = self.entries.into_iter().map(|(key, entry)| {
            let value = match entry {
                Entry::Value(value) => value,
                Entry::Table(table) => table.into_value(),
                Entry::List(items) => Value::list(items.into_iter().map(Self::into_value)),
            };
            (Arc::from(key), value)
        });
        Value::object::<Arc<str>>(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_in_toml() {
        let check = |text: &str, expected: Option<&str>| {
            let found = value(text).map(|value| value.to_json());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            "name = \"x\" # words\n\n[[steps]]\nid = 'a'\nargs = { n = 1_000, t = \"#\" }\n\n[[steps]]\nid = \"b\"\nafter = [\n  \"a\",\n]\n[steps.args]\nok = true\n",
            Some(
                r##"{"name":"x","steps":[{"id":"a","args":{"n":1000,"t":"#"}},{"id":"b","after":["a"],"args":{"ok":true}}]}"##,
            ),
        );
        check(
            "[steps.a]\ntool = \"f\"\nargs.n = 1",
            Some(r#"{"steps":{"a":{"tool":"f","args":{"n":1}}}}"#),
        );
        check(
            "[a]\nb = \"x\\\" # y\" # z\nc = -1_0\nd = true",
            Some(r#"{"a":{"b":"x\" # y","c":-10,"d":true}}"#),
        );
        check("[a]\nb = tr_ue", None);
        check("[a]\nb = 'c' 'd'", None);
        check(
            &format!("[a]\nb = {}{}", "[".repeat(20_000), "]".repeat(20_000)),
            None,
        );
        check(&format!("[a]\nb{} = 1", ".c".repeat(20_000)), None);
        check(&format!("[a{}]\nb = 1", ".c".repeat(20_000)), None);
        check("a = f(x=1)", None);
        check("[a]\nb = 1\nb = 2", None);
        check("[a]\nb = \"\"\"\nx\"\"\"", None);
        check("[f(x=1), g()]", None);
        check("[1, 2]", None);
        check("", None);
    }
}
