//! Guesses of plans: words of people, models and other systems in place of the fields of this dialect.
//!
//! Each is an error that says what to write. The value is read with its intended meaning, so that it causes no follow-up errors
//! and all others are found at once. Only texts for people, which have no effect on a run, get a note instead of an error.

mod arguments;
mod calls;
mod conditions;
mod forms;
mod groups;
mod loops;
mod names;
mod positions;
mod step;
mod texts;
mod translation;
mod units;
mod values;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place, SourceText, Span, TextEdit, Value};

use self::loops::{MAX_DEPTH, has_loop};
use self::names::{DollarName, Names};
use self::step::may_have_loose_arguments;
pub(crate) use self::texts::{
    UsedIds, expression_in, path_of, without_markers, without_output_fields,
};
pub(super) use self::texts::{expression_of, is_own_expression};
pub(crate) use self::translation::{Language, quoted_length};
pub(super) use self::units::on_error_word;
use self::values::named_values;
pub(crate) use self::words::is_word_of_others;
use self::words::{
    ABOUT_PLANS, FOR_PEOPLE, LOOSE, LOOSE_FOR_PEOPLE, OF_PLANS, PLAN, Synonyms, absent, are_steps,
    is_format_mark, is_plan_field, is_step, normal,
};
use crate::document::edits::{field_edits, key_edit, removal};
use crate::document::{DiagnosticSink, Item, ItemEntry, ItemKind, ReadLimits, quote};

/// The state of rewriting a plan.
pub(super) struct Guesses<'a> {
    pub(super) source: &'a mut SourceText,
    pub(super) sink: &'a mut DiagnosticSink,
    pub(super) limits: ReadLimits,
    /// The fields for people, with the place of the first.
    ignored: Vec<String>,
    first_ignored: Option<Place>,
    /// The edits that write them as fields of this dialect, or remove marks of other formats.
    ignored_edits: Vec<TextEdit>,
    /// The ids of the steps.
    ids: HashSet<Arc<str>>,
    /// The steps without a condition, by id.
    unconditional: HashMap<Arc<str>, Place>,
    /// The names of the inputs.
    inputs: HashSet<Arc<str>>,
    /// True if the plan says in which order its steps run.
    is_ordered: bool,
    /// The id of the step before the one that is read.
    previous: Option<Arc<str>>,
    /// The ids in the list of the outputs that the plan selects, with their places.
    selected: HashMap<Arc<str>, Place>,
}

/// Replaces the guesses in the plan `root` by the fields that they stand for, and reports each.
pub(super) fn rewrite(
    root: &mut Item,
    source: &mut SourceText,
    sink: &mut DiagnosticSink,
    limits: ReadLimits,
) {
    let mut guesses = Guesses {
        source,
        sink,
        limits,
        ignored: Vec::new(),
        first_ignored: None,
        ignored_edits: Vec::new(),
        ids: HashSet::new(),
        unconditional: HashMap::new(),
        inputs: HashSet::new(),
        is_ordered: false,
        previous: None,
        selected: HashMap::new(),
    };
    guesses.plan(root);
    guesses.report_ignored();
}

/// The steps of `root` under any name; `None` if it does not resemble a plan of this dialect.
fn steps_of(root: &Item) -> Option<&Item> {
    let [steps, ..] = PLAN else {
        return None;
    };
    let names = std::iter::once(&steps.field).chain(steps.words);
    let mut values = names.filter_map(|name| root.get(name));
    values.find(|item| are_steps(item))
}

/// Returns true if `root` has steps, whatever their fields are called.
pub(crate) fn resembles_plan(root: &Item) -> bool {
    steps_of(root).is_some()
}

/// Returns true if every item of the list `root` is like a step.
pub(crate) fn resembles_steps(root: &Item) -> bool {
    root.as_list().is_some() && are_steps(root)
}

/// Returns true if `root` is like a step.
pub(crate) fn resembles_step(root: &Item) -> bool {
    is_step(root)
}

