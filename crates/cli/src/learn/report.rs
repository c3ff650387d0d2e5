//! The report of `learn`, for people and for programs.

use planwright::core::{Diagnostic, Value};
use planwright::terminal_text::one_line;
use planwright_learn::replay::{CallDifference, TraceComparison};
use planwright_learn::{Finding, LearnedPlan};
use serde::Serialize;

use crate::view::printer::{Printer, counted};

/// The schema's name and version.
const SCHEMA: &str = "planwright.learn/1";

/// Maximum number of calls that a difference lists.
const MAX_LISTED: usize = 5;

/// The report of a learned plan.
#[derive(Serialize)]
pub(super) struct LearnV1<'a> {
    schema: &'static str,
    /// The text of the plan.
    plan: &'a str,
    dialect: &'a str,
    /// True if the plan is sound over the tools.
    pub(super) sound: bool,
    /// True if the traces leave nothing open that changes the meaning of the plan.
    complete: bool,
    /// True if the plan makes the calls of each trace over its answers.
    pub(super) same_calls: bool,
    /// True if the tools were known, so that schemas and effects were checked.
    has_tools: bool,
    inputs: Vec<LearnInputV1<'a>>,
    traces: Vec<LearnTraceV1<'a>>,
    findings: &'a [Finding],
    diagnostics: Vec<&'a Diagnostic>,
    /// The name and the version that the plan was saved as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) saved: Option<String>,
}

#[derive(Serialize)]
struct LearnInputV1<'a> {
    name: &'a str,
    schema: &'a Value,
    /// The value in each trace, `null` if the trace does not use it.
    values: Vec<&'a Value>,
}

#[derive(Serialize)]
struct LearnTraceV1<'a> {
    name: &'a str,
    calls: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<&'a TraceComparison>,
}

impl<'a> LearnV1<'a> {
    pub(super) fn new(
        learned: &'a LearnedPlan,
        (plan, dialect): (&'a str, &'a str),
        names: &'a [String],
        replays: &'a [Option<TraceComparison>],
        (has_tools, diagnostics): (bool, Vec<&'a Diagnostic>),
    ) -> Self {
        let traces = names.iter().zip(&learned.calls).zip(replays);
        let sound = !replays.is_empty() && replays.iter().all(Option::is_some);
        Self {
            schema: SCHEMA,
            plan,
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
                    name: &input.name,
                    schema: &declared.schema,
                    values: input
                        .values
                        .iter()
                        .map(|value| value.as_ref().unwrap_or(&Value::Null))
                        .collect(),
                })
                .collect(),
            traces: traces
                .map(|((name, calls), replay)| LearnTraceV1 {
                    name,
                    calls: calls.len(),
                    replay: replay.as_ref(),
                })
                .collect(),
            findings: &learned.findings,
            diagnostics,
            saved: None,
        }
    }

    /// Prints the findings, the differences and the verdict.
    pub(super) fn print(&self, printer: Printer) {
        for finding in self.findings {
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
        for trace in &self.traces {
            let Some(replay) = trace.replay.filter(|replay| !replay.is_same()) else {
                continue;
            };
            printer.quote(&format!(
                "the plan makes other calls than `{}`:",
                one_line(trace.name)
            ));
            print_calls("missing", &replay.missing, printer);
            print_calls("additional", &replay.additional, printer);
            print_calls("reordered", &replay.reordered, printer);
        }
        if !self.sound {
            printer.status("the plan is not sound");
            return;
        }
        if !self.has_tools {
            printer.status("note: the tools are not known, so their schemas and effects were not checked; each call may change something");
        }
        let undecided = self
            .findings
            .iter()
            .filter(|finding| finding.undecided)
            .count();
        let open = match undecided {
            0 => "complete".to_owned(),
            count => format!("not complete: {} undecided", counted(count, "finding")),
        };
        let calls = if self.same_calls {
            "the same calls"
        } else {
            "other calls"
        };
        printer.status(&format!(
            "learned from {}: sound, {open}, {calls} over the recorded answers",
            counted(self.traces.len(), "trace")
        ));
    }
}

fn print_calls(kind: &str, calls: &[CallDifference], printer: Printer) {
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
