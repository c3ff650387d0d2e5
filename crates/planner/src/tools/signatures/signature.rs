//! Signatures of tools, and listings of them within a token budget.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Tool, Value};

use super::shape::first_sentence;
use super::shape::{self, ShapeLimits, shape};

/// The limits of the shape of a parameter.
const PARAMETER_LIMITS: ShapeLimits = ShapeLimits {
    depth: 3,
    bytes: 160,
};

/// The limits of the shape of the output.
const OUTPUT_LIMITS: ShapeLimits = ShapeLimits {
    depth: 3,
    bytes: 300,
};

/// The length of the summary, in bytes.
const MAX_SENTENCE_LENGTH: usize = 160;

/// The number of parameters that are shown; required ones are always shown.
const MAX_PARAMETERS: usize = 24;

/// Writes `github.search_issues(query: string, limit?: integer = 30) -> {items: [{number: integer}]}  -- Find issues
/// [read-only]`.
///
/// A tool has the same one-line signature whatever other tools exist.
pub fn signature(tool: &Tool) -> String {
    let mut text = format!("{}({})", tool.qualified_name(), parameters(tool));
    if !tool.output.is_any() {
        let output = tool.output.as_value();
        let _ = write!(text, " -> {}", shape(output, output, OUTPUT_LIMITS));
    }
    // The description says more than the title, which only replaces an empty one.
    let description = tool
        .description
        .as_deref()
        .filter(|text| !text.trim().is_empty());
    let summary = description
        .or(tool.title.as_deref())
        .map(|text| first_sentence(text, MAX_SENTENCE_LENGTH));
    if let Some(summary) = summary.filter(|text| !text.is_empty()) {
        let _ = write!(text, "  -- {summary}");
    }
    for mark in marks(tool) {
        let _ = write!(text, " [{mark}]");
    }
    text
}

/// Writes `days?: integer = 3` for the property `name`, with references resolved in `root`.
pub(super) fn parameter(
    name: &str,
    property: &Value,
    is_required: bool,
    root: &Value,
    limits: ShapeLimits,
) -> String {
    let mark = if is_required { "" } else { "?" };
    let mut kind = shape(property, root, limits);
    let mut default = String::new();
    match property
        .get("default")
        .or_else(|| shape::resolved(property, root).get("default"))
    {
        // A null default equals leaving the parameter out.
        Some(Value::Null) if !is_required => {
            if let Some(rest) = kind.strip_suffix("|null") {
                kind.truncate(rest.len());
            }
        }
        Some(value) => {
            default = shape::literal(value)
                .map(|value| format!(" = {value}"))
                .unwrap_or_default();
        }
        None => {}
    }
    format!("{}{mark}: {kind}{default}", shape::field_name(name))
}

/// Returns marks that matter before a call.
pub(super) fn marks(tool: &Tool) -> impl Iterator<Item = &'static str> {
    let asks = tool.needs_approval().then_some("asks first");
    let reads = tool.annotations.read_only.then_some("read-only");
    reads.into_iter().chain(asks)
}

fn parameters(tool: &Tool) -> String {
    let root = tool.input.as_value();
    let (fields, required) = shape::fields(root, root);
    let fields = fields.into_iter().flatten();
    // Required parameters come first and are never hidden.
    let (required_fields, optional_fields): (Vec<_>, Vec<_>) =
        fields.partition(|(name, _)| required.contains(&&***name));
    let space = MAX_PARAMETERS.saturating_sub(required_fields.len());
    let hidden = optional_fields.len().saturating_sub(space);
    let required_fields = required_fields.into_iter().map(|field| (field, true));
    let optional_fields = optional_fields
        .into_iter()
        .take(space)
        .map(|field| (field, false));
    let mut texts: Vec<String> = required_fields
        .chain(optional_fields)
        .map(|((name, property), is_required)| {
            parameter(name, property, is_required, root, PARAMETER_LIMITS)
        })
        .collect();
    if hidden > 0 {
        texts.push(format!("… {hidden} more"));
    }
    texts.join(", ")
}

/// The advice to a model that sees names only.
const ADVICE: &str = "These are names only: `search_tools` finds tools and tells their signatures, `describe_tools` tells all about some.\n";

/// A listing of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolListing {
    /// The lines, one per tool or one per server.
    pub text: String,
    /// True if every tool is listed with its signature.
    pub is_whole: bool,
}

/// Estimates the number of tokens in `text`; close enough for English, JSON, and code.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Lists `tools` in at most `budget` tokens: with signatures if they fit, else with as many names as fit, grouped by server, and
/// the advice to search. The smallest listing has one line per server, even if it exceeds the budget.
pub fn listing<'a>(tools: impl IntoIterator<Item = &'a Arc<Tool>>, budget: usize) -> ToolListing {
    let tools: Vec<&Arc<Tool>> = tools.into_iter().collect();
    if let Some(text) = signatures(&tools, budget) {
        return ToolListing {
            text,
            is_whole: true,
        };
    }
    let mut servers: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for tool in &tools {
        servers.entry(&tool.server).or_default().push(&tool.name);
    }
    let max_names = servers.values().map(Vec::len).max().unwrap_or_default();
    // More names make a longer text, so that the largest number is found by bisection.
    let (mut fits, mut too_many) = (0, max_names + 1);
    while too_many - fits > 1 {
        let middle = usize::midpoint(fits, too_many);
        if estimate_tokens(&names(&servers, middle)) <= budget {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    ToolListing {
        text: names(&servers, fits),
        is_whole: false,
    }
}

fn signatures(tools: &[&Arc<Tool>], budget: usize) -> Option<String> {
    let mut text = String::new();
    for tool in tools {
        text += &signature(tool);
        text.push('\n');
        if estimate_tokens(&text) > budget {
            return None;
        }
    }
    Some(text)
}

/// Lists the first `max_names` names of each server, or only their number if `max_names` is zero.
fn names(servers: &IndexMap<&str, Vec<&str>>, max_names: usize) -> String {
    let mut text = String::new();
    for (server, names) in servers {
        let count = names.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        let _ = write!(text, "{server} ({count} {tools})");
        if max_names > 0 {
            text += ": ";
            text += &names[..count.min(max_names)].join(", ");
            if count > max_names {
                let _ = write!(text, ", … {} more", count - max_names);
            }
        }
        text.push('\n');
    }
    text + ADVICE
}
