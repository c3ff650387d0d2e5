//! The label graph: each node is a label, and its parents are the labels that it joins.
//!
//! Labels are propagated after the whole graph is built, so cycles (a slot that is read before it is written, a loop that
//! reads its last round) need no special treatment, and the work stays linear in the size of the plan.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::{Hashing, Place};

/// A node of the graph, by its position plus one, so that an optional node is as small as a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(NonZeroU32);

impl NodeId {
    fn at(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(position(index)))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Maximum number of labels that are searched for the sources of an item.
const MAX_SOURCES: usize = 64;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LabelOrigin {
    /// A field of the output of the tool that a step calls, or its error.
    Output {
        step: Arc<str>,
        tool: Arc<str>,
        field: Arc<str>,
        is_error: bool,
    },
    /// The result of a step that an earlier plan of the run computed.
    Retained(Arc<str>),
    /// A literal or an input of the plan.
    Planner,
    /// A secret.
    Secret(Arc<str>),
}

/// A source as the graph stores it. A call has a source for each field of its output, so these share the step and the tool.
#[derive(Clone, Debug)]
enum StoredOrigin {
    Output {
        call: CallId,
        field: Arc<str>,
        is_error: bool,
    },
    Retained(Arc<str>),
    Planner,
    Secret(Arc<str>),
}

/// The position of a call in its graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallId(u32);

/// A place through which a value passes.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    /// The position of the text in the list of texts of the analysis.
    pub(super) text: usize,
    pub(super) place: Place,
    /// The text of the reference.
    pub(super) reference: Arc<str>,
    /// The step with the reference; `None` in the output of the plan.
    pub(super) step: Option<Arc<str>>,
}

/// The position of a passage in its graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassageId(u32);

/// A node. Its parts are in lists of the graph, since a plan has many nodes and most have one or two parents.
#[derive(Clone, Debug)]
struct GraphNode {
    kind: NodeKind,
    /// The position of the parents that the node was created with, in the list of all parents. They end where those of the next
    /// node begin.
    first_parent: u32,
    /// The parents that were added later, as a position in the list of such parents; [`NONE_ADDED`] for most nodes.
    added: u32,
    flags: Flags,
}

/// The position of the added parents of a node without any.
const NONE_ADDED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
enum NodeKind {
    Join,
    Origin(u32),
    Passage(PassageId),
}

/// The parents that were added to an existing node: the positions of the first and of the last one.
#[derive(Clone, Copy, Debug)]
struct AddedParents {
    first: u32,
    last: u32,
}

/// A parent that was added to an existing node, and the position of the next one.
#[derive(Clone, Copy, Debug)]
struct AddedParent {
    parent: NodeId,
    next: Option<u32>,
}

/// The two labels of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) untrusted: bool,
    pub(super) private: bool,
}

/// A label that a query looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Untrusted,
    Private,
}

impl Flags {
    fn has(self, flag: Flag) -> bool {
        match flag {
            Flag::Untrusted => self.untrusted,
            Flag::Private => self.private,
        }
    }

    /// Adds the flags of `other`.
    pub(super) fn add(&mut self, other: Self) {
        self.untrusted |= other.untrusted;
        self.private |= other.private;
    }
}

/// The labels of all values of a plan.
#[derive(Debug, Default)]
pub(super) struct LabelGraph {
    nodes: Vec<GraphNode>,
    parents: Vec<NodeId>,
    added: Vec<AddedParents>,
    added_parents: Vec<AddedParent>,
    origins: Vec<StoredOrigin>,
    /// The calls that sources are outputs of: step and tool.
    calls: Vec<(Arc<str>, Arc<str>)>,
    passages: Vec<Passage>,
    /// The parents of the node that is being created.
    new_parents: Vec<NodeId>,
}

