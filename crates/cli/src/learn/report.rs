//! The report of `learn`, for people and for programs.

use planwright::core::Diagnostic;
use planwright::format::{
    LEARN_SCHEMA, LearnCallV1, LearnFindingV1, LearnInputV1, LearnReplayV1, LearnTraceV1, LearnV1,
};
use planwright::terminal_text::one_line;
use planwright_learn::LearnedPlan;
use planwright_learn::replay::{CallDifference, TraceComparison};

use crate::view::printer::{Printer, counted};

/// Maximum number of calls that a difference lists.
const MAX_LISTED: usize = 5;

/// Returns the report of a learned plan: its text and dialect, the names of the traces, the run over each of them, whether the tools were
/// known, and the diagnostics of the check.
pub(super) fn report(
    learned: &LearnedPlan,
    (plan, dialect): (&str, &'static str),
    names: &[String],
    replays: &[Option<TraceComparison>],
    (has_tools, diagnostics): (bool, Vec<Diagnostic>),
) -> LearnV1 {
    let traces = names.iter().zip(&learned.calls).zip(replays);
    let sound = !replays.is_empty() && replays.iter().all(Option::is_some);
    LearnV1 {
        schema: LEARN_SCHEMA,
        plan: plan.to_owned(),
        dialect,
        sound,
        complete: learned.is_complete(),
        same_calls: sound && replays.iter().flatten().all(TraceComparison::is_same),
        has_tools,
        inputs: learned
            .inputs
            .iter()
            .zip(&learned.plan.inputs)
            .map(|(input, declared)| LearnInputV1 {
                name: input.name.to_string(),
                schema: declared.schema.clone(),
                values: input
                    .values
                    .iter()
                    .map(|value| value.clone().unwrap_or_default())
                    .collect(),
            })
            .collect(),
        traces: traces
            .map(|((name, calls), replay)| LearnTraceV1 {
                name: name.clone(),
                calls: calls.len(),
                replay: replay.as_ref().map(|replay| LearnReplayV1 {
                    same: replay.same,
                    missing: calls_of(&replay.missing),
                    additional: calls_of(&replay.additional),
                    reordered: calls_of(&replay.reordered),
                }),
            })
            .collect(),
        findings: learned
            .findings
            .iter()
            .map(|finding| LearnFindingV1 {
                kind: finding.kind.as_str(),
                undecided: finding.undecided,
                step: finding.step.as_deref().map(str::to_owned),
                argument: finding.argument.as_deref().map(str::to_owned),
                message: finding.message.clone(),
            })
            .collect(),
        diagnostics,
        saved: None,
    }
}

fn calls_of(differences: &[CallDifference]) -> Vec<LearnCallV1> {
    let calls = differences.iter().map(|call| LearnCallV1 {
        tool: call.tool.clone(),
        args: call.args.clone(),
    });
    calls.collect()
}

/// Prints the findings, the differences and the verdict.
pub(super) fn print(report: &LearnV1, printer: Printer) {
    for finding in &report.findings {
        let kind = if finding.undecided {
            "undecided"
        } else {
            "note"
        };
        let place = match (&finding.step, &finding.argument) {
            (Some(step), Some(argument)) => format!("{step}.{argument}: "),
            (Some(step), None) => format!("{step}: "),
            (None, _) => String::new(),
        };
        printer.quote(&one_line(&format!("{kind}: {place}{}", finding.message)));
    }
    for trace in &report.traces {
        let Some(replay) = trace.replay.as_ref().filter(|replay| !is_same(replay)) else {
            continue;
        };
        printer.quote(&format!(
            "the plan makes other calls than `{}`:",
            one_line(&trace.name)
        ));
        print_calls("missing", &replay.missing, printer);
        print_calls("additional", &replay.additional, printer);
        print_calls("reordered", &replay.reordered, printer);
    }
    if !report.sound {
        printer.status("the plan is not sound");
        return;
    }
    if !report.has_tools {
        printer.status("note: the tools are not known, so their schemas and effects were not checked; each call may change something");
    }
    let undecided = report
        .findings
        .iter()
        .filter(|finding| finding.undecided)
        .count();
    let open = match undecided {
        0 => "complete".to_owned(),
        count => format!("not complete: {} undecided", counted(count, "finding")),
    };
    let calls = if report.same_calls {
        "the same calls"
    } else {
        "other calls"
    };
    printer.status(&format!(
        "learned from {}: sound, {open}, {calls} over the recorded answers",
        counted(report.traces.len(), "trace")
    ));
}

fn is_same(replay: &LearnReplayV1) -> bool {
    replay.missing.is_empty() && replay.additional.is_empty() && replay.reordered.is_empty()
}

fn print_calls(kind: &str, calls: &[LearnCallV1], printer: Printer) {
    for call in calls.iter().take(MAX_LISTED) {
        printer.quote(&one_line(&format!(
            "  {kind}: {}({})",
            call.tool, call.args
        )));
    }
    if let Some(more) = calls.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        printer.status(&format!("  {kind}: {more} more"));
    }
}
