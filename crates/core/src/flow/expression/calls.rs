//! The labels of the results of functions.

use crate::flow::graph::NodeId;
use crate::flow::labels::{ItemSource, LabelStore, LabelsId};

/// Maximum depth to which lists are flattened by field.
const MAX_FLATTENED: u64 = 8;

/// Returns the labels of the result of a function.
pub(super) fn call(store: &mut LabelStore<'_>, function: &str, values: &[LabelsId]) -> LabelsId {
    match (function, values) {
        ("dyn", [value]) => *value,
        // The engine knows it.
        ("now", _) => store.nothing(),
        // The keys and the structure of the data are part of its text.
        ("json", _) => store.join_of(values),
        ("first" | "last", [list]) => {
            let item = store.item(*list);
            let item = store.existing(item, *list);
            if function == "last" {
                store.counted_from_end(item, *list)
            } else {
                item
            }
        }
        ("values", [object]) => {
            let field = store.selected(*object);
            store.list_like(*object, field, ItemSource::Counted)
        }
        ("zip", lists) => {
            let items: Vec<_> = lists.iter().map(|list| store.item(*list)).collect();
            let item = store.any_of(&items);
            let tuples = store.list(item);
            let tuples = store.list(tuples);
            let lengths: Vec<NodeId> = lists
                .iter()
                .filter_map(|list| store.length(*list))
                .collect();
            let length = store.graph.join(lengths);
            let tuples = store.with(tuples, length);
            let counted = store.any_of(lists);
            store.sized(tuples, counted)
        }
        // The result is one of the items, and depends on all of them.
        ("min" | "max", [list]) => {
            let compared = store.join(*list);
            let item = store.item(*list);
            store.with(item, compared)
        }
        ("min" | "max", items) => {
            let compared = store.join_of(items);
            let compared = store.join(compared);
            let item = store.any_of(items);
            store.with(item, compared)
        }
        ("reverse" | "sort", [list]) => {
            let ordered = store.same_items(*list);
            store.counted_from_end(ordered, *list)
        }
        ("distinct", [list]) => store.distinct(*list),
        ("slice", [list, rest @ ..]) => {
            let bounds = store.join_of(rest);
            let bounds = store.join(bounds);
            let part = store.same_items(*list);
            // A bound may count from the end.
            let part = store.counted_from_end(part, *list);
            store.with(part, bounds)
        }
        (
            "size" | "int" | "uint" | "double" | "bool" | "contains" | "startsWith" | "endsWith"
            | "matches" | "indexOf" | "lastIndexOf" | "sum" | "avg" | "duration",
            _,
        ) => store.number_from(values),
        (name, _) if name.starts_with("get") => store.number_from(values),
        (name, _) if name.starts_with("math.") || name.starts_with("lists.") => {
            store.number_from(values)
        }
        ("string", [_]) => store.text_of(values),
        // All other functions make a new text from everything that they read.
        _ => store.computed_from(values),
    }
}

/// Returns a list whose items that are lists are replaced by their items, `depth` times.
pub(super) fn flattened(
    store: &mut LabelStore<'_>,
    values: &[LabelsId],
    depth: Option<u64>,
) -> LabelsId {
    let Some((list, depths)) = values.split_first() else {
        return store.nothing();
    };
    let mut item = store.item(*list);
    let mut levels = vec![item];
    let mut lengths = Vec::new();
    for _ in 0..depth.unwrap_or(u64::MAX).min(MAX_FLATTENED) {
        let inner = store.flattened(item);
        lengths.extend(store.length(item));
        if inner == item {
            break;
        }
        levels.push(inner);
        item = inner;
    }
    // A depth that is computed may be any.
    if depth.is_none() {
        lengths.extend(depths.iter().map(|depth| store.join(*depth)));
        item = store.any_of(&levels);
    }
    let outer = *list;
    let mut list = store.list_like(outer, item, ItemSource::Counted);
    if !lengths.is_empty() {
        let length = store.graph.join(lengths);
        list = store.with(list, length);
    }
    // There are as many items as in all lists inside.
    levels.push(outer);
    let counted = store.any_of(&levels);
    store.sized(list, counted)
}