impl LabelGraph {
    /// Makes room for `nodes` nodes.
    pub(super) fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
        self.parents.reserve(nodes);
        // Most nodes join others.
        self.passages.reserve(nodes / 8);
        self.origins.reserve(nodes / 8);
        self.calls.reserve(nodes / 8);
    }

    /// Adds the source of a value.
    pub(super) fn origin(&mut self, origin: LabelOrigin, flags: Flags) -> NodeId {
        let stored = match origin {
            LabelOrigin::Output {
                step,
                tool,
                field,
                is_error,
            } => StoredOrigin::Output {
                call: self.add_call(step, tool),
                field,
                is_error,
            },
            LabelOrigin::Retained(step) => StoredOrigin::Retained(step),
            LabelOrigin::Planner => StoredOrigin::Planner,
            LabelOrigin::Secret(name) => StoredOrigin::Secret(name),
        };
        self.add_origin(stored, flags)
    }

    /// Adds a call of `tool` by `step`, for any number of sources.
    pub(super) fn add_call(&mut self, step: Arc<str>, tool: Arc<str>) -> CallId {
        self.calls.push((step, tool));
        CallId(position(self.calls.len() - 1))
    }

    /// Adds a field of the output of a call as the source of a value.
    pub(super) fn output(&mut self, call: CallId, field: Arc<str>, flags: Flags) -> NodeId {
        let is_error = false;
        self.add_origin(
            StoredOrigin::Output {
                call,
                field,
                is_error,
            },
            flags,
        )
    }

    fn add_origin(&mut self, origin: StoredOrigin, flags: Flags) -> NodeId {
        let kind = NodeKind::Origin(position(self.origins.len()));
        self.origins.push(origin);
        let node = self.push(kind);
        if let Some(node) = self.nodes.last_mut() {
            node.flags = flags;
        }
        node
    }

    /// Adds the join of `parents`.
    pub(super) fn join(&mut self, parents: impl IntoIterator<Item = NodeId>) -> NodeId {
        self.new_parents.extend(parents);
        if self.new_parents.len() > 1 {
            self.new_parents.sort_unstable();
            self.new_parents.dedup();
        }
        match self.new_parents.as_slice() {
            [only] => {
                let only = *only;
                self.new_parents.clear();
                only
            }
            _ => self.push(NodeKind::Join),
        }
    }

    /// Adds a node without parents, which [`extend`](Self::extend) completes.
    pub(super) fn open(&mut self) -> NodeId {
        self.push(NodeKind::Join)
    }

    /// Adds a parent to `node`.
    pub(super) fn extend(&mut self, node: NodeId, parent: NodeId) {
        if node == parent {
            return;
        }
        let Some(node) = self.nodes.get_mut(node.index()) else {
            return;
        };
        let new = position(self.added_parents.len());
        match self.added.get_mut(node.added as usize) {
            Some(added) => {
                if let Some(last) = self.added_parents.get_mut(added.last as usize) {
                    // A step often reads the same step several times.
                    if last.parent == parent {
                        return;
                    }
                    last.next = Some(new);
                }
                added.last = new;
            }
            None => {
                node.added = position(self.added.len());
                let (first, last) = (new, new);
                self.added.push(AddedParents { first, last });
            }
        }
        self.added_parents.push(AddedParent { parent, next: None });
    }

    /// Returns true if both labels have an output of the same step among their sources, as far as they are known.
    pub(super) fn shares_call(&self, one: NodeId, other: NodeId) -> bool {
        let mut steps: Vec<&str> = Vec::new();
        self.any_step(one, |step| {
            if !steps.contains(&step) {
                steps.push(step);
            }
            false
        });
        !steps.is_empty() && self.any_step(other, |step| steps.contains(&step))
    }

    /// Returns true if an output of `step` is among the sources of a label, as far as they are known.
    pub(super) fn comes_from(&self, node: NodeId, step: &str) -> bool {
        self.any_step(node, |source| source == step)
    }

    /// Returns true if one of the steps whose outputs are sources of a label fulfills `test`.
    fn any_step<'g>(&'g self, node: NodeId, mut test: impl FnMut(&'g str) -> bool) -> bool {
        let is_step = |node| {
            if let Some(NodeKind::Origin(origin)) = self.node(node).map(|node| node.kind)
                && let Some(StoredOrigin::Output { call, .. }) = self.origins.get(origin as usize)
                && let Some((step, _)) = self.calls.get(call.0 as usize)
            {
                return test(step);
            }
            false
        };
        self.sources_of(node, is_step).0
    }

    /// Returns true if the author of the plan is among the sources of a label, or if they are not known yet.
    pub(super) fn may_be_planned(&self, node: NodeId) -> bool {
        let (is_found, is_complete) =
            self.sources_of(node, |node| match self.node(node).map(|node| node.kind) {
                Some(NodeKind::Origin(origin)) => {
                    let origin = self.origins.get(origin as usize);
                    matches!(origin, Some(StoredOrigin::Planner))
                }
                _ => self.parents_of(node).next().is_none(),
            });
        is_found || !is_complete
    }

    /// Visits a node and those that it joins until `test` returns true. Returns whether it did, and whether all nodes were visited.
    fn sources_of(&self, node: NodeId, mut test: impl FnMut(NodeId) -> bool) -> (bool, bool) {
        let mut seen = vec![node];
        let mut next = 0;
        let mut is_complete = true;
        while let Some(node) = seen.get(next).copied() {
            next += 1;
            if test(node) {
                return (true, is_complete);
            }
            for parent in self.parents_of(node) {
                if seen.contains(&parent) {
                    continue;
                }
                if seen.len() < MAX_SOURCES {
                    seen.push(parent);
                } else {
                    is_complete = false;
                }
            }
        }
        (false, is_complete)
    }

    /// Adds a passage, for any number of nodes.
    pub(super) fn add_passage(&mut self, passage: Passage) -> PassageId {
        self.passages.push(passage);
        PassageId(position(self.passages.len() - 1))
    }

    /// Adds a node through which the value of `parent` passes.
    pub(super) fn passage(&mut self, parent: NodeId, passage: PassageId) -> NodeId {
        self.new_parents.push(parent);
        self.push(NodeKind::Passage(passage))
    }

    /// Returns the number of nodes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a node whose parents are in `new_parents`.
    fn push(&mut self, kind: NodeKind) -> NodeId {
        let id = NodeId::at(self.nodes.len());
        self.nodes.push(GraphNode {
            kind,
            first_parent: position(self.parents.len()),
            added: NONE_ADDED,
            flags: Flags::default(),
        });
        self.parents.append(&mut self.new_parents);
        id
    }

    /// Returns the parents of a node, in the order in which they were added.
    fn parents_of(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(id);
        let after = self.nodes.get(id.index() + 1);
        let end = after.map_or(self.parents.len(), |after| after.first_parent as usize);
        let range = node.map(|node| node.first_parent as usize..end);
        let first = range.and_then(|range| self.parents.get(range));
        let first = first.unwrap_or_default();
        let added = node.and_then(|node| self.added.get(node.added as usize));
        let mut next = added.map(|added| added.first);
        let added = std::iter::from_fn(move || {
            let AddedParent {
                parent,
                next: after,
            } = *self.added_parents.get(next? as usize)?;
            next = after;
            Some(parent)
        });
        first.iter().copied().chain(added)
    }

    /// Spreads the labels of the sources over all nodes that join them.
    pub(super) fn propagate(&mut self) {
        // Most nodes are created after their parents, so one pass in order nearly always completes the labels.
        let mut is_complete = true;
        for index in 0..self.nodes.len() {
            let Some(node) = self.nodes.get(index) else {
                continue;
            };
            let mut flags = node.flags;
            for parent in self.parents_of(NodeId::at(index)) {
                flags.add(self.flags(parent));
                is_complete &= parent.index() < index;
            }
            if let Some(node) = self.nodes.get_mut(index) {
                node.flags = flags;
            }
        }
        if !is_complete {
            self.propagate_to_earlier();
        }
    }

    /// Spreads labels to nodes that were created before their parents, and on from there.
    fn propagate_to_earlier(&mut self) {
        let mut open: Vec<NodeId> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let mut with_parent = node.flags;
            for parent in self.parents_of(NodeId::at(index)) {
                with_parent.add(self.flags(parent));
                if with_parent != node.flags {
                    open.push(parent);
                }
            }
        }
        if open.is_empty() {
            return;
        }
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for node in (0..self.nodes.len()).map(NodeId::at) {
            for parent in self.parents_of(node) {
                if let Some(list) = children.get_mut(parent.index()) {
                    list.push(node);
                }
            }
        }
        while let Some(parent) = open.pop() {
            let flags = self.flags(parent);
            for child in children.get(parent.index()).into_iter().flatten() {
                let Some(node) = self.nodes.get_mut(child.index()) else {
                    continue;
                };
                let before = node.flags;
                node.flags.add(flags);
                if node.flags != before {
                    open.push(*child);
                }
            }
        }
    }

    /// Returns the labels of `node`, complete after [`propagate`](Self::propagate).
    pub(super) fn flags(&self, node: NodeId) -> Flags {
        self.node(node).map(|node| node.flags).unwrap_or_default()
    }

    /// Returns a search for sources and paths that visits a limited number of nodes. All labels must be
    /// [propagated](Self::propagate).
    pub(super) fn search(&self, visits_left: usize) -> GraphSearch<'_> {
        GraphSearch {
            graph: self,
            seen: SeenNodes::default(),
            visits_left,
        }
    }

    fn node(&self, id: NodeId) -> Option<&GraphNode> {
        self.nodes.get(id.index())
    }

    fn origin_of(&self, node: &GraphNode) -> Option<LabelOrigin> {
        let position = match node.kind {
            NodeKind::Origin(position) => position,
            NodeKind::Join | NodeKind::Passage(_) => return None,
        };
        Some(match self.origins.get(position as usize)? {
            StoredOrigin::Output {
                call,
                field,
                is_error,
            } => {
                let (step, tool) = self.calls.get(call.0 as usize)?;
                LabelOrigin::Output {
                    step: Arc::clone(step),
                    tool: Arc::clone(tool),
                    field: Arc::clone(field),
                    is_error: *is_error,
                }
            }
            StoredOrigin::Retained(step) => LabelOrigin::Retained(Arc::clone(step)),
            StoredOrigin::Planner => LabelOrigin::Planner,
            StoredOrigin::Secret(name) => LabelOrigin::Secret(Arc::clone(name)),
        })
    }

    fn passage_of(&self, node: &GraphNode) -> Option<&Passage> {
        match node.kind {
            NodeKind::Passage(PassageId(position)) => self.passages.get(position as usize),
            NodeKind::Join | NodeKind::Origin(_) => None,
        }
    }
}

