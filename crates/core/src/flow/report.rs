//! The result of a flow analysis, and the labels that a server states for a result.
//!
//! The latter come after the plan was checked, and can only take trust away: a server that calls its own result trusted or
//! public changes nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::analysis::StepLabels;
use super::graph::Flags;
use super::labels::is_position;
use super::traces::{PathEnd, ShownTraces, Traces};
use super::{OnViolation, PlannerLabel};
use crate::{Code, Diagnostics, ToolName, Value};

pub use crate::diagnostic::{FlowHop, FlowPath};

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
    /// True for the error of the step: its text is untrusted, and no rule changes that.
    #[serde(skip)]
    pub is_error: bool,
}

/// A guarded or leaving parameter of a step.
#[derive(Clone, Debug)]
pub struct FlowParameter {
    /// The step, with the path of inner plans before it.
    pub step: Arc<str>,
    /// The tool.
    pub tool: ToolName,
    /// The path of the parameter, with dots; empty for all arguments together.
    pub parameter: Arc<str>,
    /// The rule that guards the parameter.
    pub guard: Option<Arc<str>>,
    /// The rule that makes values leave through the parameter.
    pub leaves: Option<Arc<str>>,
    /// The integrity of the value.
    pub integrity: Integrity,
    /// The confidentiality of the value.
    pub confidentiality: Confidentiality,
    /// The code of the first violation; `None` if there is none.
    pub code: Option<Code>,
    pub(super) traces: Traces,
}

impl FlowParameter {
    /// Returns the sources of the value; of a violation, those that violate.
    pub fn origins(&self) -> &[FlowOrigin] {
        &self.shown().origins
    }

    /// Returns the way of the violating value, from its source to the parameter.
    pub fn path(&self) -> &FlowPath {
        &self.shown().path
    }

    /// Returns all sources of the value, including those that violate nothing.
    pub fn sources(&self) -> &FlowSources {
        self.traces.sources()
    }

    /// Returns all sources of what decides the call; none if that does not count.
    pub fn deciding(&self) -> &FlowSources {
        self.traces.deciding()
    }

    fn shown(&self) -> &ShownTraces {
        self.traces.shown(|code| self.path_end(code))
    }

    /// Returns the end of the way of a violation.
    pub(super) fn path_end(&self, code: Code) -> PathEnd {
        PathEnd {
            code,
            step: Arc::clone(&self.step),
            tool: Arc::clone(self.tool.text()),
            parameter: Arc::clone(&self.parameter),
        }
    }

    /// Leaves out the sources of the value for which `is_retained` returns false, as if the analysis had not found them. The tests of
    /// the comparison at run time need it.
    #[doc(hidden)]
    pub fn retain_sources(&mut self, is_retained: impl Fn(&FlowOrigin) -> bool) {
        self.traces.retain_sources(is_retained);
    }
}

impl PartialEq for FlowParameter {
    /// Compares everything that reports show.
    fn eq(&self, other: &Self) -> bool {
        self.step == other.step
            && self.tool == other.tool
            && self.parameter == other.parameter
            && self.guard == other.guard
            && self.leaves == other.leaves
            && self.integrity == other.integrity
            && self.confidentiality == other.confidentiality
            && self.code == other.code
            && self.shown() == other.shown()
            && self.sources() == other.sources()
            && self.deciding() == other.deciding()
    }
}

impl Eq for FlowParameter {}

impl Serialize for FlowParameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("FlowParameter", 10)?;
        fields.serialize_field("step", &self.step)?;
        fields.serialize_field("tool", &self.tool)?;
        fields.serialize_field("parameter", &self.parameter)?;
        fields.serialize_field("guard", &self.guard)?;
        fields.serialize_field("leaves", &self.leaves)?;
        fields.serialize_field("integrity", &self.integrity)?;
        fields.serialize_field("confidentiality", &self.confidentiality)?;
        fields.serialize_field("origins", self.origins())?;
        fields.serialize_field("code", &self.code.map(Code::as_str))?;
        fields.serialize_field("way", self.path())?;
        fields.end()
    }
}

