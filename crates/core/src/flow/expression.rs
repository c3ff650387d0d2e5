//! Labels through expressions, by field.

mod calls;

use std::sync::Arc;

use self::calls::{call, flattened};
use super::graph::NodeId;
use super::labels::{ItemSource, LabelStore, LabelsId};
use crate::Value;
use crate::expression::function::Search;
use crate::expression::operator::BinaryOperator;
use crate::expression::tree::{Accessor, Loop, Tree};
use crate::plan::{Missing, Segment};

/// The labels of the values that an expression is evaluated with.
pub(super) trait BoundLabels<'a> {
    /// Returns the store.
    fn store(&mut self) -> &mut LabelStore<'a>;

    /// Returns the labels of the part at `path` of the binding `index`.
    fn bound(&mut self, index: usize, path: &[Segment]) -> LabelsId;
}

/// The functions that fail for some values.
const FAILING: [&str; 14] = [
    "int",
    "uint",
    "double",
    "bool",
    "json",
    "date",
    "timestamp",
    "duration",
    "format",
    "charAt",
    "substring",
    "slice",
    "zip",
    "lists.range",
];

/// The functions whose result is missing for some values.
const MISSING: [&str; 6] = ["first", "last", "min", "max", "avg", "regex.extract"];

/// Returns the labels of the value of `tree`.
pub(super) fn expression_labels(bound: &mut dyn BoundLabels<'_>, tree: &Tree) -> LabelsId {
    let scratch = std::mem::take(&mut bound.store().scratch);
    let mut walk = ExpressionWalk {
        bound,
        locals: scratch.locals,
        locals_read: 0,
        values: scratch.values,
    };
    let labels = walk.labels(tree);
    let (locals, values) = (walk.locals, walk.values);
    bound.store().scratch = Scratch { locals, values };
    labels
}

/// The lists of a walk through an expression, empty between expressions: a plan may have thousands of these.
#[derive(Default)]
pub(super) struct Scratch {
    locals: Vec<LabelsId>,
    values: Vec<LabelsId>,
}

struct ExpressionWalk<'w, 'a> {
    bound: &'w mut dyn BoundLabels<'a>,
    /// The variables of the enclosing loops, the innermost last.
    locals: Vec<LabelsId>,
    /// A bit for each of the outermost variables that was read.
    locals_read: u64,
    /// The operands and arguments so far of the operators and calls that are visited.
    values: Vec<LabelsId>,
}

