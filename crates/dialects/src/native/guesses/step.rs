//! Guesses of steps: their calls, their names, and the shapes of their fields.

use std::sync::Arc;

use planwright_core::plan::RETRY_FIELDS;
use planwright_core::{Code, Diagnostic, Place, TextEdit};

use super::groups::{condition_of, group_of};
use super::names::Names;
use super::texts::{UsedIds, bare_name, expression_of, path_of, without_output_fields};
use super::words::{
    ARGS, FOR_EACH, GROUPS, ITEM_NAMES, LOOSE, OUTPUT_NAMES, RETRY, STEP, TOOL, call_by_name,
    is_format_mark, is_step, is_step_field, negates,
};
use super::{Guesses, field, get, get_mut, has, is_for_people};
use crate::document::edits::{field_edits, json, key_edit};
use crate::document::{Item, ItemEntry, ItemKind, nearest, quote, read_inside};

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

impl Guesses<'_> {
    /// Rewrites the steps `items`; the names of their outputs are added to `names`.
    pub(super) fn steps(&mut self, items: &mut Vec<Item>, names: &mut Names) {
        if items.iter().any(|item| group_of(item).is_some()) {
            self.flatten(items);
        }
        self.fallback_calls(items);
        for item in items.iter_mut() {
            self.step(item, names);
        }
        self.add_ids(items);
        self.positions(items);
    }

    /// Reads a call that is made if the one of its step fails, `"fallback": {"tool": …}` or `"on_error": {"tool": …}`: it is a step of
    /// its own.
    fn fallback_calls(&mut self, items: &mut Vec<Item>) {
        for mut item in std::mem::take(items) {
            let place = item.place;
            let id = item.get("id").and_then(Item::as_text).cloned();
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
                is_step(call).then(|| call.clone())
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
            let help = format!(
                "write `\"on_error\": \"continue\"` here, the step {shown}, and `${{{id} ?? {other}}}` in place of `${{{id}}}`"
            );
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
    }

    fn step(&mut self, step: &mut Item, names: &mut Names) {
        let place = step.place;
        let ItemKind::Object(entries) = &mut step.kind else {
            return;
        };
        if let Some(inner) = get_mut(entries, "plan")
            && inner.as_object().is_some()
        {
            self.plan(inner);
        }
        self.call_object(entries);
        self.call_by_name(entries);
        self.loop_head(entries);
        if entries.iter().all(|entry| is_step_field(&entry.key)) {
            self.expressions(entries);
            self.after_text(entries);
        } else {
            self.people(entries, "note", is_step_field);
            self.handlers(entries);
            self.units(entries);
            self.uses(entries);
            if let (Some(title), Some(id)) = (self.name(entries), get(entries, "id")) {
                names.add_title(&title, &id.to_value().to_inserted_text());
            }
            self.negation(entries);
            self.expressions(entries);
            self.after_text(entries);
            self.rename(entries, "the step", STEP, is_step_field);
            self.server(entries);
            self.output_name(entries, names);
            self.loose_arguments(entries, place);
        }
        if let Some(ItemKind::Object(inner)) = get_mut(entries, "retry").map(|item| &mut item.kind)
        {
            let is_known = |key: &str| RETRY_FIELDS.iter().any(|field| field.name == key);
            self.retry_units(inner);
            self.rename(inner, "`retry`", RETRY, is_known);
        }
        self.filter(entries);
        self.loop_item(entries);
        self.arguments(entries);
        numbers_as_ids(entries);
    }

    /// Reads a call that is an object, `"tool": {"name": …, "arguments": …}`.
    fn call_object(&mut self, entries: &mut Vec<ItemEntry>) {
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
    fn call_by_name(&mut self, entries: &mut Vec<ItemEntry>) {
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

    pub(super) fn unknown(&mut self, entry: &ItemEntry, help: &str) {
        self.unknown_with(entry, help, Vec::new());
    }

    /// Reports an unknown field, with the edits that write it as it is read.
    pub(super) fn unknown_with(&mut self, entry: &ItemEntry, help: &str, edits: Vec<TextEdit>) {
        let message = format!("the step has an unknown field {}", quote(&entry.key));
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        let diagnostic = diagnostic.help(help).fixes(edits);
        self.sink.push_at_key(entry, diagnostic);
    }

    /// Reads `"uses": "server/tool"` of GitHub's workflows.
    fn uses(&mut self, entries: &mut [ItemEntry]) {
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
            self.sink.push_at_key(entry, diagnostic.help(help));
            entry.key = "tool".into();
            entry.item.kind = ItemKind::Text(name.into());
        }
    }

    /// Reads `name`, which is the tool of a step without one, the id of a step without one, or else a title; and `type`,
    /// which is the tool of a step that has no other.
    ///
    /// Returns the title, if it is one.
    fn name(&mut self, entries: &mut [ItemEntry]) -> Option<Arc<str>> {
        let is_call = |word: &&str| {
            get(entries, word)
                .is_some_and(|item| item.as_text().is_some_and(|text| !text.is_empty()))
        };
        let has_tool = TOOL.iter().chain(["tool"].iter()).any(is_call)
            || ["plan", "value", "extract"]
                .iter()
                .any(|word| has(entries, word));
        let is_typed = get(entries, "type").is_some_and(|item| item.as_text().is_some());
        if !has_tool
            && is_typed
            && let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == "type")
        {
            self.rename_entry(entry, "the step", "tool");
        }
        let ids = STEP.iter().find(|group| group.field == "id");
        let ids = ids.map_or(&[][..], |group| group.words);
        let has_id = has(entries, "id") || ids.iter().any(|word| has(entries, word));
        let target = if !has_tool && !is_typed {
            "tool"
        } else if !has_id {
            "id"
        } else if !has(entries, "title") {
            "title"
        } else {
            return None;
        };
        let mut named = entries.iter_mut().filter(|entry| &*entry.key == "name");
        let entry = named.find(|entry| entry.item.as_text().is_some())?;
        self.rename_entry(entry, "the step", target);
        entry.item.as_text().filter(|_| target == "title").cloned()
    }

    /// Leaves out an `unless` that is not an expression: as `when`, it would mean the opposite.
    fn negation(&mut self, entries: &mut Vec<ItemEntry>) {
        let is_unreadable =
            |entry: &ItemEntry| negates(&entry.key) && condition_of(entry).is_none();
        if let Some(at) = entries.iter().position(is_unreadable) {
            let entry = entries.remove(at);
            self.unknown(
                &entry,
                "write the opposite condition as `\"when\": \"${!(…)}\"`",
            );
        }
    }

    /// Reads conditions and lists of loops that are written without `${…}`.
    fn expressions(&mut self, entries: &mut [ItemEntry]) {
        let is_loose = may_have_loose_arguments(entries);
        for target in ["when", "for_each"] {
            let words = STEP.iter().find(|group| group.field == target);
            let words = words.map_or(&[][..], |group| group.words);
            let is_present = has(entries, target);
            let is_meant = |entry: &&mut ItemEntry| {
                (!is_present && words.contains(&&*entry.key))
                    || (target == "for_each" && &*entry.key == target)
            };
            let mut found = entries.iter_mut().filter(is_meant);
            let (Some(entry), None) = (found.next(), found.next()) else {
                continue;
            };
            // Whether it is an argument is decided when fields are renamed.
            if is_loose && LOOSE.contains(&&*entry.key) {
                continue;
            }
            let negates = negates(&entry.key);
            let text = entry.item.as_text();
            let inside = text.and_then(|text| text.strip_prefix("${")?.strip_suffix('}'));
            let inside = inside.filter(|_| negates).or(text.map(|text| &**text));
            let Some(expression) = inside.and_then(expression_of) else {
                continue;
            };
            let expression = without_output_fields(&expression, &self.ids);
            let expression = if negates {
                format!("!({expression})")
            } else {
                expression
            };
            let help = format!("write `\"{target}\": \"${{{expression}}}\"`");
            // Words of other languages that became operators may stand in a text of the expression as well.
            let is_literal = |text: &Arc<str>| text.contains(&*expression);
            let edits = if negates || entry.item.as_text().is_some_and(is_literal) {
                let value = json(&format!("${{{expression}}}"));
                field_edits(self.source, entry, target, Some(value))
            } else {
                Vec::new()
            };
            if &*entry.key == target {
                let message = format!("expected a list or one `${{…}}` in `{target}`, found text");
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let diagnostic = diagnostic.help(help).fixes(edits);
                self.sink.push(entry.item.place, diagnostic);
            } else {
                self.unknown_with(entry, &help, edits);
            }
            entry.key = target.into();
            entry.item.kind = ItemKind::Text(format!("${{{expression}}}").into());
        }
    }

    /// Reads a single step that is not in a list.
    fn after_text(&mut self, entries: &mut [ItemEntry]) {
        let words = STEP.iter().find(|group| group.field == "after");
        let words = words.map_or(&[][..], |group| group.words);
        let is_present = has(entries, "after");
        let is_meant = |entry: &&mut ItemEntry| {
            &*entry.key == "after" || (!is_present && words.contains(&&*entry.key))
        };
        let mut found = entries.iter_mut().filter(is_meant);
        let (Some(entry), None) = (found.next(), found.next()) else {
            return;
        };
        let has_other_outcome = match &entry.item.kind {
            ItemKind::Object(keys) => !keys.iter().all(|entry| is_success(&entry.item)),
            ItemKind::Null
            | ItemKind::Bool(_)
            | ItemKind::Number(_)
            | ItemKind::Text(_)
            | ItemKind::List(_) => false,
        };
        // The ids of Logic Apps are keys.
        let ids: Vec<Arc<str>> = match &entry.item.kind {
            ItemKind::Text(id) => vec![Arc::clone(id)],
            ItemKind::Object(keys) => keys.iter().map(|entry| Arc::clone(&entry.key)).collect(),
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::List(_) => return,
        };
        let found = if entry.item.as_text().is_some() {
            "text"
        } else {
            "an object"
        };
        let written: Vec<String> = ids.iter().map(|id| json(id)).collect();
        let value = format!("[{}]", written.join(", "));
        let help = if has_other_outcome {
            format!(
                "a step with `\"after\": {value}` runs after any outcome; what else it needs is a condition, such as `\"when\": \"${{!results.ID.success}}\"`"
            )
        } else {
            format!("write `\"after\": {value}`")
        };
        let items = ids.into_iter().map(|id| Item {
            kind: ItemKind::Text(id),
            place: entry.item.place,
        });
        let items: Vec<Item> = items.collect();
        let edits = if has_other_outcome {
            Vec::new()
        } else {
            field_edits(self.source, entry, "after", Some(value))
        };
        if &*entry.key == "after" {
            let message = format!("expected a list in `after`, found {found}");
            let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
            let diagnostic = diagnostic.help(help).fixes(edits);
            self.sink.push(entry.item.place, diagnostic);
        } else {
            self.unknown_with(entry, &help, edits);
        }
        entry.key = "after".into();
        entry.item.kind = ItemKind::List(items);
    }

    /// Reads the server of a tool, which belongs to the tool's name.
    fn server(&mut self, entries: &mut Vec<ItemEntry>) {
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
        self.unknown(&entry, &help);
        if let Some(item) = get_mut(entries, "tool") {
            item.kind = ItemKind::Text(name.into());
        }
    }

    /// Reads a name for the output of a step, which has none but the id.
    fn output_name(&mut self, entries: &mut Vec<ItemEntry>, names: &mut Names) {
        let loops = has(entries, "for_each");
        let is_name = |entry: &ItemEntry| {
            let is_of_loop = loops && ITEM_NAMES.contains(&&*entry.key);
            OUTPUT_NAMES.contains(&&*entry.key)
                && !is_of_loop
                && entry
                    .item
                    .as_text()
                    .is_some_and(|text| bare_name(text).is_some())
        };
        let Some(at) = entries.iter().position(is_name) else {
            return;
        };
        let Some(id) = get(entries, "id").cloned() else {
            if let Some(entry) = entries.get_mut(at) {
                self.rename_entry(entry, "the step", "id");
            }
            return;
        };
        let entry = entries.remove(at);
        let name = entry.item.as_text().and_then(|text| bare_name(text));
        let name = name.unwrap_or_default();
        let path = path_of(&id.to_value().to_inserted_text());
        let help = format!(
            "leave it out: the output of a step has its id as its name, so write `${{{path}}}` for `${{{name}}}`"
        );
        self.unknown(&entry, &help);
        if path != name {
            names.add(name.into(), path);
        }
    }

    /// Reads a condition on the items of a loop, which belongs to its list.
    fn filter(&mut self, entries: &mut Vec<ItemEntry>) {
        let words = ["filter", "where", "select"];
        let Some(at) = entries
            .iter()
            .position(|entry| words.contains(&&*entry.key))
        else {
            return;
        };
        let inside = |item: &Item| {
            let text = item.as_text()?;
            let inside = text
                .strip_prefix("${")
                .and_then(|text| text.strip_suffix('}'));
            expression_of(inside.unwrap_or(text))
        };
        let item = get(entries, "as").and_then(Item::as_text).cloned();
        let item = item.unwrap_or_else(|| "item".into());
        let list = get(entries, "for_each").and_then(inside);
        let condition = entries.get(at).and_then(|entry| inside(&entry.item));
        let (Some(list), Some(condition)) = (list, condition) else {
            return;
        };
        let entry = entries.remove(at);
        let list = format!("${{({list}).filter({item}, {condition})}}");
        self.unknown(&entry, &format!("write `\"for_each\": \"{list}\"`"));
        if let Some(over) = get_mut(entries, "for_each") {
            over.kind = ItemKind::Text(list.into());
        }
    }

    /// Reads `"for": "x in list"`.
    fn loop_head(&mut self, entries: &mut Vec<ItemEntry>) {
        let words = STEP.iter().find(|group| group.field == "for_each");
        let words = words.map_or(&[][..], |group| group.words);
        let is_loose = may_have_loose_arguments(entries);
        let is_loop = |entry: &&mut ItemEntry| {
            let may_be_argument = is_loose && LOOSE.contains(&&*entry.key);
            &*entry.key == "for_each" || (words.contains(&&*entry.key) && !may_be_argument)
        };
        let Some(entry) = entries.iter_mut().find(is_loop) else {
            return;
        };
        let text = entry.item.as_text().map_or("", |text| &**text);
        let text = text.trim_matches(|c: char| "${} ".contains(c));
        let Some((name, list)) = text.split_once(" in ") else {
            return;
        };
        // `x in list ? a : b` is an expression of its own.
        if list.contains(['?', '&', '|']) {
            return;
        }
        let (Some(name), Some(list)) = (bare_name(name), expression_of(list)) else {
            return;
        };
        let written = format!("\"${{{list}}}\", \"as\": \"{name}\"");
        let edits = field_edits(self.source, entry, "for_each", Some(written.clone()));
        self.unknown_with(entry, &format!("write `\"for_each\": {written}`"), edits);
        entry.key = "for_each".into();
        entry.item.kind = ItemKind::Text(format!("${{{list}}}").into());
        let place = entry.item.place;
        entries.push(field("as", ItemKind::Text(name.into()), place));
    }

    /// Reads a name for the item of a loop under another name than `as`, or at another place.
    fn loop_item(&mut self, entries: &mut Vec<ItemEntry>) {
        let Some(over) = get_mut(entries, "for_each") else {
            return;
        };
        let is_name =
            |entry: &ItemEntry| ITEM_NAMES.contains(&&*entry.key) && entry.item.as_text().is_some();
        let mut found = None;
        if let ItemKind::Object(inner) = &mut over.kind {
            let is_known = |key: &str| matches!(key, "items" | "max_parallel");
            self.rename(inner, "`for_each`", FOR_EACH, is_known);
            found = inner.iter().position(is_name).map(|at| inner.remove(at));
        }
        if found.is_none() {
            let is_synonym = |entry: &ItemEntry| &*entry.key != "as" && is_name(entry);
            let at = entries.iter().position(is_synonym);
            found = at.map(|at| entries.remove(at));
        }
        let Some(mut entry) = found else {
            return;
        };
        let name = entry.item.as_text().and_then(|text| bare_name(text));
        let name = name.unwrap_or_default();
        let message = format!(
            "the name of a loop's item is `as`, beside `for_each`, found {}",
            quote(&entry.key)
        );
        let help = format!("write `\"as\": \"{name}\"` beside `for_each`");
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        self.sink.push_at_key(&entry, diagnostic.help(help));
        if !name.is_empty() && !has(entries, "as") {
            entry.key = "as".into();
            entry.item.kind = ItemKind::Text(name.into());
            entries.push(entry);
        }
    }

    /// Reads arguments that stand beside the tool and not in `args`.
    fn loose_arguments(&mut self, entries: &mut Vec<ItemEntry>, place: Place) {
        let has_arguments = ["args", "positional", "extract", "plan", "value"];
        if !has(entries, "tool") || has_arguments.iter().any(|word| has(entries, word)) {
            return;
        }
        let is_loose = |entry: &ItemEntry| {
            let key = &*entry.key;
            let is_word = STEP.iter().any(|group| group.words.contains(&key))
                || ITEM_NAMES.contains(&key)
                || OUTPUT_NAMES.contains(&key)
                || GROUPS.contains(&key);
            !is_step_field(key) && !is_word && nearest(key, KNOWN.iter().copied()).is_none()
        };
        let (loose, others) = std::mem::take(entries).into_iter().partition(is_loose);
        *entries = others;
        let loose: Vec<ItemEntry> = loose;
        let Some(first) = loose.first() else {
            return;
        };
        let written = Item {
            kind: ItemKind::Object(loose.clone()),
            place,
        };
        let written = written.to_value().to_json();
        let written = quote(&written);
        let written = written.trim_matches('`');
        let help = if loose
            .iter()
            .any(|entry| is_for_people(&entry.key, &entry.item))
        {
            "an argument stands in `args`, and what is for people in `note`".to_owned()
        } else {
            format!("arguments stand in `args`: write `\"args\": {written}`")
        };
        self.unknown(first, &help);
        entries.push(field("args", ItemKind::Object(loose), place));
    }

    /// Reads arguments that are JSON in a text, or a list.
    fn arguments(&mut self, entries: &mut [ItemEntry]) {
        let has_positional = has(entries, "positional");
        let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == "args") else {
            return;
        };
        match &entry.item.kind {
            ItemKind::Text(text) if text.trim_start().starts_with('{') => {
                let (read, _) = read_inside(self.source, &entry.item, &self.limits);
                if let Some(read) = read.filter(|read| read.as_object().is_some()) {
                    let message = "expected an object in `args`, found text";
                    let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                    let help = "write the object itself, without quotes around it";
                    self.sink.push(entry.item.place, diagnostic.help(help));
                    entry.item.kind = read.kind;
                }
            }
            ItemKind::List(items) if items.is_empty() => {}
            ItemKind::List(items) if named_arguments(items).is_some() => {
                let place = entry.item.place;
                let named = named_arguments(items).unwrap_or_default();
                let written = Item {
                    kind: ItemKind::Object(named),
                    place,
                };
                let json = written.to_value().to_json();
                let message = "expected an object in `args`, found a list of names and values";
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let help = format!("write `\"args\": {}`", quote(&json).trim_matches('`'));
                let edits = field_edits(self.source, entry, "args", Some(json));
                self.sink
                    .push_at_key(entry, diagnostic.help(help).fixes(edits));
                entry.item.kind = written.kind;
            }
            ItemKind::List(_) if !has_positional => {
                let message = "expected an object in `args`, found a list";
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let help = "write the arguments by name, or `positional` in place of `args`";
                self.sink
                    .push_at_key(entry, diagnostic.help(help).rename("positional"));
                entry.key = "positional".into();
            }
            _ => {}
        }
    }

    /// The edit that puts a field before the others of the object at `place`.
    fn first_field(&self, place: Place, key: &str, value: &str) -> Option<TextEdit> {
        let span = self.source.span(place)?;
        let inside = self.source.text().get(span.start..span.end)?;
        let inside = inside.strip_prefix('{')?;
        let blanks = &inside[..inside.len() - inside.trim_start().len()];
        let gap = if blanks.contains('\n') { blanks } else { " " };
        let at = span.start + 1 + blanks.len();
        Some(TextEdit::new(
            at..at,
            format!("{}: {value},{gap}", json(key)),
        ))
    }

    /// Gives ids to steps that have none, and reports all of them at once.
    fn add_ids(&mut self, items: &mut [Item]) {
        if items
            .iter()
            .all(|item| item.as_object().is_none() || item.has("id"))
        {
            return;
        }
        let texts = items.iter().filter_map(|item| item.get("id"));
        let mut ids: UsedIds = texts.map(|id| id.to_value().to_inserted_text()).collect();
        let mut missing = Vec::new();
        let mut edits = Vec::new();
        for item in items {
            if item.has("id") {
                continue;
            }
            let Some(tool) = item.get("tool").and_then(Item::as_text) else {
                continue;
            };
            let id = ids.add_for(tool);
            edits.extend(self.first_field(item.place, "id", &json(&id)));
            missing.push((item.place, id.clone()));
            let place = item.place;
            if let ItemKind::Object(entries) = &mut item.kind {
                entries.push(field("id", ItemKind::Text(id.as_str().into()), place));
            }
        }
        let Some((place, _)) = missing.first() else {
            return;
        };
        let message = match missing.len() {
            1 => "the step has no `id`".to_owned(),
            2 => "the step has no `id`, nor has one other".to_owned(),
            count => format!("the step has no `id`, nor have {} others", count - 1),
        };
        let shown = missing.iter().take(MAX_SHOWN_IDS);
        let shown: Vec<String> = shown.map(|(_, id)| format!("`\"id\": \"{id}\"`")).collect();
        let help = match missing.len() {
            1 => format!("add an `id`, such as {}", shown.join(", ")),
            _ => format!("add an `id` to each, such as {}", shown.join(", ")),
        };
        let diagnostic = Diagnostic::error(Code::MissingField, message);
        self.sink.push(*place, diagnostic.help(help).fixes(edits));
    }
}

