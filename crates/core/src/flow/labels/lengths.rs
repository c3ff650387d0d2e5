//! The number of items of labelled lists, and the positions of items.

use super::{LabelStore, Labels, LabelsId};
use crate::flow::graph::NodeId;

/// The labels of what decided how many items a list has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Length {
    /// The label of what chose the items, such as the predicate of a filter.
    chosen: Option<NodeId>,
    /// The label of what was compared to drop repeated items.
    distinct: Option<NodeId>,
}

impl LabelStore<'_> {
    /// Returns the label of what decided how many items a list has, such as the predicate of a filter. The number of
    /// items that a tool returned does not count.
    pub(in crate::flow) fn length(&mut self, id: LabelsId) -> Option<NodeId> {
        let Length { chosen, distinct } = self.length_of(id);
        match (chosen, distinct) {
            (Some(chosen), Some(distinct)) => Some(self.graph.join([chosen, distinct])),
            (one, other) => one.or(other),
        }
    }

    fn length_of(&mut self, id: LabelsId) -> Length {
        let labels = self.get(id);
        match labels {
            Labels::Whole(node)
            | Labels::Scalar(node)
            | Labels::Number(node)
            | Labels::Typed(_, node) => {
                return Length {
                    chosen: Some(node),
                    distinct: None,
                };
            }
            Labels::Output(_) | Labels::Object(..) | Labels::List(_) => return Length::default(),
            Labels::Open(value, _) => {
                return Length {
                    chosen: self.open_length(value),
                    distinct: None,
                };
            }
            Labels::AnyOf(_) | Labels::With(..) | Labels::Distinct(..) | Labels::Passed(..) => {}
        }
        let is_stored = self.is_stored(id, labels);
        if is_stored && let Some(known) = self.lengths.get(&id) {
            return *known;
        }
        let length = match labels {
            Labels::AnyOf(values) => {
                let mut chosen = Vec::new();
                let mut distinct = Vec::new();
                for index in values.indices() {
                    if let Some(value) = self.alternatives.get(index).copied() {
                        let length = self.length_of(value);
                        chosen.extend(length.chosen);
                        distinct.extend(length.distinct);
                    }
                }
                let mut join = |nodes: Vec<NodeId>| {
                    let is_known = !nodes.is_empty();
                    is_known.then(|| self.graph.join(nodes))
                };
                Length {
                    chosen: join(chosen),
                    distinct: join(distinct),
                }
            }
            Labels::With(value, other) => {
                let Length { chosen, distinct } = self.length_of(value);
                Length {
                    chosen: Some(self.graph.join([other].into_iter().chain(chosen))),
                    distinct,
                }
            }
            Labels::Distinct(value, other) => {
                let Length { chosen, distinct } = self.length_of(value);
                Length {
                    chosen,
                    distinct: Some(self.graph.join([other].into_iter().chain(distinct))),
                }
            }
            Labels::Passed(value, passage) => {
                let Length { chosen, distinct } = self.length_of(value);
                let mut pass = |node| self.graph.passage(node, passage);
                Length {
                    chosen: chosen.map(&mut pass),
                    distinct: distinct.map(&mut pass),
                }
            }
            _ => Length::default(),
        };
        if is_stored {
            self.lengths.insert(id, length);
        }
        length
    }

    /// Returns a list of `item` that has as many items as `like`, or fewer.
    pub(in crate::flow) fn list_like(&mut self, like: LabelsId, item: LabelsId) -> LabelsId {
        let list = self.list(item);
        let Length { chosen, distinct } = self.length_of(like);
        let list = chosen.map_or(list, |chosen| self.with(list, chosen));
        distinct.map_or(list, |distinct| self.push(Labels::Distinct(list, distinct)))
    }

    /// Returns `list` without repeated items.
    pub(in crate::flow) fn distinct(&mut self, list: LabelsId) -> LabelsId {
        let compared = self.join(list);
        let item = self.first_item(list);
        let list = self.list_like(list, item);
        self.push(Labels::Distinct(list, compared))
    }

    /// Returns the first item of a list, or any whose position does not matter.
    pub(in crate::flow) fn first_item(&mut self, id: LabelsId) -> LabelsId {
        let labels = self.get(id);
        if labels.is_simple() {
            return self.item(id);
        }
        let is_stored = self.is_stored(id, labels);
        if is_stored && let Some(known) = self.first_items.get(&id) {
            return *known;
        }
        let item = match labels {
            Labels::Distinct(value, _) => self.first_item(value),
            Labels::AnyOf(values) => self.map_alternatives(values, Self::first_item),
            Labels::With(value, other) => {
                let item = self.first_item(value);
                self.with(item, other)
            }
            Labels::Passed(value, passage) => {
                let item = self.first_item(value);
                self.push(Labels::Passed(item, passage))
            }
            _ => self.item(id),
        };
        if is_stored {
            self.first_items.insert(id, item);
        }
        item
    }
}
