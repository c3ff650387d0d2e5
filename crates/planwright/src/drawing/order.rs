//! The order in which steps are drawn: as written, but none before what it waits for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::Graph;

/// The rows of a drawing.
#[derive(Debug)]
pub(super) struct Order {
    /// The step of each row.
    pub(super) steps: Vec<usize>,
    /// The row of each step.
    pub(super) rows: Vec<usize>,
    /// The number of steps of the longest chain of steps that wait for each other.
    pub(super) longest_chain: usize,
}

impl Order {
    /// The order of `graph`. Of steps that wait for each other in a circle, the first one written comes first.
    pub(super) fn of(graph: &Graph) -> Self {
        let count = graph.steps.len();
        let mut readers = vec![Vec::new(); count];
        let mut open = vec![0_usize; count];
        for edge in graph.edges.iter().filter(|edge| edge.from != edge.to) {
            readers[edge.from].push(edge.to);
            open[edge.to] += 1;
        }
        let mut ready: BinaryHeap<Reverse<usize>> = (0..count)
            .filter(|step| open[*step] == 0)
            .map(Reverse)
            .collect();
        let mut rows = vec![usize::MAX; count];
        let mut chain = vec![1_usize; count];
        let mut steps = Vec::with_capacity(count);
        let mut unplaced = 0;
        while steps.len() < count {
            let step = if let Some(Reverse(step)) = ready.pop() {
                step
            } else {
                while rows[unplaced] != usize::MAX {
                    unplaced += 1;
                }
                unplaced
            };
            if rows[step] != usize::MAX {
                continue;
            }
            rows[step] = steps.len();
            steps.push(step);
            for reader in &readers[step] {
                open[*reader] -= 1;
                if rows[*reader] == usize::MAX {
                    chain[*reader] = chain[*reader].max(chain[step] + 1);
                    if open[*reader] == 0 {
                        ready.push(Reverse(*reader));
                    }
                }
            }
        }
        Self {
            steps,
            rows,
            longest_chain: chain.into_iter().max().unwrap_or(0),
        }
    }
}
