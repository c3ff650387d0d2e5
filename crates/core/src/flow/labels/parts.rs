//! Parts of labelled values: fields, and items of lists.

use std::sync::Arc;

use super::lengths::ItemSource;
use super::{ANY_KEY, IsList, LabelStore, Labels, LabelsId, OutputPart, is_position};
use crate::flow::outputs::part_at;
use crate::plan::Segment;
use crate::schema::Type;

impl LabelStore<'_> {
    /// Returns the part of a value at `path`.
    pub(in crate::flow) fn at(&mut self, id: LabelsId, path: &[Segment]) -> LabelsId {
        let mut at = id;
        for (position, segment) in path.iter().enumerate() {
            at = match segment {
                // A key of digits may count items.
                Segment::Key(key) => self.field(at, key),
                Segment::Index(0) => {
                    let part = self.first_item(at);
                    self.existing(part, at)
                }
                Segment::Index(index) => {
                    let part = self.item(at);
                    let part = self.existing(part, at);
                    if *index < 0 {
                        self.counted_from_end(part, at)
                    } else {
                        part
                    }
                }
                Segment::Each => {
                    return self.each(at, path.get(position + 1..).unwrap_or_default());
                }
            };
        }
        at
    }

    /// Returns the list of the parts at `rest` of all items of `list`. Lists inside are flattened if `rest` goes through their items.
    fn each(&mut self, list: LabelsId, rest: &[Segment]) -> LabelsId {
        let item = self.item(list);
        let part = self.at(item, rest);
        if !rest.contains(&Segment::Each) {
            let source = if rest.is_empty() {
                ItemSource::Counted
            } else {
                self.item_source(part, item)
            };
            return self.list_like(list, part, source);
        }
        let inner = self.item(part);
        let mut parts = self.list_like(list, inner, ItemSource::Counted);
        if let Some(length) = self.length(part) {
            parts = self.with(parts, length);
        }
        let counted = self.any_of(&[list, part]);
        self.sized(parts, counted)
    }

    /// Returns `item`, which a position selects from `list`, with what decides whether it exists, if that counts.
    pub(in crate::flow) fn existing(&mut self, item: LabelsId, list: LabelsId) -> LabelsId {
        if !self.counts_positions {
            return item;
        }
        let item = self.positioned(item);
        let length = self.length(list);
        length.map_or(item, |length| self.with(item, length))
    }

    /// Returns the field `key` of a value, or the item at that position.
    pub(in crate::flow) fn field(&mut self, id: LabelsId, key: &Arc<str>) -> LabelsId {
        let labels = self.get(id);
        match labels {
            Labels::Whole(_) | Labels::Scalar(_) | Labels::Number(_) => id,
            Labels::Typed(..) if is_position(key) => self.item(id),
            Labels::Typed(shape, node) => {
                let part = part_at(self.shape(shape), std::slice::from_ref(key));
                self.typed(&part, node)
            }
            Labels::Output(output) => self.output_field(id, output, key),
            Labels::Object(fields, _) => {
                let fields = self.fields_in(fields);
                let found = fields.binary_search_by(|(name, _)| name.cmp(key));
                match found.ok().and_then(|position| fields.get(position)) {
                    Some((_, field)) => *field,
                    // An object becomes an item of a list if others are added to its slot.
                    None if is_position(key) => self.item(id),
                    None => self.nothing,
                }
            }
            Labels::List(item) if is_position(key) => item,
            Labels::List(_) => {
                let node = self.join(id);
                self.whole(node)
            }
            Labels::Open(value, _) => self.open_part(value, Some(key)),
            Labels::Counted(value, _) => self.field(value, key),
            Labels::Sized(value, like) => {
                let part = self.field(value, key);
                if self.shows_list(value) {
                    part
                } else {
                    self.push(Labels::Sized(part, like))
                }
            }
            Labels::AnyOf(_) | Labels::With(..) | Labels::Distinct(..) | Labels::Passed(..) => {
                self.field_of_parts(id, labels, key)
            }
        }
    }

    fn output_field(&mut self, id: LabelsId, output: OutputPart, key: &Arc<str>) -> LabelsId {
        let call = self.outputs.get(output.call as usize);
        let tool = call.and_then(|call| self.tools.get_mut(call.tool.0 as usize));
        let Some(tool) = tool else {
            return id;
        };
        let list = is_position(key).then(|| tool.list(output.part));
        // Positions in lists are left out of paths.
        if list == Some(IsList::Always) {
            return id;
        }
        let part = tool.field(output.part, key, !self.searches_names);
        let field = self.push(Labels::Output(OutputPart { part, ..output }));
        if list == Some(IsList::Maybe) {
            return self.any_of(&[id, field]);
        }
        field
    }

    /// Returns the labels of the parts that a computed key or position may select.
    pub(in crate::flow) fn selected(&mut self, id: LabelsId) -> LabelsId {
        let labels = self.get(id);
        match labels {
            Labels::Whole(_) | Labels::Scalar(_) | Labels::Number(_) => return id,
            Labels::List(item) => return item,
            Labels::Counted(value, _) | Labels::Sized(value, _) => return self.selected(value),
            Labels::Object(..)
            | Labels::Output(_)
            | Labels::Typed(..)
            | Labels::Open(..)
            | Labels::AnyOf(_)
            | Labels::With(..)
            | Labels::Distinct(..)
            | Labels::Passed(..) => {}
        }
        if let Some(known) = self.selected.get(&id) {
            return *known;
        }
        let selected = match labels {
            Labels::Object(fields, _) => {
                let fields = self.fields_in(fields).iter();
                let fields: Vec<_> = fields.map(|(_, field)| *field).collect();
                self.any_of(&fields)
            }
            Labels::Output(output) => {
                let call = self.outputs.get(output.call as usize);
                let tool = call.and_then(|call| self.tools.get_mut(call.tool.0 as usize));
                let is_list = tool.is_some_and(|tool| tool.list(output.part) == IsList::Always);
                if is_list {
                    id
                } else {
                    let field = self.output_field(id, output, &Arc::from(ANY_KEY));
                    self.any_of(&[id, field])
                }
            }
            Labels::Typed(_, node) => self.typed(&Type::Any, node),
            Labels::Open(_, node) => self.whole(node),
            Labels::AnyOf(values) => self.map_alternatives(values, Self::selected),
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let selected = self.selected(value);
                self.with(selected, other)
            }
            Labels::Passed(value, passage) => {
                let selected = self.selected(value);
                self.push(Labels::Passed(selected, passage))
            }
            _ => id,
        };
        self.selected.insert(id, selected);
        selected
    }

    /// Returns the labels that an item contributes to a flattened list: those of its own items if it is a list, or of the item
    /// itself.
    pub(in crate::flow) fn flattened(&mut self, id: LabelsId) -> LabelsId {
        let labels = self.get(id);
        match labels {
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Output(_)
            | Labels::Object(..) => return id,
            Labels::List(item) => return item,
            Labels::Counted(value, _) | Labels::Sized(value, _) => return self.flattened(value),
            Labels::Typed(..)
            | Labels::Open(..)
            | Labels::AnyOf(_)
            | Labels::With(..)
            | Labels::Distinct(..)
            | Labels::Passed(..) => {}
        }
        if let Some(known) = self.flattened.get(&id) {
            return *known;
        }
        let inner = match labels {
            Labels::Typed(shape, _) if may_be_no_list(self.shape(shape)) => {
                let item = self.item(id);
                self.any_of(&[id, item])
            }
            Labels::Typed(..) => self.item(id),
            Labels::Open(..) => {
                let item = self.item(id);
                self.any_of(&[id, item])
            }
            Labels::AnyOf(values) => self.map_alternatives(values, Self::flattened),
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let inner = self.flattened(value);
                self.with(inner, other)
            }
            Labels::Passed(value, passage) => {
                let inner = self.flattened(value);
                self.push(Labels::Passed(inner, passage))
            }
            _ => id,
        };
        self.flattened.insert(id, inner);
        inner
    }

    fn field_of_parts(&mut self, id: LabelsId, labels: Labels, key: &Arc<str>) -> LabelsId {
        let cache_key = self.is_stored(id, labels).then(|| (id, Arc::clone(key)));
        if let Some(cache_key) = &cache_key
            && let Some(known) = self.fields.get(cache_key)
        {
            return *known;
        }
        let field = match labels {
            Labels::AnyOf(values) => {
                self.map_alternatives(values, |store, value| store.field(value, key))
            }
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let part = self.field(value, key);
                self.with(part, other)
            }
            Labels::Passed(value, passage) => {
                let part = self.field(value, key);
                self.push(Labels::Passed(part, passage))
            }
            _ => id,
        };
        if let Some(cache_key) = cache_key {
            self.fields.insert(cache_key, field);
        }
        field
    }

    /// Returns the items of a list.
    pub(in crate::flow) fn item(&mut self, id: LabelsId) -> LabelsId {
        let labels = self.get(id);
        match labels {
            Labels::Whole(_) | Labels::Scalar(_) | Labels::Number(_) | Labels::Output(_) => {
                return id;
            }
            Labels::List(item) => return item,
            Labels::Counted(value, _) | Labels::Sized(value, _) => return self.item(value),
            Labels::Open(value, _) => return self.open_part(value, None),
            Labels::Object(..)
            | Labels::Typed(..)
            | Labels::AnyOf(_)
            | Labels::With(..)
            | Labels::Distinct(..)
            | Labels::Passed(..) => {}
        }
        if let Some(known) = self.items.get(&id) {
            return *known;
        }
        let item = match labels {
            // Loops over objects go through the keys, which may be data. An object becomes an item of a list if others are
            // added to its slot.
            Labels::Object(..) => {
                let node = self.join(id);
                let key = self.scalar(node);
                self.any_of(&[id, key])
            }
            Labels::Typed(shape, node) => {
                let item = item_of(self.shape(shape));
                self.typed(&item, node)
            }
            Labels::AnyOf(values) => self.map_alternatives(values, Self::item),
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let item = self.item(value);
                self.with(item, other)
            }
            Labels::Passed(value, passage) => {
                let item = self.item(value);
                self.push(Labels::Passed(item, passage))
            }
            _ => id,
        };
        self.items.insert(id, item);
        item
    }

    /// Returns the value, or the items of its lists at any depth that the plan spells out.
    pub(in crate::flow) fn elements(&mut self, id: LabelsId) -> LabelsId {
        let labels = self.get(id);
        if labels.is_simple() {
            return id;
        }
        if let Some(known) = self.elements.get(&id) {
            return *known;
        }
        let elements = match labels {
            Labels::List(item) | Labels::Counted(item, _) | Labels::Sized(item, _) => {
                self.elements(item)
            }
            Labels::AnyOf(values) => self.map_alternatives(values, Self::elements),
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let elements = self.elements(value);
                self.with(elements, other)
            }
            Labels::Passed(value, passage) => {
                let elements = self.elements(value);
                self.push(Labels::Passed(elements, passage))
            }
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Output(_)
            | Labels::Typed(..)
            | Labels::Open(..)
            | Labels::Object(..) => id,
        };
        self.elements.insert(id, elements);
        elements
    }

    /// Returns the labels of a list, or of a text, with the same items in another order or number.
    pub(in crate::flow) fn same_items(&mut self, list: LabelsId) -> LabelsId {
        let item = self.item(list);
        self.list_like(list, item, ItemSource::Counted)
    }
}

impl Labels {
    /// Returns true if the value shows no lists of its own.
    pub(super) fn is_simple(self) -> bool {
        !matches!(
            self,
            Self::List(_)
                | Self::AnyOf(_)
                | Self::With(..)
                | Self::Distinct(..)
                | Self::Counted(..)
                | Self::Sized(..)
                | Self::Passed(..)
        )
    }
}

/// Returns the type of the items of lists of the type `shape`.
pub(super) fn item_of(shape: &Type) -> Type {
    let items = shape.members().iter().map(|member| match member {
        Type::List(list) => list.any_item(),
        // Loops over objects go through the keys, which may be data.
        _ => Type::Any,
    });
    Type::union(items.collect::<Vec<_>>())
}

/// Returns true if a value of the type `shape` may be other than a list.
fn may_be_no_list(shape: &Type) -> bool {
    let mut members = shape.members().iter();
    members.any(|member| !matches!(member, Type::List(_)))
}
