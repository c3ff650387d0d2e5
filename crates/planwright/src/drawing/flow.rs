//! Marks of the ways of untrusted and private values, and of the parameters that they must not reach.

use std::collections::HashMap;

use planwright_core::check::{DependencyKind, Releases};
use planwright_core::flow::{
    Confidentiality, FlowContext, FlowParameter, FlowPolicy, FlowReport, Integrity, analyze,
};
use planwright_core::plan::{Action, PlanTarget};
use planwright_core::{CheckedPlan, Code};

use super::Drawing;

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
    pub fn mark_flow(&mut self, plan: &CheckedPlan, policy: &FlowPolicy, releases: &Releases) {
        let report = analyze(plan, FlowContext::new(policy, releases).with_edges());
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
    /// The positions of the other plans, by the part and the step that they stand in.
    inline: HashMap<(Option<usize>, usize), usize>,
    /// The number of parts that were met so far; they are met in the order in which they are drawn.
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
