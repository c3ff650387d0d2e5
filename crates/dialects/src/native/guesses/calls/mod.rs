//! Guesses of calls: as objects, by the name of their tool, with their server, and those for failures.

mod substitutes;

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place, TextEdit, Value};

use self::substitutes::{Rest, replaced_references};
use super::texts::bare_name;
use super::translation::quoted_length;
use super::units::on_error_word;
use super::words::{ARGS, STEP, TOOL, call_by_name, is_format_mark, is_step};
use super::{Guesses, field, get, get_mut, has};
use crate::document::edits::{field_edits, json, key_edit, removal, text_edit};
use crate::document::template::end_of_marker;
use crate::document::{Item, ItemEntry, ItemKind, quote};
use crate::lowering::nested_calls::named_call;

/// Words for the server of a tool.
const SERVERS: &[&str] = &[
    "server",
    "server_name",
    "serverName",
    "mcp_server",
    "mcpServer",
    "app",
    "connector",
    "integration",
    "toolset",
];

/// The maximum length of arguments in advice, in bytes.
const MAX_SHOWN_ARGS: usize = 1000;

/// Words for the tool in a call that is an object.
const CALL_NAMES: [&str; 5] = ["name", "tool", "tool_name", "toolName", "function"];

/// The length of the braces at the start of `text`.
fn braces_length(text: &str) -> Option<usize> {
    text.strip_prefix('{')?;
    Some(end_of_marker(text, 1, b"\"'")? + 1)
}

/// The `value` of a field that is read at `place`.
fn kind_of(value: &Value, place: Place) -> ItemKind {
    let item = |value: &Value| Item {
        kind: kind_of(value, place),
        place,
    };
    match value {
        Value::Null => ItemKind::Null,
        Value::Bool(value) => ItemKind::Bool(*value),
        Value::Number(number) => ItemKind::Number(number.clone()),
        Value::Text(text) => ItemKind::Text(Arc::clone(text)),
        Value::List(items) => ItemKind::List(items.iter().map(item).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| field(key, kind_of(value, place), place));
            ItemKind::Object(fields.collect())
        }
    }
}

