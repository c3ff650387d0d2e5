//! The number of items of labelled lists, and the positions of items.

use std::sync::Arc;

use super::{LabelStore, Labels, LabelsId};
use crate::flow::graph::NodeId;

/// The labels of the values that determined the number of items of a list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Length {
    /// The label of what chose the items, such as the predicate of a filter.
    chosen: Option<NodeId>,
    /// The label of the values that were compared to drop repeated items.
    distinct: Option<NodeId>,
    /// The label of what was counted, if the items do not come from it.
    counted: Option<NodeId>,
    /// The value that was counted, if the items come from it. Then their labels say whether they are trusted, and so does the
    /// number of such items.
    like: Option<LabelsId>,
}

/// The source of the items of a list that has as many items as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) enum ItemSource {
    /// The items of the other list.
    Counted,
    /// Another source, so that their number is all that they say about the other list.
    Other,
}

impl LabelStore<'_> {
    /// Returns the label of what decided how many items a list has, such as the predicate of a filter. The number of
    /// items that a tool returned does not count for these items.
    pub(in crate::flow) fn length(&mut self, id: LabelsId) -> Option<NodeId> {
        let length = self.length_of(id);
        self.joined_length([length.chosen, length.distinct, length.counted])
    }

    /// Returns the label of what decided how many items a list has, for something else than its items.
    pub(in crate::flow) fn count(&mut self, id: LabelsId) -> Option<NodeId> {
        let length = self.length_of(id);
        let like = length.like.map(|like| self.join(like));
        self.joined_length([length.chosen, length.distinct, length.counted, like])
    }

    /// Returns the label of what decided how many items a list has, if the items do not come from what was counted.
    pub(in crate::flow) fn foreign_count(&mut self, id: LabelsId) -> Option<NodeId> {
        self.length_of(id).counted
    }

    fn joined_length<const N: usize>(&mut self, nodes: [Option<NodeId>; N]) -> Option<NodeId> {
        let mut nodes = nodes.into_iter().flatten();
        let first = nodes.next()?;
        match nodes.next() {
            None => Some(first),
            Some(second) => Some(self.graph.join([first, second].into_iter().chain(nodes))),
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
                    ..Length::default()
                };
            }
            Labels::Output(_) => {
                return Length {
                    like: Some(id),
                    ..Length::default()
                };
            }
            // An author who has read untrusted text may count by the items that a list of the plan has.
            Labels::Object(..) | Labels::List(_) => {
                return Length {
                    like: self.keys.map(|_| self.planner),
                    ..Length::default()
                };
            }
            Labels::Open(value, _) => {
                return Length {
                    chosen: self.open_length(value),
                    ..Length::default()
                };
            }
            Labels::AnyOf(_)
            | Labels::With(..)
            | Labels::Distinct(..)
            | Labels::Counted(..)
            | Labels::Sized(..)
            | Labels::Passed(..) => {}
        }
        let is_stored = self.is_stored(id, labels);
        if is_stored && let Some(known) = self.lengths.get(&id) {
            return *known;
        }
        let length = match labels {
            Labels::AnyOf(values) => {
                let mut all = Vec::with_capacity(values.indices().len());
                for index in values.indices() {
                    if let Some(value) = self.alternatives.get(index).copied() {
                        all.push(self.length_of(value));
                    }
                }
                let mut join = |part: fn(&Length) -> Option<NodeId>| {
                    let mut nodes = all.iter().filter_map(part).peekable();
                    nodes.peek()?;
                    Some(self.graph.join(nodes))
                };
                let (chosen, distinct, counted) = (
                    join(|length| length.chosen),
                    join(|length| length.distinct),
                    join(|length| length.counted),
                );
                let like: Vec<_> = all.iter().filter_map(|length| length.like).collect();
                Length {
                    chosen,
                    distinct,
                    counted,
                    like: (!like.is_empty()).then(|| self.any_of(&like)),
                }
            }
            Labels::With(value, other) => {
                let length = self.length_of(value);
                Length {
                    chosen: self.joined_length([length.chosen, Some(other)]),
                    ..length
                }
            }
            Labels::Distinct(value, other) => {
                let length = self.length_of(value);
                Length {
                    distinct: self.joined_length([length.distinct, Some(other)]),
                    // The compared values decide about the number of items.
                    like: None,
                    ..length
                }
            }
            Labels::Counted(value, other) => {
                let length = self.length_of(value);
                Length {
                    counted: self.joined_length([length.counted, Some(other)]),
                    ..length
                }
            }
            Labels::Sized(value, like) => {
                let length = self.length_of(value);
                Length {
                    like: Some(like),
                    ..length
                }
            }
            Labels::Passed(value, passage) => {
                let length = self.length_of(value);
                let mut pass = |node| self.graph.passage(node, passage);
                Length {
                    chosen: length.chosen.map(&mut pass),
                    distinct: length.distinct.map(&mut pass),
                    counted: length.counted.map(&mut pass),
                    like: length
                        .like
                        .map(|like| self.push(Labels::Passed(like, passage))),
                }
            }
            _ => Length::default(),
        };
        if is_stored {
            self.lengths.insert(id, length);
        }
        length
    }

    /// Returns a list of `item` from `source` that has as many items as `like`, or fewer.
    pub(in crate::flow) fn list_like(
        &mut self,
        like: LabelsId,
        item: LabelsId,
        source: ItemSource,
    ) -> LabelsId {
        let length = self.length_of(like);
        self.list_of_length(length, item, source)
    }

    /// Returns a list of `item`, which `predicate` chose from `list` by their values: it decides how many there are.
    pub(in crate::flow) fn filtered(
        &mut self,
        list: LabelsId,
        item: LabelsId,
        predicate: NodeId,
    ) -> LabelsId {
        let length = Length {
            like: None,
            ..self.length_of(list)
        };
        let list = self.list_of_length(length, item, ItemSource::Counted);
        self.with(list, predicate)
    }

    fn list_of_length(&mut self, length: Length, item: LabelsId, source: ItemSource) -> LabelsId {
        let mut list = self.list(item);
        if let Some(chosen) = length.chosen {
            list = self.with(list, chosen);
        }
        if let Some(distinct) = length.distinct {
            list = self.push(Labels::Distinct(list, distinct));
        }
        let (counted, like) = match (source, length.like) {
            (ItemSource::Other, Some(like)) => {
                let other = self.join(like);
                (self.joined_length([length.counted, Some(other)]), None)
            }
            (_, like) => (length.counted, like),
        };
        if let Some(counted) = counted {
            list = self.push(Labels::Counted(list, counted));
        }
        like.map_or(list, |like| self.push(Labels::Sized(list, like)))
    }

    /// Returns `list`, which has as many items as `like` or fewer.
    pub(in crate::flow) fn sized(&mut self, list: LabelsId, like: LabelsId) -> LabelsId {
        match self.length_of(like).like {
            Some(like) => self.push(Labels::Sized(list, like)),
            None => list,
        }
    }

    /// Returns `value`, whose change from round to round `rounds` counted.
    pub(in crate::flow) fn counted(&mut self, value: LabelsId, rounds: NodeId) -> LabelsId {
        self.push(Labels::Counted(value, rounds))
    }

    /// Returns `value`, whose choice among the items of `list` depends on how many there are.
    pub(in crate::flow) fn counted_from_end(
        &mut self,
        value: LabelsId,
        list: LabelsId,
    ) -> LabelsId {
        let value = self.positioned(value);
        let count = self.foreign_count(list);
        count.map_or(value, |count| self.with(value, count))
    }

    /// Returns the source of the items `item`, which are computed from the items `from` of another list.
    pub(in crate::flow) fn item_source(&mut self, item: LabelsId, from: LabelsId) -> ItemSource {
        if self.is_marked(item) {
            return ItemSource::Other;
        }
        // Most loops go over the output of one step, which need not be labelled field by field for this.
        let step = self.output_step(from);
        if step.is_some() && step == self.output_step(item) {
            return ItemSource::Counted;
        }
        let step = step.map(Arc::clone);
        let item = self.join(item);
        let is_counted = step.is_some_and(|step| self.graph.comes_from(item, &step)) || {
            let from = self.join(from);
            self.graph.shares_call(item, from)
        };
        if is_counted {
            ItemSource::Counted
        } else {
            ItemSource::Other
        }
    }

    /// Returns the step of whose output the value is a part, if its labels show one directly.
    fn output_step(&self, mut id: LabelsId) -> Option<&Arc<str>> {
        loop {
            match self.get(id) {
                Labels::Output(output) => {
                    return Some(&self.outputs.get(output.call as usize)?.step);
                }
                Labels::List(value)
                | Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Counted(value, _)
                | Labels::Sized(value, _)
                | Labels::Passed(value, _) => id = value,
                Labels::Whole(_)
                | Labels::Scalar(_)
                | Labels::Number(_)
                | Labels::Typed(..)
                | Labels::Object(..)
                | Labels::AnyOf(_)
                | Labels::Open(..) => return None,
            }
        }
    }

    /// Returns `value`, a list of all items of `parts`, with what decides the positions of items: how many there are before.
    pub(in crate::flow) fn concatenated(
        &mut self,
        value: LabelsId,
        parts: &[LabelsId],
    ) -> LabelsId {
        parts
            .iter()
            .fold(value, |value, part| self.counted_from_end(value, *part))
    }

    /// Returns `list` without repeated items.
    pub(in crate::flow) fn distinct(&mut self, list: LabelsId) -> LabelsId {
        let compared = self.join(list);
        let item = self.first_item(list);
        let list = self.list_like(list, item, ItemSource::Counted);
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
            Labels::Distinct(value, _) | Labels::Counted(value, _) | Labels::Sized(value, _) => {
                self.first_item(value)
            }
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
