//! `show --estimate`: the expected duration of a run.

use std::fmt::Write as _;

use planwright::core::check::CheckedPlan;
use planwright::core::expression::EvaluationLimits;
use planwright::engine::Durations;
use planwright::engine::run::estimate;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::format::EstimateV1;
use planwright::terminal_text;

use crate::args::{Format, RunFormat, ShowArguments};
use crate::error::CommandError;
use crate::view::output;
use crate::view::printer::Printer;

/// Prints the expected duration of a run of `plan`.
pub(crate) fn show(
    plan: &CheckedPlan,
    arguments: &ShowArguments,
    known: &Durations,
    printer: Printer,
) -> Result<(), CommandError> {
    let limits = ConcurrencyLimits {
        total: arguments.max_parallel,
        ..ConcurrencyLimits::default()
    };
    let estimate = estimate(plan, known, &limits, &EvaluationLimits::default());
    let estimate = EstimateV1::new(
        &estimate,
        arguments.max_parallel.get(),
        arguments.round_trip,
    );
    match arguments.format {
        Format::Json => output::json(&estimate, RunFormat::Json, printer),
        Format::Text => {
            printer.data(&text(&estimate));
            Ok(())
        }
    }
}

fn text(estimate: &EstimateV1) -> String {
    let calls = match estimate.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let mut text = format!(
        "expected:      {} for {calls}, at most {} at the same time\n\
         critical path: {}\n",
        time(estimate.expected_s),
        estimate.max_parallel,
        time(estimate.critical_path_s)
    );
    let widest = |part: &dyn Fn(usize) -> usize| (0..estimate.critical_path.len()).map(part).max();
    let at = widest(&|index| estimate.critical_path[index].at.chars().count()).unwrap_or(0);
    for call in &estimate.critical_path {
        let (name, tool) = (
            terminal_text::one_line(&call.at),
            terminal_text::one_line(&call.tool),
        );
        let takes = time(call.takes_s);
        let _ = writeln!(text, "  {name:at$}  {takes:>9}  {tool}");
    }
    let _ = writeln!(
        text,
        "step by step:  {}, one call after the other with a round trip of {} to the model for each",
        time(estimate.step_by_step_s),
        time(estimate.round_trip_s)
    );
    let _ = writeln!(text, "\nassumed:");
    let _ = writeln!(
        text,
        "  a round trip to the model takes {} (`--round-trip`)",
        time(estimate.round_trip_s)
    );
    let _ = writeln!(text, "  every call goes well at its first attempt");
    for assumption in &estimate.assumptions {
        let _ = writeln!(text, "  {}", terminal_text::one_line(assumption));
    }
    text
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1000.0)
    } else {
        format!("{seconds:.2} s")
    }
}
