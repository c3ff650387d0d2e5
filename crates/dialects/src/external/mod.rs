//! The dialects of other systems: one module each, independent of one another.

/// `execute_plan(steps)`: listed order, `output_by_reference`.
pub mod concierge;

/// Calls that are connected through state, `†state.path`.
pub mod acts;

/// Indexed steps, variables, `${var.path}`.
pub mod mcp_cli;

/// Steps by position, `${step[0].data}`.
pub mod clear_ai;

/// `execute_tool_plan`: `"$ref:id.path"`.
pub mod agentle;

/// Tool calls of a message of OpenAI's APIs. Only read.
pub mod openai;

/// Tool calls of a message of Anthropic's API. Only read.
pub mod anthropic;

/// Numbered lines of calls, `$1`. Only read.
pub mod llm_compiler;

/// `Plan:` and `#E1 = Tool[input]`. Only read.
pub mod rewoo;

/// Labelled calls, `$var_1.field$`. Only read.
pub mod nestful;