/// Returns a position in a list. A plan has far fewer parts than that: its text is limited to some megabytes.
fn position(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// A search for the sources and the ways of labels.
pub(super) struct GraphSearch<'g> {
    graph: &'g LabelGraph,
    /// The nodes that the current search has seen, each with the node after it on the way to the start.
    seen: SeenNodes,
    visits_left: usize,
}

/// A map from nodes to nodes. Most searches see only a few, which are compared one by one and need no allocation.
struct SeenNodes {
    few: [(NodeId, Option<NodeId>); MAX_COMPARED],
    /// The number of nodes among `few`.
    count: usize,
    others: HashMap<NodeId, Option<NodeId>, Hashing>,
}

/// Maximum number of seen nodes that are compared one by one.
const MAX_COMPARED: usize = 16;

impl Default for SeenNodes {
    fn default() -> Self {
        Self {
            few: [(NodeId::at(0), None); MAX_COMPARED],
            count: 0,
            others: HashMap::default(),
        }
    }
}

impl SeenNodes {
    fn clear(&mut self) {
        self.count = 0;
        self.others.clear();
    }

    fn few(&self) -> &[(NodeId, Option<NodeId>)] {
        self.few.get(..self.count).unwrap_or_default()
    }

    fn get(&self, node: NodeId) -> Option<NodeId> {
        let few = self.few().iter().find(|(seen, _)| *seen == node);
        let found = few.map(|(_, next)| *next);
        found.or_else(|| self.others.get(&node).copied())?
    }

