//! The graph as an image, SVG.

use std::fmt::Write as _;

use planwright_core::check::DependencyKind;

use super::layers::{BoxSize, Layout, Point, layout};
use super::markup::{escaped, number};
use crate::drawing::Mark;
use crate::drawing::drawn_plan::Drawing;
use crate::drawing::graph::{ActionLabel, Edge, Graph, GraphStep, action_text, marked_id, notes};
use crate::drawing::lanes::{RowOrder, Symbols};
use crate::terminal_text;

/// The colours and fonts of images, for light and dark screens.
pub(super) const STYLE: &str = include_str!("svg.css");

/// The width of a character, in pixels: that of 12 px in the usual fixed-width fonts, rounded up.
const COLUMN: f64 = 7.3;
/// The height of a line of text, in pixels.
const LINE: f64 = 16.0;
/// The space around the text of a box, in pixels.
const PADDING: f64 = 10.0;
/// The space around a graph, in pixels.
const MARGIN: f64 = 12.0;
/// The most columns of a line in a box.
const MAX_COLUMNS: usize = 38;
/// The most notes in a box; its title has all of them.
const MAX_NOTES: usize = 3;

/// Draws the plan, and below it the plans that its steps run. The image has its colours in it.
pub(in crate::drawing) fn draw(drawing: &Drawing) -> String {
    let (body, size) = body(drawing, false);
    let label = (drawing
        .main
        .title
        .as_deref()
        .or(drawing.main.name.as_deref()))
    .unwrap_or("plan");
    format!(
        "{}<title>{}</title>\n<style>\n{STYLE}</style>\n{body}</svg>\n",
        opening(size, "graph"),
        escaped(label)
    )
}

/// Draws the plan as [`draw`] does, as a part of a page that has the colours. With `links`, the steps of the plan lead to the elements
/// `step-0`, `step-1`, … of the page.
pub(super) fn draw_inline(drawing: &Drawing, links: bool) -> String {
    let (body, size) = body(drawing, links);
    format!("{}{body}</svg>\n", opening(size, "graph"))
}

/// The start tag of an image.
pub(super) fn opening(size: BoxSize, class: &str) -> String {
    let (width, height) = (number(size.width), number(size.height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n"
    )
}

fn body(drawing: &Drawing, links: bool) -> (String, BoxSize) {
    let mut text = String::from(
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n",
    );
    let mut size = BoxSize {
        width: 0.0,
        height: MARGIN,
    };
    let mut place = |graph: &Graph, heading: Option<&str>, links: bool| {
        if let Some(heading) = heading {
            size.height += LINE;
            let heading = escaped(&format!("plan {heading}"));
            let _ = writeln!(
                text,
                "<text class=\"heading\" x=\"{MARGIN}\" y=\"{}\">{heading}</text>",
                number(size.height)
            );
            size.height += PADDING;
        }
        let drawn = drawn_graph(graph, links);
        let _ = writeln!(
            text,
            "<g transform=\"translate({MARGIN} {})\">\n{}</g>",
            number(size.height),
            drawn.0
        );
        size.width = size.width.max(drawn.1.width + 2.0 * MARGIN);
        size.height += drawn.1.height + MARGIN;
    };
    place(&drawing.main, None, links);
    for part in &drawing.parts {
        place(&part.graph, Some(&part.name), false);
    }
    (text, size)
}

fn drawn_graph(graph: &Graph, links: bool) -> (String, BoxSize) {
    let boxes: Vec<StepBox> = graph.steps.iter().map(StepBox::of).collect();
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
    let mut text = String::new();
    for (edge, path) in graph.edges.iter().zip(&paths) {
        draw_edge(graph, *edge, path, &mut text);
    }
    for (index, (drawn, place)) in boxes.iter().zip(&places).enumerate() {
        drawn.draw(*place, links.then_some(index), &mut text);
    }
    (text, size)
}

fn draw_edge(graph: &Graph, edge: Edge, path: &[Point], text: &mut String) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let kind = match (edge.kind, edge.optional) {
        (DependencyKind::Order | DependencyKind::Listed, _) => "order",
        (DependencyKind::Data | DependencyKind::Slot, true) => "optional",
        (DependencyKind::Data | DependencyKind::Slot, false) => "data",
    };
    let marked = if edge.mark().is_some() { " marked" } else { "" };
    let mut line = format!("M{} {}", number(first.x), number(first.y));
    let mut before = *first;
    for point in rest {
        let (x, y) = (number(point.x), number(point.y));
        if (before.x - point.x).abs() < 0.5 {
            let _ = write!(line, "L{x} {y}");
        } else {
            let middle = number(f64::midpoint(before.y, point.y));
            let _ = write!(line, "C{} {middle} {x} {middle} {x} {y}", number(before.x));
        }
        before = *point;
    }
    let id = |step: usize| graph.steps.get(step).map_or("", |step| step.id.as_str());
    let title = match edge.mark() {
        Some(mark) => format!("{} to {}: {mark}", id(edge.from), id(edge.to)),
        None => format!("{} to {}", id(edge.from), id(edge.to)),
    };
    let _ = writeln!(
        text,
        "<path class=\"edge {kind}{marked}\" d=\"{line}\" marker-end=\"url(#arrow)\"><title>{}</title></path>",
        escaped(&title)
    );
}

/// A step as a box of text.
struct StepBox {
    class: String,
    /// The lines, the first one with the id, the second one with the action.
    lines: Vec<String>,
    title: String,
    size: BoxSize,
}

impl StepBox {
    fn of(step: &GraphStep) -> Self {
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
        Self {
            class: format!("step {kind} {mark}{violates}"),
            size: BoxSize {
                width: real(columns.unwrap_or(0)) * COLUMN + 2.0 * PADDING,
                height: real(lines.len()) * LINE + PADDING,
            },
            title: title.join("\n"),
            lines,
        }
    }

    fn draw(&self, place: Point, link: Option<usize>, text: &mut String) {
        let corner = if self.class.contains(" value") { 14 } else { 5 };
        if let Some(index) = link {
            let _ = write!(text, "<a href=\"#step-{index}\">");
        }
        let _ = write!(
            text,
            "<g class=\"{}\"><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{corner}\"/>",
            self.class,
            escaped(&self.title),
            number(place.x),
            number(place.y),
            number(self.size.width),
            number(self.size.height)
        );
        for (index, line) in self.lines.iter().enumerate() {
            let class = match index {
                0 => "id",
                1 => "action",
                _ => "note",
            };
            let _ = write!(
                text,
                "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
                number(place.x + PADDING),
                number(place.y + LINE * real(index + 1)),
                escaped(line)
            );
        }
        text.push_str("</g>");
        if link.is_some() {
            text.push_str("</a>");
        }
        text.push('\n');
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of lines are small")]
fn real(count: usize) -> f64 {
    count as f64
}
