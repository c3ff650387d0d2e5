//! The result of a flow analysis.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::Serialize;

use super::labels::is_position;
use super::{OnViolation, PlannerLabel};
pub use crate::diagnostic::FlowHop;
use crate::{Code, Diagnostics};

/// The integrity of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Integrity {
    /// No stranger could choose the value.
    #[default]
    Trusted,
    /// A stranger may have chosen the value.
    Untrusted,
}

/// The confidentiality of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidentiality {
    /// A value that anyone may see.
    #[default]
    Public,
    /// The value must not leave unseen.
    Private,
}

/// The labels of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueLabels {
    /// The integrity; trusted if nothing is known.
    pub integrity: Integrity,
    /// The confidentiality; public if nothing is known.
    pub confidentiality: Confidentiality,
}

impl ValueLabels {
    /// Creates labels.
    pub fn new(untrusted: bool, private: bool) -> Self {
        Self {
            integrity: Integrity::of(untrusted),
            confidentiality: Confidentiality::of(private),
        }
    }

    /// Returns the labels of a value that may contain values with either labels.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self {
            integrity: self.integrity.max(other.integrity),
            confidentiality: self.confidentiality.max(other.confidentiality),
        }
    }

    /// Returns true if the labels take no trust away.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// The source of a value: a field of a tool's output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FlowOrigin {
    /// The step, with the path of inner plans before it; empty for the plan's own literals and inputs, and for secrets.
    pub step: Arc<str>,
    /// The tool, as `server.tool`; `plan` for literals and inputs, `secrets` for secrets.
    pub tool: Arc<str>,
    /// The path of the field in the output; empty for the whole output.
    pub field: Arc<str>,
}

/// A guarded or leaving parameter of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowParameter {
    /// The step, with the path of inner plans before it.
    pub step: Arc<str>,
    /// The tool, as `server.tool`.
    pub tool: Arc<str>,
    /// The path of the parameter, with dots; empty for all arguments together.
    pub parameter: Arc<str>,
    /// The rule that guards the parameter.
    pub guard: Option<Arc<str>>,
    /// The rule by which values leave through the parameter.
    pub leaves: Option<Arc<str>>,
    /// The integrity of the value.
    pub integrity: Integrity,
    /// The confidentiality of the value.
    pub confidentiality: Confidentiality,
    /// The sources of the value.
    pub origins: Vec<FlowOrigin>,
    /// The code of the first violation; `None` if there is none.
    #[serde(serialize_with = "code_text")]
    pub code: Option<Code>,
    /// The way of the violating value, from its source to the parameter.
    pub way: Vec<FlowHop>,
    /// All sources of the value, including those that violate nothing.
    #[serde(skip)]
    pub sources: FlowSources,
    /// All sources of what decides the call; empty if that does not count.
    #[serde(skip)]
    pub deciding: FlowSources,
}

/// The sources of a value, as far as they can be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowSources {
    /// All sources of the value.
    Listed(Arc<[FlowOrigin]>),
    /// Too many to list.
    TooMany,
}

impl Default for FlowSources {
    fn default() -> Self {
        Self::Listed(Arc::from([]))
    }
}

impl FlowSources {
    /// Returns the sources; none if there are too many to list.
    pub fn listed(&self) -> &[FlowOrigin] {
        match self {
            Self::Listed(origins) => origins,
            Self::TooMany => &[],
        }
    }

    /// Returns true if the output of the step at `path` may be a source.
    pub fn may_include_step(&self, path: &str) -> bool {
        match self {
            Self::Listed(origins) => origins.iter().any(|origin| *origin.step == *path),
            Self::TooMany => true,
        }
    }

    /// Returns true if the part at `field`, a path with dots, of the output of the step at `path` may be a source.
    pub fn may_include_field(&self, path: &str, field: &str) -> bool {
        let is_inside = |field: &str, outer: &str| {
            let rest = field.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || outer.is_empty())
        };
        let includes = |origin: &FlowOrigin| {
            *origin.step == *path
                && (is_inside(field, &origin.field)
                    // Paths leave out positions of lists, and a number may be a key.
                    || is_inside(&without_numbers(field), &without_numbers(&origin.field)))
        };
        match self {
            Self::Listed(origins) => origins.iter().any(includes),
            Self::TooMany => true,
        }
    }
}

