//! The places of the boxes inside of a layer: side by side, or in the columns of a grid if the layer would be too wide for a screen.

use super::geometry::{BoxSize, real};

/// The gap between two steps of a layer, in pixels.
const GAP: f64 = 20.0;
/// The gap between two layers, in pixels.
pub(super) const LAYER_GAP: f64 = 40.0;
/// The width up to which the boxes of a layer are side by side, in pixels.
const MAX_WIDTH: f64 = 3000.0;
/// The ratio of the width of a large grid to its height.
const ASPECT: f64 = 1.6;
/// The distance of the lines in a gap between two columns from its middle, in pixels.
const LINE_OFFSET: f64 = 4.0;

/// The places of the nodes of a layer, by the position in it.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// The column of each node.
    pub(super) columns: Vec<usize>,
    /// The row of each box. A crossing runs past all rows.
    pub(super) rows: Vec<usize>,
    /// The width of each column.
    widths: Vec<f64>,
    /// The upper and lower side of each row, from the top of the layer.
    sides: Vec<(f64, f64)>,
}

impl Grid {
    /// Places nodes, whose sizes are in their order. Those without a height are crossings of edges, which need no place in a column.
    pub(super) fn of(sizes: &[BoxSize]) -> Self {
        let rows = row_count(sizes);
        let mut grid = Self::default();
        let mut boxes = 0;
        let count = sizes.iter().filter(|size| is_box(size)).count();
        for (position, size) in sizes.iter().enumerate() {
            let (column, row) = match rows {
                1 => (position, 0),
                // A crossing is beside the column of the next box.
                _ => (boxes.min(count.saturating_sub(1)) / rows, boxes % rows),
            };
            boxes += usize::from(is_box(size));
            grid.columns.push(column);
            grid.rows.push(row);
            if grid.widths.len() <= column {
                grid.widths.resize(column + 1, 0.0);
            }
            grid.widths[column] = grid.widths[column].max(size.width);
            if grid.sides.len() <= row {
                grid.sides.resize(row + 1, (0.0, 0.0));
            }
            grid.sides[row].1 = grid.sides[row].1.max(size.height);
        }
        let mut top = 0.0;
        for (upper, lower) in &mut grid.sides {
            (*upper, *lower) = (top, top + *lower);
            top = *lower + LAYER_GAP;
        }
        grid
    }

    /// True if the layer has several rows.
    pub(super) fn is_folded(&self) -> bool {
        self.sides.len() > 1
    }

    /// The height of the layer.
    pub(super) fn height(&self) -> f64 {
        self.sides.last().map_or(0.0, |(_, lower)| *lower)
    }

    /// The upper side of a row, from the top of the layer.
    pub(super) fn top(&self, row: usize) -> f64 {
        self.sides.get(row).map_or(0.0, |(upper, _)| *upper)
    }

    /// The lower side of the row before a row, if there is one.
    pub(super) fn end_of_previous(&self, row: usize) -> Option<f64> {
        let (_, lower) = self.sides.get(row.checked_sub(1)?)?;
        Some(*lower)
    }

    /// The upper side of the row after a row, if there is one.
    pub(super) fn start_of_next(&self, row: usize) -> Option<f64> {
        self.sides.get(row + 1).map(|(upper, _)| *upper)
    }

    /// The minimum distances between the centres of neighbours. The nodes of a column have the same centre.
    pub(super) fn gaps(&self) -> Vec<f64> {
        let distance = |pair: &[usize]| {
            if pair[0] == pair[1] {
                0.0
            } else {
                self.column_gap(pair[0])
            }
        };
        self.columns.windows(2).map(distance).collect()
    }

    /// The distances between the centres of the columns.
    pub(super) fn column_gaps(&self) -> Vec<f64> {
        let before_last = 0..self.widths.len().saturating_sub(1);
        before_last.map(|column| self.column_gap(column)).collect()
    }

    /// Gives the nodes of each column the same centre. `row` has the nodes of the layer in order.
    pub(super) fn align(&self, row: &[usize], centres: &mut [f64]) {
        let gaps = self.column_gaps();
        let mut sums = vec![(0.0, 0); gaps.len() + 1];
        for (node, column) in row.iter().zip(&self.columns) {
            sums[*column].0 += centres[*node];
            sums[*column].1 += 1;
        }
        let wanted: Vec<f64> = (sums.iter())
            .map(|(sum, count)| sum / real(*count))
            .collect();
        let found = separated(&wanted, &gaps);
        for (node, column) in row.iter().zip(&self.columns) {
            centres[*node] = found[*column];
        }
    }

    fn column_gap(&self, column: usize) -> f64 {
        f64::midpoint(self.widths[column], self.widths[column + 1]) + GAP
    }

    /// The distance from the centre of a column to the lines on either side of it.
    pub(super) fn to_line(&self, column: usize) -> f64 {
        let width = self.widths.get(column).copied().unwrap_or_default();
        width / 2.0 + GAP / 2.0 - LINE_OFFSET
    }
}

fn is_box(size: &BoxSize) -> bool {
    size.height > 0.0
}

/// The number of rows with which the boxes of a layer are about as wide as high, or fit a screen.
fn row_count(sizes: &[BoxSize]) -> usize {
    let boxes = || sizes.iter().filter(|size| is_box(size));
    let width: f64 = boxes().map(|size| size.width + GAP).sum();
    if width <= MAX_WIDTH {
        return 1;
    }
    let highest = boxes().map(|size| size.height).fold(0.0, f64::max);
    let target = (width * (highest + LAYER_GAP) * ASPECT)
        .sqrt()
        .max(MAX_WIDTH);
    (1..boxes().count())
        .zip((1..).map(f64::from))
        .find(|(_, rows)| width / rows <= target)
        .map_or(1, |(rows, _)| rows)
}

/// The positions nearest to the `wanted` ones, by least squares, whose distances are at least `gaps`: isotonic regression by pooling
/// adjacent violators, after the gaps are taken out.
pub(super) fn separated(wanted: &[f64], gaps: &[f64]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(wanted.len());
    let mut offset = 0.0;
    for position in 0..wanted.len() {
        if let Some(gap) = position.checked_sub(1).and_then(|before| gaps.get(before)) {
            offset += gap;
        }
        offsets.push(offset);
    }
    // The pools: the sum and the number of their positions.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        let mut pool = (wanted - offset, 1);
        while let Some((sum, count)) = pools.last()
            && sum / real(*count) > pool.0 / real(pool.1)
        {
            pool = (pool.0 + sum, pool.1 + count);
            pools.pop();
        }
        pools.push(pool);
    }
    let levels = pools
        .into_iter()
        .flat_map(|(sum, count)| std::iter::repeat_n(sum / real(count), count));
    levels
        .zip(&offsets)
        .map(|(level, offset)| level + offset)
        .collect()
}