/// Returns true if each step of the list in `root` has an id, or another word for it, beside its call.
pub(crate) fn has_named_steps(root: &Item) -> bool {
    let words = [
        "id",
        "name",
        "step",
        "step_id",
        "stepId",
        "key",
        "label",
        "save_as",
        "saveAs",
        "store_as",
        "storeAs",
        "output_as",
        "assign_to",
        "register",
    ];
    let is_named = |step: &Item| words.iter().any(|word| step.has(word)) && is_step(step);
    let steps = steps_of(root).and_then(Item::as_list);
    // If outputs have names, the last step may lack one.
    let saves = |step: &Item| words[7..].iter().any(|word| step.has(word));
    let steps = steps.and_then(|steps| steps.split_last());
    steps.is_some_and(|(last, before)| {
        before.iter().all(is_named)
            && (is_named(last) || (before.iter().any(saves) && is_step(last)))
    })
}

/// Returns true if the field `key` is only for people, or only describes the format.
pub(crate) fn is_for_people(key: &str, item: &Item) -> bool {
    let is_sentence = |text: &Arc<str>| key != "plan" || text.trim().contains(' ');
    ((FOR_PEOPLE.contains(key) || matches!(key, "//" | "#" | "plan"))
        && item.as_text().is_some_and(is_sentence))
        || is_format_mark(key, item)
}

/// Returns true if `steps` is a list of steps with nothing to guess: each has an id, a tool, and perhaps arguments by name.
fn are_plain(steps: &Item) -> bool {
    let is_plain = |entry: &ItemEntry| match &entry.item.kind {
        ItemKind::Text(text) => match &*entry.key {
            // A whole call in place of the name.
            "tool" => !text.ends_with(')'),
            key => matches!(key, "id" | "title" | "note"),
        },
        ItemKind::Object(_) => &*entry.key == "args" && !has_loop(&entry.item, MAX_DEPTH),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::List(_) => false,
    };
    let are_plain = |entries: &[ItemEntry]| {
        has(entries, "id") && has(entries, "tool") && entries.iter().all(is_plain)
    };
    let steps = steps.as_list();
    steps.is_some_and(|steps| {
        steps
            .iter()
            .all(|step| step.as_object().is_some_and(are_plain))
    })
}