/// `call` with the paths of the steps `ids` as references, where they are the value of an argument: `f(x=a.b)` as `f(x=${a.b})`.
fn with_marked_paths(call: &str, ids: &HashSet<Arc<str>>) -> String {
    let is_of_path = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
    let mut written = String::with_capacity(call.len());
    let mut rest = call;
    while let Some(sign) = rest.chars().next() {
        let length = match sign {
            '"' | '\'' => quoted_length(rest, sign).unwrap_or(rest.len()),
            _ if sign.is_alphabetic() || sign == '_' => {
                rest.find(|sign| !is_of_path(sign)).unwrap_or(rest.len())
            }
            _ => sign.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        // Brackets of a list around the value are not a part of the path.
        let path = if word.matches('[').count() < word.matches(']').count() {
            word.trim_end_matches(']')
        } else {
            word
        };
        let name = path.split(['.', '[']).next().unwrap_or_default();
        let begins = written.trim_end().ends_with(['=', ':', '[', ',']);
        if begins && ids.contains(name) && after.trim_start().starts_with([',', ')', ']', '}']) {
            written.extend(["${", path, "}", &word[path.len()..]]);
        } else {
            written.push_str(word);
        }
        rest = after;
    }
    written
}

impl Guesses<'_> {
    /// Reads a fallback call, `"fallback": {"tool": …}` or `"on_error": {"tool": …}`, which becomes a separate step.
    pub(super) fn fallback_calls(&mut self, items: &mut Vec<Item>) {
        let mut read_instead: Vec<(String, String)> = Vec::new();
        for mut item in std::mem::take(items) {
            let place = item.place;
            let id = id_of(&item);
            let ItemKind::Object(entries) = &mut item.kind else {
                items.push(item);
                continue;
            };
            let call = |entry: &ItemEntry| {
                let words = [
                    "fallback",
                    "on_error",
                    "on_failure",
                    "onError",
                    "catch",
                    "otherwise",
                ];
                if !words.contains(&&*entry.key) {
                    return None;
                }
                let inner = ["fallback", "call", "step", "then"];
                let nested = inner.iter().find_map(|word| entry.item.get(word));
                let call = nested.unwrap_or(&entry.item);
                // A word such as `continue` is no tool.
                let is_word = TOOL.iter().any(|word| {
                    let text = call.get(word).and_then(Item::as_text);
                    text.is_some_and(|text| on_error_word(text).is_some())
                });
                (is_step(call) && !is_word).then(|| call.clone())
            };
            let found = entries
                .iter()
                .enumerate()
                .find_map(|(at, entry)| Some((at, call(entry)?)));
            let Some((at, mut fallback)) = found else {
                items.push(item);
                continue;
            };
            let entry = entries.remove(at);
            let id = id.filter(|id| bare_name(id).as_deref() == Some(&**id));
            let id = id.as_deref().unwrap_or("ID");
            let other = format!("{id}_fallback");
            let when = format!("${{!results.{id}.success}}");
            if let ItemKind::Object(fields) = &mut fallback.kind {
                fields.retain(|field| &*field.key != "id");
                fields.insert(0, field("id", ItemKind::Text(other.as_str().into()), place));
                fields.push(field("when", ItemKind::Text(when.into()), place));
            }
            let shown = fallback.to_value().to_json();
            let shown = if shown.len() < MAX_SHOWN_ARGS && !shown.contains('`') {
                format!("`{shown}`")
            } else {
                quote(&shown)
            };
            // An object in place of the answer has its fields.
            let is_object = fallback
                .get("value")
                .is_some_and(|value| value.as_object().is_some());
            let is_same_tool = item_tool(entries) == fallback.get("tool").and_then(Item::as_text);
            let rest = if is_object || is_same_tool {
                Rest::OfBoth
            } else {
                Rest::OfFirst
            };
            let pairs = replaced_references(self.source.text(), id, &other, rest);
            let replaced = match (pairs.as_deref(), rest) {
                (Some([]), _) | (None, Rest::OfFirst) => format!(
                    "and `?? {other}` at the end of each reference to `{id}`, such as `${{{id} ?? {other}}}`"
                ),
                (None, Rest::OfBoth) => {
                    format!("and `({id} ?? {other})` in place of `{id}` in each expression")
                }
                (Some(several), _) => {
                    let several = several.iter();
                    let several = several.map(|(from, to)| format!("`{to}` in place of `{from}`"));
                    format!("and {}", several.collect::<Vec<_>>().join(", "))
                }
            };
            read_instead.extend(pairs.into_iter().flatten());
            let help =
                format!("write `\"on_error\": \"continue\"` here, the step {shown}, {replaced}");
            let message = format!(
                "a step has no call for a failure, as in {}",
                quote(&entry.key)
            );
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            self.sink.push_at_key(&entry, diagnostic.help(help));
            let is_free = !entries.iter().any(|entry| &*entry.key == "on_error");
            if is_free {
                entries.push(field("on_error", ItemKind::Text("continue".into()), place));
            }
            items.push(item);
            items.push(fallback);
        }
        if !read_instead.is_empty() {
            for item in items.iter_mut() {
                replace_texts(item, &read_instead, 0);
            }
        }
        let has_condition = |item: &Item| {
            let words = STEP.iter().filter(|group| group.field == "when");
            let mut words = words.flat_map(|group| group.words.iter().chain([&group.field]));
            words.any(|word| item.has(word))
        };
        let unconditional = items.iter().filter(|item| !has_condition(item));
        let named = unconditional
            .filter_map(|item| Some((Arc::clone(item.get("id")?.as_text()?), item.place)));
        self.unconditional.extend(named);
    }

    /// Reads a call that is a text, `"tool": "echo(message='a')"`, or the only field of its step, `"say": "echo(message='a')"`.
    pub(super) fn written_call(&mut self, entries: &mut Vec<ItemEntry>) {
        if ARGS.iter().any(|word| has(entries, word)) {
            return;
        }
        let is_only = entries.len() == 1;
        let call = |entry: &ItemEntry| {
            let is_tool = &*entry.key == "tool" || TOOL.contains(&&*entry.key);
            let text = entry.item.as_text().filter(|_| is_tool || is_only)?;
            let text = with_marked_paths(text.trim(), &self.ids);
            let (tool, args) = named_call(&text, braces_length)?;
            Some((tool, args, !is_tool))
        };
        let mut found = entries.iter().enumerate();
        let Some((at, (tool, args, is_named))) =
            found.find_map(|(at, entry)| Some((at, call(entry)?)))
        else {
            return;
        };
        let entry = entries.remove(at);
        let place = entry.item.place;
        let args = Value::object(
            args.into_iter()
                .map(|(name, value)| (Arc::from(name), value)),
        );
        let mut fields: Vec<(&str, String)> = Vec::new();
        if is_named {
            fields.push(("id", json(&entry.key)));
        }
        fields.push(("tool", json(&tool)));
        fields.push(("args", args.to_json()));
        let shown: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("\"{name}\": {value}"))
            .collect();
        let shown = shown.join(", ");
        let (code, message) = if &*entry.key == "tool" {
            (
                Code::WrongFieldType,
                "`tool` is a whole call, not the name of a tool".to_owned(),
            )
        } else {
            let message = format!("the step has an unknown field {}", quote(&entry.key));
            (Code::UnknownField, message)
        };
        let help = if shown.len() < MAX_SHOWN_ARGS && !shown.contains('`') {
            format!("write `{shown}`")
        } else {
            "write `\"tool\": TOOL`, and its arguments as `\"args\": {…}` beside it".to_owned()
        };
        let edit = self.written_edit(&entry, is_only, &shown);
        let diagnostic = Diagnostic::error(code, message);
        self.sink
            .push_at_key(&entry, diagnostic.help(help).fixes(edit));
        if is_named {
            entries.push(field("id", ItemKind::Text(Arc::clone(&entry.key)), place));
        }
        entries.push(field("tool", ItemKind::Text(tool.into()), place));
        entries.push(field("args", kind_of(&args, place), place));
    }

    /// The edit that writes the fields `shown` in place of `entry`, in JSON, or in YAML if it is the only field of its step.
    fn written_edit(&self, entry: &ItemEntry, is_only: bool, shown: &str) -> Option<TextEdit> {
        key_edit(self.source, (&entry.key, entry.key_span), "")?;
        let text = self.source.text();
        let span = entry.key_span.start..self.source.span(entry.item.place)?.end;
        let before = text.get(..span.start)?;
        if before.trim_end().ends_with(['{', ',']) {
            return Some(TextEdit::new(span, shown));
        }
        // Beside other fields in a block of YAML, each field has a line of its own.
        is_only.then(|| TextEdit::new(span, format!("{{{shown}}}")))
    }

    /// Reads a call that is an object, `"tool": {"name": …, "arguments": …}`.
    pub(super) fn call_object(&mut self, entries: &mut Vec<ItemEntry>) {
        let is_call = |entry: &ItemEntry| {
            (&*entry.key == "tool" || (TOOL.contains(&&*entry.key) && !has(entries, "tool")))
                && call_name(&entry.item).is_some()
        };
        let Some(at) = entries.iter().position(is_call) else {
            return;
        };
        let Some(name) = entries.get(at).and_then(|entry| call_name(&entry.item)) else {
            return;
        };
        let name = name.clone();
        let entry = entries.remove(at);
        let (code, message) = if &*entry.key == "tool" {
            (
                Code::WrongFieldType,
                "expected text in `tool`, found an object".to_owned(),
            )
        } else {
            let message = format!("the step has an unknown field {}", quote(&entry.key));
            (Code::UnknownField, message)
        };
        let text = name.as_text().map_or("", |text| &**text);
        let help = format!("write `\"tool\": \"{text}\"`, and its arguments as `args` beside it");
        let diagnostic = Diagnostic::error(code, message);
        self.sink.push_at_key(&entry, diagnostic.help(help));
        let place = entry.item.place;
        let inner = match entry.item.kind {
            ItemKind::Object(inner) => inner,
            _ => Vec::new(),
        };
        let mut is_named = false;
        for mut part in inner {
            let is_name =
                !is_named && CALL_NAMES.contains(&&*part.key) && part.item.kind == name.kind;
            is_named |= is_name;
            if is_name || is_format_mark(&part.key, &part.item) {
                continue;
            }
            if ARGS.contains(&&*part.key) && !has(entries, "args") {
                part.key = "args".into();
            }
            if has(entries, &part.key) {
                self.unknown(&part, "leave it out: the step has such a field as well");
            } else {
                entries.push(part);
            }
        }
        entries.push(field("tool", name.kind, place));
    }

    /// Reads a step whose tool is its only field, `{"tool": {"name": value}}`.
    pub(super) fn call_by_name(&mut self, entries: &mut Vec<ItemEntry>) {
        let Some(at) = call_by_name(entries) else {
            return;
        };
        let entry = entries.remove(at);
        let message = format!("the step has an unknown field {}", quote(&entry.key));
        let args = entry.item.to_value().to_json();
        let tool = json(&entry.key);
        let help = if args.len() < MAX_SHOWN_ARGS && !args.contains('`') {
            format!("write `\"tool\": {tool}, \"args\": {args}`")
        } else {
            format!("write `\"tool\": {tool}`, and its arguments as `args` beside it")
        };
        let place = entry.item.place;
        let edit = key_edit(self.source, (&entry.key, entry.key_span), "args")
            .map(|edit| TextEdit::new(edit.span, format!("\"tool\": {tool}, \"args\"")));
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        self.sink
            .push_at_key(&entry, diagnostic.help(help).fixes(edit));
        entries.push(field("tool", ItemKind::Text(Arc::clone(&entry.key)), place));
        entries.push(field("args", entry.item.kind, place));
    }

    /// Reads `"uses": "server/tool"` of GitHub's workflows.
    pub(super) fn uses(&mut self, entries: &mut [ItemEntry]) {
        if has(entries, "tool") {
            return;
        }
        let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == "uses") else {
            return;
        };
        let Some(text) = entry.item.as_text() else {
            return;
        };
        let name = text.split('@').next().unwrap_or_default();
        if let Some((server, tool)) = name.split_once('/')
            && !tool.contains('/')
        {
            let name = format!("{server}.{tool}");
            let message = "the step has an unknown field `uses`";
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let help = format!("write `\"tool\": \"{name}\"`");
            let edits = field_edits(self.source, entry, "tool", Some(json(&name)));
            self.sink
                .push_at_key(entry, diagnostic.help(help).fixes(edits));
            entry.key = "tool".into();
            entry.item.kind = ItemKind::Text(name.into());
        }
    }

    /// Reads the server of a tool, which belongs to the tool's name.
    pub(super) fn server(&mut self, entries: &mut Vec<ItemEntry>) {
        let is_server =
            |entry: &ItemEntry| SERVERS.contains(&&*entry.key) && entry.item.as_text().is_some();
        let Some(at) = entries.iter().position(is_server) else {
            return;
        };
        let Some(tool) = get(entries, "tool").and_then(Item::as_text).cloned() else {
            return;
        };
        let entry = entries.remove(at);
        let server = entry.item.as_text().map_or("", |text| &**text);
        let name = if tool.starts_with(&format!("{server}.")) {
            tool.to_string()
        } else {
            format!("{server}.{tool}")
        };
        let help = format!("leave it out: the tool's name has it, `\"tool\": \"{name}\"`");
        let span = get(entries, "tool").and_then(|item| self.source.span(item.place));
        let edit = span.and_then(|span| text_edit(self.source, span, &name));
        let edits = edit.zip(removal(self.source, &entry));
        let edits = edits
            .into_iter()
            .flat_map(|(edit, removal)| [edit, removal]);
        self.unknown_with(&entry, &help, edits.collect());
        if let Some(item) = get_mut(entries, "tool") {
            item.kind = ItemKind::Text(name.into());
        }
    }
}

