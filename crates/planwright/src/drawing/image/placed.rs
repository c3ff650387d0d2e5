//! Graphs with coordinates: the boxes of the steps, the lines between them, and the plans inside of boxes that are open.

use super::geometry::{BoxSize, Point, real};
use super::layers::{Layout, layout};
use crate::drawing::graph::{ActionLabel, Graph, GraphStep, action_text, marked_id, notes};
use crate::drawing::lanes::RowOrder;
use crate::drawing::symbols::{Mark, Symbols};
use crate::terminal_text;

/// The width of a character, in pixels: that of 12 px in the usual fixed-width fonts, rounded up.
const COLUMN: f64 = 7.3;
/// The height of a line of text, in pixels.
pub(super) const LINE: f64 = 16.0;
/// The space around the text of a box, in pixels.
pub(super) const PADDING: f64 = 10.0;
/// The space around a plan inside of a box, in pixels.
const GROUP_PADDING: f64 = 14.0;
/// The maximum width of a line in a box, in columns.
const MAX_COLUMNS: usize = 38;
/// The maximum number of notes in a box. Its title has all notes.
const MAX_NOTES: usize = 3;

/// A graph with coordinates.
pub(super) struct PlacedGraph {
    pub(super) boxes: Vec<StepBox>,
    /// The upper left corner of each box.
    pub(super) places: Vec<Point>,
    /// The points of each edge.
    pub(super) paths: Vec<Vec<Point>>,
    pub(super) size: BoxSize,
}

impl PlacedGraph {
    /// Lays out a graph. `inner` returns the plan that a step runs if its box is open.
    pub(super) fn of(graph: &Graph, inner: &dyn Fn(&GraphStep) -> Option<Self>) -> Self {
        let boxes: Vec<StepBox> = graph
            .steps
            .iter()
            .map(|step| StepBox::of(step, inner(step)))
            .collect();
        let sizes: Vec<BoxSize> = boxes.iter().map(|drawn| drawn.size).collect();
        let ends: Vec<(usize, usize)> = graph
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to))
            .collect();
        let Layout {
            boxes: places,
            edges: paths,
            size,
        } = layout(&sizes, &ends, &RowOrder::of(graph));
        Self {
            boxes,
            places,
            paths,
            size,
        }
    }

    /// Lays out boxes without edges, in rows.
    pub(super) fn in_rows(boxes: Vec<StepBox>) -> Self {
        let mut places = Vec::with_capacity(boxes.len());
        let (mut x, mut y, mut height): (f64, f64, f64) = (0.0, 0.0, 0.0);
        let mut size = BoxSize {
            width: 0.0,
            height: 0.0,
        };
        for part in &boxes {
            if x > 0.0 && x + part.size.width > ROW_WIDTH {
                (x, y, height) = (0.0, y + height + ROW_GAP, 0.0);
            }
            places.push(Point { x, y });
            height = height.max(part.size.height);
            size.width = size.width.max(x + part.size.width);
            size.height = y + height;
            x += part.size.width + COLUMN_GAP;
        }
        // Below each box is room for its note.
        size.height += ROW_GAP / 2.0;
        Self {
            boxes,
            places,
            paths: Vec::new(),
            size,
        }
    }
}

/// The width of a row of parts, in pixels, unless a part is wider.
const ROW_WIDTH: f64 = 760.0;
/// The space between two parts side by side, with the mark of a status, in pixels.
const COLUMN_GAP: f64 = 24.0;
/// The space between two rows of parts, with the notes below the boxes, in pixels.
const ROW_GAP: f64 = 28.0;

/// A step as a box of text.
pub(super) struct StepBox {
    pub(super) class: String,
    /// The lines, the first one with the id, the second one with the action.
    pub(super) lines: Vec<String>,
    pub(super) title: String,
    pub(super) size: BoxSize,
    /// The plan that the step runs, if it is open.
    pub(super) inner: Option<PlacedGraph>,
}

impl BoxSize {
    /// The size of a box with a text of this size above a plan of the size `inner`.
    fn around(self, inner: Self) -> Self {
        Self {
            width: self.width.max(inner.width + 2.0 * GROUP_PADDING),
            height: self.height + inner.height + GROUP_PADDING,
        }
    }
}

impl StepBox {
    fn of(step: &GraphStep, inner: Option<PlacedGraph>) -> Self {
        let short = |line: &str| {
            let line = planwright_core::text::visible(line);
            terminal_text::shortened(&line, MAX_COLUMNS, "…").into_owned()
        };
        let all = notes(step, Symbols::Unicode);
        let (id, action) = (marked_id(step), action_text(step));
        let shown = [&id, &action].into_iter().chain(all.iter().take(MAX_NOTES));
        let lines: Vec<String> = shown.map(|line| short(line)).collect();
        let columns = lines.iter().map(|line| terminal_text::width(line)).max();
        let kind = match step.action {
            ActionLabel::Tool(_) => "tool",
            ActionLabel::Plan(_) | ActionLabel::Inline(_) => "plan",
            ActionLabel::Value => "value",
        };
        let mark = step.mark.map_or("planned", Mark::as_str);
        let violates = if step.violations.is_empty() {
            ""
        } else {
            " violates"
        };
        let mut title = vec![id, action];
        title.extend(all);
        let mut size = BoxSize {
            width: real(columns.unwrap_or(0)) * COLUMN + 2.0 * PADDING,
            height: real(lines.len()) * LINE + PADDING,
        };
        if let Some(inner) = &inner {
            size = size.around(inner.size);
        }
        Self {
            class: format!("step {kind} {mark}{violates}"),
            size,
            title: title.join("\n"),
            lines,
            inner,
        }
    }

    /// The box of a part of a step, which has one line of text.
    pub(super) fn of_part(label: &str, inner: Option<PlacedGraph>) -> Self {
        let label = planwright_core::text::visible(label);
        let line = terminal_text::shortened(&label, MAX_COLUMNS, "…").into_owned();
        let mut size = BoxSize {
            width: real(terminal_text::width(&line)) * COLUMN + 2.0 * PADDING,
            height: LINE + PADDING,
        };
        if let Some(inner) = &inner {
            size = size.around(inner.size);
        }
        Self {
            class: String::new(),
            title: line.clone(),
            lines: vec![line],
            size,
            inner,
        }
    }

    /// The upper left corner of the plan in the box, relative to that of the box.
    pub(super) fn inner_place(&self) -> Point {
        Point {
            x: GROUP_PADDING,
            y: real(self.lines.len()) * LINE + PADDING,
        }
    }
}
