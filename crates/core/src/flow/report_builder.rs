//! Builds the report: violations, their sources and ways, and the diagnostics about them.

use std::fmt::Write as _;
use std::sync::Arc;

use super::analysis::FlowContext;
use super::graph::{Flag, Flags, GraphSearch, LabelGraph, LabelOrigin, NodeId, Passage};
use super::policy::OnViolation;
use super::report::{Confidentiality, FlowHop, FlowOrigin, FlowParameter, FlowSources, Integrity};
use crate::check::Releases;
use crate::diagnostic::DiagnosticCounter;
use crate::plan::ExternalValue;
use crate::plan::reference::shortened;
use crate::{Code, Diagnostic, Diagnostics, Place, Severity, Sources, Tool};

/// Maximum number of sources of a parameter in the report.
const MAX_ORIGINS: usize = 100;

/// Maximum number of sources that a message names.
const MAX_NAMED_ORIGINS: usize = 3;

/// A guarded or leaving parameter of a call, with its labels.
pub(super) struct StepParameter<'a> {
    /// The position of the step, after those of the steps around its plan.
    pub(super) position: Vec<u32>,
    pub(super) step: Arc<str>,
    pub(super) tool: &'a Tool,
    /// The tool, as `server.tool`.
    pub(super) tool_name: Arc<str>,
    pub(super) parameter: Arc<str>,
    pub(super) guard: Option<Arc<str>>,
    pub(super) leaves: Option<Arc<str>>,
    /// The label of what decides the call, if it counts.
    pub(super) control: Option<NodeId>,
    pub(super) label: NodeId,
    pub(super) text: usize,
    pub(super) place: Place,
}

/// A violation of a parameter.
struct ParameterViolation {
    code: Code,
    flag: Flag,
    node: NodeId,
}

pub(super) struct ReportBuilder<'a> {
    pub(super) context: FlowContext<'a>,
    pub(super) graph: &'a LabelGraph,
    pub(super) texts: &'a [Sources],
    /// The source of everything that the plan spells out.
    pub(super) planner: FlowOrigin,
}

