//! A plan's graph together with the graphs of the plans that it runs; the states of its steps in a run; and marks of the paths of untrusted and private values, and of the
//! parameters that these must not reach.

use std::collections::{HashMap, HashSet};

use planwright_core::check::DependencyKind;
use planwright_core::flow::{FlowContext, FlowReport, ValueLabels, analyze};
use planwright_core::plan::{Action, PlanTarget};
use planwright_core::{CheckedPlan, Plan};
use planwright_engine::run::StepSummary;

use super::flow_labels::Violation;
use super::graph::{ActionLabel, Graph, path_of};
use super::state::{StepState, together};
use super::symbols::Mark;

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

    /// The ids of the steps, without those of plans that steps run.
    pub fn step_ids(&self) -> impl Iterator<Item = &str> {
        self.main.steps.iter().map(|step| &*step.id)
    }
}

impl Drawing {
    /// Sets the status of the plan's own step `id` in a run.
    pub fn set_state(&mut self, id: &str, state: &StepState) {
        set(&mut self.main, id, state);
    }

    /// Sets the statuses of all steps in a run, including those of plans that a single step runs once.
    pub fn set_states(&mut self, steps: &[StepSummary], is_running: bool) {
        let steps: Vec<&StepSummary> = steps.iter().collect();
        self.set_all(None, &steps, is_running);
    }

    fn set_all(&mut self, part: Option<usize>, steps: &[&StepSummary], is_running: bool) {
        let ids: Vec<(String, ActionLabel)> = match part.and_then(|part| self.parts.get(part)) {
            Some(part) => part.graph.steps.iter(),
            None => self.main.steps.iter(),
        }
        .map(|step| (step.id.clone(), step.action.clone()))
        .collect();
        for (id, action) in ids {
            let of_step: Vec<&StepSummary> = steps
                .iter()
                .copied()
                .filter(|step| step.at.step.as_str() == id)
                .collect();
            let Some(state) = together(&of_step, is_running) else {
                continue;
            };
            let graph = match part.and_then(|part| self.parts.get_mut(part)) {
                Some(part) => &mut part.graph,
                None => &mut self.main,
            };
            set(graph, &id, &state);
            if let ([only], Some(inner)) = (of_step.as_slice(), self.part_of(&action)) {
                let is_once = only
                    .parts
                    .iter()
                    .all(|part| part.at.inside.as_deref() == Some(&*only.at));
                let parts: Vec<&StepSummary> = only.parts.iter().collect();
                if is_once {
                    self.set_all(Some(inner), &parts, is_running);
                }
            }
        }
    }

    /// Returns the plan of a step, if no other step runs it.
    fn part_of(&self, action: &ActionLabel) -> Option<usize> {
        let (ActionLabel::Plan(name) | ActionLabel::Inline(name)) = action else {
            return None;
        };
        let graphs = self.parts.iter().map(|part| &part.graph);
        let runners = graphs
            .chain([&self.main])
            .flat_map(|graph| &graph.steps)
            .filter(|step| step.action == *action);
        if 1 < runners.count() {
            return None;
        }
        self.parts.iter().position(|part| part.name == *name)
    }
}

fn set(graph: &mut Graph, id: &str, state: &StepState) {
    for step in graph.steps.iter_mut().filter(|step| step.id == id) {
        step.mark = Some(state.mark);
        step.state = Some(state.clone());
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

impl Drawing {
    /// Marks the edges that carry untrusted or private values, and the parameters that violate the policy. `plan` is the
    /// plan that is drawn.
    pub fn mark_flow(&mut self, plan: &CheckedPlan, context: FlowContext<'_>) {
        let report = analyze(plan, context.with_edges());
        let edges = report.edges.iter().map(|edge| {
            let labels = ValueLabels {
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
    edges: HashMap<(&'a str, &'a str), ValueLabels>,
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
                edge.labels = Some(edge.labels.unwrap_or_default().joined(*labels));
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
