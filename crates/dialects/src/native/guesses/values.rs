//! Guesses of the inputs and the output of a plan: lists of names, other names of types, several outputs.

use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Value};

use super::words::{PLAN, is_plan_field};
use super::{Guesses, field, get, get_mut, has};
use crate::document::{Item, ItemEntry, ItemKind, quote};

/// The maximum length of a value in advice, in bytes.
const MAX_SHOWN: usize = 500;

/// Words of programming languages for the types of JSON Schema.
const TYPES: [(&str, &[&str]); 6] = [
    (
        "string",
        &["str", "text", "char", "date", "datetime", "url"],
    ),
    ("integer", &["int", "long"]),
    ("number", &["float", "double", "decimal", "num"]),
    ("boolean", &["bool"]),
    ("array", &["list", "string[]", "tuple", "set"]),
    ("object", &["dict", "map", "json", "record"]),
];

/// The type of JSON Schema that `word` stands for.
fn type_of(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let word = word.trim();
    let mut found = TYPES
        .iter()
        .filter(|(name, words)| *name == word || words.contains(&word));
    found.next().map(|(name, _)| *name)
}

/// The type of JSON Schema that `word` stands for if the value may be missing: `string?`, `Optional[str]`, `string | null`.
fn optional_type(word: &str) -> Option<&'static str> {
    let word = word.trim().to_lowercase();
    let inside = [
        "?",
        " (optional)",
        " | null",
        " | none",
        "|null",
        ", optional",
    ]
    .iter()
    .find_map(|end| word.strip_suffix(end));
    let wrapped = word
        .strip_prefix("optional[")
        .and_then(|word| word.strip_suffix(']'));
    type_of(
        inside
            .or(wrapped)
            .or_else(|| word.strip_prefix("optional "))?,
    )
}

