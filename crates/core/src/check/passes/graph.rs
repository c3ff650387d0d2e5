//! Cycle detection without recursion, since plans may be arbitrarily long.

use std::collections::{HashMap, VecDeque};

/// A graph of steps by position, with an edge to each dependency.
#[derive(Clone, Debug)]
pub(in crate::check) struct DependencyGraph {
    edges: Vec<Vec<u32>>,
    removed: Vec<bool>,
}

impl DependencyGraph {
    pub(in crate::check) fn new(edges: Vec<Vec<u32>>) -> Self {
        let removed = vec![false; edges.len()];
        Self { edges, removed }
    }

    /// Removes `steps` from the graph.
    pub(in crate::check) fn remove(&mut self, steps: &[u32]) {
        for step in steps {
            if let Some(removed) = self.removed.get_mut(*step as usize) {
                *removed = true;
            }
        }
    }

    fn next(&self, step: u32) -> impl Iterator<Item = u32> {
        let from = if self.is_removed(step) {
            None
        } else {
            self.edges.get(step as usize)
        };
        from.into_iter()
            .flatten()
            .copied()
            .filter(|next| !self.is_removed(*next))
    }

    fn is_removed(&self, step: u32) -> bool {
        self.removed.get(step as usize).copied().unwrap_or(true)
    }

    /// Returns the sets of steps that all depend on each other, each sorted, in the order of their first steps. Linear
    /// in the graph.
    ///
    /// Implements Tarjan's algorithm for strongly connected components (SIAM Journal on Computing 1, 1972) with an
    /// explicit stack.
    pub(in crate::check) fn cyclic_components(&self) -> Vec<Vec<u32>> {
        let mut search = TarjanSearch {
            numbers: vec![None; self.edges.len()],
            lowest: vec![0; self.edges.len()],
            on_stack: vec![false; self.edges.len()],
            stack: Vec::new(),
            counter: 0,
        };
        let mut found = Vec::new();
        for start in 0..u32::try_from(self.edges.len()).unwrap_or(u32::MAX) {
            if !self.is_removed(start) && search.number(start).is_none() {
                search.from(self, start, &mut found);
            }
        }
        found.retain(|set: &Vec<u32>| match set.as_slice() {
            // A single step is a cycle only if it depends on itself.
            [only] => self.next(*only).any(|next| next == *only),
            _ => true,
        });
        for set in &mut found {
            set.sort_unstable();
        }
        found.sort_unstable();
        found
    }
}

struct TarjanSearch {
    numbers: Vec<Option<u32>>,
    lowest: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    counter: u32,
}

impl TarjanSearch {
    fn number(&self, step: u32) -> Option<u32> {
        self.numbers.get(step as usize).copied().flatten()
    }

    fn lowest(&self, step: u32) -> u32 {
        self.lowest.get(step as usize).copied().unwrap_or(u32::MAX)
    }

    fn lower(&mut self, step: u32, bound: u32) {
        if let Some(lowest) = self.lowest.get_mut(step as usize) {
            *lowest = bound.min(*lowest);
        }
    }

    fn set_on_stack(&mut self, step: u32, value: bool) {
        if let Some(on_stack) = self.on_stack.get_mut(step as usize) {
            *on_stack = value;
        }
    }

    fn enter(&mut self, step: u32) {
        let index = step as usize;
        if let (Some(number), Some(lowest)) =
            (self.numbers.get_mut(index), self.lowest.get_mut(index))
        {
            *number = Some(self.counter);
            *lowest = self.counter;
        }
        self.counter += 1;
        self.stack.push(step);
        self.set_on_stack(step, true);
    }

    fn from(&mut self, graph: &DependencyGraph, start: u32, found: &mut Vec<Vec<u32>>) {
        self.enter(start);
        let mut path = vec![(start, graph.next(start).collect::<Vec<u32>>().into_iter())];
        while let Some((step, rest)) = path.last_mut() {
            let step = *step;
            if let Some(next) = rest.next() {
                match self.number(next) {
                    None => {
                        self.enter(next);
                        path.push((next, graph.next(next).collect::<Vec<u32>>().into_iter()));
                    }
                    Some(number) if self.on_stack.get(next as usize) == Some(&true) => {
                        self.lower(step, number);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let lowest = self.lowest(step);
            if let Some((before, _)) = path.last() {
                self.lower(*before, lowest);
            }
            // No step below reaches further up: the stack above is one component.
            if self.number(step) == Some(lowest) {
                let mut set = Vec::new();
                while let Some(member) = self.stack.pop() {
                    self.set_on_stack(member, false);
                    set.push(member);
                    if member == step {
                        break;
                    }
                }
                found.push(set);
            }
        }
    }
}

/// Returns the shortest cycle through the first step of `component`, by breadth-first search inside it. Each step waits
/// for the next, the last for the first.
pub(in crate::check) fn shortest_cycle(
    graph: &DependencyGraph,
    component: &[u32],
) -> Option<Vec<u32>> {
    let start = *component.first()?;
    let mut came_from: HashMap<u32, u32> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(step) = open.pop_front() {
        for next in graph.next(step) {
            if next == start {
                let mut cycle = vec![step];
                let mut at = step;
                while at != start {
                    at = *came_from.get(&at)?;
                    cycle.push(at);
                }
                cycle.reverse();
                return Some(cycle);
            }
            // Steps outside the component cannot lead back.
            if component.binary_search(&next).is_ok() && !came_from.contains_key(&next) {
                came_from.insert(next, step);
                open.push_back(next);
            }
        }
    }
    None
}