impl Guesses<'_> {
    fn plan(&mut self, root: &mut Item) {
        let ItemKind::Object(entries) = &mut root.kind else {
            return;
        };
        let mut edges = Vec::new();
        self.strategies(entries);
        if !entries.iter().all(|entry| is_plan_field(&entry.key)) {
            self.people(entries, "description", is_plan_field);
            edges = self.remove_edges(entries);
            self.remove_absent(entries);
            self.outputs(entries);
            self.rename(entries, "the plan", PLAN, is_plan_field);
            self.closing_steps(entries);
        }
        self.is_ordered = has(entries, "ordering");
        if let Some(inputs) = get_mut(entries, "inputs") {
            self.inputs(inputs);
            self.input_schemas(inputs);
        }
        let names = get(entries, "inputs").and_then(Item::as_object);
        let names = names.into_iter().flatten();
        self.inputs = names.map(|entry| Arc::clone(&entry.key)).collect();
        let mut names = Names::default();
        let selected = get(entries, "output").and_then(Item::as_list);
        let selected = selected.unwrap_or_default().iter();
        self.selected = selected
            .filter_map(|item| Some((Arc::clone(item.as_text()?), item.place)))
            .collect();
        if let Some(steps) = get_mut(entries, "steps")
            && (!edges.is_empty() || !are_plain(steps))
        {
            self.ids.extend(texts::ids_in(steps, 0));
            self.list_of(steps);
            if let ItemKind::List(items) = &mut steps.kind {
                groups::add_edges(items, &edges);
                self.steps(items, &mut names);
            }
        }
        if !names.is_empty() {
            let mut found = Vec::new();
            names.replace_in(entries, &mut found);
            for DollarName {
                place,
                written,
                meaning,
            } in found
            {
                let message =
                    format!("`{written}` is a reference in other systems, and only text here");
                let diagnostic = Diagnostic::error(Code::MalformedReference, message);
                let help = format!("write `${{{meaning}}}`");
                self.sink.push(place, diagnostic.help(help));
            }
        }
    }

    /// Reads inputs that are one schema for all of them, or a list of them with their names.
    fn inputs(&mut self, inputs: &mut Item) {
        let place = inputs.place;
        let meant = match &inputs.kind {
            ItemKind::Object(fields) => {
                let is_schema = get(fields, "type")
                    .and_then(Item::as_text)
                    .is_some_and(|kind| &**kind == "object");
                let properties = get(fields, "properties").filter(|_| is_schema);
                properties.and_then(Item::as_object).map(<[_]>::to_vec)
            }
            ItemKind::List(items) => items.iter().map(named_input).collect(),
            _ => None,
        };
        let Some(meant) = meant.filter(|meant| !meant.is_empty()) else {
            return;
        };
        let message = "`inputs` has one schema for each input, by its name";
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
        let values = meant
            .iter()
            .map(|entry| (Arc::clone(&entry.key), entry.item.to_value()));
        let json = Value::object(values.collect::<Vec<_>>()).to_json();
        let help = if json.len() < MAX_SHOWN_OUTPUT && !json.contains('`') {
            format!("write `\"inputs\": {json}`")
        } else {
            let first = meant.first().map_or("", |entry| &*entry.key);
            format!("write `\"inputs\": {{\"{first}\": {{…}}, …}}`")
        };
        let span = self.source.span(place);
        let edit = span.filter(|_| !groups::has_comment(self.source, place));
        let edit = edit.map(|span| TextEdit::new(span, json));
        self.sink.push(place, diagnostic.help(help).fixes(edit));
        inputs.kind = ItemKind::Object(meant);
    }

    /// Turns an object of steps by id into a list.
    fn list_of(&mut self, steps: &mut Item) {
        if steps.as_object().is_none() || !are_steps(steps) {
            return;
        }
        let ItemKind::Object(entries) = std::mem::replace(&mut steps.kind, ItemKind::Null) else {
            return;
        };
        let first = entries.first().map_or("", |entry| &*entry.key);
        let help = format!(
            "write `\"steps\": [{{\"id\": \"{first}\", …}}, …]`: each key is the `id` of its step"
        );
        let message = "`steps` is an object, not a list";
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message).help(help);
        let edits = self
            .edits_of_list(steps.place, &entries)
            .unwrap_or_default();
        self.sink.push(steps.place, diagnostic.fixes(edits));
        let items = entries.into_iter().map(|entry| {
            let mut step = entry.item;
            if let ItemKind::Object(fields) = &mut step.kind
                && !fields.iter().any(|field| &*field.key == "id")
            {
                fields.insert(0, field("id", ItemKind::Text(entry.key), step.place));
            }
            step
        });
        steps.kind = ItemKind::List(items.collect());
    }

    /// The edits that turn the object of steps `entries` at `place` into a list; `None` if the text has no such object.
    fn edits_of_list(&self, place: Place, entries: &[ItemEntry]) -> Option<Vec<TextEdit>> {
        let text = self.source.text();
        let all = self.source.span(place)?;
        let is_object = |span: Span| {
            let written = text.get(span.start..span.end)?;
            (written.starts_with('{') && written.ends_with('}')).then_some(())
        };
        is_object(all)?;
        let mut edits = vec![TextEdit::new(all.start..all.start + 1, "[")];
        for entry in entries {
            let span = self.source.span(entry.item.place)?;
            is_object(span)?;
            let fields = entry.item.as_object()?;
            let id = crate::document::edits::json(&entry.key);
            let id = match (has(fields, "id"), fields.is_empty()) {
                (true, _) => String::new(),
                (false, true) => format!("\"id\": {id}"),
                (false, false) => format!("\"id\": {id}, "),
            };
            edits.push(TextEdit::new(
                entry.key_span.start..span.start + 1,
                format!("{{{id}"),
            ));
        }
        edits.push(TextEdit::new(all.end - 1..all.end, "]"));
        Some(edits)
    }

    /// Removes lists of edges, which other systems have beside the steps. Returns those whose meaning is known, with the names of
    /// the steps at both ends.
    fn remove_edges(&mut self, entries: &mut Vec<ItemEntry>) -> Vec<(Arc<str>, Arc<str>)> {
        let mut found = Vec::new();
        for word in ["connections", "edges", "links"] {
            let Some(at) = entries.iter().position(|entry| &*entry.key == word) else {
                continue;
            };
            let entry = entries.remove(at);
            let edges = edges(&entry.item);
            let message = format!("the plan has an unknown field `{word}`");
            let help = match edges.as_deref() {
                Some(edges @ [_, ..]) => {
                    let shown = edges.iter().take(MAX_SHOWN_EDGES);
                    let shown =
                        shown.map(|(from, to)| format!("{} in {}", quote(from), quote(to)));
                    let shown: Vec<String> = shown.collect();
                    format!(
                        "leave it out, and write the id of the first step into the `after` of the second: {}",
                        shown.join(", ")
                    )
                }
                _ => "leave it out: a step waits for the steps that it refers to, and for those in its `after`".to_owned(),
            };
            found.extend(edges.into_iter().flatten());
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            self.sink.push_at_key(&entry, diagnostic.help(help));
        }
        found
    }

    /// Removes the fields of other systems that a plan does not have, and says what there is in their place.
    fn remove_absent(&mut self, entries: &mut Vec<ItemEntry>) {
        let fields = std::mem::take(entries);
        let mut about = Vec::new();
        for entry in fields {
            if is_plan_field(&entry.key) {
                entries.push(entry);
            } else if ABOUT_PLANS.contains(&entry.key) {
                about.push(entry);
            } else if let Some(absent) = absent(OF_PLANS, &entry.key) {
                let value = entry.item.to_value();
                let unit = match value {
                    Value::Number(_) if normal(&entry.key).ends_with("minutes") => "m",
                    Value::Number(_) if absent.advice.contains("--max-time") => "s",
                    _ => "",
                };
                let value = format!("{}{unit}", value.to_inserted_text());
                let message = format!("the plan has an unknown field {}", quote(&entry.key));
                let help = format!("leave it out: {}", absent.advice.replace("VALUE", &value));
                let edit = removal(self.source, &entry);
                let diagnostic = Diagnostic::error(Code::UnknownField, message).help(help);
                self.sink.push_at_key(&entry, diagnostic.fixes(edit));
            } else {
                entries.push(entry);
            }
        }
        let Some(first) = about.first() else {
            return;
        };
        let values = about
            .iter()
            .map(|entry| (Arc::clone(&entry.key), entry.item.to_value()));
        let json = Value::object(values.collect::<Vec<_>>()).to_json();
        let message = format!("the plan has an unknown field {}", quote(&first.key));
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        let help = if json.len() < MAX_SHOWN_OUTPUT && !json.contains('`') {
            format!("further data about a plan stands in one field: `\"metadata\": {json}`")
        } else {
            "further data about a plan stands in one field, `metadata`".to_owned()
        };
        self.sink.push_at_key(first, diagnostic.help(help));
    }

    /// Reads how a plan runs its steps and what a failure does to the others, in the words of other systems.
    fn strategies(&mut self, entries: &mut Vec<ItemEntry>) {
        if entries.iter().all(|entry| strategy(entry).is_none()) {
            return;
        }
        let mut remaining = Vec::with_capacity(entries.len());
        for mut entry in std::mem::take(entries) {
            let Some((field, value)) = strategy(&entry) else {
                remaining.push(entry);
                continue;
            };
            let message = if is_plan_field(&entry.key) {
                format!(
                    "`{}` cannot be {}",
                    entry.key,
                    quote(&entry.item.to_value().to_inserted_text())
                )
            } else {
                format!("the plan has an unknown field {}", quote(&entry.key))
            };
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            if value.is_empty() || has(&remaining, field) {
                let reason = match field {
                    "ordering" => "steps run in parallel unless one needs the other",
                    _ => "after a failure, the steps that do not need the failed one continue",
                };
                let edit = removal(self.source, &entry);
                let diagnostic = diagnostic.help(format!("leave it out: {reason}"));
                self.sink.push_at_key(&entry, diagnostic.fixes(edit));
                continue;
            }
            let written = crate::document::edits::json(value);
            let diagnostic = diagnostic.help(format!("write `\"{field}\": {written}`"));
            let edits = field_edits(self.source, &entry, field, Some(written));
            self.sink.push_at_key(&entry, diagnostic.fixes(edits));
            entry.key = field.into();
            entry.item.kind = ItemKind::Text(value.into());
            remaining.push(entry);
        }
        *entries = remaining;
    }

    /// Moves the steps that a plan does at its end, whatever happens before, behind the others.
    fn closing_steps(&mut self, entries: &mut Vec<ItemEntry>) {
        let words = [
            "finally", "cleanup", "teardown", "always", "on_exit", "onExit", "post",
        ];
        let is_closing = |entry: &ItemEntry| {
            words.contains(&&*entry.key) && (are_steps(&entry.item) || is_step(&entry.item))
        };
        let Some(at) = entries.iter().position(is_closing) else {
            return;
        };
        let entry = entries.remove(at);
        let mut closing = groups::steps_in(&entry.item);
        let message = format!("the plan has an unknown field {}", quote(&entry.key));
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        let Some(ItemKind::List(steps)) = get_mut(entries, "steps").map(|steps| &mut steps.kind)
        else {
            let help = "put these steps into `steps`, with the ids of the others in `after`";
            self.sink.push_at_key(&entry, diagnostic.help(help));
            return;
        };
        let ids: Vec<Item> = steps
            .iter()
            .filter_map(|step| step.get("id").cloned())
            .take(MAX_SHOWN_EDGES)
            .collect();
        for step in &mut closing {
            // A step whose own `after` is unreadable is reported for that.
            let _ = groups::add_after(step, &ids);
        }
        let shown: Vec<String> = closing
            .iter()
            .map(|step| step.to_value().to_json())
            .collect();
        let shown = shown.join(", ");
        let help = if shown.len() < MAX_SHOWN_OUTPUT && !shown.contains('`') {
            format!(
                "write at the end of `steps`: `{shown}` (a step runs after those in its `after` whatever became of them)"
            )
        } else {
            "put these steps at the end of `steps`, with the ids of the others in `after`"
                .to_owned()
        };
        self.sink.push_at_key(&entry, diagnostic.help(help));
        steps.extend(closing);
    }

    /// Renames fields whose name is another word for a native field, and reports each.
    fn rename(
        &mut self,
        entries: &mut [ItemEntry],
        owner: &str,
        synonyms: &'static [Synonyms],
        is_known: fn(&str) -> bool,
    ) {
        let is_loose = owner == "the step" && may_have_loose_arguments(entries);
        for group in synonyms {
            if has(entries, group.field) {
                continue;
            }
            let is_meant = |entry: &ItemEntry| {
                !is_known(&entry.key)
                    && group.words.contains(&&*entry.key)
                    && (group.fits)(&entry.item)
            };
            let mut found = entries.iter_mut().filter(|entry| is_meant(entry));
            // With two candidates, neither is certain.
            if let (Some(entry), None) = (found.next(), found.next()) {
                if &*entry.key == "sequence" && group.field == "steps" {
                    self.sequence(entry);
                } else if is_loose && LOOSE.contains(&entry.key) {
                    let help = format!(
                        "an argument stands in `args`; the field of the step is `{}`",
                        group.field
                    );
                    self.unknown(entry, &help);
                    entry.key = group.field.into();
                } else if group.field == "output"
                    && let Some(fields) = named_values(&entry.item)
                {
                    let message = format!("{owner} has an unknown field {}", quote(&entry.key));
                    let diagnostic = Diagnostic::error(Code::UnknownField, message);
                    let help = format!("write an object: `\"output\": {fields}`");
                    self.sink.push_at_key(entry, diagnostic.help(help));
                    entry.key = group.field.into();
                } else {
                    self.rename_entry(entry, owner, group.field);
                }
            }
        }
    }

    /// Reads steps that run one after the other.
    fn sequence(&mut self, entry: &mut ItemEntry) {
        let message = "the plan has an unknown field `sequence`";
        let written = "\"ordering\": \"listed\", \"steps\"";
        let edit = key_edit(self.source, (&entry.key, entry.key_span), "steps")
            .map(|edit| TextEdit::new(edit.span, written));
        let help = "write `\"ordering\": \"listed\"` and `\"steps\"`, or `\"steps\"` alone if a step waits only for those that it refers to";
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        self.sink
            .push_at_key(entry, diagnostic.help(help).fixes(edit));
        entry.key = "steps".into();
    }

    fn rename_entry(&mut self, entry: &mut ItemEntry, owner: &str, name: &'static str) {
        // A label such as `$var1` is the name with the sign of its references.
        if name == "id"
            && let Some(text) = entry.item.as_text().filter(|text| text.starts_with('$'))
            && let Some(bare) = self::texts::bare_name(text)
        {
            let message = format!("{owner} has an unknown field {}", quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let diagnostic = diagnostic.help(format!("write `\"id\": \"{bare}\"`"));
            let value = crate::document::edits::json(&bare);
            let edits = field_edits(self.source, entry, "id", Some(value));
            self.sink.push_at_key(entry, diagnostic.fixes(edits));
            entry.key = name.into();
            entry.item.kind = ItemKind::Text(bare.into());
            return;
        }
        let message = format!("{owner} has an unknown field {}", quote(&entry.key));
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        let diagnostic = diagnostic.help(format!("did you mean `{name}`?"));
        self.sink.push_at_key(entry, diagnostic.rename(name));
        entry.key = name.into();
    }

    /// Takes fields for people as `field`, or leaves them out.
    fn people(
        &mut self,
        entries: &mut Vec<ItemEntry>,
        field: &'static str,
        is_known: fn(&str) -> bool,
    ) {
        let mut is_free = !has(entries, field);
        let is_loose = field == "note" && may_have_loose_arguments(entries);
        entries.retain_mut(|entry| {
            if is_known(&entry.key)
                || !is_for_people(&entry.key, &entry.item)
                || (is_loose && LOOSE_FOR_PEOPLE.contains(&entry.key))
            {
                return true;
            }
            let word = format!("`{}`", entry.key);
            if !self.ignored.contains(&word) {
                self.ignored.push(word);
            }
            self.first_ignored.get_or_insert(entry.item.place);
            if is_format_mark(&entry.key, &entry.item) {
                self.ignored_edits.extend(removal(self.source, entry));
                return false;
            }
            if std::mem::take(&mut is_free) {
                let edits = field_edits(self.source, entry, field, None);
                self.ignored_edits.extend(edits);
            }
            entry.key = field.into();
            true
        });
        // The first one counts.
        let mut seen = false;
        entries.retain(|entry| {
            let is_again = seen && &*entry.key == field;
            seen |= &*entry.key == field;
            !is_again
        });
    }

    fn report_ignored(&mut self) {
        let Some(place) = self.first_ignored else {
            return;
        };
        let words = self.ignored.join(", ");
        // The last field is removed with the comma before it, which may belong to another removed field.
        let mut edits = std::mem::take(&mut self.ignored_edits);
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let mut end = 0;
        edits.retain(|edit| {
            let is_apart = edit.span.start >= end;
            if is_apart {
                end = edit.span.end;
            }
            is_apart
        });
        let message = format!("these fields say something to people only: {words}");
        let note = Diagnostic::note(Code::ReadAs, message);
        self.sink.push(
            place,
            note.help("a plan has `description`, a step `title` and `note` for that")
                .fixes(edits),
        );
    }
}