impl Guesses<'_> {
    /// Reads other names of types, `required` and `value` in the schemas of inputs.
    pub(super) fn input_schemas(&mut self, inputs: &mut Item) {
        let ItemKind::Object(entries) = &mut inputs.kind else {
            return;
        };
        for entry in entries {
            let name = Arc::clone(&entry.key);
            if let Some(word) = entry.item.as_text().and_then(|word| optional_type(word)) {
                let json = format!("{{\"type\": [\"{word}\", \"null\"], \"default\": null}}");
                let help = format!("write `\"{name}\": {json}` for an input that may be left out");
                let message = format!("expected a JSON Schema for the input `{name}`, found text");
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let diagnostic = diagnostic.help(help).fix(json);
                self.sink.push_with_safe_fix(entry.item.place, diagnostic);
                let place = entry.item.place;
                entry.item.kind = ItemKind::Object(vec![field("default", ItemKind::Null, place)]);
                continue;
            }
            if let Some(word) = entry.item.as_text().and_then(|word| type_of(word)) {
                let help = format!(
                    "write `\"{name}\": {{\"type\": \"{word}\"}}`, or `{{\"default\": …}}` for a value"
                );
                let message = format!("expected a JSON Schema for the input `{name}`, found text");
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                self.sink.push(entry.item.place, diagnostic.help(help));
                let kind = ItemKind::Text(word.into());
                entry.item.kind = ItemKind::Object(vec![field("type", kind, entry.item.place)]);
                continue;
            }
            if let ItemKind::Object(schema) = &mut entry.item.kind {
                self.input_schema(&name, schema);
            }
        }
    }

    fn input_schema(&mut self, name: &str, schema: &mut Vec<ItemEntry>) {
        if let Some(kind) = get_mut(schema, "type")
            && let Some(word) = kind.as_text()
            && let Some(known) = type_of(word).filter(|known| *known != &**word)
        {
            let message = format!("the type of the input `{name}` cannot be {}", quote(word));
            let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
            let help = format!("write `\"type\": \"{known}\"`");
            self.sink.push(kind.place, diagnostic.help(help));
            kind.kind = ItemKind::Text(known.into());
        }
        let required = |entry: &ItemEntry| match (&*entry.key, &entry.item.kind) {
            ("required" | "optional", ItemKind::Bool(value)) => Some(*value),
            _ => None,
        };
        if let Some(at) = schema.iter().position(|entry| required(entry).is_some()) {
            let entry = schema.remove(at);
            let is_required = required(&entry) == Some(&*entry.key == "required");
            let help = if is_required || has(schema, "default") {
                "leave it out: an input without a `default` is required"
            } else {
                "write `\"default\": null`: an input without a `default` is required"
            };
            let message = format!("the input `{name}` has an unknown field `{}`", entry.key);
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            self.sink.push_at_key(&entry, diagnostic.help(help));
        }
        if !has(schema, "default")
            && let Some(entry) = schema
                .iter_mut()
                .find(|entry| matches!(&*entry.key, "value" | "default_value" | "defaultValue"))
        {
            let message = format!("the input `{name}` has an unknown field `{}`", entry.key);
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let diagnostic = diagnostic.help("did you mean `default`?").rename("default");
            self.sink.push_at_key(entry, diagnostic);
            entry.key = "default".into();
        }
    }

    /// Reads `"outputs": {"a": {"type": "text", "value": "${b}"}}` as the values: outputs have no types in a plan.
    fn typed_outputs(&mut self, entry: &mut ItemEntry) {
        let ItemKind::Object(parts) = &entry.item.kind else {
            return;
        };
        let is_typed = |part: &ItemEntry| {
            let fields = part.item.as_object();
            fields.is_some_and(|fields| {
                let words = ["value", "type", "description"];
                has(fields, "value") && fields.iter().all(|field| words.contains(&&*field.key))
            })
        };
        if &*entry.key == "output" || parts.is_empty() || !parts.iter().all(is_typed) {
            return;
        }
        let values = parts.iter().filter_map(|part| {
            let value = part.item.get("value")?;
            Some(field(&part.key, value.kind.clone(), value.place))
        });
        let values: Vec<ItemEntry> = values.collect();
        let shown = values
            .iter()
            .map(|part| (Arc::clone(&part.key), part.item.to_value()));
        let json = Value::object(shown.collect::<Vec<_>>()).to_json();
        let help = if json.len() <= MAX_SHOWN && !json.contains('`') {
            format!("write `\"output\": {json}`")
        } else {
            "write one object with the values as `output`".to_owned()
        };
        let message = format!("the plan has an unknown field `{}`", entry.key);
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        self.sink.push_at_key(entry, diagnostic.help(help));
        entry.key = "output".into();
        entry.item.kind = ItemKind::Object(values);
    }

    /// Reads several outputs beside each other as one object.
    pub(super) fn outputs(&mut self, entries: &mut Vec<ItemEntry>) {
        let words = PLAN.iter().find(|group| group.field == "output");
        let words = words.map_or(&[][..], |group| group.words);
        let is_output = |entry: &ItemEntry| {
            &*entry.key == "output" || (!is_plan_field(&entry.key) && words.contains(&&*entry.key))
        };
        if let Some(entry) = entries.iter_mut().find(|entry| is_output(entry)) {
            self.typed_outputs(entry);
        }
        if entries.iter().filter(|entry| is_output(entry)).count() < 2 {
            return;
        }
        let (found, others): (Vec<ItemEntry>, Vec<ItemEntry>) =
            std::mem::take(entries).into_iter().partition(is_output);
        *entries = others;
        let mut fields: Vec<ItemEntry> = Vec::new();
        for entry in &found {
            let parts = match &entry.item.kind {
                ItemKind::Object(parts) => Some(parts.clone()),
                ItemKind::List(items) => items.iter().map(named_part).collect(),
                ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => {
                    None
                }
            };
            let whole = || vec![field(&entry.key, entry.item.kind.clone(), entry.item.place)];
            for part in parts.unwrap_or_else(whole) {
                if !has(&fields, &part.key) {
                    fields.push(part);
                }
            }
        }
        let values = fields
            .iter()
            .map(|part| (Arc::clone(&part.key), part.item.to_value()));
        let json = Value::object(values.collect::<Vec<_>>()).to_json();
        let help = if json.len() <= MAX_SHOWN && !json.contains('`') {
            format!("write one object: `\"output\": {json}`")
        } else {
            "write one object with all of them as `output`".to_owned()
        };
        let Some((first, further)) = found.split_first() else {
            return;
        };
        for entry in further {
            let message = format!("the plan has `{}` beside `{}`", entry.key, first.key);
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            self.sink.push_at_key(entry, diagnostic.help(&*help));
        }
        let place = first.item.place;
        entries.push(field("output", ItemKind::Object(fields), place));
    }
}

/// The field that an item such as `{"name": "a", "value": "${b}"}` stands for.
fn named_part(item: &Item) -> Option<ItemEntry> {
    let parts = item.as_object()?;
    let name = get(parts, "name")?.as_text()?;
    let (value, from) = (get(parts, "value"), get(parts, "from"));
    let (kind, place) = match (value, from) {
        (Some(value), _) => (value.kind.clone(), value.place),
        (None, Some(from)) => {
            let text = format!("${{{}}}", from.as_text()?);
            (ItemKind::Text(text.into()), from.place)
        }
        (None, None) => return None,
    };
    Some(field(name, kind, place))
}

/// The object that a list of names with values means, as JSON: `[{"name": "a", "value": "${b}"}]`.
pub(super) fn named_values(item: &Item) -> Option<String> {
    let items = item.as_list().filter(|items| !items.is_empty())?;
    let fields = items.iter().map(|item| {
        let value = match (item.get("value"), item.get("from")) {
            (Some(value), _) => value.to_value(),
            (None, Some(from)) => Value::text(format!("${{{}}}", from.as_text()?)),
            (None, None) => return None,
        };
        Some((Arc::clone(item.get("name")?.as_text()?), value))
    });
    let json = Value::object(fields.collect::<Option<Vec<_>>>()?).to_json();
    (json.len() < MAX_SHOWN && !json.contains('`')).then_some(json)
}
