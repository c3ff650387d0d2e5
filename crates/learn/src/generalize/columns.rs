//! The alignment of traces: the calls that do the same in each of them.

use std::sync::Arc;

use crate::trace::TracedCall;

/// Calls of one tool that follow one another, in each trace that has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallColumn {
    pub(super) tool: Arc<str>,
    /// The positions of the calls in each trace; `None` if a trace has no such call.
    pub(super) calls: Vec<Option<Vec<usize>>>,
}

impl CallColumn {
    /// Returns the traces that have the calls.
    pub(super) fn present(&self) -> Vec<usize> {
        let calls = self.calls.iter().enumerate();
        calls
            .filter_map(|(trace, calls)| calls.as_ref().map(|_| trace))
            .collect()
    }

    /// Returns the single number of calls of all traces that have them; `None` if the numbers differ.
    pub(super) fn count(&self) -> Option<usize> {
        let mut counts = self.calls.iter().flatten().map(Vec::len);
        let first = counts.next()?;
        counts.all(|count| count == first).then_some(first)
    }

    /// Returns a column for each call, if all traces have `count` of them.
    pub(super) fn single(&self, count: usize) -> impl Iterator<Item = CallColumn> {
        (0..count).map(|index| CallColumn {
            tool: Arc::clone(&self.tool),
            calls: self
                .calls
                .iter()
                .map(|calls| Some(vec![*calls.as_ref()?.get(index)?]))
                .collect(),
        })
    }
}

/// Maximum number of cells of the table that aligns two traces.
const MAX_CELLS: usize = 4_000_000;

/// Aligns traces by the names of their tools.
pub(super) fn align(traces: &[Vec<TracedCall>]) -> Vec<CallColumn> {
    let mut columns: Vec<CallColumn> = Vec::new();
    for (number, trace) in traces.iter().enumerate() {
        let groups = groups(trace);
        let pairs = common(&columns, &groups);
        let mut aligned = Vec::with_capacity(columns.len().max(groups.len()));
        let (mut old, mut new) = (columns.into_iter(), groups.into_iter());
        let (mut next_old, mut next_new) = (0, 0);
        let ends = pairs.into_iter().map(Some).chain([None]);
        for pair in ends {
            let (until_old, until_new) = pair.unwrap_or((usize::MAX, usize::MAX));
            while next_old < until_old
                && let Some(mut column) = old.next()
            {
                column.calls.push(None);
                aligned.push(column);
                next_old += 1;
            }
            while next_new < until_new
                && let Some((tool, calls)) = new.next()
            {
                let mut all = vec![None; number];
                all.push(Some(calls));
                aligned.push(CallColumn { tool, calls: all });
                next_new += 1;
            }
            if pair.is_some()
                && let (Some(mut column), Some((_, calls))) = (old.next(), new.next())
            {
                column.calls.push(Some(calls));
                aligned.push(column);
                next_old += 1;
                next_new += 1;
            }
        }
        columns = aligned;
    }
    columns
}

/// Returns the calls of a trace in groups of one tool.
fn groups(trace: &[TracedCall]) -> Vec<(Arc<str>, Vec<usize>)> {
    let mut groups: Vec<(Arc<str>, Vec<usize>)> = Vec::new();
    for (index, call) in trace.iter().enumerate() {
        match groups.last_mut() {
            Some((tool, calls)) if *tool == call.tool => calls.push(index),
            Some(_) | None => groups.push((Arc::clone(&call.tool), vec![index])),
        }
    }
    groups
}

/// Returns the positions of a longest common subsequence of tools.
fn common(columns: &[CallColumn], groups: &[(Arc<str>, Vec<usize>)]) -> Vec<(usize, usize)> {
    let same = |i: usize, j: usize| match (columns.get(i), groups.get(j)) {
        (Some(column), Some((tool, _))) => column.tool == *tool,
        _ => false,
    };
    let prefix = (0..columns.len().min(groups.len()))
        .take_while(|index| same(*index, *index))
        .count();
    let mut pairs: Vec<(usize, usize)> = (0..prefix).map(|index| (index, index)).collect();
    let (rows, width) = (columns.len() - prefix, groups.len() - prefix);
    // Beyond the limit, only the common beginning is aligned, and the rest is reported as differing.
    if rows.saturating_mul(width) > MAX_CELLS {
        return pairs;
    }
    let mut lengths = vec![vec![0_usize; width + 1]; rows + 1];
    let at = |lengths: &[Vec<usize>], i: usize, j: usize| {
        lengths
            .get(i)
            .and_then(|row| row.get(j))
            .copied()
            .unwrap_or(0)
    };
    for i in (0..rows).rev() {
        for j in (0..width).rev() {
            let length = if same(prefix + i, prefix + j) {
                at(&lengths, i + 1, j + 1) + 1
            } else {
                at(&lengths, i + 1, j).max(at(&lengths, i, j + 1))
            };
            if let Some(cell) = lengths.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows && j < width {
        if same(prefix + i, prefix + j) {
            pairs.push((prefix + i, prefix + j));
            i += 1;
            j += 1;
        } else if at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
