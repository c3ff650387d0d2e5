//! The table of all dialects: the only place that knows more than one.

use crate::acts::Acts;
use crate::agentle::Agentle;
use crate::anthropic::Anthropic;
use crate::clear_ai::ClearAi;
use crate::concierge::Concierge;
use crate::dialect::Dialect;
use crate::llm_compiler::LlmCompiler;
use crate::mcp_cli::McpCli;
use crate::native::Native;
use crate::native::lines::Lines;
use crate::nestful::Nestful;
use crate::openai::OpenAi;
use crate::rewoo::Rewoo;

static DIALECTS: &[&dyn Dialect] = &[
    &Native,
    &Lines,
    &Concierge,
    &Acts,
    &McpCli,
    &ClearAi,
    &Agentle,
    &OpenAi,
    &Anthropic,
    &LlmCompiler,
    &Rewoo,
    &Nestful,
];

/// Every dialect, the native one first.
pub fn dialects() -> &'static [&'static dyn Dialect] {
    DIALECTS
}

/// The dialect called `name`.
pub fn dialect(name: &str) -> Option<&'static dyn Dialect> {
    dialects()
        .iter()
        .copied()
        .find(|dialect| dialect.name() == name)
}

/// The names of all dialects, as messages list them.
pub(crate) fn names() -> String {
    listed(|_| true)
}

/// The names of those that plans can be written in.
pub(crate) fn writable_names() -> String {
    listed(|dialect| dialect.is_writable())
}

fn listed(wanted: impl Fn(&dyn Dialect) -> bool) -> String {
    let names: Vec<String> = dialects()
        .iter()
        .filter(|dialect| wanted(**dialect))
        .map(|dialect| format!("`{}`", dialect.name()))
        .collect();
    names.join(", ")
}
