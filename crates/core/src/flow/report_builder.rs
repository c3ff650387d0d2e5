//! Builds the report: violations, their sources and ways, and the diagnostics about them.

use std::fmt::Write as _;
use std::sync::Arc;

use super::analysis::FlowContext;
use super::graph::{Flag, Flags, LabelOrigin, NodeId};
use super::policy::OnViolation;
use super::report::{Confidentiality, FlowOrigin, FlowParameter, FlowPath, Integrity};
use super::traces::{FlowGraph, LabelViolation, MAX_ORIGINS, ShownTraces, Traces};
use crate::check::Releases;
use crate::diagnostic::DiagnosticCounter;
use crate::plan::ExternalValue;
use crate::{Code, Diagnostic, Diagnostics, Place, Severity, Tool, ToolName};

/// Maximum number of sources that a message names.
const MAX_NAMED_ORIGINS: usize = 3;

/// The number of bytes in which a message usually names a source.
const BYTES_OF_AN_ORIGIN: usize = 48;

/// A guarded or leaving parameter of a call, with its labels.
pub(super) struct StepParameter<'a> {
    pub(super) step: Arc<str>,
    pub(super) tool: &'a Tool,
    /// The tool, as `server.tool`.
    pub(super) tool_name: ToolName,
    pub(super) parameter: Arc<str>,
    pub(super) guard: Option<Arc<str>>,
    pub(super) leaves: Option<Arc<str>>,
    /// The label of what decides the call, if it counts.
    pub(super) control: Option<NodeId>,
    pub(super) label: NodeId,
    pub(super) text: usize,
    pub(super) place: Place,
}

pub(super) struct ReportBuilder<'a> {
    pub(super) context: FlowContext<'a>,
    pub(super) graph: &'a Arc<FlowGraph>,
}

impl ReportBuilder<'_> {
    /// Builds the parameters and their diagnostics.
    pub(super) fn build(
        &self,
        parameters: Vec<StepParameter<'_>>,
    ) -> (Arc<Vec<FlowParameter>>, Diagnostics) {
        let mut counter = DiagnosticCounter::default();
        let mut shown = Vec::new();
        let mut found = Vec::with_capacity(parameters.len());
        let severity = match self.context.policy.violation {
            OnViolation::Deny => Severity::Error,
            OnViolation::Ask | OnViolation::Warn => Severity::Warning,
        };
        for (position, parameter) in parameters.into_iter().enumerate() {
            let violations = self.violations(&parameter);
            let flags = self.graph.graph.flags(parameter.label);
            let place = (parameter.text, parameter.place);
            let mut traces = Traces::new(self.graph, parameter.label, parameter.control, place);
            traces.violation = violations[0];
            for violation in violations.into_iter().flatten() {
                if counter.count(severity) {
                    shown.push((position, violation));
                }
            }
            found.push(FlowParameter {
                step: parameter.step,
                tool: parameter.tool_name,
                parameter: parameter.parameter,
                guard: parameter.guard,
                leaves: parameter.leaves,
                integrity: Integrity::of(flags.untrusted),
                confidentiality: Confidentiality::of(flags.private),
                code: violations[0].map(|violation| violation.code),
                traces,
            });
        }
        let found = Arc::new(found);
        if shown.is_empty() {
            return (found, Diagnostics::new());
        }
        let words = ViolationWords {
            parameters: Arc::clone(&found),
            graph: Arc::clone(self.graph),
            on_violation: self.context.policy.violation,
            severity,
        };
        let diagnostics = Diagnostics::deferred(severity, move || words.all(&shown, counter));
        (found, diagnostics)
    }

    /// Returns the violations of a parameter, the first ones first.
    fn violations(&self, parameter: &StepParameter<'_>) -> [Option<LabelViolation>; 3] {
        let graph = &self.graph.graph;
        let Flags { untrusted, private } = graph.flags(parameter.label);
        let argument = LabelViolation {
            code: Code::UntrustedArgument,
            flag: Flag::Untrusted,
            node: parameter.label,
        };
        let leaving = LabelViolation {
            code: Code::PrivateArgument,
            flag: Flag::Private,
            node: parameter.label,
        };
        let is_decided = |control: &NodeId| graph.flags(*control).untrusted;
        let decision = parameter.control.filter(is_decided);
        let mut found = [
            (parameter.guard.is_some() && untrusted).then_some(argument),
            (parameter.leaves.is_some() && private && !self.is_released(parameter))
                .then_some(leaving),
            decision.map(|control| LabelViolation {
                code: Code::UntrustedDecision,
                flag: Flag::Untrusted,
                node: control,
            }),
        ];
        found.sort_by_key(Option::is_none);
        found
    }

    /// Returns true if all private sources of the parameter are secrets that the tool is allowed to receive by name.
    fn is_released(&self, parameter: &StepParameter<'_>) -> bool {
        let Releases::Listed(_) = self.context.releases else {
            return false;
        };
        let origins = self.graph.origins(parameter.label, Some(Flag::Private));
        // Without any source the budget of the search is spent.
        !origins.is_empty()
            && origins.len() < MAX_ORIGINS
            && origins.iter().all(|origin| match origin {
                LabelOrigin::Secret(name) => self
                    .context
                    .releases
                    .objection(ExternalValue::Secrets, name, parameter.tool)
                    .is_none(),
                LabelOrigin::Output { .. } | LabelOrigin::Retained(_) | LabelOrigin::Planner => {
                    false
                }
            })
    }
}

