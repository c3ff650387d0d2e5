//! Fields of steps whose values have the form of other systems: `"approval": "required"`, `"timeout": {"seconds": 30}`,
//! `"on_error": {"action": "continue"}`; and misspelt names of fields.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, TextEdit, Value};

use super::step::may_have_loose_arguments;
use super::units::{WHOLE_STEP, is_retried, on_error_word};
use super::words::{
    FOR_EACH_BODIES, FOR_PEOPLE, GROUPS, ITEM_NAMES, OUTPUT_NAMES, STEP, Synonyms, is_step,
    is_step_field, negates, normal,
};
use super::{Guesses, field, get, has};
use crate::document::edits::{field_edits, json, removal};
use crate::document::{Item, ItemEntry, ItemKind, quote, with_article};
use crate::native::keywords::{guessed_duration, read as read_duration, write as write_duration};

/// The maximum length of a value in advice, in bytes.
const MAX_SHOWN: usize = 300;

/// Words that say that no person is asked.
const NO_APPROVAL: [&str; 8] = [
    "none",
    "never",
    "no",
    "auto",
    "automatic",
    "false",
    "not_required",
    "optional",
];

/// The condition that is true if `condition` is not.
fn opposite(condition: &str) -> String {
    let condition = condition.trim();
    let positive = condition.strip_prefix('!').map(str::trim).filter(|inside| {
        let mut depth = 0_usize;
        let mut quote = None;
        // What follows the operand of `!` is not negated.
        inside.chars().all(|sign| {
            match (quote, sign) {
                (Some(open), sign) => quote = Some(open).filter(|open| *open != sign),
                (None, '\'' | '"') => quote = Some(sign),
                (None, '(' | '[') => depth += 1,
                (None, ')' | ']') => depth = depth.saturating_sub(1),
                (None, _) => return depth > 0 || !" =<>&|?+*/%\\".contains(sign),
            }
            true
        })
    });
    match positive {
        Some(inside) => inside
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .filter(|inside| !inside.contains(['(', ')']))
            .unwrap_or(inside)
            .to_owned(),
        None => format!("!({condition})"),
    }
}

/// The help for a pause between the rounds of a `repeat`.
const NO_PAUSE: &str = "leave it out: a `repeat` has no pause, and a round begins as soon as the one before it has ended";

/// Fields beside `repeat` that are the number of its rounds.
const ROUND_LIMITS: [&str; 13] = [
    "maxiterations",
    "maxrounds",
    "maxloops",
    "maxtries",
    "maxretries",
    "retries",
    "retrycount",
    "numretries",
    "maxattempts",
    "attempts",
    "tries",
    "maxpolls",
    "maxchecks",
];

/// Returns true for the number of rounds of a loop.
fn counts_rounds(entry: &ItemEntry) -> bool {
    ROUND_LIMITS.contains(&&*normal(&entry.key)) && matches!(entry.item.kind, ItemKind::Number(_))
}

/// Returns true if the field `key` is the pause between the rounds of a loop.
fn is_pause(key: &str) -> bool {
    let units = [
        "milliseconds",
        "millis",
        "seconds",
        "minutes",
        "secs",
        "sec",
        "ms",
    ];
    let unit = units.iter().find_map(|unit| key.strip_suffix(unit));
    matches!(
        unit.unwrap_or(key),
        "interval"
            | "pollinterval"
            | "pollinginterval"
            | "retryinterval"
            | "retrydelay"
            | "checkinterval"
            | "delay"
            | "wait"
            | "every"
            | "pause"
            | "sleep"
            | "backoff"
            | "waitbetween"
            | "delaybetween"
    )
}

/// Fields that say how an error is handled, inside of `on_error`.
const HANDLERS: [&str; 9] = [
    "action", "type", "strategy", "policy", "mode", "do", "then", "behavior", "handling",
];

/// Fields of `on_error` that contain the replacement output.
const DEFAULTS: [&str; 8] = [
    "default",
    "value",
    "fallback",
    "return",
    "result",
    "fallback_value",
    "default_value",
    "set",
];

