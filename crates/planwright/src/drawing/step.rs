//! A step of a plan in full: its arguments with their origins, its conditions, and the steps around it.

use std::fmt::Write as _;

use super::drawn_plan::Drawing;
use super::graph::{Graph, GraphStep, action_text, whole_notes};
use super::text::Style;
use crate::terminal_text;

/// Describes the step `id`, or `outer/inner` for a step of the plan that `outer` runs; `None` if there is none.
pub(super) fn describe(drawing: &Drawing, id: &str, style: &Style) -> Option<String> {
    let (graph, index) = find(drawing, id)?;
    let step = graph.steps.get(index)?;
    let symbols = style.symbols;
    let mut text = format!(
        "{} {}  {}\n",
        symbols.step(step.mark),
        terminal_text::one_line(id),
        action_text(step)
    );
    for note in whole_notes(step, symbols) {
        let _ = writeln!(text, "  {note}");
    }
    arguments(step, symbols.takes(), &mut text);
    let names = |indices: &mut dyn Iterator<Item = usize>| {
        let mut names: Vec<String> = Vec::new();
        for step in indices.filter_map(|index| graph.steps.get(index)) {
            let name = terminal_text::one_line(&step.id).into_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    };
    let edges = &graph.edges;
    let before = names(
        &mut edges
            .iter()
            .filter(|edge| edge.to == index)
            .map(|edge| edge.from),
    );
    let behind = names(
        &mut edges
            .iter()
            .filter(|edge| edge.from == index)
            .map(|edge| edge.to),
    );
    for (label, names) in [("waits for", before), ("is awaited by", behind)] {
        if !names.is_empty() {
            let _ = writeln!(text, "  {label} {names}");
        }
    }
    Some(text)
}

fn find<'d>(drawing: &'d Drawing, id: &str) -> Option<(&'d Graph, usize)> {
    let position = |graph: &Graph, id: &str| graph.steps.iter().position(|step| step.id == id);
    if let Some(index) = position(&drawing.main, id) {
        return Some((&drawing.main, index));
    }
    // The ids themselves may have slashes.
    let mut parts = drawing.parts.iter();
    parts.find_map(|part| {
        let inner = id.strip_prefix(&*part.name)?.strip_prefix('/')?;
        Some((&part.graph, position(&part.graph, inner)?))
    })
}

fn arguments(step: &GraphStep, takes: &str, text: &mut String) {
    if step.arguments.is_empty() {
        return;
    }
    text.push_str("  arguments:\n");
    let name = |name: &str| terminal_text::one_line(name).into_owned();
    let widths = step
        .arguments
        .iter()
        .map(|one| terminal_text::width(&name(&one.name)));
    let width = widths.max().unwrap_or_default();
    for argument in &step.arguments {
        let name = terminal_text::padded(&name(&argument.name), width);
        let value = terminal_text::one_line(&argument.value);
        let _ = write!(text, "    {name}  {value}");
        if !argument.origins.is_empty() {
            let origins = argument.origins.join(", ");
            let _ = write!(text, "  {takes} {}", terminal_text::one_line(&origins));
        }
        text.push('\n');
    }
}
