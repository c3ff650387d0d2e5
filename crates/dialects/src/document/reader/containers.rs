//! The open lists and objects of the reader.

use std::sync::Arc;

use planwright_core::{Place, PointerSegment, Span};

use crate::document::{Item, ItemEntry};

/// A list or object that is not closed yet.
pub(super) struct OpenContainer {
    pub(super) place: Place,
    pub(super) start: usize,
    pub(super) kind: ContainerKind,
}

pub(super) enum ContainerKind {
    List(Vec<Item>),
    Object {
        entries: Vec<ItemEntry>,
        key: Option<(Arc<str>, Span)>,
    },
}

/// The tokens that may come next.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    Value,
    ItemOrEnd,
    KeyOrEnd,
    CommaOrEnd,
}

impl ContainerKind {
    /// The token after the opening bracket.
    pub(super) fn first(&self) -> Expected {
        match self {
            Self::List(_) => Expected::ItemOrEnd,
            Self::Object { .. } => Expected::KeyOrEnd,
        }
    }

    /// The words for the container in messages, and its closing bracket.
    pub(super) fn name_and_end(&self) -> (&'static str, char) {
        match self {
            Self::List(_) => ("the list", ']'),
            Self::Object { .. } => ("the object", '}'),
        }
    }
}

/// The segment of the next value inside of the innermost open container.
pub(super) fn next_segment(
    open: Option<&OpenContainer>,
    root: &mut Option<PointerSegment>,
) -> PointerSegment {
    match open.map(|open| &open.kind) {
        Some(ContainerKind::List(items)) => PointerSegment::Index(items.len()),
        Some(ContainerKind::Object { key, .. }) => {
            key.as_ref().map_or(PointerSegment::Root, |(key, _)| {
                PointerSegment::Key(Arc::clone(key))
            })
        }
        None => root.take().unwrap_or(PointerSegment::Root),
    }
}

/// Adds a finished value to the innermost open container, or returns it if it is the root.
pub(super) fn attach(stack: &mut [OpenContainer], item: Item) -> Option<Item> {
    match stack.last_mut().map(|open| &mut open.kind) {
        None => Some(item),
        Some(ContainerKind::List(items)) => {
            items.push(item);
            None
        }
        Some(ContainerKind::Object { entries, key }) => {
            if let Some((key, key_span)) = key.take() {
                entries.push(ItemEntry {
                    key,
                    key_span,
                    item,
                });
            }
            None
        }
    }
}