/// The maximum length in bytes of a name that is searched for a typing error.
const MAX_MISSPELT: usize = 40;

/// The minimum length in letters of a name that is searched for a typing error.
const MIN_MISSPELT: usize = 4;

impl Guesses<'_> {
    /// Reads the values of known fields that have the form of other systems.
    pub(super) fn forms(&mut self, entries: &mut Vec<ItemEntry>) {
        let id = get(entries, "id").and_then(Item::as_text);
        let id = id.filter(|id| super::texts::bare_name(id).as_deref() == Some(&***id));
        let id = id.map_or_else(|| "ID".to_owned(), ToString::to_string);
        let ids = std::mem::take(&mut self.ids);
        let is_retried = is_retried(entries);
        let has_after = has(entries, "after");
        let mut shown_steps = Vec::new();
        entries.retain_mut(|entry| {
            if let (true, Some(text)) = (is_approval(&entry.key), entry.item.as_text()) {
                let steps = ids.iter().filter(|id| {
                    let ends = ["}", ".", "["].iter();
                    ends.map(|end| format!("${{{id}{end}")).any(|read| text.contains(&read))
                });
                shown_steps = steps.cloned().collect();
                shown_steps.sort();
            }
            let found = match (&*entry.key, &entry.item.kind) {
                (key, ItemKind::Text(word)) if is_approval(key) => {
                    let asks = !NO_APPROVAL.contains(&&*word.to_lowercase());
                    Form::of("approval", ItemKind::Bool(asks), asks.to_string())
                }
                (key, ItemKind::Object(fields)) if is_approval(key) => {
                    let refuses = |field: &ItemEntry| matches!(field.item.kind, ItemKind::Bool(false));
                    let asks = !fields.iter().any(refuses);
                    Form::of("approval", ItemKind::Bool(asks), asks.to_string())
                }
                ("timeout", ItemKind::Object(fields)) => duration(fields),
                ("timeout", ItemKind::Text(text)) => {
                    let meant = guessed_duration(text).filter(|_| read_duration(text).is_none());
                    meant.and_then(write_duration).and_then(|text| {
                        let written = json(&text);
                        Form::of("timeout", ItemKind::Text(text.into()), written)
                    })
                }
                ("retry", ItemKind::Text(text)) => attempts(text),
                ("on_error", ItemKind::Object(fields)) if target_of(fields, &ids).is_some() => {
                    let target = target_of(fields, &ids).unwrap_or_default();
                    let help = format!(
                        "write `\"on_error\": \"continue\"`, and in the step `{target}` `\"when\": \"${{!results.{id}.success}}\"`"
                    );
                    let edits = self.fallback_edits(entry, &id, &target);
                    self.wrong_form_with(entry, &help, edits);
                    entry.item.kind = ItemKind::Text("continue".into());
                    return true;
                }
                ("on_error", ItemKind::Object(fields)) if !fields.is_empty() => handler(fields),
                ("on_error", ItemKind::Text(target)) if ids.contains(target) => {
                    let help = format!(
                        "write `\"on_error\": \"continue\"`, and in the step `{target}` `\"when\": \"${{!results.{id}.success}}\"`"
                    );
                    let edits = self.fallback_edits(entry, &id, target);
                    self.wrong_form_with(entry, &help, edits);
                    entry.item.kind = ItemKind::Text("continue".into());
                    return true;
                }
                ("retry", ItemKind::Bool(asks)) => {
                    if *asks {
                        self.wrong_form(entry, "write the number of attempts, such as `\"retry\": 3`");
                    } else {
                        self.wrong_form(entry, "leave it out: a call is made once");
                    }
                    return false;
                }
                _ => None,
            };
            let Some(found) = found else {
                return true;
            };
            let mut written = found.written;
            let mut scope = if found.field == "timeout" && is_retried { WHOLE_STEP } else { "" };
            let asks_about = found.field == "approval" && !shown_steps.is_empty();
            if asks_about {
                // The step waits for those that the question shows.
                let steps: Vec<String> = shown_steps.iter().map(|id| json(id)).collect();
                written = format!("{written}, \"after\": [{}]", steps.join(", "));
                scope = ": a person is shown the tool and its arguments, and not this text";
            }
            let help = format!("write `\"{}\": {written}`{scope}", found.field);
            let key = self.source.text().get(entry.key_span.start..entry.key_span.end);
            let is_json = key.is_some_and(|key| key.starts_with('"'));
            let edits = if !asks_about || (is_json && !has_after) {
                field_edits(self.source, entry, found.field, Some(written))
            } else {
                Vec::new()
            };
            if *entry.key == *found.field {
                self.wrong_form_with(entry, &help, edits);
            } else {
                self.unknown_with(entry, &help, edits);
            }
            entry.key = found.field.into();
            entry.item.kind = found.kind;
            true
        });
        if !shown_steps.is_empty()
            && !has_after
            && let Some(first) = entries.first()
        {
            let place = first.item.place;
            let kind = |id| Item {
                kind: ItemKind::Text(id),
                place,
            };
            let steps = shown_steps.into_iter().map(kind).collect();
            entries.push(field("after", ItemKind::List(steps), place));
        }
        self.ids = ids;
        self.times(entries);
        self.rounds(entries);
        self.repeat_fields(entries);
        self.fields_of_rounds(entries);
    }

    /// Reports a known field whose value has another form.
    fn wrong_form(&mut self, entry: &ItemEntry, help: &str) {
        self.wrong_form_with(entry, help, Vec::new());
    }

    fn wrong_form_with(&mut self, entry: &ItemEntry, help: &str, edits: Vec<TextEdit>) {
        let found = match &entry.item.kind {
            ItemKind::Text(text) => quote(text),
            _ => with_article(entry.item.kind_word()),
        };
        let message = format!("`{}` cannot be {found}", entry.key);
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        let diagnostic = diagnostic.help(help).fixes(edits);
        self.sink.push(entry.item.place, diagnostic);
    }

    /// Reads the number of times that a step runs, which is a loop over numbers.
    fn times(&mut self, entries: &mut [ItemEntry]) {
        if has(entries, "for_each") {
            return;
        }
        let number = |item: &Item| match &item.kind {
            ItemKind::Number(number) => number.as_u64(),
            _ => None,
        };
        let is_loose = may_have_loose_arguments(entries);
        let count = |entry: &ItemEntry| match &*entry.key {
            "repeat"
                if !["until", "while", "condition"]
                    .iter()
                    .any(|word| entry.item.has(word)) =>
            {
                let inner = ["times", "count", "n"];
                let inner = inner.iter().find_map(|word| entry.item.get(word));
                number(inner.unwrap_or(&entry.item))
            }
            "times" | "count" | "repeat_count" | "iterations" if !is_loose => number(&entry.item),
            _ => None,
        };
        let mut found = entries
            .iter_mut()
            .filter_map(|entry| Some((count(entry)?, entry)));
        let Some((count, entry)) = found.next() else {
            return;
        };
        let list = format!("${{lists.range({count})}}");
        let help = format!(
            "write `\"for_each\": \"{list}\"`, and `\"max_parallel\": 1` beside it for one call after the other"
        );
        if &*entry.key == "repeat" {
            self.wrong_form(entry, &help);
        } else {
            self.unknown(entry, &help);
        }
        entry.key = "for_each".into();
        entry.item.kind = ItemKind::Text(list.into());
    }

    /// Reads the fields of `repeat` in the words of other systems.
    fn repeat_fields(&mut self, entries: &mut [ItemEntry]) {
        let Some(ItemKind::Object(fields)) =
            super::get_mut(entries, "repeat").map(|item| &mut item.kind)
        else {
            return;
        };
        let mut remaining: Vec<ItemEntry> = Vec::with_capacity(fields.len());
        for mut entry in std::mem::take(fields) {
            let key = normal(&entry.key);
            let message = format!("`repeat` has an unknown field {}", quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let text = entry.item.as_text().map(|text| text.trim());
            let inside = text.map(|text| {
                text.strip_prefix("${")
                    .and_then(|text| text.strip_suffix('}'))
                    .unwrap_or(text)
            });
            let condition = inside.and_then(super::texts::expression_of);
            match (&*key, condition) {
                ("while" | "condition" | "aslongas", condition) if inside.is_some() => {
                    // A condition in another language is reported for that.
                    let condition = condition.unwrap_or_else(|| inside.unwrap_or_default().into());
                    let until = format!("${{{}}}", opposite(&condition));
                    let help = format!(
                        "write `\"until\": \"{until}\"`, the opposite: the rounds end once it is true"
                    );
                    let edits = field_edits(self.source, &entry, "until", Some(json(&until)));
                    self.sink
                        .push_at_key(&entry, diagnostic.help(help).fixes(edits));
                    entry.key = "until".into();
                    entry.item.kind = ItemKind::Text(until.into());
                }
                (
                    "times" | "count" | "maxiterations" | "maxattempts" | "maxrounds" | "limit"
                    | "maxtimes" | "attempts" | "maxtries" | "maxretries" | "retries" | "maxloops"
                    | "maxpolls",
                    _,
                ) => {
                    let diagnostic = diagnostic.help("did you mean `max`?");
                    self.sink.push_at_key(&entry, diagnostic.rename("max"));
                    entry.key = "max".into();
                }
                (pause, _) if is_pause(pause) => {
                    self.sink.push_at_key(&entry, diagnostic.help(NO_PAUSE));
                    continue;
                }
                _ => {}
            }
            remaining.push(entry);
        }
        *fields = remaining;
    }

    /// Reads `until` and `while` beside the call, which belong into `repeat`.
    fn rounds(&mut self, entries: &mut Vec<ItemEntry>) {
        if has(entries, "repeat") {
            return;
        }
        let Some(at) = entries.iter().position(|entry| {
            matches!(
                &*entry.key,
                "until" | "while" | "repeat_until" | "loop_until"
            )
        }) else {
            return;
        };
        let is_while = entries.get(at).is_some_and(|entry| &*entry.key == "while");
        let inside = |item: &Item| {
            let text = item.as_text()?.trim();
            let inside = text
                .strip_prefix("${")
                .and_then(|text| text.strip_suffix('}'));
            super::texts::expression_of(inside.unwrap_or(text))
        };
        let Some(condition) = entries.get(at).and_then(|entry| inside(&entry.item)) else {
            return;
        };
        let entry = entries.remove(at);
        let condition = if is_while {
            opposite(&condition)
        } else {
            condition
        };
        let max = entries.iter().position(counts_rounds);
        let max = max.map(|at| entries.remove(at));
        let written = max
            .as_ref()
            .map(|max| format!(", \"max\": {}", max.item.to_value().to_json()));
        let written = written.unwrap_or_default();
        let until = json(&format!("${{{condition}}}"));
        let repeat = format!("{{\"until\": {until}{written}}}");
        let mut edits = field_edits(self.source, &entry, "repeat", Some(repeat));
        if let Some(max) = &max {
            match removal(self.source, max) {
                Some(removed) if !edits.is_empty() => edits.push(removed),
                Some(_) | None => edits.clear(),
            }
        }
        let help = format!("write `\"repeat\": {{\"until\": \"${{{condition}}}\"{written}}}`");
        self.unknown_with(&entry, &help, edits);
        if let Some(max) = &max {
            self.unknown(
                max,
                "write it as the `max` of `repeat`, the number of rounds",
            );
        }
        let place = entry.item.place;
        let mut fields = vec![field(
            "until",
            ItemKind::Text(format!("${{{condition}}}").into()),
            place,
        )];
        fields.extend(max.map(|max| field("max", max.item.kind, max.item.place)));
        entries.push(field("repeat", ItemKind::Object(fields), place));
    }

    /// Reads the number of rounds and the pause between them beside `repeat`.
    fn fields_of_rounds(&mut self, entries: &mut Vec<ItemEntry>) {
        let Some(ItemKind::Object(fields)) = get(entries, "repeat").map(|item| &item.kind) else {
            return;
        };
        let mut max = get(fields, "max").map(Item::to_value);
        let repeat = get(entries, "repeat").and_then(|item| self.source.span(item.place));
        let end = repeat.and_then(|span| {
            let inside = self.source.text().get(span.start..span.end)?;
            let inside = inside.strip_suffix('}')?.trim_end();
            let is_plain = inside.starts_with('{') && inside.ends_with(['"', '}', ']']);
            is_plain.then_some(span.start + inside.len())
        });
        let is_loose = may_have_loose_arguments(entries);
        let mut read = None;
        entries.retain(|entry| {
            if counts_rounds(entry) {
                let written = entry.item.to_value();
                if max.is_some() {
                    let help = "leave it out: the `max` of `repeat` is the number of rounds";
                    let is_same = max.as_ref() == Some(&written);
                    let edit = removal(self.source, entry).filter(|_| is_same);
                    self.unknown_with(entry, help, edit.into_iter().collect());
                } else {
                    let help = format!(
                        "write it as the `max` of `repeat`, the number of rounds: `\"max\": {}`",
                        written.to_json()
                    );
                    let added = format!(", \"max\": {}", written.to_json());
                    let added = end.map(|end| TextEdit::new(end..end, added));
                    let removed = removal(self.source, entry);
                    let edits = added.zip(removed).map(|(added, removed)| [added, removed]);
                    self.unknown_with(entry, &help, edits.into_iter().flatten().collect());
                    max = Some(written);
                    read = Some(entry.item.clone());
                }
                return false;
            }
            let is_of_rounds =
                !is_loose && !is_step_field(&entry.key) && is_pause(&normal(&entry.key));
            if is_of_rounds {
                self.unknown(entry, NO_PAUSE);
            }
            !is_of_rounds
        });
        if let Some(item) = read
            && let Some(ItemKind::Object(fields)) =
                super::get_mut(entries, "repeat").map(|repeat| &mut repeat.kind)
        {
            fields.push(field("max", item.kind, item.place));
        }
    }

    /// Reads a loop whose call stands inside of it: `"for_each": {"in": …, "do": {"tool": …}}`.
    pub(super) fn loop_body(&mut self, entries: &mut Vec<ItemEntry>) {
        if has(entries, "tool") || has(entries, "plan") {
            return;
        }
        let words = STEP.iter().find(|group| group.field == "for_each");
        let words = words.map_or(&[][..], |group| group.words);
        let is_loop = |entry: &ItemEntry| {
            (&*entry.key == "for_each" || words.contains(&&*entry.key))
                && entry.item.as_object().is_some()
        };
        let body = |fields: &[ItemEntry]| {
            fields.iter().position(|field| {
                FOR_EACH_BODIES.contains(&&*field.key) && only_step(&field.item).is_some()
            })
        };
        // The call is inside the loop, or beside it.
        let found = match entries.iter_mut().find(|entry| is_loop(entry)) {
            Some(entry) => match &mut entry.item.kind {
                ItemKind::Object(fields) => body(fields).map(|at| fields.remove(at)),
                _ => None,
            },
            None => {
                let loops = entries
                    .iter()
                    .any(|entry| &*entry.key == "for_each" || words.contains(&&*entry.key));
                body(entries).filter(|_| loops).map(|at| entries.remove(at))
            }
        };
        let Some(found) = found else {
            return;
        };
        let Some(step) = only_step(&found.item) else {
            return;
        };
        let moved: Vec<ItemEntry> = step
            .as_object()
            .unwrap_or_default()
            .iter()
            .filter(|field| &*field.key != "id" && !has(entries, &field.key))
            .cloned()
            .collect();
        let fields = moved
            .iter()
            .map(|field| (Arc::clone(&field.key), field.item.to_value()));
        let json = Value::object(fields.collect::<Vec<_>>()).to_json();
        let is_shown = json.len() <= MAX_SHOWN && !json.contains('`');
        let shown = if is_shown {
            json.trim_start_matches('{')
                .trim_end_matches('}')
                .to_owned()
                + closing(&json)
        } else {
            "\"tool\": …, \"args\": …".to_owned()
        };
        let help = format!(
            "the call of a loop stands in the step itself, beside `for_each`: write `{shown}`"
        );
        // In place of the field, the fields of the call; a mark of the loop would stay behind.
        let has_mark = has(entries, "type") || has(entries, "kind");
        let has_own_id = step.get("id").is_some();
        let span = self.source.span(found.item.place);
        let edit = span
            .filter(|_| is_shown && !has_mark && !has_own_id && !moved.is_empty())
            .filter(|span| {
                let written = self.source.text().get(found.key_span.start..span.end);
                written.is_some_and(|written| written.starts_with('"') && written.ends_with('}'))
            })
            .map(|span| TextEdit::new(found.key_span.start..span.end, shown));
        self.unknown_with(&found, &help, edit.into_iter().collect());
        entries.retain(|entry| !matches!(&*entry.key, "type" | "kind"));
        entries.extend(moved);
    }

    /// Reads misspelt names of fields, also of those of other systems.
    pub(super) fn misspelt(&mut self, entries: &mut [ItemEntry]) {
        let is_loose = may_have_loose_arguments(entries);
        for at in 0..entries.len() {
            let Some(entry) = entries.get(at) else {
                continue;
            };
            let is_known = is_step_field(&entry.key)
                || [GROUPS, ITEM_NAMES]
                    .iter()
                    .any(|words| words.contains(&&*entry.key))
                || [OUTPUT_NAMES, FOR_PEOPLE]
                    .iter()
                    .any(|words| words.contains(&entry.key))
                || STEP.iter().any(|group| group.words.contains(&&*entry.key));
            let may_be_argument = is_loose && entry.item.as_object().is_none();
            if is_known || may_be_argument || entry.key.chars().count() < MIN_MISSPELT {
                continue;
            }
            if entry.key.len() > MAX_MISSPELT {
                continue;
            }
            let name = normal(&entry.key);
            let first = name.chars().next();
            let is_same = |word: &str| {
                // The first letter is rarely wrong, and few words share it, which saves most comparisons.
                if word.chars().next() != first {
                    return false;
                }
                let word = normal(word);
                let allowed = match word.len() {
                    0..MIN_MISSPELT => 0,
                    MIN_MISSPELT..7 => 1,
                    _ => 2,
                };
                word.len().abs_diff(name.len()) <= allowed
                    && strsim::damerau_levenshtein(&word, &name) <= allowed
            };
            // A misspelt `unless` would mean the opposite as `when`.
            let words = |group: &Synonyms| {
                let words = std::iter::once(&group.field).chain(group.words);
                words
                    .filter(|word| !negates(word))
                    .any(|word| is_same(word))
            };
            if STEP
                .iter()
                .flat_map(|group| group.words)
                .any(|word| negates(word) && is_same(word))
            {
                continue;
            }
            let mut found = STEP
                .iter()
                .filter(|group| (group.fits)(&entry.item) && words(group));
            let target = found.next().map(|group| group.field);
            let is_single = found.all(|group| Some(group.field) == target);
            let Some(target) = target.filter(|target| is_single && !has(entries, target)) else {
                continue;
            };
            let is_own = is_same(target);
            if let Some(entry) = entries.get_mut(at) {
                if is_own {
                    self.rename_entry(entry, "the step", target);
                } else {
                    self.unknown(entry, &format!("did you mean `{target}`?"));
                    entry.key = target.into();
                }
            }
        }
    }
}