/// The words for violations, which are formed when a caller reads them: a plan may have a thousand.
struct ViolationWords {
    parameters: Arc<Vec<FlowParameter>>,
    graph: Arc<FlowGraph>,
    on_violation: OnViolation,
    severity: Severity,
}

impl ViolationWords {
    /// Words violations of the parameters at these positions. `counter` has counted all, also those beyond its limit.
    fn all(&self, shown: &[(usize, LabelViolation)], counter: DiagnosticCounter) -> Diagnostics {
        let diagnostics = shown.iter().filter_map(|(position, violation)| {
            let parameter = self.parameters.get(*position)?;
            Some(self.of(parameter, *violation))
        });
        let mut diagnostics: Diagnostics = diagnostics.collect();
        counter.note_rest_omitted(&mut diagnostics);
        diagnostics
    }

    fn of(&self, parameter: &FlowParameter, violation: LabelViolation) -> Diagnostic {
        let traces = &parameter.traces;
        // The first violation of a parameter is also that of the report, which shares its origins and its way.
        if traces.violation == Some(violation) {
            return self.diagnostic(parameter, violation, parameter.origins(), parameter.path());
        }
        let end = parameter.path_end(violation.code);
        let ShownTraces { origins, path } = traces.of_violation(violation, end);
        self.diagnostic(parameter, violation, &origins, &path)
    }

