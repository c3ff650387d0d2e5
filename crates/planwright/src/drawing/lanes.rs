//! The order in which steps are drawn, and the lanes between steps row by row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::Graph;
use super::symbols::{LineEnds, Symbols};

/// The maximum number of lanes side by side. A step without a lane is named in the rows of the steps that wait for it.
const MAX_LANES: usize = 12;

/// The row of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StepRow {
    /// The step.
    pub(super) step: usize,
    /// The line above, if one is needed.
    pub(super) joint: Option<String>,
    /// The part to the left of the step's symbol.
    pub(super) left: String,
    /// The part to the right of it.
    pub(super) right: String,
    /// The lanes of a further line of text below.
    pub(super) below: String,
    /// The steps that it waits for and no lane leads from.
    pub(super) named: Vec<usize>,
    /// The steps in later rows that it waits for: a cycle.
    pub(super) cycle: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    step: usize,
    /// The row after which it ends.
    last: usize,
    /// The last row in which data flows through the lane.
    last_solid: Option<usize>,
    /// The last row in which a marked value flows through the lane.
    last_marked: Option<usize>,
}

/// The facts about a step that are known before the rows are drawn.
#[derive(Clone, Debug, Default)]
struct Waits {
    on: Vec<usize>,
    cycle: Vec<usize>,
    last: Option<usize>,
    last_solid: Option<usize>,
    last_marked: Option<usize>,
    /// True if marked values flow into it.
    is_reached: bool,
}

/// The rows of `graph`, in order.
pub(super) fn rows(graph: &Graph, order: &RowOrder, symbols: Symbols) -> Vec<StepRow> {
    let waits = waits(graph, order);
    let mut weaver = Weaver {
        waits: &waits,
        symbols,
        lanes: Vec::new(),
        column_above: None,
    };
    order
        .steps
        .iter()
        .enumerate()
        .map(|(row, step)| weaver.row(row, *step))
        .collect()
}

fn waits(graph: &Graph, order: &RowOrder) -> Vec<Waits> {
    let mut waits = vec![Waits::default(); graph.steps.len()];
    for edge in &graph.edges {
        let row = order.rows[edge.to];
        if order.rows[edge.from] >= row {
            waits[edge.to].cycle.push(edge.from);
            continue;
        }
        waits[edge.to].on.push(edge.from);
        let from = &mut waits[edge.from];
        from.last = from.last.max(Some(row));
        if edge.is_solid() {
            from.last_solid = from.last_solid.max(Some(row));
        }
        if edge.mark().is_some() {
            from.last_marked = from.last_marked.max(Some(row));
            waits[edge.to].is_reached = true;
        }
    }
    for wait in &mut waits {
        wait.on.sort_unstable();
        wait.on.dedup();
        wait.cycle.dedup();
    }
    waits
}

struct Weaver<'a> {
    waits: &'a [Waits],
    symbols: Symbols,
    lanes: Vec<Option<Lane>>,
    /// The column of the step in the row above.
    column_above: Option<usize>,
}

impl Weaver<'_> {
    fn row(&mut self, row: usize, step: usize) -> StepRow {
        let waits = &self.waits[step];
        let joined: Vec<usize> = self.columns(|lane| waits.on.binary_search(&lane.step).is_ok());
        let named: Vec<usize> = waits
            .on
            .iter()
            .filter(|on| !self.lanes.iter().flatten().any(|lane| lane.step == **on))
            .copied()
            .collect();
        let ended = self.columns(|lane| lane.last <= row);
        let column = joined
            .iter()
            .find(|column| ended.contains(column))
            .copied()
            .unwrap_or_else(|| self.free_column());
        let joint = self.joint(row, &joined, &ended, column, waits.is_reached);
        for gone in &ended {
            self.lanes[*gone] = None;
        }
        let left = self.line(row, 0, column);
        let right = self.line(row, column + 1, self.lanes.len());
        if let Some(last) = waits.last
            && column < MAX_LANES
        {
            if self.lanes.len() <= column {
                self.lanes.resize(column + 1, None);
            }
            self.lanes[column] = Some(Lane {
                step,
                last,
                last_solid: waits.last_solid,
                last_marked: waits.last_marked,
            });
        }
        self.column_above = Some(column);
        StepRow {
            step,
            joint,
            left,
            right,
            below: self.line(row, 0, self.lanes.len()),
            named,
            cycle: waits.cycle.clone(),
        }
    }

    fn columns(&self, wanted: impl Fn(&Lane) -> bool) -> Vec<usize> {
        let is_wanted = |lane: &Option<Lane>| lane.as_ref().is_some_and(&wanted);
        (0..self.lanes.len())
            .filter(|column| is_wanted(&self.lanes[*column]))
            .collect()
    }

    fn free_column(&self) -> usize {
        self.lanes
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.lanes.len())
    }

    /// The lanes from column `from` to before column `to`, as they are below `row`.
    fn line(&self, row: usize, from: usize, to: usize) -> String {
        let mut line = String::new();
        for column in from..to {
            let lane = self.lanes.get(column).and_then(Option::as_ref);
            line.push_str(lane.map_or(" ", |lane| self.straight(lane, row)));
            line.push(' ');
        }
        line
    }

    fn straight(&self, lane: &Lane, row: usize) -> &'static str {
        let row = Some(row);
        self.symbols
            .lane(lane.last_solid > row, lane.last_marked > row)
    }

    /// The line that joins the lanes in the columns `joined` with the step that comes in `column`; marked values may reach it.
    fn joint(
        &self,
        row: usize,
        joined: &[usize],
        ended: &[usize],
        column: usize,
        is_reached: bool,
    ) -> Option<String> {
        let first = *joined.first()?.min(&column);
        let last = *joined.last()?.max(&column);
        let is_straight = first == last;
        if is_straight && self.column_above != Some(column) {
            return None;
        }
        let mut line = String::new();
        for at in 0..self.lanes.len().max(column + 1) {
            let lane = self.lanes.get(at).and_then(Option::as_ref);
            let is_between = first < at && at < last;
            let is_joined = at == column || joined.contains(&at);
            line.push_str(if is_joined && !is_straight {
                self.symbols.joint(LineEnds {
                    up: lane.is_some(),
                    down: at == column || !ended.contains(&at),
                    left: first < at,
                    right: at < last,
                    marked: match lane {
                        Some(lane) => lane.last_marked >= Some(row),
                        None => is_reached,
                    },
                })
            } else if let Some(lane) = lane {
                // The path into the row counts, because the lane may end there.
                let row = Some(row);
                self.symbols
                    .lane(lane.last_solid >= row, lane.last_marked >= row)
            } else if is_between {
                self.symbols.horizontal()
            } else {
                " "
            });
            line.push_str(if first <= at && at < last {
                self.symbols.horizontal()
            } else {
                " "
            });
        }
        Some(line)
    }
}

/// The rows of a drawing.
#[derive(Debug)]
pub(super) struct RowOrder {
    /// The step of each row.
    pub(super) steps: Vec<usize>,
    /// The row of each step.
    pub(super) rows: Vec<usize>,
    /// The number of steps of the longest chain of steps that wait for each other.
    pub(super) longest_chain: usize,
}

impl RowOrder {
    /// The order of `graph`. Of steps that wait for each other in a cycle, the first one written comes first.
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
