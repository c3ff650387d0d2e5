//! The graph as a Mermaid flowchart, and in the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use planwright_core::CheckedPlan;
use planwright_core::check::DependencyKind;

use super::Mark;
use super::drawn_plan::Drawing;
use super::graph::{
    ActionLabel, Edge, Graph, GraphStep, action_text, condition, marked_id, notes_beside_condition,
};
use crate::terminal_text;

/// The Mermaid styles of the steps of a drawn run, by their marks.
const CLASSES: &[(Mark, &str)] = &[
    (Mark::Waiting, "fill:#f5f5f5,stroke:#999,color:#333"),
    (Mark::Running, "fill:#e3f0ff,stroke:#1c6fd1,color:#123"),
    (Mark::Succeeded, "fill:#e4f6e6,stroke:#2c8a3a,color:#121"),
    (Mark::Failed, "fill:#fde7e7,stroke:#c62828,color:#311"),
    (Mark::Skipped, "fill:#fff6dc,stroke:#b58900,color:#331"),
    (Mark::Unknown, "fill:#f1e6ff,stroke:#7b3fc4,color:#213"),
];

/// A sound plan as a flowchart for Mermaid.
pub fn mermaid(plan: &CheckedPlan) -> String {
    Drawing::of(plan).mermaid()
}

/// A sound plan as a directed graph for Graphviz.
pub fn dot(plan: &CheckedPlan) -> String {
    Drawing::of(plan).dot()
}

impl Drawing {
    /// A flowchart for Mermaid.
    pub fn mermaid(&self) -> String {
        let graph = &self.main;
        let mut text = String::new();
        if let Some(name) = graph.title.as_ref().or(graph.name.as_ref()) {
            // A JSON text is a YAML text too.
            let name = planwright_core::Value::from(&*terminal_text::one_line(name)).to_json();
            let _ = writeln!(text, "---\ntitle: {name}\n---");
        }
        text.push_str("flowchart TD\n");
        for (position, step) in graph.steps.iter().enumerate() {
            mermaid_node(position, step, &mut text);
        }
        // `linkStyle` refers to links by their position.
        let mut links = 0;
        for (position, step) in graph.steps.iter().enumerate() {
            if step.when.is_some() {
                let _ = writeln!(text, "    c{position} -->|yes| s{position}");
                links += 1;
            }
        }
        let mut dashed = Vec::new();
        let mut marked = Vec::new();
        for edge in merged(&graph.edges) {
            let arrow = if edge.optional { "-.->" } else { "-->" };
            let to = match graph.steps.get(edge.to) {
                Some(step) if step.when.is_some() => 'c',
                _ => 's',
            };
            let label = match edge.mark() {
                Some(mark) => {
                    marked.push(links.to_string());
                    format!("|{mark}|")
                }
                None => String::new(),
            };
            let _ = writeln!(text, "    s{} {arrow}{label} {to}{}", edge.from, edge.to);
            if is_order(edge.kind) {
                dashed.push(links.to_string());
            }
            links += 1;
        }
        if !dashed.is_empty() {
            let _ = writeln!(
                text,
                "    linkStyle {} stroke-dasharray: 8 5",
                dashed.join(",")
            );
        }
        if !marked.is_empty() {
            let _ = writeln!(
                text,
                "    linkStyle {} stroke:#c62828,stroke-width:3px",
                marked.join(",")
            );
        }
        classes(graph, &mut text);
        text
    }
}

/// Merges all edges from one step to another into the strongest of them, with the labels of all. Data is stronger than order, and a
/// certain dependency stronger than an optional one.
pub(super) fn merged(edges: &[Edge]) -> Vec<Edge> {
    let mut pairs: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    let strength = |edge: &Edge| (is_order(edge.kind), edge.optional);
    for edge in edges {
        pairs
            .entry((edge.from, edge.to))
            .and_modify(|known| {
                let labels = match (known.labels, edge.labels) {
                    (Some(known), Some(labels)) => Some(known.joined(labels)),
                    (known, labels) => known.or(labels),
                };
                if strength(edge) < strength(known) {
                    *known = *edge;
                }
                known.labels = labels;
            })
            .or_insert(*edge);
    }
    pairs.into_values().collect()
}

/// Returns true if an edge only determines the order.
fn is_order(kind: DependencyKind) -> bool {
    matches!(kind, DependencyKind::Order | DependencyKind::Listed)
}

/// Writes the node `s` of a step, and the node `c` of its condition, both numbered by the step's position.
fn mermaid_node(position: usize, step: &GraphStep, text: &mut String) {
    if let Some(condition) = condition(step) {
        let _ = writeln!(text, "    c{position}{{\"{}\"}}", escaped(&condition));
    }
    let mut lines = vec![format!("<b>{}</b>", escaped(&marked_id(step)))];
    lines.push(escaped(&action_text(step)));
    lines.extend(
        notes_beside_condition(step)
            .iter()
            .map(|note| escaped(note)),
    );
    let (open, close) = match step.action {
        ActionLabel::Tool(_) => ("[", "]"),
        ActionLabel::Plan(_) | ActionLabel::Inline(_) => ("[[", "]]"),
        ActionLabel::Value => ("(", ")"),
    };
    let _ = writeln!(
        text,
        "    s{position}{open}\"{}\"{close}",
        lines.join("<br/>")
    );
}

fn classes(graph: &Graph, text: &mut String) {
    for (mark, style) in CLASSES {
        let marked: Vec<String> = graph
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.mark == Some(*mark))
            .map(|(position, _)| format!("s{position}"))
            .collect();
        if !marked.is_empty() {
            let name = mark.as_str();
            let _ = writeln!(text, "    classDef {name} {style}");
            let _ = writeln!(text, "    class {} {name}", marked.join(","));
        }
    }
}

/// Escapes `text` for a quoted label: characters with a meaning in Mermaid or HTML become entities.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("#quot;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '&' => escaped.push_str("#amp;"),
            '#' | '`' | '\\' => {
                let _ = write!(escaped, "#{};", u32::from(character));
            }
            other => escaped.push(other),
        }
    }
    // Two dollars begin a formula.
    escaped.replace("$$", "#36;#36;")
}

impl Drawing {
    /// A directed graph for Graphviz.
    pub fn dot(&self) -> String {
        let graph = &self.main;
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
            dot_node(position, step, &mut text);
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
}

/// Writes the same nodes as [`mermaid_node`], and the edge from the condition to the step.
fn dot_node(position: usize, step: &GraphStep, text: &mut String) {
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
    let shape = match step.action {
        ActionLabel::Tool(_) => "",
        ActionLabel::Plan(_) | ActionLabel::Inline(_) => ", shape=box3d",
        ActionLabel::Value => ", shape=ellipse",
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

/// Quotes `text` as a label, in which a line break starts a new line.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
