//! The reads that a check could not prove: parts of outputs whose form no schema and no stored answer tells.

use planwright::core::expression::print_path;
use planwright::core::{CheckedPlan, UnprovedReads};
use serde::Serialize;

use crate::view::printer::{Printer, counted};

/// The maximum number of steps with a line of their own, and of reads on such a line.
const MAX_SHOWN: usize = 3;

/// The unproved reads of one step's output.
#[derive(Serialize)]
pub(super) struct Unproved {
    /// The step whose output is read.
    step: String,
    tool: String,
    /// The reads as references write them.
    reads: Vec<String>,
}

/// Returns the unproved reads of `plan` by step.
pub(super) fn unproved(plan: &CheckedPlan) -> Vec<Unproved> {
    plan.unproved_reads().iter().map(Unproved::new).collect()
}

impl Unproved {
    fn new(unproved: &UnprovedReads<'_>) -> Self {
        let id = &unproved.step.id;
        let written = unproved
            .reads
            .iter()
            .map(|read| format!("${{{id}{}}}", print_path(&read.path)));
        Self {
            step: id.to_string(),
            tool: unproved.tool.name.to_string(),
            reads: written.collect(),
        }
    }
}

/// Prints a note for each step of `unproved`.
pub(super) fn print(unproved: &[Unproved], printer: Printer) {
    for Unproved { step, tool, reads } in unproved.iter().take(MAX_SHOWN) {
        let mut shown: Vec<String> = reads
            .iter()
            .take(MAX_SHOWN)
            .map(|read| format!("`{read}`"))
            .collect();
        if let Some(more @ 1..) = reads.len().checked_sub(MAX_SHOWN) {
            shown.push(format!("{more} more"));
        }
        let shown = shown.join(", ");
        printer.status(&format!(
            "note: the form of {shown} is not proved: `{tool}` declares no output schema, and has given no answer yet; if its answer is text, only `${{{step}}}` is right"
        ));
    }
    if let Some(more @ 1..) = unproved.len().checked_sub(MAX_SHOWN) {
        printer.status(&format!(
            "note: the outputs of {} are not proved either",
            counted(more, "more step")
        ));
    }
}
