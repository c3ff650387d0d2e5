//! Documents about the flow of data.

use planwright_core::Diagnostic;
use planwright_core::flow::{FlowParameter, FlowReport, FlowVerdict, OutputField, ParameterRule};
use serde::Serialize;

/// The schema's name and version, of the flow of data in a plan.
pub const FLOW_SCHEMA: &str = "planwright.flow/1";

/// The schema's name and version, for the classification of tools by the flow policy.
pub const FLOW_TOOLS_SCHEMA: &str = "planwright.flow-tools/1";

/// The flow of data in a plan, `planwright.flow/1`.
#[derive(Clone, Debug, Serialize)]
pub struct FlowV1 {
    /// [`FLOW_SCHEMA`].
    pub schema: &'static str,
    /// The overall result.
    pub verdict: FlowVerdict,
    /// The guarded and leaving parameters, in the order of the steps.
    pub parameters: Vec<FlowParameter>,
    /// The diagnostics of the check, those of the flow included.
    pub diagnostics: Vec<Diagnostic>,
}

impl FlowV1 {
    /// Creates the document about `report`; without one, the plan is not sound, for the reasons in its diagnostics.
    pub fn new(report: Option<&FlowReport>, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            schema: FLOW_SCHEMA,
            verdict: report.map_or(FlowVerdict::Denied, FlowReport::verdict),
            parameters: report.map_or_else(Vec::new, |report| report.parameters.clone()),
            diagnostics,
        }
    }
}

/// The classification of tools by the flow policy, `planwright.flow-tools/1`.
#[derive(Clone, Debug, Serialize)]
pub struct FlowToolsV1 {
    /// [`FLOW_TOOLS_SCHEMA`].
    pub schema: &'static str,
    /// The tools.
    pub tools: Vec<FlowToolV1>,
    /// The rules that cover nothing.
    pub diagnostics: Vec<Diagnostic>,
}

/// The classification of a tool.
#[derive(Clone, Debug, Serialize)]
pub struct FlowToolV1 {
    /// The tool, as `server.tool`.
    pub tool: String,
    /// The labels of its output; one entry if all of it has the same.
    pub outputs: Vec<OutputField>,
    /// The guarded and leaving parameters of the tool.
    pub parameters: Vec<ParameterRule>,
}

impl FlowToolsV1 {
    /// The document about `tools`.
    pub fn new(tools: Vec<FlowToolV1>, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            schema: FLOW_TOOLS_SCHEMA,
            tools,
            diagnostics,
        }
    }
}
