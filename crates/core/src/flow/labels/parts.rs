//! Parts of labelled values: fields, items, and the lengths of lists.

use std::sync::Arc;

use super::{LabelStore, Labels, LabelsId, OutputPart, is_position};
use crate::flow::graph::NodeId;
use crate::flow::outputs::part_at;
use crate::plan::Segment;
use crate::schema::Type;

impl LabelStore<'_> {
    /// Returns the part of a value at `path`.
    pub(in crate::flow) fn at(&mut self, id: LabelsId, path: &[Segment]) -> LabelsId {
        path.iter().fold(id, |at, segment| match segment {
            // A key of digits may count items.
            Segment::Key(key) => self.field(at, key),
            Segment::Index(_) | Segment::Each => self.item(at),
        })
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
            Labels::AnyOf(_) | Labels::With(..) | Labels::Passed(..) => {
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
        // Positions in lists are left out of paths.
        if is_position(key) && tool.may_be_list(output.part) {
            return id;
        }
        let part = tool.field(output.part, key);
        self.push(Labels::Output(OutputPart { part, ..output }))
    }

    fn field_of_parts(&mut self, id: LabelsId, labels: Labels, key: &Arc<str>) -> LabelsId {
        let cache_key = (id, Arc::clone(key));
        if let Some(known) = self.fields.get(&cache_key) {
            return *known;
        }
        let field = match labels {
            Labels::AnyOf(values) => {
                self.map_alternatives(values, |store, value| store.field(value, key))
            }
            Labels::With(value, other) => {
                let part = self.field(value, key);
                self.with(part, other)
            }
            Labels::Passed(value, passage) => {
                let part = self.field(value, key);
                self.push(Labels::Passed(part, passage))
            }
            _ => id,
        };
        self.fields.insert(cache_key, field);
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
            // Loops over objects go through the keys, which may be data; computed keys select any field.
            Labels::Object(..) => {
                let node = self.join(id);
                return self.whole(node);
            }
            Labels::Typed(..) | Labels::AnyOf(_) | Labels::With(..) | Labels::Passed(..) => {}
        }
        if let Some(known) = self.items.get(&id) {
            return *known;
        }
        let item = match labels {
            Labels::Typed(shape, node) => {
                let item = item_of(self.shape(shape));
                self.typed(&item, node)
            }
            Labels::AnyOf(values) => self.map_alternatives(values, Self::item),
            Labels::With(value, other) => {
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

    /// Returns the value, or the items of its lists at any depth, as far as the plan shows them.
    pub(in crate::flow) fn elements(&mut self, id: LabelsId) -> LabelsId {
        let labels = self.get(id);
        if labels.is_simple() {
            return id;
        }
        if let Some(known) = self.elements.get(&id) {
            return *known;
        }
        let elements = match labels {
            Labels::List(item) => self.elements(item),
            Labels::AnyOf(values) => self.map_alternatives(values, Self::elements),
            Labels::With(value, other) => {
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
            | Labels::Object(..) => id,
        };
        self.elements.insert(id, elements);
        elements
    }

    /// Returns the label of what decided how many items a list has, such as the predicate of a filter. The number of
    /// items that a tool returned does not count.
    pub(in crate::flow) fn length(&mut self, id: LabelsId) -> Option<NodeId> {
        let labels = self.get(id);
        match labels {
            Labels::Whole(node)
            | Labels::Scalar(node)
            | Labels::Number(node)
            | Labels::Typed(_, node) => return Some(node),
            Labels::Output(_) | Labels::Object(..) | Labels::List(_) => return None,
            Labels::AnyOf(_) | Labels::With(..) | Labels::Passed(..) => {}
        }
        if let Some(known) = self.lengths.get(&id) {
            return *known;
        }
        let length = match labels {
            Labels::AnyOf(values) => {
                let start = self.pending.len();
                for index in values.indices() {
                    let length = self.alternatives.get(index).copied();
                    let length = length.and_then(|value| self.length(value));
                    self.pending.extend(length);
                }
                let is_known = self.pending.len() > start;
                let lengths = self.pending.drain(start..);
                is_known.then(|| self.graph.join(lengths))
            }
            Labels::With(value, other) => {
                let length = self.length(value);
                Some(self.graph.join([other].into_iter().chain(length)))
            }
            Labels::Passed(value, passage) => {
                let length = self.length(value);
                length.map(|length| self.graph.passage(length, passage))
            }
            _ => None,
        };
        self.lengths.insert(id, length);
        length
    }

    /// Returns a list of `item` that has as many items as `like`, or fewer.
    pub(in crate::flow) fn list_like(&mut self, like: LabelsId, item: LabelsId) -> LabelsId {
        let list = self.list(item);
        match self.length(like) {
            Some(length) => self.with(list, length),
            None => list,
        }
    }

    /// Returns the labels of a list, or of a text, with the same items in another order or number.
    pub(in crate::flow) fn keep_structure(&mut self, list: LabelsId) -> LabelsId {
        let item = self.item(list);
        self.list_like(list, item)
    }
}

impl Labels {
    /// Returns true if the value shows no lists of its own.
    fn is_simple(self) -> bool {
        !matches!(
            self,
            Self::List(_) | Self::AnyOf(_) | Self::With(..) | Self::Passed(..)
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
