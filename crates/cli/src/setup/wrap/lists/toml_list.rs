//! A table of servers in a TOML file, edited in place: all other tables, their order and all comments stay as they are.

use planwright::core::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, Table, TableLike};

use super::server_list::ServerList;
use crate::setup::wrap::edit::EditError;

/// The byte order mark, with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The table at a path of a document.
#[derive(Clone, Debug)]
pub(crate) struct TomlList {
    /// True if the text begins with a byte order mark, which the document does not keep.
    has_mark: bool,
    /// True if all lines end with CRLF, which the document does not keep.
    has_crlf: bool,
    document: DocumentMut,
    path: Vec<String>,
    /// The first position of a removed server among the tables of the file.
    position: Option<isize>,
    /// True if a blank line precedes that position.
    has_blank: bool,
    /// Comments that precede a removed server, but are separated from it by a blank line. They stay.
    comments: String,
}

impl TomlList {
    /// Finds the table at `path` in `text`.
    pub(crate) fn find(text: &str, path: &[&str]) -> Result<Option<Self>, EditError> {
        let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let crlf = body.matches("\r\n").count();
        let has_crlf = crlf > 0 && crlf == body.matches('\n').count();
        let lines = body.replace("\r\n", "\n");
        let document: DocumentMut = lines.parse().map_err(|error: toml_edit::TomlError| {
            let message = error
                .message()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            EditError::malformed("TOML", &message)
        })?;
        let mut list = Self {
            has_mark: body.len() < text.len(),
            has_crlf,
            document,
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            position: None,
            has_blank: false,
            comments: String::new(),
        };
        Ok(list.table().is_some().then_some(list))
    }

    fn table(&mut self) -> Option<&mut dyn TableLike> {
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for name in &self.path {
            table = table.get_mut(name)?.as_table_like_mut()?;
        }
        Some(table)
    }

    /// A document with one server.
    fn document_of(&self, key: &Key, item: Item) -> DocumentMut {
        let mut document = DocumentMut::new();
        let mut table = Table::new();
        table.set_implicit(true);
        table.entry_format(key).or_insert(item);
        for name in self.path.iter().skip(1).rev() {
            let mut outer = Table::new();
            outer.set_implicit(true);
            outer.insert(name, Item::Table(table));
            table = outer;
        }
        let name = self.path.first().map_or("", String::as_str);
        document.insert(name, Item::Table(table));
        document
    }

    /// The name and the value of the server of a fragment.
    fn read(&self, fragment: &str) -> Result<(Key, Item), EditError> {
        let no_text = || EditError::malformed("TOML", "a server has no text");
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let mut list = Self::find(fragment, &path)?.ok_or_else(no_text)?;
        let table = list.table().ok_or_else(no_text)?;
        let name = table.iter().next().map(|(name, _)| name.to_owned());
        let name = name.ok_or_else(no_text)?;
        let key = table.key(&name).cloned().ok_or_else(no_text)?;
        let item = table.remove(&name).ok_or_else(no_text)?;
        Ok((key, item))
    }
}

impl ServerList for TomlList {
    fn servers(&self) -> Vec<(String, Value)> {
        let mut list = self.clone();
        let Some(table) = list.table() else {
            return Vec::new();
        };
        let servers = table.iter();
        servers
            .map(|(name, item)| (name.to_owned(), to_value(item)))
            .collect()
    }

    fn remove(&mut self, at: usize) -> String {
        let Some(table) = self.table() else {
            return String::new();
        };
        let Some(name) = table.iter().nth(at).map(|(name, _)| name.to_owned()) else {
            return String::new();
        };
        let key = table.key(&name).cloned().unwrap_or_else(|| Key::new(&name));
        let Some(mut item) = table.remove(&name) else {
            return String::new();
        };
        if let Item::Table(table) = &mut item {
            let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
            let prefix = prefix.unwrap_or_default().to_owned();
            let is_first = self
                .position
                .is_none_or(|first| table.position() < Some(first));
            if is_first {
                self.position = table.position();
                self.has_blank = prefix.starts_with('\n');
            }
            // The comments directly above the server move with it.
            let at = prefix.rfind("\n\n").map_or(0, |at| at + 2);
            let (stays, moves) = prefix.split_at(at);
            self.comments += stays;
            table.decor_mut().set_prefix(moves);
        }
        self.document_of(&key, item).to_string()
    }

    fn insert(&mut self, _: usize, fragment: &str) -> Result<(), EditError> {
        let (key, mut item) = self.read(fragment)?;
        let (position, has_blank) = (self.position, self.has_blank);
        let comments = std::mem::take(&mut self.comments);
        if let Item::Table(table) = &mut item {
            set_position(table, position);
            let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
            let own = prefix.unwrap_or_default().to_owned();
            // A table that followed a blank line follows one again.
            let needs_blank = has_blank && comments.is_empty() && !own.starts_with('\n');
            let blank = if needs_blank { "\n" } else { "" };
            table
                .decor_mut()
                .set_prefix(format!("{comments}{blank}{own}"));
        }
        // A table in braces has values only.
        let name = self.path.first().map_or("", String::as_str);
        let is_inline = self.document.get(name).is_some_and(Item::is_inline_table);
        if is_inline {
            item = item.into_value().map_or_else(|item| item, Item::Value);
        }
        let Some(table) = self.table() else {
            return Err(EditError::malformed("TOML", "the servers are gone"));
        };
        table.entry_format(&key).or_insert(item);
        Ok(())
    }