/// Writes the second text of each of `pairs` in place of the first one in the texts of `item`, so that they are read as they are meant.
fn replace_texts(item: &mut Item, pairs: &[(String, String)], depth: usize) {
    if depth > MAX_REPLACED_DEPTH {
        return;
    }
    match &mut item.kind {
        ItemKind::Text(text) => {
            for (written, meant) in pairs {
                if text.contains(&**written) {
                    *text = text.replace(&**written, meant).into();
                }
            }
        }
        ItemKind::List(items) => {
            for item in items {
                replace_texts(item, pairs, depth + 1);
            }
        }
        ItemKind::Object(entries) => {
            for entry in entries {
                replace_texts(&mut entry.item, pairs, depth + 1);
            }
        }
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
    }
}

/// The maximum depth of texts that are read with other references.
const MAX_REPLACED_DEPTH: usize = 32;

fn item_tool(entries: &[ItemEntry]) -> Option<&Arc<str>> {
    get(entries, "tool").and_then(Item::as_text)
}

/// The id that the step `item` gets: the one that it has, or its name beside a tool.
fn id_of(item: &Item) -> Option<Arc<str>> {
    let text = |word: &str| item.get(word).and_then(Item::as_text).cloned();
    let words = [
        "id", "step_id", "stepId", "task_id", "taskId", "step", "key",
    ];
    let has_tool = item.has("tool") || TOOL.iter().any(|word| item.has(word));
    let id = words.iter().find_map(|word| text(word));
    id.or_else(|| text("name").filter(|_| has_tool))
}

/// The name of the tool in a call that is an object.
fn call_name(item: &Item) -> Option<&Item> {
    item.as_object()?;
    let mut names = CALL_NAMES.iter().filter_map(|word| item.get(word));
    names.find(|name| name.as_text().is_some())
}
