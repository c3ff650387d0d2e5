//! The differences between two definitions of a tool, their effect on consent, and line differences of texts.

use planwright_core::{Hints, Tool};

use super::Definition;

/// The differences between two definitions of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// True if the title differs.
    pub title: bool,
    /// True if the description differs.
    pub description: bool,
    /// True if the input schema differs.
    pub input_schema: bool,
    /// True if the output schema differs.
    pub output_schema: bool,
    /// The annotations that differ.
    pub hints: Vec<HintChange>,
}

/// An annotation that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintChange {
    /// The annotation's name in MCP.
    pub name: &'static str,
    /// The server's statement before.
    pub before: Option<bool>,
    /// The server's statement now.
    pub now: Option<bool>,
    /// True if the new statement would lead to fewer approvals or to more repeated calls.
    pub loosens: bool,
}

impl Changes {
    /// The changes from one definition to another.
    pub fn between(before: &Definition, now: &Definition) -> Self {
        Self {
            title: before.title != now.title,
            description: before.description != now.description,
            input_schema: before.input_schema != now.input_schema,
            output_schema: before.output_schema != now.output_schema,
            hints: hints(before.annotations.into(), now.annotations.into()),
        }
    }

    /// The changes from one state of a tool to another.
    pub fn of_tool(before: &Tool, now: &Tool) -> Self {
        Self {
            title: before.title != now.title,
            description: before.description != now.description,
            input_schema: before.input.as_value() != now.input.as_value(),
            output_schema: before.output.as_value() != now.output.as_value(),
            hints: hints(before.hints, now.hints),
        }
    }

    /// Returns true if nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if calls of the tool need approval until a person accepts the changes: its description, its input schema or its stated
    /// effects differ from the pinned ones. Changes of the title and the output schema are only shown.
    pub fn asks(&self) -> bool {
        self.description || self.input_schema || self.hints.iter().any(|hint| hint.loosens)
    }

    /// Returns the names of the changes: `description`, `input schema`, `destructiveHint`.
    pub fn names(&self) -> Vec<&'static str> {
        let parts = [
            (self.description, "description"),
            (self.input_schema, "input schema"),
            (self.output_schema, "output schema"),
            (self.title, "title"),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(changed, name)| changed.then_some(name));
        parts
            .chain(self.hints.iter().map(|hint| hint.name))
            .collect()
    }
}

fn hints(before: Hints, now: Hints) -> Vec<HintChange> {
    // A missing `destructiveHint` counts as `true`, but a stated one asks by itself, so removing it loosens the rule.
    let strictness = |hint: Option<bool>| match hint {
        Some(true) => 2,
        None => 1,
        Some(false) => 0,
    };
    let gained = |before: Option<bool>, now: Option<bool>| now == Some(true) && before != now;
    let all = [
        (
            "readOnlyHint",
            before.read_only,
            now.read_only,
            gained(before.read_only, now.read_only),
        ),
        (
            "destructiveHint",
            before.destructive,
            now.destructive,
            strictness(now.destructive) < strictness(before.destructive),
        ),
        (
            "idempotentHint",
            before.idempotent,
            now.idempotent,
            gained(before.idempotent, now.idempotent),
        ),
        ("openWorldHint", before.open_world, now.open_world, false),
    ];
    let changed = all
        .into_iter()
        .filter(|(_, before, now, _)| before != now)
        .map(|(name, before, now, loosens)| HintChange {
            name,
            before,
            now,
            loosens,
        });
    changed.collect()
}

/// The maximum number of lines of each text that are compared. With more, all old lines count as removed, and all new ones as added.
const MAX_COMPARED: usize = 500;

/// The number of unchanged lines that are shown around changed ones.
const CONTEXT: usize = 2;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceLine {
    /// In both texts.
    Same(String),
    /// In the old one alone.
    Removed(String),
    /// In the new one alone.
    Added(String),
    /// Lines of both texts are omitted here.
    Skipped(usize),
}