/// The brackets that end the JSON of the last field of `json`, an object.
fn closing(json: &str) -> &'static str {
    let open = json.len() - json.trim_end_matches('}').len();
    match open {
        0 | 1 => "",
        2 => "}",
        3 => "}}",
        _ => "}}}",
    }
}

/// Returns true if the field `key` says whether a person is asked.
fn is_approval(key: &str) -> bool {
    let mut groups = STEP.iter().filter(|group| group.field == "approval");
    key == "approval" || groups.any(|group| group.words.contains(&key))
}

/// The step in `item`: the item itself, or the only item of a list.
fn only_step(item: &Item) -> Option<&Item> {
    let only = match item.as_list() {
        Some([only]) => only,
        Some(_) => return None,
        None => item,
    };
    (only.as_object().is_some() && is_step(only)).then_some(only)
}

/// A field of this dialect with its value, also as JSON.
struct Form {
    field: &'static str,
    kind: ItemKind,
    written: String,
}

impl Form {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the arms around its calls are options"
    )]
    fn of(field: &'static str, kind: ItemKind, written: String) -> Option<Self> {
        Some(Self {
            field,
            kind,
            written,
        })
    }
}

/// The step that `on_error` of another system goes to, `{"goto": "b"}`, or whose id it has as its fallback, `{"fallback": "b"}`.
fn target_of(fields: &[ItemEntry], ids: &HashSet<Arc<str>>) -> Option<Arc<str>> {
    let is_fallback = |entry: &&ItemEntry| {
        let key = normal(&entry.key);
        let is_meant = matches!(
            &*key,
            "fallback" | "fallbackstep" | "fallbackto" | "use" | "then" | "call" | "handler"
        ) || DEFAULTS.contains(&&*entry.key);
        is_meant || is_word_for_target(&key)
    };
    let mut named = fields.iter().filter(is_fallback);
    let named = named.find_map(|entry| entry.item.as_text().filter(|text| ids.contains(*text)));
    if named.is_some() {
        return named.cloned();
    }
    let [only] = fields else {
        return None;
    };
    let is_target = is_word_for_target(&normal(&only.key));
    only.item.as_text().filter(|_| is_target).cloned()
}

