//! Work that recurs: traces with the same sequence of tools and the same flow of data between them.

use indexmap::IndexMap;
use planwright_core::Catalog;
use planwright_core::plan::{Action, Node, PlanCall, PlanTarget, Source};

use crate::generalize::generalize;
use crate::trace::Trace;

/// Work that several traces have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// The tools, in order; a loop is one entry.
    pub tools: Vec<String>,
    /// The positions of the traces.
    pub traces: Vec<usize>,
    /// The time of the last call, in milliseconds since 1970, if it is known.
    pub last_unix_ms: Option<u64>,
}

/// Returns the work that at least `least` traces have in common, the most frequent first.
pub fn recurring(traces: &[Trace], catalog: &Catalog, least: usize) -> Vec<Recurrence> {
    let mut found: IndexMap<Vec<String>, Recurrence> = IndexMap::new();
    for (position, trace) in traces.iter().enumerate() {
        let learned = generalize(std::slice::from_ref(trace), catalog);
        if learned.plan.steps.is_empty() {
            continue;
        }
        let tool = |step: &planwright_core::Step| {
            let name = match &step.action {
                Action::Plan(PlanCall {
                    target: PlanTarget::Inline(plan),
                    ..
                }) => {
                    let inner = plan.steps.iter().filter_map(|step| step.tool());
                    let names: Vec<&str> = inner.map(|name| &*name.text).collect();
                    names.join(" and ")
                }
                Action::Tool(name) => name.text.to_string(),
                Action::Plan(_) | Action::Value(_) => String::new(),
            };
            if step.for_each.is_some() {
                format!("{name} for each")
            } else {
                name
            }
        };
        let tools: Vec<String> = learned.plan.steps.iter().map(tool).collect();
        let shape = learned.plan.steps.iter().map(|step| {
            let mut reads: Vec<String> = Vec::new();
            let for_each = step.for_each.as_ref().map(|for_each| &for_each.over);
            for node in std::iter::once(&step.args).chain(for_each) {
                Node::each_reference(node, &mut |reference| {
                    for read in reference.reads() {
                        // Inputs depend on the request of the trace alone.
                        if matches!(read.source, Source::Step(_)) {
                            reads.push(reference.text.to_string());
                        }
                    }
                });
            }
            format!("{} {}", tool(step), reads.join(" "))
        });
        let entry = found.entry(shape.collect()).or_insert_with(|| Recurrence {
            tools,
            traces: Vec::new(),
            last_unix_ms: None,
        });
        entry.traces.push(position);
        entry.last_unix_ms = entry.last_unix_ms.max(trace.ended_unix_ms);
    }
    let mut found: Vec<Recurrence> = found
        .into_values()
        .filter(|one| one.traces.len() >= least)
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse((one.traces.len(), one.last_unix_ms)));
    found
}