impl<'a> ExpressionWalk<'_, 'a> {
    fn labels(&mut self, tree: &Tree) -> LabelsId {
        match tree {
            // Binding has replaced all reads.
            Tree::Literal(value) => self.bound.store().literal(value),
            Tree::Read(_) => self.bound.store().planner(),
            Tree::Bound(index) => self.bound.bound(*index, &[]),
            Tree::LoopVariable(position) => {
                let at = self.locals.len().checked_sub(position + 1);
                self.locals_read |= at.map_or(0, bit_of);
                let local = at.and_then(|at| self.locals.get(at)).copied();
                local.unwrap_or_else(|| self.bound.store().planner())
            }
            Tree::List(items) => {
                let start = self.add_all(items);
                let item = self.finish(start, LabelStore::any_of);
                self.bound.store().list(item)
            }
            Tree::Object(fields) => self.object(fields),
            Tree::Not(part) | Tree::Negate(part) => {
                let part = self.labels(part);
                self.bound.store().number_from(&[part])
            }
            Tree::Has(part) => {
                let store = self.bound.store();
                let before = std::mem::replace(&mut store.tests_existence, true);
                let part = self.optional(part);
                let store = self.bound.store();
                store.tests_existence = before;
                store.number_from(&[part])
            }
            Tree::Chain(first, rest) => self.chain(first, rest),
            Tree::And(parts) | Tree::Or(parts) => {
                let start = self.add_all(parts);
                self.finish(start, LabelStore::number_from)
            }
            Tree::Choice(cases, otherwise) => {
                let start = self.add_all(cases.iter().map(|(condition, _)| condition));
                self.add_all(cases.iter().map(|(_, value)| value));
                self.add(otherwise);
                self.finish(start, |store, values| {
                    let (conditions, values) = values.split_at(cases.len().min(values.len()));
                    let chosen = store.any_of(values);
                    let condition = store.join_values(conditions.iter().copied());
                    store.with(chosen, condition)
                })
            }
            Tree::FirstOf(alternatives) => {
                let start = self.values.len();
                for alternative in alternatives {
                    let labels = self.optional(&alternative.tree);
                    self.values.push(labels);
                }
                self.finish(start, LabelStore::any_of)
            }
            Tree::Access(base, accessors) => self.access(base, accessors),
            Tree::Call(function, arguments) => {
                let start = self.add_all(arguments);
                self.note_failures(function.name, start);
                self.finish(start, |store, values| call(store, function.name, values))
            }
        }
    }

    /// Returns the labels of a value that may not exist, with what decides whether it does as far as positions in lists do.
    fn optional(&mut self, tree: &Tree) -> LabelsId {
        let before = std::mem::replace(&mut self.bound.store().counts_positions, true);
        let labels = self.labels(tree);
        self.bound.store().counts_positions = before;
        labels
    }

    /// Records that a call with the arguments from `start` on fails for some of them.
    fn note_failures(&mut self, function: &str, start: usize) {
        let store = self.bound.store();
        if !store.follows_failures {
            return;
        }
        let arguments = self.values.get(start..).unwrap_or_default();
        let is_missing = MISSING.contains(&function) && !store.counts_positions;
        if is_missing || FAILING.contains(&function) || function.starts_with("get") {
            for argument in arguments {
                store.fails_by(*argument);
            }
        }
    }

    fn add(&mut self, tree: &Tree) {
        let labels = self.labels(tree);
        self.values.push(labels);
    }

    /// Adds the labels of `trees` to the values, and returns the position of the first.
    fn add_all<'t>(&mut self, trees: impl IntoIterator<Item = &'t Tree>) -> usize {
        let start = self.values.len();
        for tree in trees {
            self.add(tree);
        }
        start
    }

    /// Removes the values from `start` on, and returns the result of `labels` for them.
    fn finish(
        &mut self,
        start: usize,
        labels: impl FnOnce(&mut LabelStore<'a>, &[LabelsId]) -> LabelsId,
    ) -> LabelsId {
        let values = self.values.get(start..).unwrap_or_default();
        let labels = labels(self.bound.store(), values);
        self.values.truncate(start);
        labels
    }

    fn joined(&mut self, tree: &Tree) -> NodeId {
        let labels = self.labels(tree);
        self.bound.store().join(labels)
    }

    fn object(&mut self, fields: &[(Tree, Tree)]) -> LabelsId {
        let mut named = Vec::with_capacity(fields.len());
        let mut is_known = true;
        let mut everything = Vec::new();
        for (key, value) in fields {
            let labels = self.labels(value);
            everything.push(labels);
            match key {
                Tree::Literal(Value::Text(key)) => named.push((key.clone(), labels)),
                _ => {
                    is_known = false;
                    everything.push(self.labels(key));
                }
            }
        }
        // A computed key may be any, so the fields share one label.
        if is_known {
            self.bound.store().object(named)
        } else {
            self.bound.store().join_of(&everything)
        }
    }

    fn chain(&mut self, first: &Tree, rest: &[(BinaryOperator, Tree)]) -> LabelsId {
        let trees = rest.iter().map(|(_, tree)| tree);
        let start = self.add_all(std::iter::once(first).chain(trees));
        for ((operator, _), divisor) in rest.iter().zip(start + 1..) {
            if let (true, Some(divisor)) = (operator.divides(), self.values.get(divisor)) {
                self.bound.store().fails_by(*divisor);
            }
        }
        let mut operators = rest.iter().map(|(operator, _)| *operator);
        // `+` also concatenates lists, whose items keep their fields.
        if operators.all(|operator| operator == BinaryOperator::Add) {
            self.finish(start, |store, values| {
                let list = store.any_of(values);
                store.concatenated(list, values)
            })
        } else {
            self.finish(start, LabelStore::number_from)
        }
    }

    fn access(&mut self, base: &Tree, accessors: &[Accessor]) -> LabelsId {
        let mut accessors = accessors;
        // The path after a root belongs to it: slots are known by their first key only.
        let mut value = match (base, accessors) {
            (Tree::Bound(index), [Accessor::Part(path, _), rest @ ..]) => {
                accessors = rest;
                self.bound.bound(*index, path)
            }
            _ => self.labels(base),
        };
        let mut may_miss = false;
        for accessor in accessors {
            value = match accessor {
                Accessor::Part(path, missing) => {
                    let store = self.bound.store();
                    may_miss |= *missing != Missing::Null && store.may_miss(value, path);
                    store.at(value, path)
                }
                Accessor::Item(index) => {
                    may_miss = true;
                    self.bound.store().fails_by_length(value);
                    self.item(value, index)
                }
                Accessor::Call(function, arguments) => {
                    let start = self.values.len();
                    self.values.push(value);
                    self.add_all(arguments);
                    if matches!(function.name, "first" | "last") {
                        may_miss = true;
                        self.bound.store().fails_by_length(value);
                    } else {
                        self.note_failures(function.name, start);
                    }
                    self.finish(start, |store, values| {
                        match (function.name, arguments.as_slice()) {
                            ("flatten", []) => flattened(store, values, Some(1)),
                            ("flatten", [Tree::Literal(depth)]) => {
                                flattened(store, values, depth.as_u64())
                            }
                            ("flatten", _) => flattened(store, values, None),
                            (name, _) => call(store, name, values),
                        }
                    })
                }
                // The author of the pattern decides as well what is found.
                Accessor::Search(Search::Matches, _) => {
                    let store = self.bound.store();
                    store.number_from(&[value, store.planner()])
                }
                Accessor::Search(search @ (Search::Extract | Search::ExtractAll), _) => {
                    may_miss |= *search == Search::Extract;
                    let store = self.bound.store();
                    store.computed_from(&[value, store.planner()])
                }
                Accessor::Loop(kind, trees) => self.run_loop(*kind, value, trees),
            };
        }
        if may_miss {
            self.bound.store().fails_without(value);
        }
        value
    }

    fn item(&mut self, value: LabelsId, index: &Tree) -> LabelsId {
        match index {
            Tree::Literal(Value::Text(key)) => self.bound.store().field(value, key),
            Tree::Literal(_) => {
                let store = self.bound.store();
                let item = store.item(value);
                let item = store.existing(item, value);
                store.counted_from_end(item, value)
            }
            _ => {
                let selector = self.joined(index);
                let store = self.bound.store();
                let item = store.selected(value);
                // A negative position counts from the end.
                let item = store.counted_from_end(item, value);
                store.with(item, selector)
            }
        }
    }

    fn run_loop(&mut self, kind: Loop, over: LabelsId, trees: &[Tree]) -> LabelsId {
        let item = self.bound.store().first_item(over);
        let bit = bit_of(self.locals.len());
        self.locals_read &= !bit;
        self.locals.push(item);
        let (only, several);
        let bodies: &[LabelsId] = if let [tree] = trees {
            only = [self.labels(tree)];
            &only
        } else {
            several = trees
                .iter()
                .map(|tree| self.labels(tree))
                .collect::<Vec<_>>();
            &several
        };
        self.locals.pop();
        let is_read = self.locals_read & bit != 0;
        let store = self.bound.store();
        let source = |store: &mut LabelStore<'a>, value: LabelsId| {
            if is_read {
                store.item_source(value, item)
            } else {
                ItemSource::Other
            }
        };
        // A predicate that looks at positions only may leave as many items as there are.
        let chosen = |store: &mut LabelStore<'a>, item, predicate, by_items: bool| {
            if by_items {
                return store.filtered(over, item, predicate);
            }
            let list = store.list_like(over, item, ItemSource::Counted);
            store.with(list, predicate)
        };
        match (kind, bodies) {
            (Loop::Filter, [body]) => {
                let read = store.join(*body);
                let by_items = source(store, *body) == ItemSource::Counted;
                chosen(store, item, read, by_items)
            }
            (Loop::SortBy, [body]) => {
                let read = store.join(*body);
                let list = store.list_like(over, item, ItemSource::Counted);
                let list = store.with(list, read);
                store.counted_from_end(list, over)
            }
            // The keys decide which items are in a group, and how many groups there are.
            (Loop::GroupBy, [key]) => {
                let read = store.join(*key);
                let by_items = source(store, *key) == ItemSource::Counted;
                let items = chosen(store, item, read, by_items);
                let fields = [(Arc::from("key"), *key), (Arc::from("items"), items)];
                let group = store.record(fields);
                chosen(store, group, read, by_items)
            }
            (Loop::Map, [value]) => {
                let source = source(store, *value);
                let value = match source {
                    ItemSource::Counted => store.marked(*value, item, over),
                    ItemSource::Other => *value,
                };
                store.list_like(over, value, source)
            }
            (Loop::Map, [condition, value]) => {
                let read = store.join(*condition);
                let is_chosen = source(store, *condition) == ItemSource::Counted;
                if source(store, *value) == ItemSource::Counted {
                    return chosen(store, *value, read, is_chosen);
                }
                let list = store.list_like(over, *value, ItemSource::Other);
                store.with(list, read)
            }
            _ => {
                // A quantifier also depends on which items there are.
                let result = store.number_from(bodies);
                let length = match source(store, result) {
                    ItemSource::Counted => store.length(over),
                    ItemSource::Other => store.count(over),
                };
                match length {
                    Some(length) => store.with(result, length),
                    None => result,
                }
            }
        }
    }
}

/// Returns the bit of the loop variable at `position`, from the outermost on; none for variables that are nested too deeply.
fn bit_of(position: usize) -> u64 {
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    1_u64.checked_shl(position).unwrap_or_default()
}
