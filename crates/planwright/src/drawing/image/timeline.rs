//! The timeline of a run as an image: a row for each step, a bar for each call and for each wait for a person, and the whole time of the step as a background.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::geometry::BoxSize;
use super::markup::{escaped, number};
use super::run_record::RunRecord;
use crate::drawing::graph::GraphStep;
use crate::drawing::timeline::{MAX_BARS, calls, outermost, waits};
use crate::terminal_text;

/// The width of the time axis, in pixels.
const AXIS_WIDTH: f64 = 760.0;
/// The height of a row, in pixels.
const ROW: f64 = 20.0;
/// The width of a character of the ids, in pixels.
const COLUMN: f64 = 7.3;
/// The maximum width of an id, in columns.
const MAX_COLUMNS: usize = 30;
/// Minimum width of a bar, in pixels, so that a short call can be seen.
const MIN_BAR: f64 = 1.5;
/// The maximum number of marks of the time axis.
const MAX_TICKS: u128 = 8;

/// Draws the calls of a run, in rows for `steps`. Returns the content of an image and its size, or `None` if the run has neither called nor asked anything.
pub(super) fn draw(steps: &[GraphStep], run: &RunRecord<'_>) -> Option<(String, BoxSize)> {
    let rows: HashMap<&str, usize> = (steps.iter().enumerate())
        .map(|(row, step)| (step.id.as_str(), row))
        .collect();
    let end = run.duration().max(Duration::from_micros(1));
    let columns = steps.iter().map(|step| terminal_text::width(&step.id));
    let left = real(columns.max().unwrap_or(0).min(MAX_COLUMNS)) * COLUMN + 24.0;
    let x = |time: Duration| left + AXIS_WIDTH * time.min(end).div_duration_f64(end);
    let top = |row: usize| ROW * (real(row) + 1.0);
    let mut bars = String::new();
    for summary in run.steps {
        let (Some(started), Some(row)) = (summary.started, rows.get(summary.at.step.as_str()))
        else {
            continue;
        };
        let ended = summary.ended.unwrap_or(end);
        let _ = writeln!(
            bars,
            "<rect class=\"wait\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"4\"/>",
            number(x(started)),
            number(top(*row) + 8.0),
            number((x(ended) - x(started)).max(MIN_BAR))
        );
    }
    let mut drawn = 0_usize;
    let mut omitted = 0_usize;
    // All items of a loop share a row, and a later bar covers an earlier one: no success may cover a failure.
    let mut problems = String::new();
    for call in calls(run.history) {
        let at = call.at;
        let Some(row) = rows.get(outermost(at).step.as_str()) else {
            continue;
        };
        if drawn == MAX_BARS {
            omitted += 1;
            continue;
        }
        drawn += 1;
        let ended = call.ended.unwrap_or(end);
        let (class, result) = match call.status {
            "failed" => (" failed", "failed"),
            "unknown" => (" unknown", "without an answer"),
            "running" => (" running", "in flight"),
            succeeded => ("", succeeded),
        };
        let title = format!(
            "{at}, attempt {}: {result} after {}",
            call.attempt,
            terminal_text::time(ended.saturating_sub(call.sent))
        );
        let _ = writeln!(
            if matches!(call.status, "failed" | "unknown") {
                &mut problems
            } else {
                &mut bars
            },
            "<rect class=\"bar{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" rx=\"2\"><title>{}</title></rect>",
            number(x(call.sent)),
            number(top(*row) + 4.0),
            number((x(ended) - x(call.sent)).max(MIN_BAR)),
            escaped(&title)
        );
    }
    for wait in waits(run.entries) {
        let Some(row) = rows.get(outermost(wait.at).step.as_str()) else {
            continue;
        };
        if drawn == MAX_BARS {
            omitted += 1;
            continue;
        }
        drawn += 1;
        let ended = wait.end.unwrap_or(end);
        let time = terminal_text::time(ended.saturating_sub(wait.since));
        let title = match wait.end {
            Some(_) => format!("{}: waited {time} for a person", wait.at),
            None => format!("{}: waits for a person, {time} so far", wait.at),
        };
        let _ = writeln!(
            bars,
            "<rect class=\"person\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" rx=\"2\"><title>{}</title></rect>",
            number(x(wait.since)),
            number(top(*row) + 4.0),
            number((x(ended) - x(wait.since)).max(MIN_BAR)),
            escaped(&title)
        );
    }
    if drawn == 0 {
        return None;
    }
    let height = top(steps.len());
    let size = BoxSize {
        width: left + AXIS_WIDTH + 60.0,
        height: height + if omitted > 0 { ROW } else { 0.0 } + 8.0,
    };
    let mut text = String::new();
    for tick in ticks(end) {
        let place = number(x(tick));
        let label = tick_label(tick);
        let _ = writeln!(
            text,
            "<line class=\"grid\" x1=\"{place}\" y1=\"{ROW}\" x2=\"{place}\" y2=\"{}\"/><text class=\"note\" x=\"{place}\" y=\"14\">{label}</text>",
            number(height)
        );
    }
    for (row, step) in steps.iter().enumerate() {
        let id = planwright_core::text::visible(&step.id);
        let _ = writeln!(
            text,
            "<text class=\"id\" x=\"8\" y=\"{}\">{}</text>",
            number(top(row) + 14.0),
            escaped(&terminal_text::shortened(&id, MAX_COLUMNS, "…"))
        );
    }
    text.push_str(&bars);
    text.push_str(&problems);
    if omitted > 0 {
        let _ = writeln!(
            text,
            "<text class=\"note\" x=\"8\" y=\"{}\">{omitted} more bars are not drawn</text>",
            number(height + 14.0)
        );
    }
    Some((text, size))
}

/// The times that the axis marks: a round distance apart.
fn ticks(end: Duration) -> Vec<Duration> {
    let total = end.as_nanos();
    // 1, 2, 5, 10, 20, 50, … microseconds.
    let powers = std::iter::successors(Some(1_000_u128), |power| power.checked_mul(10));
    let mut distances = powers.flat_map(|power| [power, power * 2, power * 5]);
    let distance = distances
        .find(|distance| total / distance <= MAX_TICKS)
        .unwrap_or(total);
    let nanoseconds = |tick: u128| u64::try_from(tick * distance).unwrap_or(u64::MAX);
    (0..=total / distance)
        .map(|tick| Duration::from_nanos(nanoseconds(tick)))
        .collect()
}

/// Formats a time of the axis exactly: it is a round number of its unit.
fn tick_label(tick: Duration) -> String {
    match tick.as_micros() {
        0 => "0".to_owned(),
        micros @ 1..1_000 => format!("{micros}µs"),
        1_000..1_000_000 => format!("{}ms", number(tick.as_secs_f64() * 1e3)),
        1_000_000..60_000_000 => format!("{}s", number(tick.as_secs_f64())),
        _ => terminal_text::time(tick),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows are small")]
fn real(count: usize) -> f64 {
    count as f64
}