/// Returns true if the field `key` of `on_error` is a step in other systems.
fn is_word_for_target(key: &str) -> bool {
    matches!(key, "goto" | "next" | "step" | "jumpto" | "run" | "target")
}

/// The duration in an object such as `{"seconds": 30}`.
fn duration(fields: &[ItemEntry]) -> Option<Form> {
    let [only] = fields else {
        return None;
    };
    let ItemKind::Number(number) = &only.item.kind else {
        return None;
    };
    let unit = match &*only.key.to_lowercase() {
        "ms" | "millis" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "seconds" => "s",
        "m" | "min" | "minutes" => "m",
        "h" | "hours" => "h",
        _ => return None,
    };
    let text = format!("{number}{unit}");
    let written = format!("\"{text}\"");
    Form::of("timeout", ItemKind::Text(text.into()), written)
}

/// The number of attempts in a text such as `3 times`.
fn attempts(text: &str) -> Option<Form> {
    let digits = text.trim();
    let digits = &digits[..digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len())];
    let Ok(Value::Number(number)) = Value::from_json(digits) else {
        return None;
    };
    Form::of("retry", ItemKind::Number(number), digits.to_owned())
}

/// Form that `on_error` with the fields of other systems stands for.
fn handler(fields: &[ItemEntry]) -> Option<Form> {
    if get(fields, "output").is_some() {
        return None;
    }
    if let Some(default) = DEFAULTS.iter().find_map(|word| get(fields, word)) {
        if is_step(default) {
            return None;
        }
        let json = default.to_value().to_json();
        let is_shown = json.len() <= MAX_SHOWN && !json.contains('`');
        let written = if is_shown {
            format!("{{\"output\": {json}}}")
        } else {
            "{\"output\": …}".to_owned()
        };
        let output = field("output", default.kind.clone(), default.place);
        return Form::of("on_error", ItemKind::Object(vec![output]), written);
    }
    if let Some(retry) = get(fields, "retry") {
        let json = retry.to_value().to_json();
        let is_number = matches!(retry.kind, ItemKind::Number(_));
        return Form::of("retry", retry.kind.clone(), json).filter(|_| is_number);
    }
    let word = HANDLERS
        .iter()
        .find_map(|word| on_error_word(get(fields, word)?.as_text()?))
        .or_else(|| {
            let [only] = fields else {
                return None;
            };
            let holds = matches!(only.item.kind, ItemKind::Bool(true));
            on_error_word(&only.key).filter(|_| holds)
        })?;
    Form::of(
        "on_error",
        ItemKind::Text(word.into()),
        format!("\"{word}\""),
    )
}