/// The field of a plan that `entry` stands for, with its value, which is empty if the field can be left out.
fn strategy(entry: &ItemEntry) -> Option<(&'static str, &'static str)> {
    let word = match &entry.item.kind {
        ItemKind::Text(text) => normal(text),
        ItemKind::Bool(value) => value.to_string(),
        ItemKind::Null | ItemKind::Number(_) | ItemKind::List(_) | ItemKind::Object(_) => {
            return None;
        }
    };
    let key = normal(&entry.key);
    let is_of_order = matches!(
        &*key,
        "mode"
            | "strategy"
            | "execution"
            | "executionmode"
            | "executionstrategy"
            | "executionorder"
            | "order"
            | "runmode"
            | "parallel"
            | "async"
            | "sequential"
    );
    let is_of_failure = matches!(
        &*key,
        "onerror"
            | "onfailure"
            | "errorhandling"
            | "errorstrategy"
            | "errorpolicy"
            | "failurepolicy"
            | "failfast"
            | "stoponerror"
            | "abortonerror"
            | "continueonerror"
    );
    let negates = key == "continueonerror";
    match &*word {
        "sequential" | "serial" | "sequence" | "ordered" | "inorder" | "linear" if is_of_order => {
            Some(("ordering", "listed"))
        }
        "true" if key == "sequential" => Some(("ordering", "listed")),
        "false" if key == "parallel" || key == "async" => Some(("ordering", "listed")),
        "parallel" | "concurrent" | "auto" | "dag" | "true" | "false" if is_of_order => {
            Some(("ordering", ""))
        }
        "stop" | "abort" | "halt" | "fail" | "failfast" | "exit" | "raise" | "terminate"
            if is_of_failure =>
        {
            Some(("on_failure", "stop"))
        }
        "continue" | "ignore" | "skip" | "proceed" | "keepgoing"
            if is_of_failure
                && entry
                    .item
                    .as_text()
                    .is_none_or(|text| &**text != "keep_going") =>
        {
            Some(("on_failure", ""))
        }
        "true" if is_of_failure && !negates => Some(("on_failure", "stop")),
        "false" if is_of_failure && negates => Some(("on_failure", "stop")),
        "true" | "false" if is_of_failure => Some(("on_failure", "")),
        _ => None,
    }
    .filter(|(field, value)| {
        **field != *entry.key || entry.item.as_text().is_none_or(|text| **text != **value)
    })
}

