//! The fields of one object, read by name; missing, wrong and unknown fields become diagnostics.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place};

use super::sink::synonym;
use super::{DiagnosticSink, Item, ItemEntry, ItemKind, nearest, quote};

/// The number of fields that most objects are read for.
const EXPECTED_FIELDS: usize = 32;

/// The fields of one object. Each field that is read counts as known; [`Fields::finish`] reports all others.
///
/// An optional field may also be `null`, because programs often write it so. [`Fields::entry`] distinguishes the two.
#[derive(Debug)]
pub struct Fields<'a> {
    owner: &'static str,
    place: Place,
    entries: &'a [ItemEntry],
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of `item`, which messages call `owner` (with its article: "the step").
    ///
    /// Reports a diagnostic and returns `None` if `item` is not an object.
    pub fn of(item: &'a Item, owner: &'static str, sink: &mut DiagnosticSink) -> Option<Self> {
        if let Some(entries) = item.as_object() {
            return Some(Self {
                owner,
                place: item.place,
                entries,
                known: Vec::with_capacity(EXPECTED_FIELDS),
            });
        }
        let found = super::article(item.kind_word());
        let message = format!("{owner} must be an object, found {found}");
        sink.push(item.place, Diagnostic::error(Code::WrongFieldType, message));
        None
    }

    /// The place of the object.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The field `name` with its key, whatever its value, `null` included.
    pub fn entry(&mut self, name: &'static str) -> Option<&'a ItemEntry> {
        // A name may be read twice; `finish` removes it if it has to list them.
        self.known.push(name);
        // Of duplicate keys, which the reader has reported, the last one counts.
        self.entries.iter().rfind(|entry| &*entry.key == name)
    }

    /// The value of the field `name`, or `None` if the field is absent or `null`.
    pub fn optional(&mut self, name: &'static str) -> Option<&'a Item> {
        let item = &self.entry(name)?.item;
        (!item.is_null()).then_some(item)
    }

    /// The value of the field `name`. Reports a diagnostic if the field is absent.
    pub fn required(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a Item> {
        let entry = self.entry(name);
        if entry.is_none() {
            self.report_missing(name, sink);
        }
        entry.map(|entry| &entry.item)
    }

    /// Reports that the field `name` is missing.
    pub fn report_missing(&self, name: &str, sink: &mut DiagnosticSink) {
        let message = format!("{} has no `{name}`", self.owner);
        let diagnostic = Diagnostic::error(Code::MissingField, message);
        sink.push(self.place, diagnostic.help(format!("add `{name}`")));
    }

    /// The text in the optional field `name`.
    pub fn text(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a Arc<str>> {
        let item = self.optional(name)?;
        expect_type(item, name, "text", item.as_text(), sink)
    }

    /// The text in the required field `name`, and its place.
    pub fn required_text(
        &mut self,
        name: &'static str,
        sink: &mut DiagnosticSink,
    ) -> Option<(&'a Arc<str>, Place)> {
        let item = self.required(name, sink)?;
        let text = expect_type(item, name, "text", item.as_text(), sink)?;
        Some((text, item.place))
    }

    /// The list in the optional field `name`.
    pub fn list(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a [Item]> {
        let item = self.optional(name)?;
        expect_type(item, name, "a list", item.as_list(), sink)
    }

    /// The list in the required field `name`.
    pub fn required_list(
        &mut self,
        name: &'static str,
        sink: &mut DiagnosticSink,
    ) -> Option<&'a [Item]> {
        let item = self.required(name, sink)?;
        expect_type(item, name, "a list", item.as_list(), sink)
    }

    /// The object in the optional field `name`.
    pub fn object(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a Item> {
        let item = self.optional(name)?;
        expect_type(item, name, "an object", item.as_object(), sink)?;
        Some(item)
    }

    /// The truth value in the optional field `name`.
    pub fn boolean(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<bool> {
        let item = self.optional(name)?;
        let value = match &item.kind {
            ItemKind::Bool(value) => Some(*value),
            _ => None,
        };
        expect_type(item, name, "true or false", value, sink)
    }

    /// The whole number from 0 on in the optional field `name`, and its place.
    pub fn count(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<(u64, Place)> {
        let item = self.optional(name)?;
        let ItemKind::Number(number) = &item.kind else {
            sink.push_wrong_type(item, name, "a whole number");
            return None;
        };
        if let Some(count) = number.as_u64() {
            return Some((count, item.place));
        }
        let message = format!("`{name}` must be a whole number from 0 on, found `{number}`");
        sink.push(
            item.place,
            Diagnostic::error(Code::InvalidFieldValue, message),
        );
        None
    }

    /// Reports every field that was not read.
    pub fn finish(mut self, sink: &mut DiagnosticSink) {
        if self.unknown().next().is_none() {
            return;
        }
        let mut seen = HashSet::new();
        self.known.retain(|name| seen.insert(*name));
        let unknown = self.unknown();
        let guess = FieldGuess::new(&self);
        for entry in unknown {
            // Guessing compares the key with all known fields; beyond the limit the result would not be shown.
            if sink.is_error_limit_reached() {
                continue;
            }
            let message = format!("{} has an unknown field {}", self.owner, quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let diagnostic = match guess.best_match(&entry.key) {
                Some((name, is_certain)) => {
                    let diagnostic = diagnostic.help(format!("did you mean `{name}`?"));
                    // A certain guess becomes a fix that can be applied without asking.
                    if is_certain {
                        diagnostic.rename(name)
                    } else {
                        diagnostic
                    }
                }
                None => diagnostic.help(format!("it may have {}", quoted_list(&self.known))),
            };
            sink.push_at_key(entry, diagnostic);
        }
    }

    fn unknown(&self) -> impl Iterator<Item = &'a ItemEntry> {
        let is_known = |entry: &&ItemEntry| self.known.iter().any(|known| **known == *entry.key);
        self.entries.iter().filter(move |entry| !is_known(entry))
    }
}

/// Guesses the known fields that unknown ones stand for.
struct FieldGuess<'k> {
    known: &'k [&'static str],
    /// The known fields that the object has.
    present: HashSet<&'static str>,
    /// The number of unknown fields that are a synonym of each known one.
    synonyms: HashMap<&'static str, usize>,
}

impl<'k> FieldGuess<'k> {
    fn new(fields: &'k Fields<'_>) -> Self {
        let known = fields.known.as_slice();
        let present = |name: &&str| fields.entries.iter().any(|entry| *entry.key == **name);
        let mut synonyms = HashMap::new();
        for entry in fields.unknown() {
            if let Some(name) = synonym(&entry.key, known) {
                *synonyms.entry(name).or_default() += 1;
            }
        }
        Self {
            known,
            present: known.iter().copied().filter(present).collect(),
            synonyms,
        }
    }

    /// The field that `written` probably stands for; `true` if no other field is meant and the object does not have it
    /// yet.
    fn best_match(&self, written: &str) -> Option<(&'static str, bool)> {
        let is_free = |name: &str| !self.present.contains(name);
        if let Some(name) = synonym(written, self.known) {
            let is_alone = self.synonyms.get(name) == Some(&1);
            return Some((name, is_alone && is_free(name)));
        }
        let name = nearest(written, self.known.iter().copied())?;
        // A fix is offered only if no other known name is near as well.
        let others = self.known.iter().copied().filter(|known| *known != name);
        Some((name, nearest(written, others).is_none() && is_free(name)))
    }
}

fn expect_type<T>(
    item: &Item,
    name: &str,
    wanted: &str,
    value: Option<T>,
    sink: &mut DiagnosticSink,
) -> Option<T> {
    if value.is_none() {
        sink.push_wrong_type(item, name, wanted);
    }
    value
}

fn quoted_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