/// The difference between two texts; empty if they have the same lines.
pub fn difference(before: &str, now: &str) -> Vec<DifferenceLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    if old == new {
        return Vec::new();
    }
    let same = |(old, new): &(&&str, &&str)| old == new;
    let front = old.iter().zip(&new).take_while(same).count();
    let rest = old.len().min(new.len()) - front;
    let back = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(same)
        .count();
    let mut lines: Vec<DifferenceLine> =
        old.iter().take(front).map(|line| unchanged(line)).collect();
    let part = |lines: &[&str]| -> Vec<String> {
        let middle = lines.len() - front - back;
        let part = lines.iter().skip(front).take(middle);
        part.map(|line| (*line).to_owned()).collect()
    };
    lines.extend(compared(part(&old), part(&new)));
    lines.extend(
        old.iter()
            .skip(old.len() - back)
            .map(|line| unchanged(line)),
    );
    shortened(lines)
}

fn unchanged(line: &str) -> DifferenceLine {
    DifferenceLine::Same(line.to_owned())
}

/// The difference by a longest common subsequence.
fn compared(old: Vec<String>, new: Vec<String>) -> Vec<DifferenceLine> {
    if MAX_COMPARED < old.len().max(new.len()) {
        let removed = old.into_iter().map(DifferenceLine::Removed);
        return removed
            .chain(new.into_iter().map(DifferenceLine::Added))
            .collect();
    }
    // The length of the longest common subsequence of the rests after each pair of places.
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let at = |lengths: &[u32], row: usize, column: usize| {
        lengths.get(row * width + column).copied().unwrap_or(0)
    };
    for (row, left) in old.iter().enumerate().rev() {
        for (column, right) in new.iter().enumerate().rev() {
            let length = if left == right {
                at(&lengths, row + 1, column + 1) + 1
            } else {
                at(&lengths, row + 1, column).max(at(&lengths, row, column + 1))
            };
            if let Some(cell) = lengths.get_mut(row * width + column) {
                *cell = length;
            }
        }
    }
    let mut lines = Vec::new();
    let (mut row, mut column) = (0, 0);
    loop {
        match (old.get(row), new.get(column)) {
            (Some(left), Some(right)) if left == right => {
                lines.push(unchanged(left));
                (row, column) = (row + 1, column + 1);
            }
            (Some(left), right)
                if right.is_none()
                    || at(&lengths, row, column + 1) <= at(&lengths, row + 1, column) =>
            {
                lines.push(DifferenceLine::Removed(left.clone()));
                row += 1;
            }
            (_, Some(right)) => {
                lines.push(DifferenceLine::Added(right.clone()));
                column += 1;
            }
            (_, None) => return lines,
        }
    }
}

/// Removes unchanged lines, except for some context around the changes.
fn shortened(lines: Vec<DifferenceLine>) -> Vec<DifferenceLine> {
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, DifferenceLine::Same(_)))
        .map(|(index, _)| index)
        .collect();
    let mut shown = Vec::with_capacity(lines.len());
    let mut skipped = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        let next = changed.partition_point(|at| *at < index);
        let near = [next.checked_sub(1), Some(next)]
            .into_iter()
            .flatten()
            .filter_map(|place| changed.get(place))
            .any(|at| at.abs_diff(index) <= CONTEXT);
        if near {
            skip(&mut skipped, &mut shown);
            shown.push(line);
        } else {
            skipped.push(line);
        }
    }
    skip(&mut skipped, &mut shown);
    shown
}

/// Leaves lines out. A single line is shown, because the note about it would take as much room.
fn skip(skipped: &mut Vec<DifferenceLine>, shown: &mut Vec<DifferenceLine>) {
    match skipped.len() {
        0 | 1 => shown.append(skipped),
        count => shown.push(DifferenceLine::Skipped(count)),
    }
    skipped.clear();
}