/// The maximum number of edges in advice.
const MAX_SHOWN_EDGES: usize = 12;

/// The names at both ends of the edges in `item`: a list of objects or of pairs, or the connections of n8n by name. `None` if one may be
/// a condition.
fn edges(item: &Item) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    let name = |item: &Item| match &item.kind {
        ItemKind::Text(text) => Some(Arc::clone(text)),
        ItemKind::Number(number) => Some(Arc::from(number.to_string())),
        _ => None,
    };
    match &item.kind {
        ItemKind::List(items) => items
            .iter()
            .map(|edge| {
                if let Some([from, to]) = edge.as_list() {
                    return Some((name(from)?, name(to)?));
                }
                let end = |words: &[&str]| words.iter().find_map(|word| edge.get(word));
                let is_known = |entry: &ItemEntry| {
                    let words = [
                        "id", "from", "to", "source", "target", "src", "dst", "start", "end",
                    ];
                    words.contains(&&*entry.key)
                };
                edge.as_object()?.iter().all(is_known).then_some(())?;
                let from = end(&["from", "source", "src", "start"])?;
                let to = end(&["to", "target", "dst", "end"])?;
                Some((name(from)?, name(to)?))
            })
            .collect(),
        ItemKind::Object(nodes) => {
            let mut found = Vec::new();
            for node in nodes {
                // The second list of a node is that of its other branch.
                let [outputs] = node.item.get("main")?.as_list()? else {
                    return None;
                };
                for target in outputs.as_list()? {
                    found.push((Arc::clone(&node.key), name(target.get("node")?)?));
                }
            }
            Some(found)
        }
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => None,
    }
}