impl FlowParameter {
    /// Returns what a person who decides about the call should know: the violation, and the way of the value, one place
    /// a line.
    pub fn explanation(&self) -> Vec<String> {
        let Some(code) = self.code else {
            return Vec::new();
        };
        let mut lines = vec![format!("{code}: {}", code.title())];
        lines.extend(self.way.iter().map(|hop| hop.text.clone()));
        lines
    }
}

/// Returns a path without the names that are numbers.
fn without_numbers(field: &str) -> String {
    let names = field.split('.').filter(|name| !is_position(name));
    names.collect::<Vec<_>>().join(".")
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn code_text<S: serde::Serializer>(code: &Option<Code>, to: S) -> Result<S::Ok, S::Error> {
    code.map(Code::as_str).serialize(to)
}

/// The labels of what a step reads from another one, directly or through slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEdge {
    /// The step that is read, with the path of inner plans before it.
    pub from: Arc<str>,
    /// The step that reads: its arguments, its condition or the list of its loop.
    pub to: Arc<str>,
    /// The integrity of everything that is read.
    pub integrity: Integrity,
    /// The confidentiality of everything that is read.
    pub confidentiality: Confidentiality,
}

/// The overall result of a flow analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowVerdict {
    /// No violation.
    #[default]
    Clean,
    /// Violations that are warned about.
    Warns,
    /// Steps wait for approval.
    Asks,
    /// The plan must not run.
    Denied,
}

/// The result of a flow analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport {
    /// The guarded and leaving parameters, in the order of the steps.
    pub parameters: Vec<FlowParameter>,
    /// The edges between steps, one for each pair; empty unless [`FlowContext`](super::FlowContext) asks for them.
    pub edges: Vec<FlowEdge>,
    /// The diagnostics of the violations.
    pub diagnostics: Diagnostics,
    /// The consequence of violations.
    pub on_violation: OnViolation,
    /// The label of literals and inputs.
    pub planner: PlannerLabel,
    /// The [digest](super::FlowPolicy::digest) of the policy.
    pub policy: Arc<str>,
    /// The labels of what the plan's output selects.
    pub output: ValueLabels,
    /// The sources of what the plan's output selects.
    pub output_sources: FlowSources,
    /// True if the plan's output may contain an untrusted text: one that is no constant of a schema. A planner that reads
    /// such an output is exposed.
    pub exposes: bool,
    /// The positions of the parameters of each step.
    pub(super) by_step: HashMap<Arc<str>, Vec<usize>>,
}

impl FlowReport {
    /// Returns the overall result.
    pub fn verdict(&self) -> FlowVerdict {
        match self.on_violation {
            _ if self.violations().next().is_none() => FlowVerdict::Clean,
            OnViolation::Warn => FlowVerdict::Warns,
            OnViolation::Ask => FlowVerdict::Asks,
            OnViolation::Deny => FlowVerdict::Denied,
        }
    }

    /// Iterates over the parameters with violations.
    pub fn violations(&self) -> impl Iterator<Item = &FlowParameter> {
        let parameters = self.parameters.iter();
        parameters.filter(|parameter| parameter.code.is_some())
    }

    /// Returns the guarded and leaving parameters of the step at `path`: its id, after those of the steps around its plan,
    /// with slashes between them. Steps whose ids contain slashes may share a path.
    pub fn parameters_of(&self, path: &str) -> impl Iterator<Item = &FlowParameter> {
        let positions = self.by_step.get(path).into_iter().flatten();
        positions.filter_map(|position| self.parameters.get(*position))
    }

    /// Returns the steps that must wait for approval, with the path of inner plans before each.
    pub fn asking_steps(&self) -> BTreeSet<Arc<str>> {
        if self.on_violation != OnViolation::Ask {
            return BTreeSet::new();
        }
        self.violations()
            .map(|parameter| Arc::clone(&parameter.step))
            .collect()
    }
}
