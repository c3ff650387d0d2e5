//! A plan's graph together with the graphs of the plans that it runs; and marks of the paths of untrusted and private values, and of the
//! parameters that these must not reach.

use std::collections::{HashMap, HashSet};

use planwright_core::check::DependencyKind;
use planwright_core::flow::{
    Confidentiality, FlowContext, FlowParameter, FlowReport, Integrity, analyze,
};
use planwright_core::plan::{Action, PlanTarget};
use planwright_core::{CheckedPlan, Code, Plan};

use super::graph::{Graph, path_of};
use super::{GraphV1, Mark, RunRecord, StepDetailV1, Style};

/// A sound plan as a graph of text, each line ended.
pub fn text(plan: &CheckedPlan, style: &Style) -> String {
    Drawing::of(plan).text(style)
}

/// A sound plan as a flowchart for Mermaid.
pub fn mermaid(plan: &CheckedPlan) -> String {
    Drawing::of(plan).mermaid()
}

/// A sound plan as a directed graph for Graphviz.
pub fn dot(plan: &CheckedPlan) -> String {
    Drawing::of(plan).dot()
}

/// A sound plan's steps and edges as data.
pub fn json(plan: &CheckedPlan) -> GraphV1 {
    Drawing::of(plan).json()
}

/// A plan, ready to be drawn in any way.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub(super) main: Graph,
    pub(super) parts: Vec<SubPlan>,
    /// True if the paths of untrusted and private values are marked.
    pub(super) has_flow: bool,
}

/// A plan that a step runs. A plan of the library appears once, however many steps run it.
#[derive(Clone, Debug)]
pub(crate) struct SubPlan {
    /// The plan's name in the library, or the path of the step that contains it.
    pub(super) name: String,
    pub(super) is_inline: bool,
    pub(super) graph: Graph,
}

impl Drawing {
    /// Draws a sound plan, and the plans that its steps run.
    pub fn of(checked: &CheckedPlan) -> Self {
        let mut parts = Vec::new();
        let main = Graph::of(checked, "");
        add_checked(checked, "", &mut HashSet::new(), &mut parts);
        Self {
            main,
            parts,
            has_flow: false,
        }
    }

    /// Draws the valid parts of a plan that may have errors.
    pub fn of_unchecked(plan: &Plan) -> Self {
        let mut parts = Vec::new();
        let main = Graph::of_unchecked(plan, "");
        add_unchecked(plan, "", &mut parts);
        Self {
            main,
            parts,
            has_flow: false,
        }
    }

    /// Marks the step `id` of the plan itself with its state in a run.
    pub fn mark(&mut self, id: &str, mark: Mark) {
        for step in &mut self.main.steps {
            if step.id == id {
                step.mark = Some(mark);
            }
        }
    }

    /// A graph of text, each line ended.
    pub fn text(&self, options: &Style) -> String {
        super::text::draw(self, options)
    }

    /// A list, one line a step, with the steps that each waits for.
    pub fn list(&self, options: &Style) -> String {
        super::list::draw(self, options)
    }

    /// The step `id` in full, each line ended: its arguments with their origins, its conditions, the steps around it. `outer/inner` is a step
    /// of the plan that `outer` runs. `None` if there is no such step.
    pub fn step(&self, id: &str, options: &Style) -> Option<String> {
        super::step::describe(self, id, options)
    }

    /// The step `id` in full as data, found as [`step`](Self::step) finds it.
    pub fn step_detail(&self, id: &str) -> Option<StepDetailV1> {
        StepDetailV1::of(self, id)
    }

    /// The ids of the steps, without those of plans that steps run.
    pub fn step_ids(&self) -> impl Iterator<Item = &str> {
        self.main.steps.iter().map(|step| &*step.id)
    }

    /// A flowchart for Mermaid.
    pub fn mermaid(&self) -> String {
        super::flowchart::draw_mermaid(&self.main)
    }

    /// A directed graph for Graphviz.
    pub fn dot(&self) -> String {
        super::flowchart::draw_dot(&self.main)
    }

    /// An image of the graph, SVG, with colours for light and dark screens.
    pub fn svg(&self) -> String {
        super::image::svg::draw(self)
    }

    /// An HTML file: the graph, and of a `run` its timeline, its steps with their values, and its output. It has no script, and loads
    /// nothing.
    pub fn html(&self, run: Option<&RunRecord<'_>>) -> String {
        super::image::page::write(self, run)
    }

    /// Steps and edges as data.
    pub fn json(&self) -> GraphV1 {
        GraphV1::of(self)
    }
}

fn add_checked(
    checked: &CheckedPlan,
    inside: &str,
    seen: &mut HashSet<String>,
    parts: &mut Vec<SubPlan>,
) {
    for (step, known) in checked.plan().steps.iter().zip(checked.steps()) {
        let (Action::Plan(call), Some(plan)) = (&step.action, &known.plan) else {
            continue;
        };
        let (name, is_inline) = match &call.target {
            PlanTarget::Named(name) => (name.text.to_string(), false),
            PlanTarget::Inline(_) => (path_of(inside, step), true),
        };
        if !is_inline && !seen.insert(name.clone()) {
            continue;
        }
        let graph = Graph::of(plan, &name);
        parts.push(SubPlan {
            name: name.clone(),
            is_inline,
            graph,
        });
        add_checked(plan, &name, seen, parts);
    }
}

