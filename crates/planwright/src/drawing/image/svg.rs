//! The graph as an image, SVG.

use std::fmt::Write as _;

use planwright_core::check::DependencyKind;

use super::geometry::{BoxSize, Point, real};
use super::markup::{escaped, number};
use super::placed::{LINE, PADDING, PlacedGraph, StepBox};
use super::run_record::RunRecord;
use super::timeline;
use crate::drawing::drawn_plan::Drawing;
use crate::drawing::graph::{Edge, Graph};

/// The colours and fonts of images, for light and dark screens.
pub(super) const STYLE: &str = include_str!("svg.css");

/// The space around a graph, in pixels.
const MARGIN: f64 = 12.0;

impl Drawing {
    /// An image of the graph, SVG, of the plans that its steps run, and of the timeline of a `run`, with colours for light and dark screens.
    pub fn svg(&self, run: Option<&RunRecord<'_>>) -> String {
        let (mut body, mut size) = body(self, false);
        if let Some((timeline, room)) =
            run.and_then(|record| timeline::draw(&self.main.steps, record))
        {
            let top = number(size.height);
            let _ = writeln!(
                body,
                "<g class=\"timeline\" transform=\"translate(0 {top})\">\n{timeline}</g>"
            );
            size.width = size.width.max(room.width);
            size.height += room.height;
        }
        let label = (self.main.title.as_deref().or(self.main.name.as_deref())).unwrap_or("plan");
        format!(
            "{}<title>{}</title>\n<style>\n{STYLE}</style>\n{body}</svg>\n",
            opening(size, "graph"),
            escaped(label)
        )
    }
}

/// Draws the plan as [`svg`](Drawing::svg) does, as a part of a page that has the colours. With `links`, the steps of the plan lead to the elements
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
    let PlacedGraph {
        boxes,
        places,
        paths,
        size,
    } = PlacedGraph::of(graph, &|_| None);
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

impl StepBox {
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