    fn diagnostic(
        &self,
        parameter: &FlowParameter,
        violation: LabelViolation,
        origins: &[FlowOrigin],
        path: &FlowPath,
    ) -> Diagnostic {
        let tool = &parameter.tool;
        let named = origins.len().min(MAX_NAMED_ORIGINS);
        let mut sources = String::with_capacity(named * BYTES_OF_AN_ORIGIN);
        for (position, origin) in origins.iter().take(MAX_NAMED_ORIGINS).enumerate() {
            if position > 0 {
                sources.push_str(", ");
            }
            add_origin(&mut sources, origin);
        }
        if origins.len() > MAX_NAMED_ORIGINS {
            // Writing to a text cannot fail.
            let _ = write!(sources, " and {} more", origins.len() - MAX_NAMED_ORIGINS);
        }
        if sources.is_empty() {
            sources.push_str("many sources");
        }
        let step = &*parameter.step;
        let [what, name, end] = match &*parameter.parameter {
            "" => ["the arguments", "", ""],
            name => ["the parameter `", name, "`"],
        };
        let tool = &**tool.text();
        // A plan may have a thousand of them, so the parts are joined without formatting.
        let message = match violation.code {
            Code::PrivateArgument => [
                "the private value of ",
                &sources,
                " leaves through ",
                what,
                name,
                end,
                " of `",
                tool,
                "` in `",
                step,
                "`",
            ]
            .concat(),
            Code::UntrustedDecision => [
                "the untrusted value of ",
                &sources,
                " decides whether `",
                step,
                "` calls `",
                tool,
                "`",
            ]
            .concat(),
            _ => [
                "the untrusted value of ",
                &sources,
                " reaches ",
                what,
                name,
                end,
                " of `",
                tool,
                "` in `",
                step,
                "`, which is guarded",
            ]
            .concat(),
        };
        let mut diagnostic = Diagnostic::new(violation.code, self.severity, message);
        let traces = &parameter.traces;
        if let Some(sources) = self.graph.text(traces.text) {
            diagnostic = diagnostic.at(traces.place, sources);
        }
        diagnostic.path = path.clone();
        diagnostic.help(self.remedy(violation, origins))
    }

    fn remedy(&self, violation: LabelViolation, origins: &[FlowOrigin]) -> String {
        let origin = origins
            .iter()
            .find(|origin| !origin.step.is_empty() && !origin.tool.is_empty());
        // The rule that covers the output, as the policy writes it. An error is private with all outputs of its tool.
        let rule = origin.map(|origin| match &*origin.field {
            "" => [&*origin.tool, "", ""],
            _ if origin.is_error => [&*origin.tool, "", ""],
            field => [&*origin.tool, ":", field],
        });
        // No rule makes an error trusted.
        let may_be_trusted = !origins.iter().any(|origin| origin.is_error);
        let person = match self.on_violation {
            OnViolation::Ask => "a person decides the call when the plan runs",
            OnViolation::Deny | OnViolation::Warn => {
                "let a person decide with `violation = \"ask\"` in `[flow]`"
            }
        };
        match (violation.code, rule) {
            (Code::PrivateArgument, Some([tool, sign, field])) => [
                "send something else, or ",
                person,
                "; if it is not private, take `",
                tool,
                sign,
                field,
                "` out of `private` in `[flow]`",
            ]
            .concat(),
            (Code::PrivateArgument, None) => ["send something else, or ", person].concat(),
            (code, Some(rule)) => {
                let source = match code {
                    Code::UntrustedDecision => "decide by a trusted value or an input; or ",
                    _ => "take the value from a trusted source, or make it an input; or ",
                };
                let [tool, sign, field] = rule;
                let mut help = [source, person].concat();
                if may_be_trusted {
                    help.extend([
                        "; or add `",
                        tool,
                        sign,
                        field,
                        "` to `trusted` in `[flow]` of your own planwright.toml",
                    ]);
                }
                help
            }
            (_, None) => ["take the value from a trusted source; or ", person].concat(),
        }
    }
}

impl FlowOrigin {
    /// Returns the source in a few words.
    pub fn shown(&self) -> String {
        let mut text = String::new();
        add_origin(&mut text, self);
        text
    }
}

/// Adds the source to `text`, in a few words.
fn add_origin(text: &mut String, origin: &FlowOrigin) {
    let parts: &[&str] = match (&*origin.step, &*origin.tool, &*origin.field) {
        ("", "plan", _) => &["the plan's author"],
        ("", _, secret) => &["the secret `", secret, "`"],
        (step, "", "") => &["`", step, "` (an earlier plan)"],
        // The error of a step that calls no tool.
        (step, "", field) => &["`", step, ".", field, "`"],
        (step, tool, "") => &["`", step, "` (`", tool, "`)"],
        (step, tool, field) => &["`", step, ".", field, "` (`", tool, "`)"],
    };
    text.extend(parts.iter().copied());
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