impl ReportBuilder<'_> {
    /// Builds the parameters and their diagnostics, and the sources of the plan's `output`.
    pub(super) fn build(
        &self,
        parameters: &[StepParameter<'_>],
        output: NodeId,
    ) -> (Vec<FlowParameter>, Diagnostics, FlowSources) {
        let mut search = self.graph.search();
        let mut counter = DiagnosticCounter::default();
        let mut diagnostics = Diagnostics::new();
        let mut found = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let violations = self.violations(parameter, &mut search);
            let mut way = Vec::new();
            for (position, violation) in violations.iter().enumerate() {
                let hops = self.way(parameter, violation, &mut search);
                let severity = match self.context.policy.violation {
                    OnViolation::Deny => Severity::Error,
                    OnViolation::Ask | OnViolation::Warn => Severity::Warning,
                };
                if counter.count(severity) {
                    let origins = self.origins(violation.node, Some(violation.flag), &mut search);
                    diagnostics
                        .push(self.diagnostic(parameter, violation, &origins, &hops, severity));
                }
                if position == 0 {
                    way = hops;
                }
            }
            let flags = self.graph.flags(parameter.label);
            let flag = violations.first().map(|violation| violation.flag);
            let node = violations
                .first()
                .map_or(parameter.label, |violation| violation.node);
            let sources = self.sources(parameter.label, &mut search);
            let origins = match &sources {
                // Without a violation, these are the same.
                FlowSources::Listed(sources) if flag.is_none() => sources.to_vec(),
                _ => self.origins(node, flag, &mut search),
            };
            found.push(FlowParameter {
                step: Arc::clone(&parameter.step),
                tool: Arc::clone(&parameter.tool_name),
                parameter: Arc::clone(&parameter.parameter),
                guard: parameter.guard.clone(),
                leaves: parameter.leaves.clone(),
                integrity: Integrity::of(flags.untrusted),
                confidentiality: Confidentiality::of(flags.private),
                origins,
                sources,
                deciding: parameter
                    .control
                    .map(|control| self.sources(control, &mut search))
                    .unwrap_or_default(),
                code: violations.first().map(|violation| violation.code),
                way,
            });
        }
        counter.note_rest_omitted(&mut diagnostics);
        let output = self.sources(output, &mut search);
        (found, diagnostics, output)
    }

    fn violations(
        &self,
        parameter: &StepParameter<'_>,
        search: &mut GraphSearch<'_>,
    ) -> Vec<ParameterViolation> {
        let Flags { untrusted, private } = self.graph.flags(parameter.label);
        let mut violations = Vec::new();
        if parameter.guard.is_some() && untrusted {
            violations.push(ParameterViolation {
                code: Code::UntrustedArgument,
                flag: Flag::Untrusted,
                node: parameter.label,
            });
        }
        if parameter.leaves.is_some() && private && !self.is_released(parameter, search) {
            violations.push(ParameterViolation {
                code: Code::PrivateArgument,
                flag: Flag::Private,
                node: parameter.label,
            });
        }
        if let Some(control) = parameter.control
            && self.graph.flags(control).untrusted
        {
            violations.push(ParameterViolation {
                code: Code::UntrustedDecision,
                flag: Flag::Untrusted,
                node: control,
            });
        }
        violations
    }

    /// Returns true if all private sources of the parameter are secrets that the tool is allowed to receive by name.
    fn is_released(&self, parameter: &StepParameter<'_>, search: &mut GraphSearch<'_>) -> bool {
        let Releases::Listed(_) = self.context.releases else {
            return false;
        };
        let origins = search.origins(parameter.label, Some(Flag::Private), MAX_ORIGINS);
        // Without any source the budget of the search is spent.
        !origins.is_empty()
            && origins.len() < MAX_ORIGINS
            && origins.iter().all(|origin| match origin {
                LabelOrigin::Secret(name) => self
                    .context
                    .releases
                    .objection(ExternalValue::Secrets, name, parameter.tool)
                    .is_none(),
                LabelOrigin::Output { .. } | LabelOrigin::Planner => false,
            })
    }

    fn way(
        &self,
        parameter: &StepParameter<'_>,
        violation: &ParameterViolation,
        search: &mut GraphSearch<'_>,
    ) -> Vec<FlowHop> {
        let mut hops = Vec::new();
        if let Some((origin, passages)) = search.way(violation.node, violation.flag) {
            hops.push(FlowHop {
                place: String::new(),
                text: describe_origin(origin),
            });
            hops.extend(passages.into_iter().map(|passage| self.hop(passage)));
        }
        let verb = match violation.code {
            Code::UntrustedDecision => "decides whether",
            _ => "reaches",
        };
        let end = match violation.code {
            Code::UntrustedDecision => format!(
                "{verb} `{}` calls `{}`",
                parameter.step, parameter.tool_name
            ),
            _ => format!(
                "{verb} {} of `{}` in `{}`",
                described_parameter(parameter),
                parameter.tool_name,
                parameter.step
            ),
        };
        hops.push(FlowHop {
            place: self.pointer(parameter.text, parameter.place),
            text: end,
        });
        hops
    }

    fn hop(&self, passage: &Passage) -> FlowHop {
        let reference = shortened(&passage.reference);
        FlowHop {
            place: self.pointer(passage.text, passage.place),
            text: match &passage.step {
                Some(step) => format!("passes `{reference}` in `{step}`"),
                None => format!("passes `{reference}` in the output"),
            },
        }
    }

    fn pointer(&self, text: usize, place: Place) -> String {
        let sources = self.texts.get(text);
        sources
            .and_then(|sources| sources.pointer(place))
            .unwrap_or_default()
    }

    fn diagnostic(
        &self,
        parameter: &StepParameter<'_>,
        violation: &ParameterViolation,
        origins: &[FlowOrigin],
        way: &[FlowHop],
        severity: Severity,
    ) -> Diagnostic {
        let tool = &parameter.tool_name;
        let named: Vec<String> = origins
            .iter()
            .take(MAX_NAMED_ORIGINS)
            .map(shown_origin)
            .collect();
        let mut sources = named.join(", ");
        if origins.len() > MAX_NAMED_ORIGINS {
            // Writing to a text cannot fail.
            let _ = write!(sources, " and {} more", origins.len() - MAX_NAMED_ORIGINS);
        }
        if sources.is_empty() {
            sources.push_str("many sources");
        }
        let what = described_parameter(parameter);
        let message = match violation.code {
            Code::PrivateArgument => format!(
                "the private value of {sources} leaves through {what} of `{tool}` in `{}`",
                parameter.step
            ),
            Code::UntrustedDecision => format!(
                "the untrusted value of {sources} decides whether `{}` calls `{tool}`",
                parameter.step
            ),
            _ => format!(
                "the untrusted value of {sources} reaches {what} of `{tool}` in `{}`, which is guarded",
                parameter.step
            ),
        };
        let mut diagnostic = Diagnostic::new(violation.code, severity, message);
        if let Some(sources) = self.texts.get(parameter.text) {
            diagnostic = diagnostic.at(parameter.place, sources);
        }
        diagnostic.way = way.to_vec();
        diagnostic.help(self.ways_out(violation, origins))
    }

    fn origins(
        &self,
        node: NodeId,
        flag: Option<Flag>,
        search: &mut GraphSearch<'_>,
    ) -> Vec<FlowOrigin> {
        let origins = search.origins(node, flag, MAX_ORIGINS).into_iter();
        origins.map(|origin| self.flow_origin(origin)).collect()
    }

    fn sources(&self, node: NodeId, search: &mut GraphSearch<'_>) -> FlowSources {
        let origins = search.origins(node, None, MAX_ORIGINS);
        if origins.len() == MAX_ORIGINS || search.is_spent() {
            return FlowSources::TooMany;
        }
        let origins = origins.into_iter();
        FlowSources::Listed(origins.map(|origin| self.flow_origin(origin)).collect())
    }

    fn flow_origin(&self, origin: &LabelOrigin) -> FlowOrigin {
        match origin {
            LabelOrigin::Output { step, tool, field } => FlowOrigin {
                step: Arc::clone(step),
                tool: Arc::clone(tool),
                field: Arc::clone(field),
            },
            LabelOrigin::Planner => self.planner.clone(),
            LabelOrigin::Secret(name) => FlowOrigin {
                step: Arc::clone(&self.planner.step),
                tool: Arc::from("secrets"),
                field: Arc::clone(name),
            },
        }
    }

    fn ways_out(&self, violation: &ParameterViolation, origins: &[FlowOrigin]) -> String {
        let rule = origins
            .iter()
            .find(|origin| !origin.step.is_empty())
            .map(|origin| {
                if origin.field.is_empty() {
                    origin.tool.to_string()
                } else {
                    format!("{}:{}", origin.tool, origin.field)
                }
            });
        let person = match self.context.policy.violation {
            OnViolation::Ask => "a person decides the call when the plan runs".to_owned(),
            OnViolation::Deny | OnViolation::Warn => {
                "let a person decide with `violation = \"ask\"` in `[flow]`".to_owned()
            }
        };
        match (violation.code, rule) {
            (Code::PrivateArgument, Some(rule)) => format!(
                "send something else, or {person}; if it is not private, take `{rule}` out of `private` in `[flow]`"
            ),
            (Code::PrivateArgument, None) => format!("send something else, or {person}"),
            (Code::UntrustedDecision, Some(rule)) => format!(
                "decide by a trusted value or an input; or {person}; or add `{rule}` to `trusted` in `[flow]` of your own planwright.toml"
            ),
            (_, Some(rule)) => format!(
                "take the value from a trusted source, or make it an input; or {person}; or add `{rule}` to `trusted` in `[flow]` of your own planwright.toml"
            ),
            (_, None) => format!("take the value from a trusted source; or {person}"),
        }
    }
}

