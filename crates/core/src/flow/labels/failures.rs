//! The values that may make a step fail: a text that is not a number, a divisor, a part that may be missing.

use std::collections::HashSet;

use super::{LabelStore, Labels, LabelsId};
use crate::Hashing;
use crate::plan::Segment;
use crate::schema::Type;

impl LabelStore<'_> {
    /// Records that the current step fails for some values of `value`.
    pub(in crate::flow) fn fails_by(&mut self, value: LabelsId) {
        if self.follows_failures {
            self.failing.push(value);
        }
    }

    /// Records that the current step fails if `part` is missing, unless another value replaces it.
    pub(in crate::flow) fn fails_without(&mut self, part: LabelsId) {
        if !self.counts_positions {
            self.fails_by(part);
        }
    }

    /// Records that the current step fails if `list` has too few items, unless another value replaces the item.
    pub(in crate::flow) fn fails_by_length(&mut self, list: LabelsId) {
        if self.follows_failures
            && !self.counts_positions
            && let Some(length) = self.length(list)
        {
            let length = self.scalar(length);
            self.failing.push(length);
        }
    }

    /// Returns true if the part of a value at `path` may be missing: an item of a list, or a field that the schema does not list.
    /// Fields of a tool without a schema are taken to exist: each use of such a tool would count otherwise.
    pub(in crate::flow) fn may_miss(&mut self, id: LabelsId, path: &[Segment]) -> bool {
        if !self.follows_failures || self.counts_positions {
            return false;
        }
        let mut at = id;
        let mut may_miss = false;
        for (position, segment) in path.iter().enumerate() {
            match segment {
                Segment::Key(key) => may_miss |= self.lacks(at, key),
                Segment::Index(_) => {
                    may_miss = true;
                    self.fails_by_length(at);
                }
                Segment::Each => {}
            }
            if position + 1 < path.len() {
                at = match segment {
                    Segment::Each => self.item(at),
                    Segment::Key(_) | Segment::Index(_) => {
                        self.at(at, std::slice::from_ref(segment))
                    }
                };
            }
        }
        may_miss
    }

    /// Returns true if the schema of a value lists fields, or a type for all of them, and not `key`.
    fn lacks(&self, id: LabelsId, key: &str) -> bool {
        // The usual case, without lists.
        if let Labels::Output(output) = self.get(id) {
            let tool = self.called(output);
            return tool.is_some_and(|tool| lists_others(tool.shape(output.part), key));
        }
        // Values may repeat each other many times.
        let mut seen: HashSet<LabelsId, Hashing> = HashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let shape = match self.get(id) {
                Labels::Output(output) => self.called(output).map(|tool| tool.shape(output.part)),
                Labels::Typed(shape, _) => Some(self.shape(shape)),
                Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Counted(value, _)
                | Labels::Sized(value, _)
                | Labels::Passed(value, _) => {
                    open.push(value);
                    None
                }
                Labels::Open(value, _) => {
                    open.extend(self.open.value(value));
                    None
                }
                Labels::AnyOf(values) => {
                    open.extend(self.alternatives_in(values));
                    None
                }
                Labels::Whole(_)
                | Labels::Scalar(_)
                | Labels::Number(_)
                | Labels::Object(..)
                | Labels::List(_) => None,
            };
            if shape.is_some_and(|shape| lists_others(shape, key)) {
                return true;
            }
        }
        false
    }
}

/// Returns true if objects of the type `shape` are described, but not their field `key`.
fn lists_others(shape: &Type, key: &str) -> bool {
    let mut is_described = false;
    for member in shape.members() {
        match member {
            Type::Object(object) if object.properties.contains_key(key) => return false,
            Type::Object(_) => is_described = true,
            // Positions in lists are left out of paths.
            Type::List(list) => return lists_others(&list.any_item(), key),
            Type::Any => return false,
            _ => {}
        }
    }
    is_described
}
