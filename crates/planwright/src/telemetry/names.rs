//! The names of the conventions.

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const RESULT: &str = "gen_ai.tool.call.result";
pub(super) const METHOD: &str = "mcp.method.name";
pub(super) const ERROR: &str = "error.type";
pub(super) const RESENT: &str = "planwright.attempt";
pub(super) const RUN: &str = "planwright.run.id";
pub(super) const DIGEST: &str = "planwright.plan.digest";
pub(super) const STEPS: &str = "planwright.plan.steps";
pub(super) const STEP: &str = "planwright.step";
pub(super) const STATUS: &str = "planwright.status";

pub(super) const EXECUTE_TOOL: &str = "execute_tool";
pub(super) const INVOKE_WORKFLOW: &str = "invoke_workflow";
pub(super) const TOOLS_CALL: &str = "tools/call";

pub(super) const WORKFLOW_DURATION: &str = "gen_ai.workflow.duration";
pub(super) const TOOL_DURATION: &str = "gen_ai.execute_tool.duration";
pub(super) const MCP_DURATION: &str = "mcp.client.operation.duration";
