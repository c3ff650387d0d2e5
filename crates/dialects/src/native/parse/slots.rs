//! Slots: initial values, schemas, and the writes of a step.

use std::sync::Arc;

use planwright_core::plan::{
    InitialValues, Method, SlotKind, SlotPath, SlotSchema, Targets, Writes,
};
use planwright_core::{Code, Diagnostic};

use super::plan::{NativeReader, choice, slot_kind};
use crate::document::{Fields, Item, ItemEntry, quote};
use crate::native::keywords::METHODS;
use crate::native::reference::read_slot;

impl NativeReader<'_> {
    /// The initial values of slots: an object by kind, or a list of such objects.
    pub(super) fn contents(&mut self, item: &Item) -> Vec<InitialValues> {
        let mut contents = Vec::new();
        for group in item.as_list().unwrap_or(std::slice::from_ref(item)) {
            let Some(mut fields) = Fields::of(group, "`slots`", self.sink) else {
                continue;
            };
            let instance = fields.text("instance", self.sink).map(Arc::clone);
            for (kind, entry) in self.by_kind(fields, group) {
                if entry.item.as_object().is_none() {
                    self.sink
                        .push_wrong_type(&entry.item, &entry.key, "an object");
                    continue;
                }
                contents.push(InitialValues {
                    kind,
                    instance: instance.clone(),
                    value: entry.item.to_value(),
                    place: entry.item.place,
                });
            }
        }
        contents
    }

    /// The schemas of slots by kind, or a list of such objects.
    pub(super) fn slot_schemas(&mut self, item: &Item) -> Vec<SlotSchema> {
        let mut schemas = Vec::new();
        for group in item.as_list().unwrap_or(std::slice::from_ref(item)) {
            let Some(fields) = Fields::of(group, "`slot_schemas`", self.sink) else {
                continue;
            };
            for (kind, entry) in self.by_kind(fields, group) {
                schemas.push(SlotSchema {
                    kind,
                    schema: entry.item.to_value(),
                    place: entry.item.place,
                });
            }
        }
        schemas
    }

    /// The fields of `group` that are kinds of slots, in the order of the text.
    fn by_kind<'i>(
        &mut self,
        mut fields: Fields<'_>,
        group: &'i Item,
    ) -> Vec<(SlotKind, &'i ItemEntry)> {
        for (word, _) in crate::native::keywords::KINDS {
            fields.entry(word);
        }
        fields.finish(self.sink);
        group
            .as_object()
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| Some((slot_kind(&entry.key)?, entry)))
            .collect()
    }

    /// The writes of a step: a slot, or an object with further fields.
    pub(super) fn writes(&mut self, item: &Item) -> Option<Writes> {
        if item.as_text().is_some() {
            return Some(Writes {
                targets: Targets::All(vec![self.slot_path(item, "writes")?]),
                method: Method::Set,
                place: item.place,
            });
        }
        if item.as_object().is_none() {
            self.sink
                .push_wrong_type(item, "writes", "a slot or an object");
            return None;
        }
        let mut fields = Fields::of(item, "`writes`", self.sink)?;
        let to = fields.optional("to");
        let one_of = fields.optional("one_of");
        let method = choice(&mut fields, "method", METHODS, self.sink);
        fields.finish(self.sink);
        let targets = match (to, one_of) {
            (Some(to), None) => {
                if to.as_list().is_some_and(<[Item]>::is_empty) {
                    self.report(
                        to.place,
                        Code::InvalidFieldValue,
                        "`to` names no slot",
                        "name one, such as `\"state.user\"`, or leave `writes` out",
                    );
                }
                Targets::All(self.slot_paths(to, "to"))
            }
            (None, Some(one_of)) => {
                let paths = self.slot_paths(one_of, "one_of");
                if one_of.as_list().is_none_or(|items| items.len() < 2) {
                    self.report(
                        one_of.place,
                        Code::InvalidFieldValue,
                        "`one_of` needs at least two slots",
                        "the first is for success, the last for failure; use `to` for a single one",
                    );
                }
                Targets::OneOf(paths)
            }
            (Some(_), Some(one_of)) => {
                self.report(
                    one_of.place,
                    Code::ConflictingFields,
                    "`writes` has both `to` and `one_of`",
                    "keep one of them",
                );
                return None;
            }
            (None, None) => {
                self.report(
                    item.place,
                    Code::MissingField,
                    "`writes` names no slot",
                    "add `to`, such as `\"to\": \"state.user\"`",
                );
                return None;
            }
        };
        Some(Writes {
            targets,
            method,
            place: item.place,
        })
    }

    fn slot_paths(&mut self, item: &Item, field: &str) -> Vec<SlotPath> {
        item.as_list()
            .unwrap_or(std::slice::from_ref(item))
            .iter()
            .filter_map(|item| self.slot_path(item, field))
            .collect()
    }

    /// A slot such as `state.user` or `vars["odd name"]`.
    fn slot_path(&mut self, item: &Item, field: &str) -> Option<SlotPath> {
        let Some(text) = item.as_text() else {
            self.sink.push_wrong_type(item, field, "a slot");
            return None;
        };
        let Some((kind, keys)) = read_slot(text) else {
            let message = format!("{} is no slot", quote(text));
            let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
            let help = "write `vars.name`, `state.name` or `data.name`, with `.` between names";
            self.sink.push(item.place, diagnostic.help(help));
            return None;
        };
        if kind == SlotKind::Inputs {
            self.report(
                item.place,
                Code::InvalidFieldValue,
                "no step writes the inputs",
                "write to `vars`, `state` or `data`",
            );
            return None;
        }
        Some(SlotPath {
            kind,
            keys,
            place: item.place,
        })
    }
}
