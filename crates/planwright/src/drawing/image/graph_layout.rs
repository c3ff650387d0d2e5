//! The graph of a plan with coordinates, as data, for programs that draw it themselves.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::StepId;
use planwright_core::flow::ValueLabels;
use planwright_engine::event::Address;
use serde::Serialize;

use super::geometry::Point;
use super::placed::{PlacedGraph, StepBox};
use super::run_parts::{PartKind, RunParts, whole_of};
use crate::drawing::drawn_plan::Drawing;
use crate::drawing::flow_labels::mark;
use crate::drawing::graph::{ActionLabel, Graph, GraphStep};
use crate::drawing::json::{EdgeV1, StepNodeV1, edge_between};

/// The graph of a plan with coordinates, in pixels from the upper left corner, for a fixed-width font of 12 pixels. A large one
/// has tens of thousands of parts, so absent and false fields are omitted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphLayoutV1 {
    /// The width of the whole.
    pub width: f64,
    /// The height of the whole.
    pub height: f64,
    /// The steps. A step whose plan is open comes before the steps in it.
    pub nodes: Vec<LaidOutStepV1>,
    /// The dependencies.
    pub edges: Vec<LaidOutEdgeV1>,
}

/// A step with its place.
#[derive(Clone, Debug, Serialize)]
pub struct LaidOutStepV1 {
    /// The address; that of a step of a plan is without instances, items and rounds, unless an enclosing one is open.
    pub at: String,
    /// The address of the step, item, round or instance whose box this one is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The left side of the box.
    pub x: f64,
    /// The upper side of the box.
    pub y: f64,
    /// The width of the box.
    pub w: f64,
    /// The height of the box.
    pub h: f64,
    /// The lines of text in the box: the id, the action, and notes.
    pub lines: Vec<String>,
    /// `item`, `round` or `instance` if this is a part of a step in a run, `rest` for all parts beyond those that are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// The address of a part, or of a step inside of one; none for other steps and for the rest of the parts.
    #[serde(skip)]
    pub part_address: Option<Arc<Address>>,
    /// True if the step runs a plan, or has parts, that can be opened.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_group: bool,
    /// True if that plan, or its parts, are drawn inside the box.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
    /// The labels of the values that the step passes on, if they are marked: `untrusted`, `private` or `untrusted, private`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<&'static str>,
    /// The step.
    #[serde(flatten)]
    pub step: StepNodeV1,
}

/// A dependency with its line.
#[derive(Clone, Debug, Serialize)]
pub struct LaidOutEdgeV1 {
    /// The address of the step that is waited for.
    pub from: String,
    /// The address of the step that waits.
    pub to: String,
    /// The points of the line.
    pub points: Vec<[f64; 2]>,
    /// The kind: `data`, `slot`, `order` or `listed`.
    pub kind: &'static str,
    /// True if `from` is a fallback.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// The labels of the values that flow along it, if they are marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<&'static str>,
}

/// The maximum number of parts of one step that are drawn.
const MAX_PARTS: usize = 50;

/// The open groups and parts of a layout.
struct View<'a> {
    open: &'a BTreeSet<String>,
    /// The parts of the steps, if a run is drawn.
    parts: Option<&'a RunParts>,
}

impl View<'_> {
    /// The parts of the step, item or instance at `at`.
    fn parts(&self, at: &Address) -> Vec<&Arc<Address>> {
        let parts = self.parts.into_iter();
        parts.flat_map(|parts| parts.parts(at)).collect()
    }
}

/// The place of a box in a layout.
struct Placed<'a> {
    at: &'a Arc<Address>,
    group: Option<String>,
    corner: Point,
    flow: Option<&'static str>,
}

impl Drawing {
    /// The graph with coordinates. Plans of steps at the addresses in `open` are drawn inside of the boxes of the steps.
    pub fn layout(&self, open: &BTreeSet<String>) -> GraphLayoutV1 {
        self.laid_out(&View { open, parts: None })
    }

