//! The heading of a graph as text: name, counts, inputs.

use std::collections::HashSet;

use planwright_core::plan::{Mode, OnFailure, Ordering};

use super::Style;
use super::graph::{Does, Graph, GraphInput};
use super::order::Order;
use super::text::{BOLD, DIM, styled};
use crate::terminal_text;

/// The longest that a default value may be, in columns.
const LONGEST: usize = 32;

/// The lines of the heading. `title` names the plan where its own name does not.
pub(super) fn heading(
    graph: &Graph,
    title: Option<&str>,
    order: &Order,
    options: &Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    let name = title.or(graph.name.as_deref());
    match (name, &graph.title) {
        (Some(name), Some(title)) => {
            let name = styled(options.colour, BOLD, &terminal_text::one_line(name));
            lines.push(format!("{name}: {}", terminal_text::one_line(title)));
        }
        (Some(only), None) => {
            lines.push(styled(options.colour, BOLD, &terminal_text::one_line(only)));
        }
        (None, Some(only)) => {
            lines.push(styled(options.colour, BOLD, &terminal_text::one_line(only)));
        }
        (None, None) => {}
    }
    lines.push(counts(graph, order));
    if !graph.inputs.is_empty() {
        let inputs: Vec<String> = graph
            .inputs
            .iter()
            .map(|input| described(input, options))
            .collect();
        let label = styled(options.colour, DIM, "inputs:");
        lines.extend(broken(&label, "inputs:", &inputs, options.width));
    }
    if !graph.instances.is_empty() {
        let names: Vec<String> = graph
            .instances
            .iter()
            .map(|name| terminal_text::one_line(name).into_owned())
            .collect();
        let label = styled(options.colour, DIM, "instances:");
        lines.extend(broken(&label, "instances:", &names, options.width));
    }
    lines
}

fn counts(graph: &Graph, order: &Order) -> String {
    let tools: HashSet<&str> = graph
        .steps
        .iter()
        .filter_map(|step| match &step.does {
            Does::Tool(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let mut counts = vec![counted(graph.steps.len(), "step")];
    if !tools.is_empty() {
        counts.push(counted(tools.len(), "tool"));
    }
    if order.longest_chain > 1 {
        counts.push(format!("longest chain {}", order.longest_chain));
    }
    if graph.ordering == Ordering::Listed {
        counts.push("in listed order".into());
    }
    if graph.on_failure == OnFailure::Stop {
        counts.push("stops at the first failure".into());
    }
    if graph.mode == Mode::Show {
        counts.push("to be shown, not run".into());
    }
    counts.join(", ")
}

/// `1 step`, `2 steps`.
fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn described(input: &GraphInput, options: &Style) -> String {
    let name = terminal_text::one_line(&input.name);
    if input.given {
        return format!("{name} (given)");
    }
    match &input.default {
        None => format!("{name} (required)"),
        Some(default) => {
            let json = default.to_json();
            let json = terminal_text::one_line(&json);
            let ellipsis = options.symbols.ellipsis();
            format!(
                "{name} = {}",
                terminal_text::shortened(&json, LONGEST, ellipsis)
            )
        }
    }
}

/// `label` and `items`, separated by commas, in lines that fit.
fn broken(label: &str, plain: &str, items: &[String], width: Option<usize>) -> Vec<String> {
    let mut lines = vec![label.to_owned()];
    let mut used = terminal_text::width(plain);
    for (position, item) in items.iter().enumerate() {
        let comma = if position + 1 < items.len() { "," } else { "" };
        let more = terminal_text::width(item) + 1 + comma.len();
        if position > 0 && width.is_some_and(|width| used + more > width) {
            lines.push(" ".repeat(plain.len()));
            used = plain.len();
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(item);
            line.push_str(comma);
        }
        used += more;
    }
    lines
}
