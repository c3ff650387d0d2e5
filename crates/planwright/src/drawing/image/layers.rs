//! The layout of a graph in layers, for pictures with coordinates: steps that could start together share a layer, and edges run
//! downwards between them. A layer that is too wide for a screen is broken into rows.
//!
//! The method is that of K. Sugiyama, S. Tagawa and M. Toda, "Methods for Visual Understanding of Hierarchical System Structures" (IEEE
//! Transactions on Systems, Man, and Cybernetics 11, 1981): layers by the longest path, orders by the barycentres of the neighbours.
//! The horizontal positions minimise the squares of the distances to the neighbours, for the order that was found.

use super::fenwick_tree::FenwickTree;
use super::geometry::{BoxSize, Point, real};
use super::grid::{Grid, LAYER_GAP, separated};
use crate::drawing::lanes::RowOrder;

/// The width that an edge takes where it crosses a layer, in pixels.
const CROSSING_WIDTH: f64 = 6.0;
/// The maximum number of crossings of edges and layers. In a graph with more, long edges are drawn straight, behind the steps.
const MAX_CROSSINGS: usize = 20_000;
/// The number of sweeps over the layers that search for an order with few crossings, and for positions.
const SWEEPS: usize = 8;
/// The number of nodes from which only two sweeps are made, so that a plan of 10,000 steps is drawn without a delay.
const MANY_NODES: usize = 4_000;

/// The positions of a graph.
#[derive(Debug, Default)]
pub(in crate::drawing) struct Layout {
    /// The upper left corner of each step's box.
    pub(in crate::drawing) boxes: Vec<Point>,
    /// For each edge, the points that it runs through, from the step that is waited for; empty for an edge of a step to itself.
    pub(in crate::drawing) edges: Vec<Vec<Point>>,
    /// The size of the whole.
    pub(in crate::drawing) size: BoxSize,
}

/// Lays out boxes of `sizes` with the `edges` between them. Edges against `order`, which are those of cycles, run upwards.
pub(in crate::drawing) fn layout(
    sizes: &[BoxSize],
    edges: &[(usize, usize)],
    order: &RowOrder,
) -> Layout {
    let mut layers = Layers::new(sizes, edges, order);
    let sweeps = if layers.nodes.len() > MANY_NODES {
        2
    } else {
        SWEEPS
    };
    layers.reduce_crossings(sweeps);
    let grids = layers.grids();
    let centres = layers.centres(sweeps, &grids);
    layers.finish(edges, &centres, &grids)
}

/// A box, or the place where a long edge crosses a layer.
#[derive(Clone, Debug)]
struct Node {
    size: BoxSize,
    layer: usize,
    /// The position in its layer.
    position: usize,
    above: Vec<usize>,
    below: Vec<usize>,
}

struct Layers {
    /// The boxes, followed by the crossings.
    nodes: Vec<Node>,
    /// The nodes of each layer, from left to right.
    rows: Vec<Vec<usize>>,
    /// The number of boxes.
    boxes: usize,
    /// For each edge, its crossings from above to below.
    crossings: Vec<Vec<usize>>,
}