/// The input with a `name` in a list of inputs.
fn named_input(item: &Item) -> Option<ItemEntry> {
    if let Some(name) = item.as_text() {
        return Some(field(name, ItemKind::Object(Vec::new()), item.place));
    }
    let fields = item.as_object()?;
    let name = get(fields, "name")?.as_text()?;
    let others = fields.iter().filter(|entry| &*entry.key != "name");
    let schema = Item {
        kind: ItemKind::Object(others.cloned().collect()),
        place: item.place,
    };
    Some(field(name, schema.kind, item.place))
}

/// The maximum length of an output in advice, in bytes.
const MAX_SHOWN_OUTPUT: usize = 500;

fn has(entries: &[ItemEntry], key: &str) -> bool {
    entries.iter().any(|entry| &*entry.key == key)
}

fn get<'e>(entries: &'e [ItemEntry], key: &str) -> Option<&'e Item> {
    let entry = entries.iter().find(|entry| &*entry.key == key)?;
    Some(&entry.item)
}

fn get_mut<'e>(entries: &'e mut [ItemEntry], key: &str) -> Option<&'e mut Item> {
    let entry = entries.iter_mut().find(|entry| &*entry.key == key)?;
    Some(&mut entry.item)
}

/// A field `key` that the text does not have.
fn field(key: &str, kind: ItemKind, place: Place) -> ItemEntry {
    ItemEntry {
        key: Arc::from(key),
        key_span: Span::default(),
        item: Item { kind, place },
    }
}
