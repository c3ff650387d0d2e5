//! The graph as text: a heading, then one row for each step, with lanes for dependencies.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use planwright_core::CheckedPlan;
use planwright_core::plan::{Mode, OnFailure, Ordering};

use super::drawn_plan::Drawing;
use super::flowchart::merged;
use super::graph::{ActionLabel, Graph, GraphInput, GraphStep};
use super::graph::{action_text, notes};
use super::lanes::{RowOrder, StepRow, rows};
use super::{Mark, Symbols};
use crate::call_view::counted;
use crate::terminal_text;

/// The style of a graph as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The characters.
    pub symbols: Symbols,
    /// The maximum width of a line; notes that do not fit continue on the next line. `None` is unlimited.
    pub width: Option<usize>,
    /// True if to colour, with ANSI escape sequences.
    pub colour: bool,
}

/// The maximum width of the columns of ids and tools.
const MAX_COLUMN_WIDTH: usize = 32;

/// The minimum width of notes, in columns. With less room they are not broken.
const MIN_ROOM: usize = 24;

/// A sound plan as a graph of text, each line ended.
pub fn text(plan: &CheckedPlan, style: &Style) -> String {
    Drawing::of(plan).text(style)
}

impl Drawing {
    /// A graph of text, each line ended.
    pub fn text(&self, options: &Style) -> String {
        let mut text = String::new();
        Painter::new(&self.main, options).paint(None, &mut text);
        for part in &self.parts {
            let name = terminal_text::one_line(&part.name);
            let title = if part.is_inline {
                format!("plan of step {name}")
            } else {
                format!("plan {name}")
            };
            text.push('\n');
            Painter::new(&part.graph, options).paint(Some(&title), &mut text);
        }
        if self.has_flow {
            let label = styled(options.colour, DIM, "flow:");
            let _ = writeln!(text, "\n{label} {}", legend(self, options.symbols));
        }
        text
    }
}

/// The meaning of the marks of the flow.
fn legend(drawing: &Drawing, symbols: Symbols) -> String {
    let parts = drawing.parts.iter().map(|part| &part.graph);
    let graphs = || std::iter::once(&drawing.main).chain(parts.clone());
    let is_marked = graphs().any(|graph| graph.edges.iter().any(|edge| edge.mark().is_some()));
    let legend = if is_marked {
        let lane = symbols.lane(true, true);
        format!("{lane} carries untrusted or private values")
    } else {
        "no untrusted or private value goes from step to step".to_owned()
    };
    let steps = graphs().flat_map(|graph| &graph.steps);
    match steps.map(|step| step.violations.len()).sum() {
        0 => legend,
        count => format!("{legend}; {} of the policy", counted(count, "violation")),
    }
}