/// Returns true if the outcomes of a step in Logic Apps are only its success.
fn is_success(outcomes: &Item) -> bool {
    let is_success = |item: &Item| {
        let text = item.as_text();
        text.is_some_and(|text| text.eq_ignore_ascii_case("succeeded"))
    };
    let outcomes = outcomes.as_list();
    outcomes.is_some_and(|outcomes| !outcomes.is_empty() && outcomes.iter().all(is_success))
}

/// Returns true if a field of the step may be an argument of its call: it has no other arguments.
pub(super) fn may_have_loose_arguments(entries: &[ItemEntry]) -> bool {
    let names = ["tool", "name"];
    let calls = TOOL.iter().chain(&names).any(|word| has(entries, word));
    let others = ["positional", "extract", "plan", "value"];
    calls && !ARGS.iter().chain(&others).any(|word| has(entries, word))
}

/// The fields of a step, for the search of typing errors.
const KNOWN: [&str; 16] = [
    "id",
    "title",
    "tool",
    "args",
    "positional",
    "after",
    "when",
    "for_each",
    "max_parallel",
    "repeat",
    "writes",
    "on_error",
    "retry",
    "timeout",
    "approval",
    "note",
];

/// The maximum number of ids in advice.
const MAX_SHOWN_IDS: usize = 8;

