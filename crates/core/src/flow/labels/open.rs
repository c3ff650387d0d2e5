//! Values that are read before they are known: the last round of a loop, and slots that later steps write.
//!
//! Each part that is read has its own label, which is completed once the value is known.

use std::collections::HashMap;
use std::sync::Arc;

use super::{LabelStore, Labels, LabelsId, position};
use crate::Hashing;
use crate::flow::graph::NodeId;

/// Maximum nesting of parts. A value may repeat its last round inside itself.
const MAX_DEPTH: u8 = 8;

/// Maximum number of parts of a value with their own labels.
const MAX_PARTS: u16 = 200;

/// The position of an open value among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OpenId(u32);

#[derive(Debug)]
struct OpenValue {
    /// The label of all of it.
    node: NodeId,
    /// The label of what decides how many items there are, if it was asked for.
    length: Option<NodeId>,
    /// The value that this one is a part of.
    root: OpenId,
    depth: u8,
    /// The number of parts of a root.
    parts_count: u16,
    /// The parts that wait for the value, by key; the items of a list have none.
    parts: Vec<(Option<Arc<str>>, OpenId)>,
    value: Option<LabelsId>,
}

/// The open values of a store.
#[derive(Debug, Default)]
pub(super) struct OpenValues {
    values: Vec<OpenValue>,
    parts: HashMap<(OpenId, Option<Arc<str>>), LabelsId, Hashing>,
    tasks: Vec<Task>,
}

/// An open label whose value has become known.
#[derive(Debug)]
enum Task {
    /// The part of a value with this key.
    Part(OpenId, Option<Arc<str>>, OpenId),
    /// The length of a value.
    Length(OpenId),
}

impl OpenValues {
    fn get(&self, id: OpenId) -> Option<&OpenValue> {
        self.values.get(id.0 as usize)
    }

    fn get_mut(&mut self, id: OpenId) -> Option<&mut OpenValue> {
        self.values.get_mut(id.0 as usize)
    }

    /// Returns the labels of the value, if they are known.
    pub(super) fn value(&self, id: OpenId) -> Option<LabelsId> {
        self.get(id)?.value
    }

    fn add(&mut self, node: NodeId, outer: Option<(OpenId, u8)>) -> OpenId {
        let id = OpenId(position(self.values.len()));
        self.values.push(OpenValue {
            node,
            length: None,
            root: outer.map_or(id, |(root, _)| root),
            depth: outer.map_or(0, |(_, depth)| depth),
            parts_count: 0,
            parts: Vec::new(),
            value: None,
        });
        id
    }
}

impl LabelStore<'_> {
    /// Returns the labels of a value that [`complete`](Self::complete) makes known.
    pub(in crate::flow) fn open_value(&mut self) -> LabelsId {
        let node = self.graph.open();
        let id = self.open.add(node, None);
        self.push(Labels::Open(id, node))
    }

    /// Sets the labels of an open value.
    pub(in crate::flow) fn complete(&mut self, open: LabelsId, value: LabelsId) {
        let Labels::Open(id, _) = self.get(open) else {
            return;
        };
        self.set_value(id, value);
        self.complete_parts();
    }

    /// Completes the parts of known values that were read since.
    pub(in crate::flow) fn complete_parts(&mut self) {
        // One after the other, since a value may consist of others that are open.
        while let Some(task) = self.open.tasks.pop() {
            match task {
                Task::Part(outer, key, part) => {
                    let Some(value) = self.open.value(outer) else {
                        continue;
                    };
                    let value = match key {
                        Some(key) => self.field(value, &key),
                        None => self.item(value),
                    };
                    self.set_value(part, value);
                }
                Task::Length(id) => {
                    let (Some(value), Some(node)) = (
                        self.open.value(id),
                        self.open.get(id).and_then(|open| open.length),
                    ) else {
                        continue;
                    };
                    if let Some(length) = self.length(value) {
                        self.graph.extend(node, length);
                    }
                }
            }
        }
    }

    fn set_value(&mut self, id: OpenId, value: LabelsId) {
        let label = self.join(value);
        let Some(open) = self.open.get_mut(id) else {
            return;
        };
        // A value that is its own last round adds nothing.
        open.value = Some(value);
        let node = open.node;
        let parts = std::mem::take(&mut open.parts);
        let has_length = open.length.is_some();
        self.graph.extend(node, label);
        let tasks = parts
            .into_iter()
            .map(|(key, part)| Task::Part(id, key, part));
        self.open.tasks.extend(tasks);
        if has_length {
            self.open.tasks.push(Task::Length(id));
        }
    }

    /// Returns the field `key` of an open value, or its items.
    pub(super) fn open_part(&mut self, id: OpenId, key: Option<&Arc<str>>) -> LabelsId {
        let name = (id, key.cloned());
        if let Some(known) = self.open.parts.get(&name) {
            return *known;
        }
        let Some(&OpenValue {
            node, root, depth, ..
        }) = self.open.get(id)
        else {
            return self.nothing;
        };
        let is_full = match self.open.get_mut(root) {
            Some(root) if root.parts_count < MAX_PARTS => {
                root.parts_count += 1;
                false
            }
            _ => true,
        };
        if is_full || depth >= MAX_DEPTH {
            let whole = self.whole(node);
            self.open.parts.insert(name, whole);
            return whole;
        }
        let part_node = self.graph.open();
        let part = self.open.add(part_node, Some((root, depth + 1)));
        let labels = self.push(Labels::Open(part, part_node));
        let (_, key) = name.clone();
        self.open.parts.insert(name, labels);
        if let Some(open) = self.open.get_mut(id) {
            if open.value.is_some() {
                self.open.tasks.push(Task::Part(id, key, part));
            } else {
                open.parts.push((key, part));
            }
        }
        labels
    }

    /// Returns the label of what decides how many items an open value has.
    pub(super) fn open_length(&mut self, id: OpenId) -> Option<NodeId> {
        let open = self.open.get(id)?;
        if let Some(known) = open.length {
            return Some(known);
        }
        let is_known = open.value.is_some();
        let node = self.graph.open();
        self.open.get_mut(id)?.length = Some(node);
        if is_known {
            self.open.tasks.push(Task::Length(id));
        }
        Some(node)
    }
}
