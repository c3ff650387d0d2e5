//! The tools that matter: all of them where there is room, else those that the question seems to be about.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Catalog, Tool};

use super::memory::Memory;
use crate::tools::search::SearchIndex;
use crate::tools::signatures::{estimated_tokens, signature};

/// How much of what is remembered helps to find tools.
const MEMORY_TOKENS: usize = 200;

/// Signatures of tools for at most `budget` tokens, in the order of the catalog.
pub(super) fn choice(
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
    if estimated_tokens(&all) <= budget {
        return all + "\n";
    }
    let mut chosen = chosen(&tools, &lines, &query(goal, memory), budget);
    chosen.sort_unstable();
    let mut text = String::new();
    for index in &chosen {
        let _ = writeln!(text, "{}", lines[*index]);
    }
    text + &left_out(&tools, &chosen)
}

fn query(goal: &str, memory: Option<&Memory>) -> String {
    let remembered = memory.map(|memory| memory.text(MEMORY_TOKENS));
    format!("{goal} {}", remembered.unwrap_or_default())
}

/// The tools that fit best, as many as there is room for; where few fit, the first of the others.
fn chosen(tools: &[&Arc<Tool>], lines: &[String], query: &str, budget: usize) -> Vec<usize> {
    let index = SearchIndex::new(tools.iter().copied());
    let hits = index.search(query, tools.len());
    let found = hits.iter().filter_map(|hit| {
        let mut all = tools.iter();
        all.position(|tool| Arc::ptr_eq(tool, &hit.tool))
    });
    let mut chosen = Vec::new();
    let mut spent = 0;
    for at in found.chain(0..tools.len()) {
        let cost = estimated_tokens(&lines[at]) + 1;
        if !chosen.contains(&at) && spent + cost <= budget {
            chosen.push(at);
            spent += cost;
        }
    }
    chosen
}

/// How many tools of which server are not told of.
fn left_out(tools: &[&Arc<Tool>], chosen: &[usize]) -> String {
    let mut servers: IndexMap<&str, usize> = IndexMap::new();
    for (at, tool) in tools.iter().enumerate() {
        if !chosen.contains(&at) {
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

/// Signatures of tools that have to do with `goal`, for at most `budget` tokens.
pub(crate) fn tools_for(catalog: &Catalog, goal: &str, budget: usize) -> String {
    choice(catalog, goal, None, budget)
}