    fn format(&self, name: &str, entry: &Value, _: Option<&str>) -> String {
        let mut table = Table::new();
        for (field, value) in entry.as_object().into_iter().flatten() {
            if let Some(value) = to_toml(value) {
                table.insert(field, Item::Value(value));
            }
        }
        self.document_of(&Key::new(name), Item::Table(table))
            .to_string()
    }

    fn renamed(&self, fragment: &str, name: &str, entry: &Value) -> String {
        match self.read(fragment) {
            Ok((_, item)) => self.document_of(&Key::new(name), item).to_string(),
            Err(_) => self.format(name, entry, None),
        }
    }

    fn text(&self) -> String {
        let mut document = self.document.clone();
        if !self.comments.trim().is_empty() {
            // Nothing took the place of the server below them, so they stand above what follows.
            let mut positions = Vec::new();
            collect_positions(document.as_table(), &mut positions);
            positions.retain(|at| Some(*at) > self.position);
            let next = positions.into_iter().min();
            let is_placed =
                next.is_some_and(|next| put_above(document.as_table_mut(), next, &self.comments));
            if !is_placed {
                let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
                document.set_trailing(format!("{}{trailing}", self.comments));
            }
        }
        let mut text = document.to_string();
        if self.has_crlf {
            text = text.replace('\n', "\r\n");
        }
        if self.has_mark {
            text.insert(0, BYTE_ORDER_MARK);
        }
        text
    }
}

/// Collects the positions of a table and of all tables in it that have a header.
fn collect_positions(table: &Table, positions: &mut Vec<isize>) {
    positions.extend(table.position().filter(|_| !table.is_implicit()));
    for (_, item) in table {
        match item {
            Item::Table(inner) => collect_positions(inner, positions),
            Item::ArrayOfTables(tables) => {
                for inner in tables {
                    collect_positions(inner, positions);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

/// Puts comments above the table at a position. Returns false if there is none.
fn put_above(table: &mut Table, position: isize, comments: &str) -> bool {
    if table.position() == Some(position) && !table.is_implicit() {
        let own = table.decor().prefix().and_then(|prefix| prefix.as_str());
        let own = own.unwrap_or_default().trim_start_matches('\n').to_owned();
        table.decor_mut().set_prefix(format!("{comments}{own}"));
        return true;
    }
    table.iter_mut().any(|(_, item)| match item {
        Item::Table(inner) => put_above(inner, position, comments),
        Item::ArrayOfTables(tables) => tables
            .iter_mut()
            .any(|inner| put_above(inner, position, comments)),
        Item::None | Item::Value(_) => false,
    })
}

/// Gives a table and all tables in it one position, at which they keep their order.
fn set_position(table: &mut Table, position: Option<isize>) {
    table.set_position(position);
    for (_, item) in table.iter_mut() {
        if let Item::Table(inner) = item {
            set_position(inner, position);
        }
    }
}

fn to_value(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let fields = table.iter();
        return Value::object(fields.map(|(name, item)| (name, to_value(item))));
    }
    match item {
        Item::Value(value) => of_toml(value),
        Item::ArrayOfTables(tables) => Value::list(tables.iter().map(|table| {
            let fields = table.iter();
            Value::object(fields.map(|(name, item)| (name, to_value(item))))
        })),
        Item::None | Item::Table(_) => Value::Null,
    }
}

fn of_toml(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(is_set) => Value::from(*is_set.value()),
        toml_edit::Value::Datetime(time) => Value::text(time.value().to_string()),
        toml_edit::Value::Array(items) => Value::list(items.iter().map(of_toml)),
        toml_edit::Value::InlineTable(table) => {
            let fields = table.iter();
            Value::object(fields.map(|(name, value)| (name, of_toml(value))))
        }
    }
}

/// Returns a value of TOML; `None` for `null`, which TOML does not have.
fn to_toml(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(is_set) => (*is_set).into(),
        Value::Text(text) => (&**text).into(),
        Value::Number(_) => {
            let text = value.to_json();
            match text.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => text.parse::<f64>().ok()?.into(),
            }
        }
        Value::List(items) => {
            let items: Array = items.iter().filter_map(to_toml).collect();
            items.into()
        }
        Value::Object(fields) => {
            let mut table = InlineTable::new();
            for (name, value) in fields.iter() {
                if let Some(value) = to_toml(value) {
                    table.insert(&**name, value);
                }
            }
            table.into()
        }
    })
}
