//! The label graph: each node is a label, and its parents are the labels that it joins.
//!
//! Labels are propagated after the whole graph is built, so cycles (a slot that is read before it is written, a loop that
//! reads its last round) need no special treatment, and the work stays linear in the size of the plan.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Place;

/// Maximum number of nodes that all searches of one analysis visit. After that, sources and ways are left out: a hostile
/// plan may have many parameters with long ways.
const MAX_VISITS: usize = 500_000;

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(u32);

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LabelOrigin {
    /// A field of the output of the tool that a step calls, or of its error.
    Output {
        step: Arc<str>,
        tool: Arc<str>,
        field: Arc<str>,
    },
    /// A literal or an input of the plan.
    Planner,
    /// A secret.
    Secret(Arc<str>),
}

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

#[derive(Clone, Debug, Default)]
struct GraphNode {
    origin: Option<LabelOrigin>,
    passage: Option<Passage>,
    parents: Vec<NodeId>,
    flags: Flags,
}

/// The two labels of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) untrusted: bool,
    pub(super) private: bool,
}

/// A label that is asked for.
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

    fn set(&mut self, flag: Flag) {
        match flag {
            Flag::Untrusted => self.untrusted = true,
            Flag::Private => self.private = true,
        }
    }
}

/// The labels of all values of a plan.
#[derive(Debug, Default)]
pub(super) struct LabelGraph {
    nodes: Vec<GraphNode>,
}

impl LabelGraph {
    /// Adds the source of a value.
    pub(super) fn origin(&mut self, origin: LabelOrigin, flags: Flags) -> NodeId {
        self.push(GraphNode {
            origin: Some(origin),
            flags,
            ..GraphNode::default()
        })
    }

    /// Adds the join of `parents`.
    pub(super) fn join(&mut self, mut parents: Vec<NodeId>) -> NodeId {
        parents.sort_unstable();
        parents.dedup();
        match parents.as_slice() {
            [only] => *only,
            _ => self.push(GraphNode {
                parents,
                ..GraphNode::default()
            }),
        }
    }

    /// Adds a node without parents, which [`extend`](Self::extend) completes.
    pub(super) fn open(&mut self) -> NodeId {
        self.push(GraphNode::default())
    }

    /// Adds a parent to `node`.
    pub(super) fn extend(&mut self, node: NodeId, parent: NodeId) {
        if node != parent
            && let Some(node) = self.nodes.get_mut(node.0 as usize)
        {
            node.parents.push(parent);
        }
    }

    /// Adds a node through which the value of `parent` passes.
    pub(super) fn passage(&mut self, parent: NodeId, passage: Passage) -> NodeId {
        self.push(GraphNode {
            passage: Some(passage),
            parents: vec![parent],
            ..GraphNode::default()
        })
    }

    /// Returns the number of nodes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    fn push(&mut self, node: GraphNode) -> NodeId {
        // A plan has far fewer parts: its text is limited to some megabytes.
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }

    /// Spreads the labels of the sources over all nodes that join them.
    pub(super) fn propagate(&mut self) {
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in (0_u32..).zip(&self.nodes) {
            for parent in &node.parents {
                if let Some(list) = children.get_mut(parent.0 as usize) {
                    list.push(NodeId(index));
                }
            }
        }
        for flag in [Flag::Untrusted, Flag::Private] {
            let marked = |node: &(u32, &GraphNode)| node.1.flags.has(flag);
            let sources = (0_u32..).zip(&self.nodes).filter(marked);
            let mut open: Vec<u32> = sources.map(|(index, _)| index).collect();
            while let Some(index) = open.pop() {
                for child in children.get(index as usize).into_iter().flatten() {
                    let Some(node) = self.nodes.get_mut(child.0 as usize) else {
                        continue;
                    };
                    if !node.flags.has(flag) {
                        node.flags.set(flag);
                        open.push(child.0);
                    }
                }
            }
        }
    }

    /// Returns the labels of `node`, complete after [`propagate`](Self::propagate).
    pub(super) fn flags(&self, node: NodeId) -> Flags {
        self.node(node).map(|node| node.flags).unwrap_or_default()
    }

    /// Returns a search for sources and ways. All labels must be [propagated](Self::propagate).
    pub(super) fn search(&self) -> GraphSearch<'_> {
        GraphSearch {
            graph: self,
            seen: vec![0; self.nodes.len()],
            next: vec![None; self.nodes.len()],
            round: 0,
            visits_left: MAX_VISITS,
        }
    }

    fn node(&self, id: NodeId) -> Option<&GraphNode> {
        self.nodes.get(id.0 as usize)
    }
}

/// A search for the sources and the ways of labels.
pub(super) struct GraphSearch<'g> {
    graph: &'g LabelGraph,
    /// The round in which each node was seen last.
    seen: Vec<u32>,
    /// The node after each one on the way to the start of the current search.
    next: Vec<Option<NodeId>>,
    round: u32,
    visits_left: usize,
}

impl<'g> GraphSearch<'g> {
    /// Returns the shortest way from a source with `flag` to `node`: the source, and the places that the value passes.
    pub(super) fn way(
        &mut self,
        node: NodeId,
        flag: Flag,
    ) -> Option<(&'g LabelOrigin, Vec<&'g Passage>)> {
        self.round += 1;
        let mut queue = VecDeque::from([node]);
        self.visit(node, None)?;
        while let Some(at) = queue.pop_front() {
            let here = self.graph.node(at)?;
            if let Some(origin) = here.origin.as_ref().filter(|_| here.flags.has(flag)) {
                return Some((origin, self.passages(at)));
            }
            for parent in &here.parents {
                if self.graph.flags(*parent).has(flag) && self.visit(*parent, Some(at))? {
                    queue.push_back(*parent);
                }
            }
        }
        None
    }

    fn passages(&self, from: NodeId) -> Vec<&'g Passage> {
        let mut passages = Vec::new();
        let mut position = Some(from);
        while let Some(here) = position {
            passages.extend(self.graph.node(here).and_then(|node| node.passage.as_ref()));
            position = self.next.get(here.0 as usize).copied().flatten();
        }
        passages
    }

    /// Returns the sources of `node` in order, at most `max`; with `flag`, those that have it.
    pub(super) fn origins(
        &mut self,
        node: NodeId,
        flag: Option<Flag>,
        max: usize,
    ) -> Vec<&'g LabelOrigin> {
        self.round += 1;
        let mut open = vec![node];
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
            if let Some(origin) = &here.origin {
                origins.push(origin);
                if origins.len() == max {
                    break;
                }
            }
            open.extend(&here.parents);
        }
        origins.sort();
        origins.dedup();
        origins
    }

    /// Returns true if the budget of all searches is spent, so that their results are incomplete.
    pub(super) fn is_spent(&self) -> bool {
        self.visits_left == 0
    }

    /// Returns true if the current search sees `node` for the first time, and `None` if the budget is spent.
    fn visit(&mut self, node: NodeId, next: Option<NodeId>) -> Option<bool> {
        self.visits_left = self.visits_left.checked_sub(1)?;
        let seen = self.seen.get_mut(node.0 as usize)?;
        if std::mem::replace(seen, self.round) == self.round {
            return Some(false);
        }
        if let Some(known) = self.next.get_mut(node.0 as usize) {
            *known = next;
        }
        Some(true)
    }
}
