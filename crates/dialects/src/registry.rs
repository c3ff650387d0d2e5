//! The table of all dialects: the only place that knows more than one.

use crate::acts::Acts;
use crate::agentle::Agentle;
use crate::clear_ai::ClearAi;
use crate::concierge::Concierge;
use crate::dialect::Dialect;
use crate::mcp_cli::McpCli;
use crate::native::Native;

static DIALECTS: &[&dyn Dialect] = &[&Native, &Concierge, &Acts, &McpCli, &ClearAi, &Agentle];

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
    let names: Vec<String> = dialects()
        .iter()
        .map(|dialect| format!("`{}`", dialect.name()))
        .collect();
    names.join(", ")
}
