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
            (Some(chosen), Some(distinct)) => Some(self.graph.join(vec![chosen, distinct])),
            (one, other) => one.or(other),
        }
    }

    fn length_of(&mut self, id: LabelsId) -> Length {
        if let Some(known) = self.lengths.get(&id) {
            return *known;
        }
        let length = match self.get(id) {
            Labels::Whole(node)
            | Labels::Scalar(node)
            | Labels::Number(node)
            | Labels::Typed(_, node) => Length {
                chosen: Some(node),
                distinct: None,
            },
            Labels::Output(..) | Labels::Object(..) | Labels::List(_) => Length::default(),
            Labels::AnyOf(values) => {
                let lengths: Vec<Length> =
                    values.iter().map(|value| self.length_of(*value)).collect();
                let mut join = |part: fn(&Length) -> Option<NodeId>| {
                    let nodes: Vec<NodeId> = lengths.iter().filter_map(part).collect();
                    (!nodes.is_empty()).then(|| self.graph.join(nodes))
                };
                Length {
                    chosen: join(|length| length.chosen),
                    distinct: join(|length| length.distinct),
                }
            }
            Labels::With(value, other) => {
                let Length { chosen, distinct } = self.length_of(value);
                let all = [other].into_iter().chain(chosen).collect();
                Length {
                    chosen: Some(self.graph.join(all)),
                    distinct,
                }
            }
            Labels::Distinct(value, other) => {
                let Length { chosen, distinct } = self.length_of(value);
                let all = [other].into_iter().chain(distinct).collect();
                Length {
                    chosen,
                    distinct: Some(self.graph.join(all)),
                }
            }
            Labels::Passed(value, passage) => {
                let Length { chosen, distinct } = self.length_of(value);
                let mut pass = |node| self.graph.passage(node, (*passage).clone());
                Length {
                    chosen: chosen.map(&mut pass),
                    distinct: distinct.map(&mut pass),
                }
            }
        };
        self.lengths.insert(id, length);
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
        if let Some(known) = self.first_items.get(&id) {
            return *known;
        }
        let item = match self.get(id) {
            Labels::Distinct(value, _) => self.first_item(value),
            Labels::AnyOf(values) => {
                let items = values.iter().map(|value| self.first_item(*value)).collect();
                self.any_of(items)
            }
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
        self.first_items.insert(id, item);
        item
    }
}
