//! Selection of the tools for a prompt: all of them if they fit, or else those that match the request best.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Catalog, Tool};

use super::memory::Memory;
use crate::tools::search::SearchIndex;
use crate::tools::signatures::{estimate_tokens, signature};

/// Maximum tokens of memory that are added to the search query.
const MEMORY_TOKENS: usize = 200;

/// Lists tool signatures within `budget` tokens, in the order of the catalog.
pub(super) fn tool_list(
    catalog: &Catalog,
    goal: &str,
    memory: Option<&Memory>,
    budget: usize,
) -> String {
    let tools: Vec<&Arc<Tool>> = catalog.tools().collect();
    if tools.is_empty() {
        return "none: only `value` steps are possible\n".to_owned();
    }
    let lines: Vec<String> = tools.iter().map(|tool| signature(tool)).collect();
    let all = lines.join("\n");
    if estimate_tokens(&all) <= budget {
        return all + "\n";
    }
    let mut selected = select(&tools, &lines, &search_query(goal, memory), budget);
    // Sorted as in the catalog, the tools of a server stay together.
    selected.sort_unstable();
    let mut text = String::new();
    for index in &selected {
        let _ = writeln!(text, "{}", lines[*index]);
    }
    text + &omitted_tools(&tools, &selected)
}

fn search_query(goal: &str, memory: Option<&Memory>) -> String {
    let remembered = memory.map(|memory| memory.text(MEMORY_TOKENS));
    format!("{goal} {}", remembered.unwrap_or_default())
}

/// Selects tools by search rank while they fit, then fills up with others in the order of the catalog.
fn select(tools: &[&Arc<Tool>], lines: &[String], query: &str, budget: usize) -> Vec<usize> {
    let search_index = SearchIndex::new(tools.iter().copied());
    let hits = search_index.search(query, tools.len());
    let ranked = hits.iter().filter_map(|hit| {
        let mut all = tools.iter();
        all.position(|tool| Arc::ptr_eq(tool, &hit.tool))
    });
    let mut selected = Vec::new();
    let mut spent = 0;
    for index in ranked.chain(0..tools.len()) {
        // One token more for the line break.
        let cost = estimate_tokens(&lines[index]) + 1;
        if !selected.contains(&index) && spent + cost <= budget {
            selected.push(index);
            spent += cost;
        }
    }
    selected
}

/// Counts the omitted tools by server.
fn omitted_tools(tools: &[&Arc<Tool>], selected: &[usize]) -> String {
    let mut servers: IndexMap<&str, usize> = IndexMap::new();
    for (index, tool) in tools.iter().enumerate() {
        if !selected.contains(&index) {
            *servers.entry(&tool.server).or_default() += 1;
        }
    }
    if servers.is_empty() {
        return String::new();
    }
    let servers = servers
        .iter()
        .map(|(server, count)| format!("{count} of `{server}`"));
    let servers: Vec<String> = servers.collect();
    format!(
        "(There was no room for other tools, which seem to have less to do with the question: {}.)\n",
        servers.join(", ")
    )
}

/// Lists signatures of the tools that match `goal`, within `budget` tokens.
pub(crate) fn tool_signatures(catalog: &Catalog, goal: &str, budget: usize) -> String {
    tool_list(catalog, goal, None, budget)
}
