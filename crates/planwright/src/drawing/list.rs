//! A plan as a list: one line a step, in the order of the plan, with the steps that it waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::drawn_plan::Drawing;
use super::graph::{Graph, GraphStep, action_text};
use super::text::Style;
use crate::terminal_text;

impl Drawing {
    /// A list, one line a step, with the steps that each waits for: `○ 3. report [write_file]  ← after: 1, 2`, and `∥` at steps that may run
    /// at the same time as others.
    pub fn list(&self, style: &Style) -> String {
        let mut text = String::new();
        add(&self.main, style, &mut text);
        for part in &self.parts {
            let _ = writeln!(text, "\nplan {}", terminal_text::one_line(&part.name));
            add(&part.graph, style, &mut text);
        }
        text
    }
}

fn add(graph: &Graph, style: &Style, text: &mut String) {
    let levels = levels(graph);
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for level in levels.iter().flatten() {
        *sizes.entry(*level).or_default() += 1;
    }
    let mut sources = vec![BTreeSet::new(); graph.steps.len()];
    for edge in &graph.edges {
        sources[edge.to].insert(edge.from + 1);
    }
    let symbols = style.symbols;
    let steps = graph.steps.iter().zip(levels).zip(sources);
    for (index, ((step, level), after)) in steps.enumerate() {
        let mut line = format!(
            "{} {}. {} [{}]",
            symbols.step(step.mark),
            index + 1,
            name(step),
            action_text(step)
        );
        if !after.is_empty() {
            let after: Vec<String> = after.iter().map(ToString::to_string).collect();
            let _ = write!(line, "  {} after: {}", symbols.takes(), after.join(", "));
        }
        let beside = level.and_then(|level| sizes.get(&level));
        if beside.is_some_and(|beside| *beside > 1) {
            let _ = write!(line, "  {}", symbols.parallel());
        }
        let line = match style.width {
            Some(width) => terminal_text::shortened(&line, width, symbols.ellipsis()),
            None => line.into(),
        };
        let _ = writeln!(text, "{line}");
    }
    if graph.steps.is_empty() {
        text.push_str("(no steps)\n");
    }
}

/// The title of a step with its id, unless that is its number.
fn name(step: &GraphStep) -> String {
    let id = terminal_text::one_line(&step.id);
    match &step.title {
        None => id.into_owned(),
        Some(title) => {
            let title = terminal_text::one_line(title);
            if id.chars().all(|c| c.is_ascii_digit()) {
                title.into_owned()
            } else {
                format!("{id}: {title}")
            }
        }
    }
}

/// The number of steps on the longest path to each step; `None` for steps of a cycle, and for steps that depend on one.
fn levels(graph: &Graph) -> Vec<Option<usize>> {
    let count = graph.steps.len();
    let mut open = vec![0_usize; count];
    let mut outgoing = vec![Vec::new(); count];
    for edge in &graph.edges {
        open[edge.to] += 1;
        outgoing[edge.from].push(edge.to);
    }
    let mut levels = vec![0; count];
    let mut is_done = vec![false; count];
    let mut ready: Vec<usize> = (0..count).filter(|index| open[*index] == 0).collect();
    while let Some(index) = ready.pop() {
        is_done[index] = true;
        for &to in &outgoing[index] {
            levels[to] = levels[to].max(levels[index] + 1);
            open[to] -= 1;
            if open[to] == 0 {
                ready.push(to);
            }
        }
    }
    let levels = levels.into_iter().zip(is_done);
    levels
        .map(|(level, is_done)| is_done.then_some(level))
        .collect()
}
