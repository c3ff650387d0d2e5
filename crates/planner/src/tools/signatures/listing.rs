//! All tools of a catalog, in as many words as there is room for.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::Tool;

use super::signature::signature;

/// What a model should do where it does not see the tools.
const ADVICE: &str = "These are names only: `search_tools` finds tools and tells their signatures, `describe_tools` tells all about some.\n";

/// All tools of a catalog, as far as there was room for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// A line for each tool, or for each server.
    pub text: String,
    /// Whether each tool is there with its signature.
    pub is_whole: bool,
}

/// How many tokens a model takes for `text`, by a rule of thumb that fits English, JSON and code well enough.
pub fn estimated_tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Lists `tools` in at most `budget` tokens: their signatures, or else as many of their names as there is room for, server by server,
/// with the advice to search.
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
    let most = servers.values().map(Vec::len).max().unwrap_or_default();
    // More names make a longer text: the most that there is room for is found by halving.
    let (mut fits, mut too_many) = (0, most + 1);
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

/// The first `most` names of each server; only how many there are where that is none.
fn names(servers: &IndexMap<&str, Vec<&str>>, most: usize) -> String {
    let mut text = String::new();
    for (server, names) in servers {
        let count = names.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        let _ = write!(text, "{server} ({count} {tools})");
        if most > 0 {
            text += ": ";
            text += &names[..count.min(most)].join(", ");
            if count > most {
                let _ = write!(text, ", … {} more", count - most);
            }
        }
        text.push('\n');
    }
    text + ADVICE
}