/// The sources of a value, up to a limit.
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
    /// Returns the text for the person who decides about the call: the violation, and the path of the value with one place a
    /// line.
    pub fn explanation(&self) -> Vec<String> {
        let Some(code) = self.code else {
            return Vec::new();
        };
        let mut lines = vec![format!("{code}: {}", code.title())];
        lines.extend(self.path().iter().map(|hop| hop.text.clone()));
        lines
    }
}

/// Returns a path without the names that are numbers.
fn without_numbers(field: &str) -> String {
    let names = field.split('.').filter(|name| !is_position(name));
    names.collect::<Vec<_>>().join(".")
}

/// The labels of the values that a step reads from another one, directly or through slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEdge {
    /// The step that is read, with the path of inner plans before it.
    pub from: Arc<str>,
    /// The step that reads: its arguments, its condition or the list of its loop.
    pub to: Arc<str>,
    /// The joined integrity of all values that the step reads.
    pub integrity: Integrity,
    /// The joined confidentiality of all values that the step reads.
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
    pub parameters: Arc<Vec<FlowParameter>>,
    /// The edges between steps, one for each pair; empty unless [`FlowContext`](super::FlowContext) asks for them.
    pub edges: Vec<FlowEdge>,
    /// The diagnostics of the violations; empty in a [`CheckedPlan`](crate::CheckedPlan), which has them among its warnings.
    pub diagnostics: Diagnostics,
    /// The consequence of violations.
    pub on_violation: OnViolation,
    /// The label of literals and inputs.
    pub planner: PlannerLabel,
    /// The [digest](super::FlowPolicy::digest) of the policy.
    pub policy: Arc<str>,
    /// The labels of the plan's output.
    pub output: ValueLabels,
    /// The sources of the plan's output.
    pub output_sources: FlowSources,
    /// The sources of the texts in the plan's output.
    pub text_sources: FlowSources,
    /// True if the plan's output may contain an untrusted text: one that is not a constant of a schema. A planner that reads
    /// such an output is exposed.
    pub exposes: bool,
    /// The results of an earlier plan of the run that the analysis knew of, with their labels.
    pub retained: StepLabels,
    /// The positions of the parameters of each step, once they were asked for.
    pub(super) by_step: OnceLock<HashMap<Arc<str>, Vec<usize>>>,
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
        let by_step = self.by_step.get_or_init(|| {
            let mut by_step: HashMap<_, Vec<usize>> = HashMap::new();
            for (position, parameter) in self.parameters.iter().enumerate() {
                let step = Arc::clone(&parameter.step);
                by_step.entry(step).or_default().push(position);
            }
            by_step
        });
        let positions = by_step.get(path).into_iter().flatten();
        positions.filter_map(|position| self.parameters.get(*position))
    }

    /// Returns true if the output of the step at `path` would expose the reader of the plan's output if it had texts at places
    /// where its schema has none.
    pub fn may_expose_by(&self, path: &str) -> bool {
        !self.exposes
            && self.output.integrity == Integrity::Untrusted
            && self.output_sources.may_include_step(path)
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

impl ValueLabels {
    /// Reads the field `ifc` of the `_meta` of a result, as the MCP server of GitHub writes it: `integrity` is `trusted` or
    /// `untrusted`, and `confidentiality` is `public`, or anything else that names the readers: a text, or a list of texts. A
    /// label that cannot be read counts as untrusted or private.
    pub fn from_meta(meta: &Value) -> Self {
        let Some(labels) = meta.get("ifc").filter(|labels| !labels.is_null()) else {
            return Self::default();
        };
        let is_public = |text: &Value| text.as_text() == Some("public");
        let integrity = labels.get("integrity");
        let confidentiality = labels.get("confidentiality");
        let is_object = labels.as_object().is_some();
        let untrusted = integrity.is_some_and(|text| text.as_text() != Some("trusted"));
        let private = confidentiality.is_some_and(|readers| match readers.as_list() {
            Some(readers) => !readers.iter().any(is_public),
            None => !is_public(readers),
        });
        Self::new(!is_object || untrusted, !is_object || private)
    }
}

impl From<ValueLabels> for Flags {
    fn from(labels: ValueLabels) -> Self {
        Self {
            untrusted: labels.integrity == Integrity::Untrusted,
            private: labels.confidentiality == Confidentiality::Private,
        }
    }
}

impl FlowReport {
    /// Applies the labels that a server has stated for the output of the step at `path`, and returns the parameters that violate
    /// the policy by them.
    pub fn apply_stated(&mut self, path: &str, labels: ValueLabels) -> Vec<FlowParameter> {
        let untrusted = labels.integrity == Integrity::Untrusted;
        let private = labels.confidentiality == Confidentiality::Private;
        if self.output_sources.may_include_step(path) {
            self.output = self.output.joined(labels);
        }
        self.exposes |= untrusted && self.text_sources.may_include_step(path);
        let mut violations = Vec::new();
        for parameter in Arc::make_mut(&mut self.parameters) {
            let is_source = parameter.sources().may_include_step(path);
            if is_source {
                parameter.integrity = parameter.integrity.max(labels.integrity);
                parameter.confidentiality = parameter.confidentiality.max(labels.confidentiality);
            }
            if parameter.code.is_some() {
                continue;
            }
            let decides = parameter.deciding().may_include_step(path);
            let (code, label, verb) = match () {
                () if is_source && untrusted && parameter.guard.is_some() => {
                    (Code::UntrustedArgument, "untrusted", "reaches")
                }
                () if is_source && private && parameter.leaves.is_some() => {
                    (Code::PrivateArgument, "private", "leaves through")
                }
                () if decides && untrusted => (Code::UntrustedDecision, "untrusted", "decides"),
                () => continue,
            };
            let hop = |text: String| FlowHop {
                place: String::new(),
                text,
            };
            parameter.code = Some(code);
            let flow_path = FlowPath::from(vec![
                hop(format!(
                    "the server states that the result of `{path}` is {label}"
                )),
                hop(format!(
                    "{verb} `{}` of `{}` in `{}`",
                    parameter.parameter, parameter.tool, parameter.step
                )),
            ]);
            let origins = parameter.sources_in(path, code);
            parameter.traces.show(ShownTraces {
                origins,
                path: flow_path,
            });
            violations.push(parameter.clone());
        }
        violations
    }
}

impl FlowParameter {
    /// Returns the sources in the output of the step at `path`, of the value or of what decides the call.
    fn sources_in(&self, path: &str, code: Code) -> Vec<super::FlowOrigin> {
        let sources = match code {
            Code::UntrustedDecision => self.deciding(),
            _ => self.sources(),
        };
        let listed = sources.listed().iter();
        listed
            .filter(|origin| *origin.step == *path)
            .cloned()
            .collect()
    }

    /// Returns the message of a violation that became known during the run.
    pub fn stated_violation(&self) -> Option<(Code, String)> {
        let code = self.code?;
        let path: Vec<&str> = self.path().iter().map(|hop| hop.text.as_str()).collect();
        Some((code, path.join("; it ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_labels_only_take_trust_away() {
        let cases = [
            ("{}", false, false),
            (r#"{"ifc": null}"#, false, false),
            (
                r#"{"ifc": {"integrity": "trusted", "confidentiality": ["public"]}}"#,
                false,
                false,
            ),
            (
                r#"{"ifc": {"integrity": "untrusted", "confidentiality": ["public"]}}"#,
                true,
                false,
            ),
            (
                r#"{"ifc": {"integrity": "trusted", "confidentiality": ["ann", "bob"]}}"#,
                false,
                true,
            ),
            (
                r#"{"ifc": {"integrity": "trusted", "confidentiality": []}}"#,
                false,
                true,
            ),
            (r#"{"ifc": {"confidentiality": "private"}}"#, false, true),
            (r#"{"ifc": {"confidentiality": "public"}}"#, false, false),
            (r#"{"ifc": {"integrity": 7}}"#, true, false),
            (r#"{"ifc": "untrusted"}"#, true, true),
        ];
        for (meta, untrusted, private) in cases {
            let labels = ValueLabels::from_meta(&Value::from_json(meta).unwrap());
            assert_eq!(labels.integrity, Integrity::of(untrusted), "{meta}");
            assert_eq!(
                labels.confidentiality,
                Confidentiality::of(private),
                "{meta}"
            );
        }
    }
}
