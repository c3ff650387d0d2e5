//! The fields of one object, asked for by name: what is missing, wrong or unknown becomes a finding.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place};

use super::suggest::synonym;
use super::{Entry, Findings, Item, ItemKind, nearest, quote};

/// The fields of one object. Each one that is asked for counts as known; [`Fields::finish`] reports the others.
///
/// A field that may be left out may also be `null`: programs write it so. [`Fields::entry`] tells the two apart.
#[derive(Debug)]
pub struct Fields<'a> {
    owner: &'static str,
    place: Place,
    entries: &'a [Entry],
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of `item`, which messages call `owner` (with its article: "the step").
    /// A finding and nothing where it is no object.
    pub fn of(item: &'a Item, owner: &'static str, sink: &mut Findings) -> Option<Self> {
        if let Some(entries) = item.as_object() {
            return Some(Self {
                owner,
                place: item.place,
                entries,
                known: Vec::new(),
            });
        }
        let found = super::article(item.kind_word());
        let message = format!("{owner} must be an object, found {found}");
        sink.push(item.place, Diagnostic::error(Code::WrongFieldType, message));
        None
    }

    /// Where the object stands.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The field `name` with its key, whatever it holds, `null` included.
    pub fn entry(&mut self, name: &'static str) -> Option<&'a Entry> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.entries.iter().rfind(|entry| &*entry.key == name)
    }

    /// The value of the field `name`, whatever it is, unless it is left out or `null`.
    pub fn optional(&mut self, name: &'static str) -> Option<&'a Item> {
        let item = &self.entry(name)?.item;
        (!item.is_null()).then_some(item)
    }

    /// The value of the field `name`; a finding where it is left out.
    pub fn required(&mut self, name: &'static str, sink: &mut Findings) -> Option<&'a Item> {
        let entry = self.entry(name);
        if entry.is_none() {
            self.report_missing(name, sink);
        }
        entry.map(|entry| &entry.item)
    }

    /// Says that the field `name` is missing.
    pub fn report_missing(&self, name: &str, sink: &mut Findings) {
        let message = format!("{} has no `{name}`", self.owner);
        let diagnostic = Diagnostic::error(Code::MissingField, message);
        sink.push(self.place, diagnostic.help(format!("add `{name}`")));
    }

    /// The text in `name`, which may be left out.
    pub fn text(&mut self, name: &'static str, sink: &mut Findings) -> Option<&'a Arc<str>> {
        let item = self.optional(name)?;
        expect_type(item, name, "text", item.as_text(), sink)
    }

    /// The text in `name`, which may not be left out, and its place.
    pub fn required_text(
        &mut self,
        name: &'static str,
        sink: &mut Findings,
    ) -> Option<(&'a Arc<str>, Place)> {
        let item = self.required(name, sink)?;
        let text = expect_type(item, name, "text", item.as_text(), sink)?;
        Some((text, item.place))
    }

    /// The list in `name`, which may be left out.
    pub fn list(&mut self, name: &'static str, sink: &mut Findings) -> Option<&'a [Item]> {
        let item = self.optional(name)?;
        expect_type(item, name, "a list", item.as_list(), sink)
    }

    /// The list in `name`, which may not be left out.
    pub fn required_list(&mut self, name: &'static str, sink: &mut Findings) -> Option<&'a [Item]> {
        let item = self.required(name, sink)?;
        expect_type(item, name, "a list", item.as_list(), sink)
    }

    /// The object in `name`, which may be left out.
    pub fn object(&mut self, name: &'static str, sink: &mut Findings) -> Option<&'a Item> {
        let item = self.optional(name)?;
        expect_type(item, name, "an object", item.as_object(), sink)?;
        Some(item)
    }

    /// The truth value in `name`, which may be left out.
    pub fn boolean(&mut self, name: &'static str, sink: &mut Findings) -> Option<bool> {
        let item = self.optional(name)?;
        let value = match &item.kind {
            ItemKind::Bool(value) => Some(*value),
            _ => None,
        };
        expect_type(item, name, "true or false", value, sink)
    }

    /// The whole number from 0 on in `name`, which may be left out, and its place.
    pub fn count(&mut self, name: &'static str, sink: &mut Findings) -> Option<(u64, Place)> {
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

    /// Reports every field that nobody asked for.
    pub fn finish(self, sink: &mut Findings) {
        let mut unknown = self.unknown().peekable();
        if unknown.peek().is_none() {
            return;
        }
        let guess = FieldGuess::new(&self);
        for entry in unknown {
            if sink.is_error_limit_reached() {
                continue;
            }
            let message = format!("{} has an unknown field {}", self.owner, quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let diagnostic = match guess.best_match(&entry.key) {
                Some((name, is_certain)) => {
                    let diagnostic = diagnostic.help(format!("did you mean `{name}`?"));
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

    fn unknown(&self) -> impl Iterator<Item = &'a Entry> {
        let is_known = |entry: &&Entry| self.known.iter().any(|known| **known == *entry.key);
        self.entries.iter().filter(move |entry| !is_known(entry))
    }
}

/// Guesses which fields are meant by those that are not known.
struct FieldGuess<'k> {
    known: &'k [&'static str],
    /// The known fields that are there.
    present: HashSet<&'static str>,
    /// How many unknown fields have another word for a known one.
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

    /// The field that is probably meant by `written`, and whether it can be no other, and there is room for it.
    fn best_match(&self, written: &str) -> Option<(&'static str, bool)> {
        let is_free = |name: &str| !self.present.contains(name);
        if let Some(name) = synonym(written, self.known) {
            let is_alone = self.synonyms.get(name) == Some(&1);
            return Some((name, is_alone && is_free(name)));
        }
        let name = nearest(written, self.known.iter().copied())?;
        let others = self.known.iter().copied().filter(|known| *known != name);
        Some((name, nearest(written, others).is_none() && is_free(name)))
    }
}

fn expect_type<T>(
    item: &Item,
    name: &str,
    wanted: &str,
    value: Option<T>,
    sink: &mut Findings,
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
