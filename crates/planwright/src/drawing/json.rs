//! The graph as data, `planwright.graph/1`.

use planwright_core::check::DependencyKind;
use planwright_core::flow::{Confidentiality, Integrity};
use planwright_core::plan::Ordering;
use planwright_core::{CheckedPlan, Value};
use planwright_engine::RunId;
use serde::Serialize;

use super::drawn_plan::Drawing;
use super::graph::{ActionLabel, Edge, Graph, GraphInput, GraphStep};
use crate::format::{RetainedStepV1, milliseconds};

/// The schema's name and version.
pub const GRAPH_SCHEMA: &str = "planwright.graph/1";

/// A plan's graph.
#[derive(Clone, Debug, Serialize)]
pub struct GraphV1 {
    /// [`GRAPH_SCHEMA`].
    pub schema: &'static str,
    /// The plan's name.
    pub name: Option<String>,
    /// The plan's title.
    pub title: Option<String>,
    /// The run that is drawn; none for a plan alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<DrawnRunV1>,
    /// The inputs.
    pub inputs: Vec<InputV1>,
    /// True if the steps run in listed order.
    pub listed: bool,
    /// The steps, in the order in which they were written.
    pub steps: Vec<StepNodeV1>,
    /// The dependencies.
    pub edges: Vec<EdgeV1>,
    /// The plans that steps run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<InnerPlanV1>,
}

/// An input of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct InputV1 {
    /// The name.
    pub name: String,
    /// True if it has no default value.
    pub required: bool,
    /// The default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// A step.
#[derive(Clone, Debug, Serialize)]
pub struct StepNodeV1 {
    /// The id.
    pub id: String,
    /// The step's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of action: `tool`, `plan` or `value`.
    pub kind: &'static str,
    /// The tool that it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The plan that it runs, by its name in `plans`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The condition of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The list whose items the step runs for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_each: Option<String>,
    /// The repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatV1>,
    /// The slots that it writes: all of them, or one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// True if the call needs approval.
    pub approval: bool,
    /// True if no other call may run at the same time.
    pub alone: bool,
    /// The only instance that it runs for, if the plan has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The status in the run that is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// The time of its start in that run, in milliseconds from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<f64>,
    /// The time of its end in that run, in milliseconds from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<f64>,
    /// The number of calls of its tool in that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// A further note about it in that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The violations of the flow policy, if the drawing marks the data flow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<ViolationV1>,
}

/// A violation of the flow policy.
#[derive(Clone, Debug, Serialize)]
pub struct ViolationV1 {
    /// The code of the diagnostic.
    pub code: &'static str,
    /// The path of the parameter, with dots; empty for all arguments together.
    pub parameter: String,
}

/// The run that is drawn.
#[derive(Clone, Debug, Serialize)]
pub struct DrawnRunV1 {
    /// The id of the run.
    pub id: RunId,
    /// The status: as in reports, `running` or `interrupted`.
    pub status: String,
    /// The duration, in milliseconds.
    pub duration_ms: f64,
    /// The retained results: they stayed although a later plan changed the data that they were computed from.
    #[serde(rename = "kept", skip_serializing_if = "Vec::is_empty")]
    pub retained: Vec<RetainedStepV1>,
}

/// The repetition of a step.
#[derive(Clone, Debug, Serialize)]
pub struct RepeatV1 {
    /// The condition that ends it.
    pub until: String,
    /// The maximum number of rounds.
    pub max: u32,
}

/// A dependency of one step on another.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeV1 {
    /// The step that is waited for.
    pub from: String,
    /// The step that waits.
    pub to: String,
    /// The kind: `data`, `slot`, `order` or `listed`.
    pub kind: &'static str,
    /// True if `from` is a fallback, awaited only if the alternatives before it have no value.
    pub optional: bool,
    /// The integrity of the values that flow along the edge, if the drawing marks the data flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// The confidentiality of the values that flow along the edge, if the drawing marks the data flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidentiality: Option<Confidentiality>,
}