    /// Adds `node`, and returns true if it is new.
    fn insert(&mut self, node: NodeId, next: Option<NodeId>) -> bool {
        if self.few().iter().any(|(seen, _)| *seen == node) {
            return false;
        }
        if let Some(free) = self.few.get_mut(self.count) {
            *free = (node, next);
            self.count += 1;
            return true;
        }
        match self.others.entry(node) {
            Entry::Occupied(_) => false,
            Entry::Vacant(new) => {
                new.insert(next);
                true
            }
        }
    }
}

impl<'g> GraphSearch<'g> {
    /// Returns the shortest way from a source with `flag` to `node`: the source, and the places that the value passes.
    pub(super) fn path_to(
        &mut self,
        node: NodeId,
        flag: Flag,
    ) -> Option<(LabelOrigin, Vec<&'g Passage>)> {
        self.seen.clear();
        let mut queue = VecDeque::from([node]);
        self.visit(node, None)?;
        while let Some(at) = queue.pop_front() {
            let here = self.graph.node(at)?;
            if here.flags.has(flag)
                && let Some(origin) = self.graph.origin_of(here)
            {
                return Some((origin, self.passages(at)));
            }
            for parent in self.graph.parents_of(at) {
                if self.graph.flags(parent).has(flag) && self.visit(parent, Some(at))? {
                    queue.push_back(parent);
                }
            }
        }
        None
    }

