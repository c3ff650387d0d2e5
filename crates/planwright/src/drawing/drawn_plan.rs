//! A plan's graph together with the graphs of the plans that it runs.

use std::collections::HashSet;

use planwright_core::plan::{Action, PlanTarget};
use planwright_core::{CheckedPlan, Plan};

use super::graph::{Graph, path_of};
use super::{GraphV1, Mark, Style};

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
    /// True if the ways of untrusted and private values are marked.
    pub(super) has_flow: bool,
}

/// A plan that a step runs. A plan of the library appears once, however many steps run it.
#[derive(Clone, Debug)]
pub(super) struct SubPlan {
    /// The plan's name in the library, or the path of the step that it stands in.
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

    /// Draws a plan that is not known to be sound, as far as it goes.
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

    /// Marks the step `id` of the plan itself with how it stands in a run.
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

    /// A flowchart for Mermaid.
    pub fn mermaid(&self) -> String {
        super::mermaid::draw(&self.main)
    }

    /// A directed graph for Graphviz.
    pub fn dot(&self) -> String {
        super::dot::draw(&self.main)
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