impl FlowOrigin {
    /// Returns the source of everything that the plan spells out.
    pub(super) fn planner() -> Self {
        Self {
            step: Arc::from(""),
            tool: Arc::from("plan"),
            field: Arc::from(""),
        }
    }

    /// Returns the source in a few words.
    pub fn shown(&self) -> String {
        shown_origin(self)
    }
}

fn shown_origin(origin: &FlowOrigin) -> String {
    match (&*origin.step, &*origin.tool) {
        ("", "plan") => "the plan's author".to_owned(),
        ("", _) => format!("the secret `{}`", origin.field),
        (step, tool) if origin.field.is_empty() => format!("`{step}` (`{tool}`)"),
        (step, tool) => format!("`{step}.{}` (`{tool}`)", origin.field),
    }
}

fn describe_origin(origin: &LabelOrigin) -> String {
    match origin {
        LabelOrigin::Output { step, tool, field } if field.is_empty() => {
            format!("`{tool}` gives it in `{step}`")
        }
        LabelOrigin::Output { step, tool, field } => {
            format!("`{tool}` gives `{field}` in `{step}`")
        }
        LabelOrigin::Planner => {
            "the author of the plan wrote it after reading untrusted text".to_owned()
        }
        LabelOrigin::Secret(name) => format!("the secret `{name}` gives it"),
    }
}

fn described_parameter(parameter: &StepParameter<'_>) -> String {
    if parameter.parameter.is_empty() {
        "the arguments".to_owned()
    } else {
        format!("the parameter `{}`", parameter.parameter)
    }
}

impl Integrity {
    pub(super) fn of(untrusted: bool) -> Self {
        if untrusted {
            Self::Untrusted
        } else {
            Self::Trusted
        }
    }
}

impl Confidentiality {
    pub(super) fn of(private: bool) -> Self {
        if private { Self::Private } else { Self::Public }
    }
}