    /// The graph of a run with coordinates. The steps, items, rounds and instances at the addresses in `open` have their `parts` inside of their
    /// boxes, the first 50 of each, or the plan that they run.
    pub fn layout_of_run(&self, open: &BTreeSet<String>, parts: &RunParts) -> GraphLayoutV1 {
        self.laid_out(&View {
            open,
            parts: Some(parts),
        })
    }

    fn laid_out(&self, view: &View<'_>) -> GraphLayoutV1 {
        let mut found = GraphLayoutV1::default();
        let placed = self.placed(&self.main, None, view);
        found.width = rounded(placed.size.width);
        found.height = rounded(placed.size.height);
        self.collect(
            &self.main,
            (&placed, None),
            Point::default(),
            view,
            &mut found,
        );
        found
    }

    fn placed(&self, graph: &Graph, inside: Option<&Arc<Address>>, view: &View<'_>) -> PlacedGraph {
        PlacedGraph::of(graph, &|step| {
            self.opened(step, &Arc::new(address(inside, step)), view)
        })
    }

    /// The inside of the box at `at`, if it is open: the parts, or the plan that the step runs.
    fn opened(&self, step: &GraphStep, at: &Arc<Address>, view: &View<'_>) -> Option<PlacedGraph> {
        if !view.open.contains(&at.to_string()) {
            return None;
        }
        let parts = view.parts(at);
        if parts.is_empty() {
            return Some(self.placed(self.inner(step)?, Some(at), view));
        }
        let shown = parts.iter().take(MAX_PARTS);
        let mut boxes: Vec<StepBox> = shown
            .map(|part| StepBox::of_part(&label(part), self.opened(step, part, view)))
            .collect();
        if parts.len() > MAX_PARTS {
            let rest = format!("{} more", parts.len() - MAX_PARTS);
            boxes.push(StepBox::of_part(&rest, None));
        }
        Some(PlacedGraph::in_rows(boxes))
    }

    /// The graph of the plan that a step runs.
    fn inner(&self, step: &GraphStep) -> Option<&Graph> {
        let (ActionLabel::Plan(name) | ActionLabel::Inline(name)) = &step.action else {
            return None;
        };
        let part = self.parts.iter().find(|part| part.name == *name)?;
        Some(&part.graph)
    }

    fn collect(
        &self,
        graph: &Graph,
        (placed, inside): (&PlacedGraph, Option<&Arc<Address>>),
        corner: Point,
        view: &View<'_>,
        found: &mut GraphLayoutV1,
    ) {
        let at: Vec<Arc<Address>> = (graph.steps.iter())
            .map(|step| Arc::new(address(inside, step)))
            .collect();
        let mut labels: Vec<Option<ValueLabels>> = vec![None; graph.steps.len()];
        for edge in &graph.edges {
            if let (Some(label), Some(of_step)) = (edge.labels, labels.get_mut(edge.from)) {
                *of_step = Some(of_step.unwrap_or_default().joined(label));
            }
        }
        for (index, (step, drawn)) in graph.steps.iter().zip(&placed.boxes).enumerate() {
            let place = Placed {
                at: &at[index],
                group: inside.map(ToString::to_string),
                corner: moved(corner, placed.places[index]),
                flow: labels[index].and_then(mark),
            };
            self.collect_step(step, drawn, &place, view, found);
        }
        for (edge, path) in graph.edges.iter().zip(&placed.paths) {
            let Some(EdgeV1 { kind, optional, .. }) = edge_between(graph, *edge) else {
                continue;
            };
            found.edges.push(LaidOutEdgeV1 {
                from: at[edge.from].to_string(),
                to: at[edge.to].to_string(),
                points: (path.iter())
                    .map(|point| [rounded(corner.x + point.x), rounded(corner.y + point.y)])
                    .collect(),
                kind,
                optional,
                flow: edge.mark(),
            });
        }
    }