/// A plan that a step runs.
#[derive(Clone, Debug, Serialize)]
pub struct InnerPlanV1 {
    /// The plan's name in the library, or the path of the step that contains it.
    pub name: String,
    /// The steps of the plan.
    pub steps: Vec<StepNodeV1>,
    /// The dependencies in the graph.
    pub edges: Vec<EdgeV1>,
}

/// A sound plan's steps and edges as data.
pub fn json(plan: &CheckedPlan) -> GraphV1 {
    Drawing::of(plan).json()
}

impl Drawing {
    /// Steps and edges as data.
    pub fn json(&self) -> GraphV1 {
        let graph = &self.main;
        GraphV1 {
            schema: GRAPH_SCHEMA,
            name: graph.name.clone(),
            title: graph.title.clone(),
            // Set when a run is drawn.
            run: None,
            inputs: graph.inputs.iter().map(InputV1::of).collect(),
            listed: graph.ordering == Ordering::Listed,
            steps: graph.steps.iter().map(StepNodeV1::of).collect(),
            edges: edges(graph),
            plans: self
                .parts
                .iter()
                .map(|part| InnerPlanV1 {
                    name: part.name.clone(),
                    steps: part.graph.steps.iter().map(StepNodeV1::of).collect(),
                    edges: edges(&part.graph),
                })
                .collect(),
        }
    }
}

impl InputV1 {
    fn of(input: &GraphInput) -> Self {
        Self {
            name: input.name.clone(),
            required: input.default.is_none(),
            default: input.default.clone(),
        }
    }
}

impl StepNodeV1 {
    pub(super) fn of(step: &GraphStep) -> Self {
        let (kind, tool, plan) = match &step.action {
            ActionLabel::Tool(name) => ("tool", Some(name.clone()), None),
            ActionLabel::Plan(name) | ActionLabel::Inline(name) => {
                ("plan", None, Some(name.clone()))
            }
            ActionLabel::Value => ("value", None, None),
        };
        let state = step.state.as_ref();
        Self {
            id: step.id.clone(),
            title: step.title.clone(),
            kind,
            tool,
            plan,
            when: step.when.clone(),
            for_each: step.for_each.clone(),
            repeat: step.repeat.as_ref().map(|(until, max)| RepeatV1 {
                until: until.clone(),
                max: *max,
            }),
            writes: step.writes.clone(),
            approval: step.asks,
            alone: step.alone,
            instance: step.instance.clone(),
            status: match state {
                Some(state) => Some(state.status),
                None => step.mark.map(super::Mark::as_str),
            },
            started_ms: state.and_then(|state| state.started).map(milliseconds),
            ended_ms: state.and_then(|state| state.ended).map(milliseconds),
            attempts: state.map(|state| state.attempts),
            note: state.and_then(|state| state.note.clone()),
            violations: step
                .violations
                .iter()
                .map(|violation| ViolationV1 {
                    code: violation.code.as_str(),
                    parameter: violation.parameter.clone(),
                })
                .collect(),
        }
    }
}

fn edges(graph: &Graph) -> Vec<EdgeV1> {
    graph
        .edges
        .iter()
        .filter_map(|edge| edge_between(graph, *edge))
        .collect()
}

pub(super) fn edge_between(graph: &Graph, edge: Edge) -> Option<EdgeV1> {
    Some(EdgeV1 {
        from: graph.steps.get(edge.from)?.id.clone(),
        to: graph.steps.get(edge.to)?.id.clone(),
        kind: match edge.kind {
            DependencyKind::Data => "data",
            DependencyKind::Slot => "slot",
            DependencyKind::Order => "order",
            DependencyKind::Listed => "listed",
        },
        optional: edge.optional,
        integrity: edge.labels.map(|labels| labels.integrity),
        confidentiality: edge.labels.map(|labels| labels.confidentiality),
    })
}
