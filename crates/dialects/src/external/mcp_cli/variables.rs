//! The step that writes a variable, if several do and their order is only partly known.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The dependencies and the variable of a step.
#[derive(Clone, Debug)]
pub(super) struct StepLink<'a> {
    /// The index of the step.
    pub(super) index: &'a str,
    /// The indices of its dependencies.
    pub(super) after: Vec<&'a str>,
    /// The variable that it writes.
    pub(super) result: Option<&'a str>,
}

/// The source of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableOrigin {
    /// The step at this position.
    Step(usize),
    /// The plan or its caller.
    Initial,
}

/// The writers of all variables in execution order: by `depends_on`, else as listed.
#[derive(Debug)]
pub(super) struct VariableWriters<'a> {
    /// The rank of each step in that order.
    ranks: Vec<usize>,
    /// The writers of each variable by rank.
    writers: HashMap<&'a str, Vec<VariableWriter>>,
}

#[derive(Clone, Copy, Debug)]
struct VariableWriter {
    rank: usize,
    position: usize,
}

impl<'a> VariableWriters<'a> {
    /// Ranks all steps in O(steps · log steps + dependencies).
    pub(super) fn of(links: &[StepLink<'a>]) -> Self {
        let order = execution_order(links);
        let mut ranks = vec![0; links.len()];
        let mut writers: HashMap<&str, Vec<VariableWriter>> = HashMap::new();
        for (rank, position) in order.into_iter().enumerate() {
            ranks[position] = rank;
            if let Some(name) = links[position].result {
                let writer = VariableWriter { rank, position };
                writers.entry(name).or_default().push(writer);
            }
        }
        Self { ranks, writers }
    }

    /// The source from which the step at `reader` reads `name`. `declared`: the plan gives the variable a value.
    pub(super) fn origin(&self, name: &str, reader: usize, declared: bool) -> VariableOrigin {
        let rank = self.ranks[reader];
        let writers = self.writers.get(name).map_or(&[][..], Vec::as_slice);
        // The latest writer before the reader counts; later ones only if nothing else provides a value.
        let (before, rest) = writers.split_at(writers.partition_point(|one| one.rank < rank));
        if let Some(writer) = before.last() {
            return VariableOrigin::Step(writer.position);
        }
        let later = rest.iter().find(|writer| writer.position != reader);
        match later {
            Some(writer) if !declared => VariableOrigin::Step(writer.position),
            _ => VariableOrigin::Initial,
        }
    }
}

/// The positions of all steps, each after its dependencies, else as listed. Steps in a cycle, and those that depend on
/// one, come last.
fn execution_order(links: &[StepLink<'_>]) -> Vec<usize> {
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(links.len());
    for (position, link) in links.iter().enumerate() {
        positions.entry(link.index).or_insert(position);
    }
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
    let mut waiting = vec![0usize; links.len()];
    for (position, link) in links.iter().enumerate() {
        for index in &link.after {
            if let Some(first) = positions.get(index) {
                followers[*first].push(position);
                waiting[position] += 1;
            }
        }
    }
    // The heap yields ready steps in listed order.
    let mut ready: BinaryHeap<Reverse<usize>> = (0..links.len())
        .filter(|position| waiting[*position] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(links.len());
    while let Some(Reverse(position)) = ready.pop() {
        order.push(position);
        for follower in &followers[position] {
            waiting[*follower] -= 1;
            if waiting[*follower] == 0 {
                ready.push(Reverse(*follower));
            }
        }
    }
    let unordered = (0..links.len()).filter(|position| waiting[*position] > 0);
    order.extend(unordered);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link<'a>(index: &'a str, after: &[&'a str], result: &'a str) -> StepLink<'a> {
        StepLink {
            index,
            after: after.to_vec(),
            result: (!result.is_empty()).then_some(result),
        }
    }

    #[test]
    fn the_origin_of_a_variable() {
        let listed = [
            link("1", &[], "x"),
            link("2", &[], ""),
            link("3", &[], "x"),
            link("4", &[], ""),
        ];
        let reordered = [
            link("1", &["3"], ""),
            link("2", &["1"], "x"),
            link("3", &[], "x"),
        ];
        let cycle = [
            link("1", &["2"], "x"),
            link("2", &["1"], "x"),
            link("3", &["ghost"], ""),
        ];
        let cases: [(&[StepLink<'_>], &str, usize, bool, VariableOrigin); 11] = [
            (&listed, "x", 1, false, VariableOrigin::Step(0)),
            (&listed, "x", 3, true, VariableOrigin::Step(2)),
            (&listed, "x", 0, false, VariableOrigin::Step(2)),
            (&listed, "x", 0, true, VariableOrigin::Initial),
            (&listed, "x", 2, false, VariableOrigin::Step(0)),
            (&listed, "y", 2, false, VariableOrigin::Initial),
            (&reordered, "x", 0, false, VariableOrigin::Step(2)),
            (&reordered, "x", 1, false, VariableOrigin::Step(2)),
            (&reordered, "x", 2, false, VariableOrigin::Step(1)),
            (&cycle, "x", 2, false, VariableOrigin::Step(0)),
            (&cycle, "x", 0, false, VariableOrigin::Step(1)),
        ];
        for (links, name, reader, declared, wanted) in cases {
            let writers = VariableWriters::of(links);
            assert_eq!(
                writers.origin(name, reader, declared),
                wanted,
                "{name} at {reader} of {links:?}"
            );
        }
    }
}
