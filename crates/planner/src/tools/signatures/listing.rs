//! Listings of a catalog within a token budget.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::Tool;

use super::signature::signature;

/// The advice to a model that sees names only.
const ADVICE: &str = "These are names only: `search_tools` finds tools and tells their signatures, `describe_tools` tells all about some.\n";

/// A listing of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The lines, one per tool or one per server.
    pub text: String,
    /// True if every tool is listed with its signature.
    pub is_whole: bool,
}

/// Estimates the number of tokens in `text`; close enough for English, JSON, and code.
pub fn estimated_tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Lists `tools` in at most `budget` tokens: with signatures if they fit, else with as many names as fit, grouped by server, and
/// the advice
/// to search. The smallest listing has one line per server, even if it exceeds the budget.
pub fn listing<'a>(tools: impl IntoIterator<Item = &'a Arc<Tool>>, budget: usize) -> Listing {
    let tools: Vec<&Arc<Tool>> = tools.into_iter().collect();
    if let Some(text) = signatures(&tools, budget) {
        return Listing {
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
        if estimated_tokens(&names(&servers, middle)) <= budget {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    Listing {
        text: names(&servers, fits),
        is_whole: false,
    }
}

fn signatures(tools: &[&Arc<Tool>], budget: usize) -> Option<String> {
    let mut text = String::new();
    for tool in tools {
        text += &signature(tool);
        text.push('\n');
        if estimated_tokens(&text) > budget {
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