    fn passages(&self, from: NodeId) -> Vec<&'g Passage> {
        let mut passages = Vec::new();
        let mut position = Some(from);
        while let Some(here) = position {
            let node = self.graph.node(here);
            passages.extend(node.and_then(|node| self.graph.passage_of(node)));
            position = self.seen.get(here);
        }
        passages
    }

    /// Returns the sources of `node` in order, at most `max`; with `flag`, those that have it.
    pub(super) fn origins(
        &mut self,
        node: NodeId,
        flag: Option<Flag>,
        max: usize,
    ) -> Vec<LabelOrigin> {
        self.seen.clear();
        let mut open = Vec::with_capacity(MAX_COMPARED);
        open.push(node);
        let mut origins = Vec::new();
        while let Some(at) = open.pop() {
            match self.visit(at, None) {
                Some(true) => {}
                Some(false) => continue,
                None => break,
            }
            let Some(here) = self.graph.node(at) else {
                continue;
            };
            if flag.is_some_and(|flag| !here.flags.has(flag)) {
                continue;
            }
            if let Some(origin) = self.graph.origin_of(here) {
                origins.push(origin);
                if origins.len() == max {
                    break;
                }
            }
            open.extend(self.graph.parents_of(at));
        }
        origins.sort();
        origins.dedup();
        origins
    }

    /// Returns the number of nodes that may still be visited; zero if results may be incomplete.
    pub(super) fn visits_left(&self) -> usize {
        self.visits_left
    }

    /// Returns true if the current search sees `node` for the first time, and `None` if the budget is spent.
    fn visit(&mut self, node: NodeId, next: Option<NodeId>) -> Option<bool> {
        self.visits_left = self.visits_left.checked_sub(1)?;
        Some(self.seen.insert(node, next))
    }
}
