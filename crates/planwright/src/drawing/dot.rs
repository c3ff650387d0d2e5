//! The graph in Graphviz' language.

use std::fmt::Write as _;

use super::Mark;
use super::graph::{Does, Graph, GraphStep};
use super::mermaid::{is_order, merged};
use super::notes::{action_text, condition, marked_id, notes_beside_condition};
use crate::terminal_text;

pub(super) fn draw(graph: &Graph) -> String {
    let mut text = String::new();
    let name = graph.name.as_deref().unwrap_or("plan");
    let _ = writeln!(
        text,
        "digraph {} {{",
        quoted(&terminal_text::one_line(name))
    );
    if let Some(title) = &graph.title {
        let title = quoted(&terminal_text::one_line(title));
        let _ = writeln!(text, "    label={title};\n    labelloc=t;");
    }
    text.push_str("    node [shape=box, style=\"rounded,filled\", fillcolor=white];\n");
    for (position, step) in graph.steps.iter().enumerate() {
        node(position, step, &mut text);
    }
    for edge in merged(&graph.edges) {
        let to = match graph.steps.get(edge.to) {
            Some(step) if step.when.is_some() => 'c',
            _ => 's',
        };
        let mut attributes = Vec::new();
        match (is_order(edge.kind), edge.optional) {
            (true, _) => attributes.push("style=dashed".to_owned()),
            (false, true) => attributes.push("style=dotted".to_owned()),
            (false, false) => {}
        }
        if let Some(mark) = edge.mark() {
            attributes.push(format!(
                "label={}, color=\"#c62828\", penwidth=2",
                quoted(mark)
            ));
        }
        let attributes = if attributes.is_empty() {
            String::new()
        } else {
            format!(" [{}]", attributes.join(", "))
        };
        let _ = writeln!(text, "    s{} -> {to}{}{attributes};", edge.from, edge.to);
    }
    text.push_str("}\n");
    text
}

fn node(position: usize, step: &GraphStep, text: &mut String) {
    if let Some(condition) = condition(step) {
        let label = quoted(&condition);
        let _ = writeln!(
            text,
            "    c{position} [shape=diamond, style=solid, label={label}];"
        );
        let _ = writeln!(text, "    c{position} -> s{position} [label=\"yes\"];");
    }
    let mut lines = vec![marked_id(step), action_text(step)];
    lines.extend(notes_beside_condition(step));
    let shape = match step.does {
        Does::Tool(_) => "",
        Does::Plan(_) | Does::Inline(_) => ", shape=box3d",
        Does::Value => ", shape=ellipse",
    };
    let colour = match step.mark {
        None => "",
        Some(Mark::Waiting) => ", fillcolor=\"#f5f5f5\"",
        Some(Mark::Running) => ", fillcolor=\"#e3f0ff\"",
        Some(Mark::Succeeded) => ", fillcolor=\"#e4f6e6\"",
        Some(Mark::Failed) => ", fillcolor=\"#fde7e7\"",
        Some(Mark::Skipped) => ", fillcolor=\"#fff6dc\"",
        Some(Mark::Unknown) => ", fillcolor=\"#f1e6ff\"",
    };
    let label = quoted(&lines.join("\n"));
    let _ = writeln!(text, "    s{position} [label={label}{shape}{colour}];");
}

/// `text` between quotes; a line break in it breaks the label.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
