//! Marks at the parts of items that do not come from what was counted: an index beside a field of the item.
//!
//! A mark has no label of its own. If a position from the end selects the item, or the parts become a list, the number of items
//! is the label.

use super::{ItemSource, LabelStore, Labels, LabelsId};
use crate::flow::graph::NodeId;

/// Maximum number of parts of a value that are looked at one by one; further ones get the label in any case.
const MAX_PARTS: usize = 1_000;

impl LabelStore<'_> {
    /// Returns `value`, whose position depends on the number of items: marked parts have its label.
    pub(in crate::flow) fn positioned(&mut self, value: LabelsId) -> LabelsId {
        let labels = self.get(value);
        if labels.is_simple() && !matches!(labels, Labels::Object(..)) {
            return value;
        }
        // Values may repeat each other many times.
        if let Some(known) = self.positioned.get(&value) {
            return *known;
        }
        let positioned = match labels {
            Labels::Sized(inner, like) if self.shows_list(inner) => {
                let list = self.positioned(inner);
                self.push(Labels::Sized(list, like))
            }
            Labels::Sized(part, like) => {
                let count = self.join(like);
                self.with(part, count)
            }
            Labels::List(item) => {
                let item = self.positioned(item);
                self.list(item)
            }
            Labels::Counted(list, count) => {
                let list = self.positioned(list);
                self.counted(list, count)
            }
            Labels::Distinct(list, compared) => {
                let list = self.positioned(list);
                self.push(Labels::Distinct(list, compared))
            }
            Labels::AnyOf(values) => self.map_alternatives(values, Self::positioned),
            _ => self.map_parts(value, Self::positioned),
        };
        self.positioned.insert(value, positioned);
        positioned
    }

    /// Returns the items `value` that are made for each item `item` of `list`, with marks at the parts that do not come from it.
    pub(in crate::flow) fn marked(
        &mut self,
        value: LabelsId,
        item: LabelsId,
        list: LabelsId,
    ) -> LabelsId {
        let mut visits_left = MAX_PARTS;
        self.marked_parts(value, &mut |store, part| {
            let Some(left) = visits_left.checked_sub(1) else {
                return store.sized(part, list);
            };
            visits_left = left;
            if store.shows_list(part) || store.item_source(part, item) == ItemSource::Counted {
                return part;
            }
            store.sized(part, list)
        })
    }

    /// Returns `value` with what `mark` returns for its fields, and for the items of lists that it spells out, at any depth.
    fn marked_parts(
        &mut self,
        value: LabelsId,
        mark: &mut dyn FnMut(&mut Self, LabelsId) -> LabelsId,
    ) -> LabelsId {
        match self.get(value) {
            Labels::List(items) => {
                let marked = match self.get(items) {
                    Labels::AnyOf(alternatives) => self
                        .map_alternatives(alternatives, |store, item| {
                            store.marked_parts_or_whole(item, mark)
                        }),
                    _ => self.marked_parts_or_whole(items, mark),
                };
                if marked == items {
                    value
                } else {
                    self.list(marked)
                }
            }
            _ => self.map_parts(value, |store, part| store.marked_parts_or_whole(part, mark)),
        }
    }

    fn marked_parts_or_whole(
        &mut self,
        part: LabelsId,
        mark: &mut dyn FnMut(&mut Self, LabelsId) -> LabelsId,
    ) -> LabelsId {
        if self.has_parts(part) || matches!(self.get(part), Labels::List(_)) {
            return self.marked_parts(part, mark);
        }
        mark(self, part)
    }

    /// Returns `value`, the last one that rounds compute; `rounds` decided which is the last. What a tool returns belongs to its call.
    pub(in crate::flow) fn chosen_round(&mut self, value: LabelsId, rounds: NodeId) -> LabelsId {
        let mut visits_left = MAX_PARTS;
        self.chosen_part(value, rounds, &mut visits_left)
    }

    fn chosen_part(
        &mut self,
        value: LabelsId,
        rounds: NodeId,
        visits_left: &mut usize,
    ) -> LabelsId {
        *visits_left = visits_left.saturating_sub(1);
        if *visits_left > 0 && self.has_parts(value) {
            return self.map_parts(value, |store, part| {
                store.chosen_part(part, rounds, visits_left)
            });
        }
        match self.get(value) {
            Labels::Output(_) => value,
            _ => self.with(value, rounds),
        }
    }

    fn has_parts(&self, value: LabelsId) -> bool {
        matches!(
            self.get(value),
            Labels::Object(..) | Labels::Passed(..) | Labels::With(..)
        )
    }

    /// Returns `value` with what `map` returns for its fields, or for the value that passed a place.
    fn map_parts(
        &mut self,
        value: LabelsId,
        mut map: impl FnMut(&mut Self, LabelsId) -> LabelsId,
    ) -> LabelsId {
        match self.get(value) {
            Labels::Object(range, keys) => {
                let fields = self.fields_in(range).to_vec();
                let mut is_other = false;
                let mut mapped = Vec::with_capacity(fields.len());
                for (key, field) in fields {
                    let part = map(self, field);
                    is_other |= part != field;
                    mapped.push((key, part));
                }
                if is_other {
                    self.object_of(mapped, keys)
                } else {
                    value
                }
            }
            Labels::Passed(inner, passage) => {
                let part = map(self, inner);
                if part == inner {
                    return value;
                }
                self.push(Labels::Passed(part, passage))
            }
            Labels::With(inner, other) => {
                let part = map(self, inner);
                if part == inner {
                    return value;
                }
                self.with(part, other)
            }
            _ => value,
        }
    }

    /// Returns true if the labels of a value show that it is a list.
    pub(in crate::flow) fn shows_list(&self, mut value: LabelsId) -> bool {
        loop {
            match self.get(value) {
                Labels::List(_) | Labels::Distinct(..) | Labels::Counted(..) => return true,
                Labels::Sized(inner, _) | Labels::Passed(inner, _) | Labels::With(inner, _) => {
                    value = inner;
                }
                // The alternatives of a value that is a list are lists.
                Labels::AnyOf(values) => match self.alternatives_in(values).first() {
                    Some(first) => value = *first,
                    None => return false,
                },
                _ => return false,
            }
        }
    }

    /// Returns true if the value is a part of items that does not come from them.
    pub(super) fn is_marked(&self, mut value: LabelsId) -> bool {
        loop {
            match self.get(value) {
                Labels::Sized(inner, _) => return !self.shows_list(inner),
                Labels::Passed(inner, _) | Labels::With(inner, _) => value = inner,
                _ => return false,
            }
        }
    }
}
