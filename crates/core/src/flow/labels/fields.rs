//! The fields that labelled values are known to have, and the labels of their keys.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::parts::item_of;
use super::{ANY_KEY, Keys, LabelStore, Labels, LabelsId, OtherFields};
use crate::Hashing;
use crate::flow::graph::NodeId;
use crate::flow::outputs::{fields_of, may_have_fields};
use crate::schema::{Additional, Type};

/// Maximum number of parts of an argument whose keys are compared with its type.
const MAX_ARGUMENT_PARTS: usize = 1_000;

impl LabelStore<'_> {
    /// Returns false if the value certainly has no fields at any depth.
    pub(in crate::flow) fn may_have_fields(&self, id: LabelsId) -> bool {
        // Values may repeat each other many times.
        let mut seen: HashSet<LabelsId, Hashing> = HashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let found = match self.get(id) {
                Labels::Scalar(_) | Labels::Number(_) => false,
                Labels::Whole(node) => self.may_be_object(id, node),
                Labels::Object(..) => true,
                Labels::Open(value, _) => {
                    let value = self.open.value(value);
                    open.extend(value);
                    value.is_none()
                }
                Labels::Output(output) => self
                    .called(output)
                    .is_none_or(|tool| may_have_fields(tool.shape(output.part))),
                Labels::Typed(shape, _) => may_have_fields(self.shape(shape)),
                Labels::List(value)
                | Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Counted(value, _)
                | Labels::Sized(value, _)
                | Labels::Passed(value, _) => {
                    open.push(value);
                    false
                }
                Labels::AnyOf(values) => {
                    open.extend(self.alternatives_in(values));
                    false
                }
            };
            if found {
                return true;
            }
        }
        false
    }

    /// Returns false if a value with one label has no fields, or none whose label matters.
    fn may_be_object(&self, id: LabelsId, node: NodeId) -> bool {
        // Values by an author who has read nothing untrusted are trusted, with all of their fields.
        id != self.nothing && (self.keys.is_some() || Some(node) != self.planner_node())
    }

    fn planner_node(&self) -> Option<NodeId> {
        match self.get(self.planner) {
            Labels::Whole(node) => Some(node),
            _ => None,
        }
    }

    /// Returns the fields that the plan or a schema names of the value, or of the items of lists, in order, and which others it
    /// may have.
    pub(in crate::flow) fn known_fields(&self, id: LabelsId) -> (BTreeSet<Arc<str>>, OtherFields) {
        let mut names = BTreeSet::new();
        let mut others = OtherFields::None;
        let mut seen: HashSet<LabelsId, Hashing> = HashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let found = match self.get(id) {
                Labels::Object(fields, _) => {
                    let fields = self.fields_in(fields).iter();
                    names.extend(fields.map(|(name, _)| Arc::clone(name)));
                    OtherFields::None
                }
                Labels::Output(output) => {
                    let tool = self.called(output);
                    let shape = tool.map_or(&Type::Any, |tool| tool.shape(output.part));
                    names.extend(fields_of(shape));
                    let mut path = tool.into_iter().flat_map(|tool| tool.path(output.part));
                    // Outputs of tools are not validated.
                    if !may_have_fields(shape) {
                        OtherFields::None
                    } else if has_any_keys(shape) || path.any(|key| **key == *ANY_KEY) {
                        OtherFields::Unknown
                    } else {
                        OtherFields::Unlisted
                    }
                }
                // Guards apply to extracted data by the field names of its schema.
                Labels::Typed(shape, _) => {
                    let shape = self.shape(shape);
                    names.extend(fields_of(shape));
                    if may_have_fields(shape) {
                        OtherFields::Unlisted
                    } else {
                        OtherFields::None
                    }
                }
                Labels::List(value)
                | Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Counted(value, _)
                | Labels::Sized(value, _)
                | Labels::Passed(value, _) => {
                    open.push(value);
                    OtherFields::None
                }
                Labels::AnyOf(values) => {
                    open.extend(self.alternatives_in(values));
                    OtherFields::None
                }
                Labels::Open(value, _) => match self.open.value(value) {
                    Some(value) => {
                        open.push(value);
                        OtherFields::None
                    }
                    None => OtherFields::Unknown,
                },
                Labels::Whole(node) if self.may_be_object(id, node) => OtherFields::Unknown,
                Labels::Whole(_) | Labels::Scalar(_) | Labels::Number(_) => OtherFields::None,
            };
            others = others.max(found);
        }
        (names, others)
    }

    /// Returns the label of an argument of the type `shape`. The keys that the type lists are not text of the planner; and how
    /// many items a list has says nothing about any of them.
    pub(in crate::flow) fn argument(&mut self, id: LabelsId, shape: &Type) -> LabelsId {
        let mut visits_left = MAX_ARGUMENT_PARTS;
        if self.keys.is_none() {
            return self.uncounted(id, &mut visits_left).unwrap_or(id);
        }
        self.argument_part(id, shape, &mut visits_left)
    }

    /// Returns the list without the label of its number of items; `None` if it has no such label.
    fn uncounted(&mut self, id: LabelsId, visits_left: &mut usize) -> Option<LabelsId> {
        *visits_left = visits_left.checked_sub(1)?;
        match self.get(id) {
            Labels::Counted(value, _) | Labels::Sized(value, _) => {
                Some(self.uncounted(value, visits_left).unwrap_or(value))
            }
            Labels::List(item) => {
                let item = self.uncounted(item, visits_left)?;
                Some(self.list(item))
            }
            Labels::AnyOf(values) => {
                let mut is_counted = false;
                let value = self.map_alternatives(values, |store, value| {
                    let found = store.uncounted(value, visits_left);
                    is_counted |= found.is_some();
                    found.unwrap_or(value)
                });
                is_counted.then_some(value)
            }
            Labels::With(value, other) => {
                let value = self.uncounted(value, visits_left)?;
                Some(self.with(value, other))
            }
            Labels::Distinct(value, other) => {
                let value = self.uncounted(value, visits_left)?;
                Some(self.push(Labels::Distinct(value, other)))
            }
            Labels::Passed(value, passage) => {
                let value = self.uncounted(value, visits_left)?;
                Some(self.push(Labels::Passed(value, passage)))
            }
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Output(_)
            | Labels::Typed(..)
            | Labels::Open(..)
            | Labels::Object(..) => None,
        }
    }

    fn argument_part(&mut self, id: LabelsId, shape: &Type, visits_left: &mut usize) -> LabelsId {
        let Some(left) = visits_left.checked_sub(1) else {
            return id;
        };
        *visits_left = left;
        match self.get(id) {
            Labels::Object(fields, Keys::Plan) => {
                let listed = fields_of(shape);
                let fields = self.fields_in(fields).to_vec();
                let is_listed = fields.iter().all(|(key, _)| listed.contains(key));
                let parts: Vec<_> = fields
                    .iter()
                    .map(|(key, field)| {
                        let shape = shape.property(key).unwrap_or(Type::Any);
                        (
                            Arc::clone(key),
                            self.argument_part(*field, &shape, visits_left),
                        )
                    })
                    .collect();
                if is_listed {
                    self.record(parts)
                } else {
                    self.object(parts)
                }
            }
            Labels::List(item) => {
                let item = self.argument_part(item, &item_of(shape), visits_left);
                self.list(item)
            }
            Labels::AnyOf(values) => self.map_alternatives(values, |store, value| {
                store.argument_part(value, shape, visits_left)
            }),
            Labels::With(value, other) => {
                let value = self.argument_part(value, shape, visits_left);
                self.with(value, other)
            }
            Labels::Distinct(value, other) => {
                let value = self.argument_part(value, shape, visits_left);
                self.push(Labels::Distinct(value, other))
            }
            Labels::Counted(value, _) | Labels::Sized(value, _) => {
                self.argument_part(value, shape, visits_left)
            }
            Labels::Passed(value, passage) => {
                let value = self.argument_part(value, shape, visits_left);
                self.push(Labels::Passed(value, passage))
            }
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Output(_)
            | Labels::Typed(..)
            | Labels::Open(..)
            | Labels::Object(..) => id,
        }
    }
}

/// Returns true if the schema states a type for fields whose names are data.
fn has_any_keys(shape: &Type) -> bool {
    shape.members().iter().any(|member| match member {
        Type::Object(object) => {
            matches!(&object.additional, Additional::Open(shape) if !shape.is_any())
        }
        Type::List(list) => has_any_keys(&list.any_item()),
        _ => false,
    })
}