fn add_unchecked(plan: &Plan, inside: &str, parts: &mut Vec<SubPlan>) {
    for step in &plan.steps {
        let Action::Plan(call) = &step.action else {
            continue;
        };
        let PlanTarget::Inline(inner) = &call.target else {
            continue;
        };
        let name = path_of(inside, step);
        parts.push(SubPlan {
            graph: Graph::of_unchecked(inner, &name),
            is_inline: true,
            name: name.clone(),
        });
        add_unchecked(inner, &name, parts);
    }
}

/// The labels of the values that flow along an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EdgeLabels {
    pub(super) integrity: Integrity,
    pub(super) confidentiality: Confidentiality,
}

impl EdgeLabels {
    pub(super) fn join(self, other: Self) -> Self {
        Self {
            integrity: self.integrity.max(other.integrity),
            confidentiality: self.confidentiality.max(other.confidentiality),
        }
    }

    /// Returns the labels that a picture marks; `None` for trusted and public values.
    pub(super) fn mark(self) -> Option<&'static str> {
        match (self.integrity, self.confidentiality) {
            (Integrity::Trusted, Confidentiality::Public) => None,
            (Integrity::Trusted, Confidentiality::Private) => Some("private"),
            (Integrity::Untrusted, Confidentiality::Public) => Some("untrusted"),
            (Integrity::Untrusted, Confidentiality::Private) => Some("untrusted, private"),
        }
    }
}

/// A violation of the flow policy by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) code: Code,
    /// The path of the parameter; empty for all arguments together.
    pub(super) parameter: String,
}

impl Violation {
    fn of(parameter: &FlowParameter) -> Option<Self> {
        Some(Self {
            code: parameter.code?,
            parameter: parameter.parameter.to_string(),
        })
    }

    /// Returns the violation in a few words.
    pub(super) fn note(&self) -> String {
        let what = match self.parameter.as_str() {
            "" => "arguments",
            parameter => parameter,
        };
        match self.code {
            Code::UntrustedDecision => format!("decided by an untrusted value ({})", self.code),
            Code::PrivateArgument => format!("{what}: private ({})", self.code),
            _ => format!("{what}: untrusted ({})", self.code),
        }
    }
}

impl Drawing {
    /// Marks the edges that carry untrusted or private values, and the parameters that violate the policy. `plan` is the
    /// plan that is drawn.
    pub fn mark_flow(&mut self, plan: &CheckedPlan, context: FlowContext<'_>) {
        let report = analyze(plan, context.with_edges());
        let edges = report.edges.iter().map(|edge| {
            let labels = EdgeLabels {
                integrity: edge.integrity,
                confidentiality: edge.confidentiality,
            };
            ((&*edge.from, &*edge.to), labels)
        });
        let mut marker = Marker {
            report: &report,
            edges: edges.collect(),
            named: HashMap::new(),
            inline: HashMap::new(),
            parts: 0,
        };
        marker.mark(self, None, plan, "");
        self.has_flow = true;
    }
}

/// Marks a plan and the plans that its steps run. A plan of the library is drawn once, so it gets the marks of all steps that
/// run it.
struct Marker<'a> {
    report: &'a FlowReport,
    edges: HashMap<(&'a str, &'a str), EdgeLabels>,
    /// The positions of the plans of the library among the drawn parts.
    named: HashMap<String, usize>,
    /// The positions of the other plans, by the part and the step that contain them.
    inline: HashMap<(Option<usize>, usize), usize>,
    /// The number of parts that were met so far; they are met in drawing order.
    parts: usize,
}

impl Marker<'_> {
    fn mark(
        &mut self,
        drawing: &mut Drawing,
        part: Option<usize>,
        checked: &CheckedPlan,
        prefix: &str,
    ) {
        let graph = match part {
            None => &mut drawing.main,
            Some(part) => match drawing.parts.get_mut(part) {
                Some(part) => &mut part.graph,
                None => return,
            },
        };
        let steps = &checked.plan().steps;
        let paths: Vec<String> = steps
            .iter()
            .map(|step| format!("{prefix}{}", step.id))
            .collect();
        for edge in &mut graph.edges {
            if let DependencyKind::Data | DependencyKind::Slot = edge.kind
                && let Some(labels) = self.edges.get(&(&*paths[edge.from], &*paths[edge.to]))
            {
                edge.labels = Some(edge.labels.unwrap_or_default().join(*labels));
            }
        }
        for (step, path) in graph.steps.iter_mut().zip(&paths) {
            for violation in self.report.parameters_of(path).filter_map(Violation::of) {
                if !step.violations.contains(&violation) {
                    step.violations.push(violation);
                }
            }
        }
        for (position, (step, known)) in steps.iter().zip(checked.steps()).enumerate() {
            let (Action::Plan(call), Some(plan)) = (&step.action, &known.plan) else {
                continue;
            };
            let entry = match &call.target {
                PlanTarget::Named(name) => self
                    .named
                    .entry(name.text.to_string())
                    .or_insert(self.parts),
                PlanTarget::Inline(_) => self.inline.entry((part, position)).or_insert(self.parts),
            };
            let inner = *entry;
            self.parts = self.parts.max(inner + 1);
            self.mark(drawing, Some(inner), plan, &format!("{}/", paths[position]));
        }
    }
}