// The sequences of ANSI terminals that begin a style, and the one that ends it.
const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const BLUE: &str = "\u{1b}[34m";
const CYAN: &str = "\u{1b}[36m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const BOLD_RED: &str = "\u{1b}[1m\u{1b}[31m";
const RESET: &str = "\u{1b}[0m";

struct Painter<'a> {
    graph: &'a Graph,
    options: &'a Style,
    order: RowOrder,
    rows: Vec<StepRow>,
    /// The steps from which marked values flow into each step, by the mark.
    marked: Vec<BTreeMap<&'static str, Vec<usize>>>,
    lanes: usize,
    ids: usize,
    actions: usize,
}

impl<'a> Painter<'a> {
    fn new(graph: &'a Graph, options: &'a Style) -> Self {
        let order = RowOrder::of(graph);
        let rows = rows(graph, &order, options.symbols);
        let mut marked = vec![BTreeMap::<_, Vec<usize>>::new(); graph.steps.len()];
        for edge in merged(&graph.edges) {
            if let Some(mark) = edge.mark() {
                marked[edge.to].entry(mark).or_default().push(edge.from);
            }
        }
        let widest = |text: &dyn Fn(&GraphStep) -> usize| {
            graph
                .steps
                .iter()
                .map(text)
                .max()
                .unwrap_or(0)
                .min(MAX_COLUMN_WIDTH)
        };
        Self {
            graph,
            options,
            lanes: rows.iter().map(row_width).max().unwrap_or(0),
            ids: widest(&|step| terminal_text::width(&terminal_text::one_line(&step.id))),
            actions: widest(&|step| terminal_text::width(&action_text(step))),
            order,
            rows,
            marked,
        }
    }

    fn paint(&self, title: Option<&str>, text: &mut String) {
        for line in heading(self.graph, title, &self.order, self.options) {
            text.push_str(&line);
            text.push('\n');
        }
        if !self.rows.is_empty() {
            text.push('\n');
        }
        for row in &self.rows {
            self.row(row, text);
        }
        if let Some(output) = &self.graph.output {
            let symbols = self.options.symbols;
            let room = self
                .options
                .width
                .map_or(usize::MAX, |width| width.saturating_sub(8));
            let output = terminal_text::one_line(output);
            let output = terminal_text::shortened(&output, room, symbols.ellipsis());
            let label = self.styled(DIM, "output:");
            let _ = writeln!(text, "\n{label} {output}");
        }
    }

    fn row(&self, row: &StepRow, text: &mut String) {
        let step = &self.graph.steps[row.step];
        if let Some(joint) = &row.joint {
            let _ = writeln!(text, "{}", joint.trim_end());
        }
        let symbol = self.options.symbols.step(step.mark);
        let gap = " ".repeat(self.lanes.saturating_sub(row_width(row)));
        let id = terminal_text::padded(&terminal_text::one_line(&step.id), self.ids);
        let start = self.lanes + 1 + terminal_text::width(&id) + 2;
        let action = terminal_text::padded(&action_text(step), self.actions);
        let start = start + terminal_text::width(&action) + 2;
        let mut notes = self.notes(step, row, start).into_iter().peekable();
        // Without notes, no padding is needed.
        let action = match notes.peek() {
            Some(_) => action.as_str(),
            None => action.trim_end(),
        };
        let mut line = format!(
            "{}{} {}{gap} {}  {}",
            row.left,
            self.styled(mark_style(step.mark), symbol),
            row.right,
            self.styled(id_style(step.mark), &id),
            self.styled(CYAN, action),
        );
        if let Some(first) = notes.next() {
            let _ = write!(line, "  {}", self.styled(DIM, &first));
        }
        let _ = writeln!(text, "{line}");
        for further in notes {
            let gap = " ".repeat(start.saturating_sub(terminal_text::width(&row.below)));
            let _ = writeln!(text, "{}{gap}{}", row.below, self.styled(DIM, &further));
        }
    }

    /// The notes of `step` in lines that fit from column `start` on.
    fn notes(&self, step: &GraphStep, row: &StepRow, start: usize) -> Vec<String> {
        let symbols = self.options.symbols;
        let mut pieces = notes(step, symbols);
        if !row.named.is_empty() {
            pieces.push(format!("{} {}", symbols.takes(), self.names(&row.named)));
        }
        for (mark, from) in &self.marked[row.step] {
            pieces.push(format!("{mark} from {}", self.names(from)));
        }
        if row.cycle == [row.step] {
            pieces.push("waits for itself".into());
        } else if !row.cycle.is_empty() {
            pieces.push(format!("waits for {} in a cycle", self.names(&row.cycle)));
        }
        let room = match self.options.width {
            Some(width) => width.saturating_sub(start).max(MIN_ROOM),
            None => usize::MAX,
        };
        let mut lines: Vec<String> = Vec::new();
        for piece in pieces {
            match lines.last_mut() {
                Some(line)
                    if terminal_text::width(line)
                        .saturating_add(terminal_text::width(symbols.between()))
                        .saturating_add(terminal_text::width(&piece))
                        <= room =>
                {
                    line.push_str(symbols.between());
                    line.push_str(&piece);
                }
                _ => lines.push(piece),
            }
        }
        lines
    }

    /// The ids of `steps`; of many, the first ones.
    fn names(&self, steps: &[usize]) -> String {
        const MAX_NAMES: usize = 6;
        let mut names: Vec<String> = steps
            .iter()
            .take(MAX_NAMES)
            .map(|step| terminal_text::one_line(&self.graph.steps[*step].id).into_owned())
            .collect();
        if steps.len() > MAX_NAMES {
            names.push(format!("and {} more", steps.len() - MAX_NAMES));
        }
        names.join(", ")
    }

    fn styled(&self, style: &str, text: &str) -> String {
        styled(self.options.colour, style, text)
    }
}

/// `text` in `style`, if colours are wanted.
fn styled(colour: bool, style: &str, text: &str) -> String {
    if colour && !text.is_empty() {
        format!("{style}{text}{RESET}")
    } else {
        text.to_owned()
    }
}

fn row_width(row: &StepRow) -> usize {
    let joint = row
        .joint
        .as_deref()
        .map_or(0, |joint| terminal_text::width(joint.trim_end()));
    (terminal_text::width(&row.left) + 2 + terminal_text::width(&row.right)).max(joint)
}

fn mark_style(mark: Option<Mark>) -> &'static str {
    match mark {
        None => BOLD,
        Some(Mark::Waiting) => DIM,
        Some(Mark::Running) => BLUE,
        Some(Mark::Succeeded) => GREEN,
        Some(Mark::Failed) => BOLD_RED,
        Some(Mark::Skipped | Mark::Unknown) => YELLOW,
    }
}

fn id_style(mark: Option<Mark>) -> &'static str {
    match mark {
        Some(Mark::Failed) => BOLD_RED,
        Some(Mark::Skipped | Mark::Waiting) => DIM,
        _ => BOLD,
    }
}

/// The maximum width of a default value, in columns.
const MAX_DEFAULT_WIDTH: usize = 32;

/// Returns the lines of the heading. `title` names a plan without a name.
pub(super) fn heading(
    graph: &Graph,
    title: Option<&str>,
    order: &RowOrder,
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

fn counts(graph: &Graph, order: &RowOrder) -> String {
    let tools: HashSet<&str> = graph
        .steps
        .iter()
        .filter_map(|step| match &step.action {
            ActionLabel::Tool(name) => Some(name.as_str()),
            ActionLabel::Plan(_) | ActionLabel::Inline(_) | ActionLabel::Value => None,
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
    match graph.on_failure {
        OnFailure::KeepGoing => {}
        OnFailure::Stop => counts.push("stops at the first failure".into()),
        OnFailure::Revert => counts.push("is undone at the first failure".into()),
    }
    if graph.mode == Mode::Show {
        counts.push("to be shown, not run".into());
    }
    counts.join(", ")
}

fn described(input: &GraphInput, options: &Style) -> String {
    let name = terminal_text::one_line(&input.name);
    if input.is_supplied {
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
                terminal_text::shortened(&json, MAX_DEFAULT_WIDTH, ellipsis)
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
