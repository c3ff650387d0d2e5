//! A step of a plan in full: its arguments with their origins, its conditions, and the steps around it; as text and as data.

use std::fmt::Write as _;

use serde::Serialize;

use super::Symbols;
use super::drawn_plan::Drawing;
use super::graph::{Graph, GraphStep, action_text, whole_notes};
use super::json::StepNodeV1;
use super::text::Style;
use crate::terminal_text;

/// A step of a plan in full.
#[derive(Clone, Debug, Serialize)]
pub struct StepDetailV1 {
    /// The step of the graph.
    pub step: StepNodeV1,
    /// The arguments, or the value that the step computes.
    pub arguments: Vec<ArgumentV1>,
    /// The conditions and options, each a clause for people.
    pub notes: Vec<String>,
    /// The ids of the steps that it waits for.
    pub waits_for: Vec<String>,
    /// The ids of the steps that wait for it.
    pub awaited_by: Vec<String>,
}

/// An argument of a step.
#[derive(Clone, Debug, Serialize)]
pub struct ArgumentV1 {
    /// The name.
    pub name: String,
    /// The value on one line, with references as in the plan.
    pub value: String,
    /// The sources of the value, such as `weather` and `inputs.city`; empty if the plan contains it.
    pub origins: Vec<String>,
}

impl Drawing {
    /// The step `id` in full as data, found as [`step`](Self::step) finds it.
    pub fn step_detail(&self, id: &str) -> Option<StepDetailV1> {
        let (graph, index) = find(self, id)?;
        let step = graph.steps.get(index)?;
        let arguments = step.arguments.iter().map(|argument| ArgumentV1 {
            name: argument.name.clone(),
            value: argument.value.clone(),
            origins: argument.origins.clone(),
        });
        let ids = |ids: Vec<&str>| ids.into_iter().map(str::to_owned).collect();
        Some(StepDetailV1 {
            step: StepNodeV1::of(step),
            arguments: arguments.collect(),
            notes: whole_notes(step, Symbols::default()),
            waits_for: ids(before(graph, index)),
            awaited_by: ids(after(graph, index)),
        })
    }
}

/// The ids of the steps that the step at `index` waits for.
fn before(graph: &Graph, index: usize) -> Vec<&str> {
    let edges = graph.edges.iter().filter(|edge| edge.to == index);
    ids(graph, edges.map(|edge| edge.from))
}

/// The ids of the steps that wait for the step at `index`.
fn after(graph: &Graph, index: usize) -> Vec<&str> {
    let edges = graph.edges.iter().filter(|edge| edge.from == index);
    ids(graph, edges.map(|edge| edge.to))
}

/// The ids of the steps at `indices`, each once.
fn ids(graph: &Graph, indices: impl Iterator<Item = usize>) -> Vec<&str> {
    let mut ids: Vec<&str> = Vec::new();
    for step in indices.filter_map(|index| graph.steps.get(index)) {
        if !ids.contains(&&*step.id) {
            ids.push(&step.id);
        }
    }
    ids
}

impl Drawing {
    /// The step `id` in full, each line ended: its arguments with their origins, its conditions, the steps around it. `outer/inner` is a step
    /// of the plan that `outer` runs. `None` if there is no such step.
    pub fn step(&self, id: &str, style: &Style) -> Option<String> {
        let (graph, index) = find(self, id)?;
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
        for (label, ids) in [
            ("waits for", before(graph, index)),
            ("is awaited by", after(graph, index)),
        ] {
            if !ids.is_empty() {
                let names: Vec<_> = ids.into_iter().map(terminal_text::one_line).collect();
                let _ = writeln!(text, "  {label} {}", names.join(", "));
            }
        }
        Some(text)
    }
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
