//! The graph of a plan with coordinates, as data, for programs that draw it themselves.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::StepId;
use planwright_engine::event::Address;
use serde::Serialize;

use super::layers::Point;
use super::placed::PlacedGraph;
use crate::drawing::drawn_plan::{Drawing, EdgeLabels};
use crate::drawing::graph::{ActionLabel, Graph, GraphStep};
use crate::drawing::json::{EdgeV1, StepNodeV1, edge_between};

/// The graph of a plan with coordinates, in pixels from the upper left corner, for a fixed-width font of 12 pixels. A large one has tens of
/// thousands of parts, so that what is absent or false is left out.
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
    /// The address, without instances, items and rounds.
    pub at: String,
    /// The address of the step whose plan this step is in.
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
    /// True if the step runs a plan that can be opened.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_group: bool,
    /// True if that plan is drawn inside the box.
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

impl Drawing {
    /// The graph with coordinates. Plans of steps at the addresses in `open` are drawn inside of the boxes of the steps.
    pub fn layout(&self, open: &BTreeSet<String>) -> GraphLayoutV1 {
        let mut found = GraphLayoutV1::default();
        let placed = self.placed(&self.main, None, open);
        found.width = rounded(placed.size.width);
        found.height = rounded(placed.size.height);
        self.collect(&self.main, &placed, None, Point::default(), &mut found);
        found
    }

    fn placed(
        &self,
        graph: &Graph,
        inside: Option<&Arc<Address>>,
        open: &BTreeSet<String>,
    ) -> PlacedGraph {
        PlacedGraph::of(graph, &|step| {
            let at = Arc::new(address(inside, step));
            let inner = self
                .inner(step)
                .filter(|_| open.contains(&at.to_string()))?;
            Some(self.placed(inner, Some(&at), open))
        })
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
        placed: &PlacedGraph,
        inside: Option<&Arc<Address>>,
        corner: Point,
        found: &mut GraphLayoutV1,
    ) {
        let at: Vec<Arc<Address>> = (graph.steps.iter())
            .map(|step| Arc::new(address(inside, step)))
            .collect();
        let mut labels: Vec<Option<EdgeLabels>> = vec![None; graph.steps.len()];
        for edge in &graph.edges {
            if let (Some(label), Some(of_step)) = (edge.labels, labels.get_mut(edge.from)) {
                *of_step = Some(of_step.unwrap_or_default().join(label));
            }
        }
        for (index, (step, drawn)) in graph.steps.iter().zip(&placed.boxes).enumerate() {
            let place = Point {
                x: corner.x + placed.places[index].x,
                y: corner.y + placed.places[index].y,
            };
            found.nodes.push(LaidOutStepV1 {
                at: at[index].to_string(),
                group: inside.map(ToString::to_string),
                x: rounded(place.x),
                y: rounded(place.y),
                w: rounded(drawn.size.width),
                h: rounded(drawn.size.height),
                lines: drawn.lines.clone(),
                is_group: self.inner(step).is_some(),
                is_open: drawn.inner.is_some(),
                flow: labels[index].and_then(EdgeLabels::mark),
                step: StepNodeV1::of(step),
            });
            if let (Some(inner), Some(placed)) = (self.inner(step), &drawn.inner) {
                let offset = drawn.inner_place();
                let corner = Point {
                    x: place.x + offset.x,
                    y: place.y + offset.y,
                };
                self.collect(inner, placed, Some(&at[index]), corner, found);
            }
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