    /// Adds the box of a step or a part of it, and those inside of it.
    fn collect_step(
        &self,
        step: &GraphStep,
        drawn: &StepBox,
        place: &Placed<'_>,
        view: &View<'_>,
        found: &mut GraphLayoutV1,
    ) {
        let at = place.at;
        let kind = whole_of(at).map(|(_, kind)| kind);
        let parts = view.parts(at);
        let runs_plan = self.inner(step).is_some();
        let may_divide = view.parts.is_some()
            && match kind {
                None | Some(PartKind::Instance) => step.for_each.is_some() || step.repeat.is_some(),
                Some(PartKind::Item) => step.repeat.is_some(),
                Some(PartKind::Round | PartKind::Rest) => false,
            };
        let mut node = LaidOutStepV1 {
            at: at.to_string(),
            part: kind.map(PartKind::as_str),
            part_address: is_in_part(at).then(|| Arc::clone(at)),
            is_group: runs_plan || may_divide || !parts.is_empty(),
            is_open: drawn.inner.is_some(),
            ..laid_out(drawn, place, StepNodeV1::of(step))
        };
        if kind.is_some() {
            // The step has the marks for all of its parts.
            node.step.violations.clear();
        }
        if at.item.is_some() || at.round.is_some() {
            node.step.for_each = None;
        }
        if at.round.is_some() {
            node.step.repeat = None;
        }
        found.nodes.push(node);
        let Some(inner) = &drawn.inner else {
            return;
        };
        let corner = moved(place.corner, drawn.inner_place());
        if parts.is_empty() {
            if let Some(graph) = self.inner(step) {
                self.collect(graph, (inner, Some(at)), corner, view, found);
            }
            return;
        }
        for (index, (drawn, own)) in inner.boxes.iter().zip(&inner.places).enumerate() {
            let part = parts.get(index).filter(|_| index < MAX_PARTS);
            let place = Placed {
                at: part.copied().unwrap_or(at),
                group: Some(at.to_string()),
                corner: moved(corner, *own),
                flow: None,
            };
            if part.is_some() {
                self.collect_step(step, drawn, &place, view, found);
            } else {
                found.nodes.push(LaidOutStepV1 {
                    at: format!("{at} and {}", drawn.title),
                    part: Some(PartKind::Rest.as_str()),
                    ..laid_out(drawn, &place, StepNodeV1::of(step))
                });
            }
        }
    }
}

/// A box at its place, closed and a whole step.
fn laid_out(drawn: &StepBox, place: &Placed<'_>, step: StepNodeV1) -> LaidOutStepV1 {
    LaidOutStepV1 {
        at: place.at.to_string(),
        group: place.group.clone(),
        x: rounded(place.corner.x),
        y: rounded(place.corner.y),
        w: rounded(drawn.size.width),
        h: rounded(drawn.size.height),
        lines: drawn.lines.clone(),
        part: None,
        part_address: None,
        is_group: false,
        is_open: false,
        flow: place.flow,
        step,
    }
}

/// Returns true for an item, a round or an instance, and for steps inside one.
fn is_in_part(at: &Address) -> bool {
    at.item.is_some()
        || at.round.is_some()
        || at.instance.is_some()
        || at.inside.as_deref().is_some_and(is_in_part)
}

/// The text of a part: its round, item or instance.
fn label(part: &Address) -> String {
    match (part.round, part.item, &part.instance) {
        (Some(round), _, _) => format!("#{round}"),
        (None, Some(item), _) => format!("[{item}]"),
        (None, None, Some(instance)) => format!("@{instance}"),
        (None, None, None) => part.step.to_string(),
    }
}

fn moved(corner: Point, by: Point) -> Point {
    Point {
        x: corner.x + by.x,
        y: corner.y + by.y,
    }
}

fn address(inside: Option<&Arc<Address>>, step: &GraphStep) -> Address {
    Address {
        inside: inside.cloned(),
        instance: None,
        step: StepId::new(step.id.as_str()),
        item: None,
        round: None,
    }
}

/// A coordinate to a tenth of a pixel.
fn rounded(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}
