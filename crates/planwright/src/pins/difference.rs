//! The lines in which two texts differ, each with its neighbours.

/// The most lines of each text that are compared one by one; beyond, the old ones are all removed and the new ones all added.
const MOST_COMPARED: usize = 500;

/// The number of unchanged lines that are shown around changed ones.
const CONTEXT: usize = 2;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// In both texts.
    Same(String),
    /// In the old one alone.
    Removed(String),
    /// In the new one alone.
    Added(String),
    /// Lines of both texts are left out here.
    Skipped(usize),
}

/// The difference between two texts; empty if they have the same lines.
pub fn difference(before: &str, now: &str) -> Vec<Line> {
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
    let mut lines: Vec<Line> = old.iter().take(front).map(|line| kept(line)).collect();
    let part = |lines: &[&str]| -> Vec<String> {
        let middle = lines.len() - front - back;
        let part = lines.iter().skip(front).take(middle);
        part.map(|line| (*line).to_owned()).collect()
    };
    lines.extend(compared(part(&old), part(&new)));
    lines.extend(old.iter().skip(old.len() - back).map(|line| kept(line)));
    shortened(lines)
}

fn kept(line: &str) -> Line {
    Line::Same(line.to_owned())
}

/// The difference by a longest common subsequence.
fn compared(old: Vec<String>, new: Vec<String>) -> Vec<Line> {
    if MOST_COMPARED < old.len().max(new.len()) {
        let removed = old.into_iter().map(Line::Removed);
        return removed.chain(new.into_iter().map(Line::Added)).collect();
    }
    // The length of the longest common subsequence of what is left from each pair of places on.
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
                lines.push(kept(left));
                (row, column) = (row + 1, column + 1);
            }
            (Some(left), right)
                if right.is_none()
                    || at(&lengths, row, column + 1) <= at(&lengths, row + 1, column) =>
            {
                lines.push(Line::Removed(left.clone()));
                row += 1;
            }
            (_, Some(right)) => {
                lines.push(Line::Added(right.clone()));
                column += 1;
            }
            (_, None) => return lines,
        }
    }
}

/// Leaves out what did not change, but for some lines around what did.
fn shortened(lines: Vec<Line>) -> Vec<Line> {
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, Line::Same(_)))
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

/// Leaves lines out; a single one takes no more room than the word that it is left out.
fn skip(skipped: &mut Vec<Line>, shown: &mut Vec<Line>) {
    match skipped.len() {
        0 | 1 => shown.append(skipped),
        count => shown.push(Line::Skipped(count)),
    }
    skipped.clear();
}