/// The maximum length of arguments in advice, in bytes.
const MAX_SHOWN_ARGS: usize = 1000;

/// Words for the tool in a call that is an object.
const CALL_NAMES: [&str; 5] = ["name", "tool", "tool_name", "toolName", "function"];

/// The name of the tool in a call that is an object.
fn call_name(item: &Item) -> Option<&Item> {
    item.as_object()?;
    let mut names = CALL_NAMES.iter().filter_map(|word| item.get(word));
    names.find(|name| name.as_text().is_some())
}

/// The arguments in a list of `{"name": …, "value": …}`; `None` if it has anything else.
fn named_arguments(items: &[Item]) -> Option<Vec<ItemEntry>> {
    let entries = items.iter().map(|item| {
        let [_, _] = item.as_object()? else {
            return None;
        };
        let mut names = ["name", "key", "parameter"].iter();
        let name = names.find_map(|word| item.get(word))?.as_text()?;
        let value = item.get("value")?;
        Some(field(name, value.kind.clone(), value.place))
    });
    entries.collect()
}

/// Reads ids that are numbers.
fn numbers_as_ids(entries: &mut [ItemEntry]) {
    if let Some(id) = get_mut(entries, "id")
        && let ItemKind::Number(number) = &id.kind
    {
        id.kind = ItemKind::Text(number.to_string().into());
    }
}