impl Layers {
    fn new(sizes: &[BoxSize], edges: &[(usize, usize)], order: &RowOrder) -> Self {
        let downwards: Vec<(usize, usize)> = edges
            .iter()
            .map(|(from, to)| {
                if order.rows[*from] <= order.rows[*to] {
                    (*from, *to)
                } else {
                    (*to, *from)
                }
            })
            .collect();
        let mut readers = vec![Vec::new(); sizes.len()];
        for (from, to) in downwards.iter().filter(|(from, to)| from != to) {
            readers[*from].push(*to);
        }
        let mut layer = vec![0_usize; sizes.len()];
        for step in &order.steps {
            for reader in &readers[*step] {
                layer[*reader] = layer[*reader].max(layer[*step] + 1);
            }
        }
        let nodes = sizes.iter().zip(&layer).map(|(size, layer)| Node {
            size: *size,
            layer: *layer,
            position: 0,
            above: Vec::new(),
            below: Vec::new(),
        });
        let mut layers = Self {
            nodes: nodes.collect(),
            rows: vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)],
            boxes: sizes.len(),
            crossings: Vec::with_capacity(edges.len()),
        };
        for step in &order.steps {
            layers.rows[layer[*step]].push(*step);
        }
        let length = |(from, to): &(usize, usize)| layer[*to] - layer[*from];
        let total: usize = downwards
            .iter()
            .map(|edge| length(edge).saturating_sub(1))
            .sum();
        for edge in &downwards {
            let crossings = if total > MAX_CROSSINGS {
                Vec::new()
            } else {
                layers.add_crossings(*edge)
            };
            if edge.0 != edge.1 {
                layers.connect(*edge, &crossings);
            }
            layers.crossings.push(crossings);
        }
        layers.number();
        layers
    }

    fn add_crossings(&mut self, (from, to): (usize, usize)) -> Vec<usize> {
        let (first, last) = (self.nodes[from].layer, self.nodes[to].layer);
        (first + 1..last)
            .map(|layer| {
                let node = self.nodes.len();
                self.nodes.push(Node {
                    size: BoxSize {
                        width: CROSSING_WIDTH,
                        height: 0.0,
                    },
                    layer,
                    position: 0,
                    above: Vec::new(),
                    below: Vec::new(),
                });
                self.rows[layer].push(node);
                node
            })
            .collect()
    }

    fn connect(&mut self, (from, to): (usize, usize), crossings: &[usize]) {
        let mut above = from;
        for node in crossings.iter().copied().chain([to]) {
            self.nodes[above].below.push(node);
            self.nodes[node].above.push(above);
            above = node;
        }
    }

    fn number(&mut self) {
        for row in &self.rows {
            for (position, node) in row.iter().enumerate() {
                self.nodes[*node].position = position;
            }
        }
    }

    /// Orders the nodes of each layer by the mean position of their neighbours, down and up in turn. The best order that was met stays.
    fn reduce_crossings(&mut self, sweeps: usize) {
        let mut best = self.rows.clone();
        let mut fewest = self.count_crossings();
        for sweep in 0..sweeps {
            if fewest == 0 {
                break;
            }
            let is_down = sweep % 2 == 0;
            let count = self.rows.len();
            for index in 0..count {
                let layer = if is_down { index } else { count - 1 - index };
                self.sort_layer(layer, is_down);
            }
            let crossings = self.count_crossings();
            if crossings < fewest {
                fewest = crossings;
                best.clone_from(&self.rows);
            }
        }
        self.rows = best;
        self.number();
    }

    fn sort_layer(&mut self, layer: usize, by_above: bool) {
        let mut row = std::mem::take(&mut self.rows[layer]);
        let mut keyed: Vec<(f64, usize)> = row
            .iter()
            .map(|node| {
                let neighbours = self.neighbours(*node, by_above);
                let positions = neighbours.iter().map(|other| self.nodes[*other].position);
                // A node without neighbours stays where it is.
                let own = self.nodes[*node].position;
                (mean(positions.map(real)).unwrap_or(real(own)), *node)
            })
            .collect();
        // The sort is stable, so equal nodes keep their order.
        keyed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        row.clear();
        row.extend(keyed.into_iter().map(|(_, node)| node));
        for (position, node) in row.iter().enumerate() {
            self.nodes[*node].position = position;
        }
        self.rows[layer] = row;
    }

    fn neighbours(&self, node: usize, above: bool) -> &[usize] {
        if above {
            &self.nodes[node].above
        } else {
            &self.nodes[node].below
        }
    }

    /// Counts the pairs of edges that cross between layers: the inversions of the lower ends, in the order of the upper ones.
    fn count_crossings(&self) -> usize {
        let mut total = 0;
        for (layer, row) in self.rows.iter().enumerate() {
            let width = self.rows.get(layer + 1).map_or(0, Vec::len);
            let mut counts = FenwickTree::new(width);
            let mut seen = 0;
            for node in row {
                let mut ends: Vec<usize> = self.nodes[*node]
                    .below
                    .iter()
                    .map(|below| &self.nodes[*below])
                    .filter(|below| below.layer == layer + 1)
                    .map(|below| below.position)
                    .collect();
                ends.sort_unstable();
                for end in &ends {
                    total += seen - counts.up_to(*end);
                }
                for end in &ends {
                    counts.add(*end);
                }
                seen += ends.len();
            }
        }
        total
    }

    /// The places of the nodes of each layer.
    fn grids(&self) -> Vec<Grid> {
        let sizes = |row: &Vec<usize>| row.iter().map(|node| self.nodes[*node].size).collect();
        let sizes: Vec<Vec<BoxSize>> = self.rows.iter().map(sizes).collect();
        sizes.iter().map(|sizes| Grid::of(sizes)).collect()
    }

    /// The horizontal centre of each node.
    fn centres(&self, sweeps: usize, grids: &[Grid]) -> Vec<f64> {
        let mut centres = vec![0.0; self.nodes.len()];
        for (row, grid) in self.rows.iter().zip(grids) {
            let gaps = grid.gaps();
            for (node, centre) in row.iter().zip(separated(&vec![0.0; row.len()], &gaps)) {
                centres[*node] = centre;
            }
        }
        for sweep in 0..sweeps {
            let is_down = sweep % 2 == 0;
            let count = self.rows.len();
            for index in 0..count {
                let layer = if is_down { index } else { count - 1 - index };
                let row = &self.rows[layer];
                let wanted: Vec<f64> = row
                    .iter()
                    .map(|node| {
                        let both = (self.neighbours(*node, true).iter())
                            .chain(self.neighbours(*node, false));
                        let of_one = self.neighbours(*node, is_down).iter();
                        // The last sweeps balance both sides.
                        let found = if sweep + 2 < sweeps {
                            mean(of_one.map(|other| centres[*other]))
                        } else {
                            mean(both.map(|other| centres[*other]))
                        };
                        found.unwrap_or(centres[*node])
                    })
                    .collect();
                for (node, centre) in row.iter().zip(separated(&wanted, &grids[layer].gaps())) {
                    centres[*node] = centre;
                }
            }
        }
        for (row, grid) in self.rows.iter().zip(grids) {
            if grid.is_folded() {
                grid.align(row, &mut centres);
            }
        }
        centres
    }

    fn finish(&self, edges: &[(usize, usize)], centres: &[f64], grids: &[Grid]) -> Layout {
        let grid = |node: usize| &grids[self.nodes[node].layer];
        let column = |node: usize| grid(node).columns[self.nodes[node].position];
        let row = |node: usize| grid(node).rows[self.nodes[node].position];
        let left = |node: usize| centres[node] - self.nodes[node].size.width / 2.0;
        // Beside the columns of a folded layer are lines.
        let side = |node: usize| {
            let half = self.nodes[node].size.width / 2.0;
            if grid(node).is_folded() {
                half.max(grid(node).to_line(column(node)))
            } else {
                half
            }
        };
        let all = 0..self.nodes.len();
        let start = all.clone().map(|node| centres[node] - side(node));
        let start = start.fold(f64::INFINITY, f64::min);
        let start = if start.is_finite() { start } else { 0.0 };
        let end = all.map(|node| centres[node] + side(node));
        let width = end.fold(0.0, f64::max) - start;
        let mut tops = Vec::with_capacity(self.rows.len());
        let mut y = 0.0;
        for grid in grids {
            tops.push(y);
            y += grid.height() + LAYER_GAP;
        }
        let start_of_layer = |node: usize| tops[self.nodes[node].layer];
        let end_of_layer = |node: usize| start_of_layer(node) + grid(node).height();
        let top = |node: usize| start_of_layer(node) + grid(node).top(row(node));
        let boxes = (0..self.boxes).map(|node| Point {
            x: left(node) - start,
            y: top(node),
        });
        let x = |node: usize| centres[node] - start;
        let path = |(from, to): (usize, usize), crossings: &[usize]| {
            if from == to {
                return Vec::new();
            }
            let is_upwards = self.nodes[from].layer > self.nodes[to].layer;
            let (upper, lower) = if is_upwards { (to, from) } else { (from, to) };
            let mut points = vec![Point {
                x: x(upper),
                y: top(upper) + self.nodes[upper].size.height,
            }];
            // A line from a box to the end of its layer runs beside its column, past the rows below.
            if let Some(start_of_next) = grid(upper).start_of_next(row(upper)) {
                let beside = x(upper) + grid(upper).to_line(column(upper));
                points.push(Point {
                    x: beside,
                    y: start_of_layer(upper) + start_of_next,
                });
                points.push(Point {
                    x: beside,
                    y: end_of_layer(upper),
                });
            }
            for node in crossings {
                let x = if grid(*node).is_folded() {
                    x(*node) - grid(*node).to_line(column(*node))
                } else {
                    x(*node)
                };
                points.push(Point {
                    x,
                    y: start_of_layer(*node),
                });
                points.push(Point {
                    x,
                    y: end_of_layer(*node),
                });
            }
            if let Some(end_of_previous) = grid(lower).end_of_previous(row(lower)) {
                let beside = x(lower) - grid(lower).to_line(column(lower));
                points.push(Point {
                    x: beside,
                    y: start_of_layer(lower),
                });
                points.push(Point {
                    x: beside,
                    y: start_of_layer(lower) + end_of_previous,
                });
            }
            points.push(Point {
                x: x(lower),
                y: top(lower),
            });
            if is_upwards {
                points.reverse();
            }
            points
        };
        Layout {
            boxes: boxes.collect(),
            edges: edges
                .iter()
                .zip(&self.crossings)
                .map(|(edge, crossings)| path(*edge, crossings))
                .collect(),
            size: BoxSize {
                width,
                height: (y - LAYER_GAP).max(0.0),
            },
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / real(count))
}
