//! An answer, read as a plan: found, read in whichever dialect, mended, checked, and written down in our own.

use planwright_core::{CheckContext, CheckedPlan, Code, Diagnostic, Diagnostics, Plan, check};
use planwright_dialects::native::Native;
use planwright_dialects::{Dialect, ParseResult, ReadOptions, parse_as};

use super::attempt::{CreatedPlan, Creation};
use super::repair::Repair;
use super::slots::unfilled;
use super::written::{NAME, Written};
use crate::model::{Finish, Reply};
use crate::prompt::Notation;

/// How often something is mended: a name that is right now may show what else is wrong.
const ROUNDS: usize = 4;

/// An answer, as far as it is a plan.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) plan: Option<CreatedPlan>,
    /// In what it was written.
    pub(super) notation: Notation,
    /// The plan as the model wrote it; in lines, those that the findings are about.
    pub(super) written: Option<String>,
    pub(super) diagnostics: Diagnostics,
    pub(super) repairs: Vec<Repair>,
}

pub(super) fn read(reply: &Reply, creation: &Creation<'_>) -> Answered {
    let most = creation.settings.reply_bytes;
    if reply.text.len() > most {
        let message = format!(
            "the answer has {} bytes, and {most} are looked at",
            reply.text.len()
        );
        let finding = Diagnostic::error(Code::TooLarge, message);
        let finding = finding.help("write a smaller plan");
        return Answered::rejected(creation.settings.notation, finding);
    }
    let notation = creation.settings.notation;
    let Some(found) = Written::find(&reply.text, notation) else {
        let finding = Diagnostic::error(Code::NotJson, "the answer holds no plan");
        return Answered::rejected(notation, finding.help(notation.form()));
    };
    let mut written = found.unwrapped();
    let mut answered = Answered {
        notation: found.notation,
        written: Some(found.text),
        ..Answered::default()
    };
    let mut sound = judge(&written, creation.check, &mut answered.diagnostics);
    for _ in 0..ROUNDS {
        let findings = &answered.diagnostics;
        let Some((mended, repairs)) = written.mended(findings, creation.check.catalog) else {
            break;
        };
        answered.repairs.extend(repairs);
        answered.diagnostics = Diagnostics::new();
        sound = judge(&mended, creation.check, &mut answered.diagnostics);
        if mended.notation == Notation::Lines {
            answered.written = Some(mended.text.clone());
        }
        written = mended;
    }
    // What comes behind the cut might have been the better plan, or the rest of this one.
    if reply.finish == Finish::Length {
        sound = None;
        let finding = Diagnostic::error(
            Code::TooLarge,
            "the answer was cut off at its greatest length",
        );
        answered
            .diagnostics
            .push(finding.help("write a smaller plan"));
    }
    if let Some((plan, checked)) = sound {
        answered
            .diagnostics
            .extend(unfilled(&plan, creation.task.state));
        if !answered.diagnostics.has_errors() {
            let metadata = creation.origin.metadata(
                &plan.metadata,
                creation.task.goal,
                creation.model.name(),
                &checked,
            );
            let plan = Plan { metadata, ..plan };
            answered.plan = written_down(&plan, creation.check, &mut answered.diagnostics);
        }
    }
    answered
}

impl Answered {
    fn rejected(notation: Notation, finding: Diagnostic) -> Self {
        Self {
            notation,
            diagnostics: Diagnostics::from_iter([finding]),
            ..Self::default()
        }
    }
}

/// A plan that is still being written, as far as it goes: mended and written down as the whole of it will be. Nothing where it is
/// not sound, which what is yet to come may change.
pub(crate) fn beginning(text: String, creation: &Creation<'_>) -> Option<CreatedPlan> {
    let notation = creation.settings.notation;
    let mut written = Written { notation, text };
    for _ in 0..=ROUNDS {
        let mut result = written.parsed();
        result.plan = result.plan.map(|plan| plan.beginning(plan.steps.len()));
        let plan = result.plan.clone();
        let mut found = Diagnostics::new();
        if checked(result, creation.check, &mut found).is_some() {
            return written_down(&plan?, creation.check, &mut found);
        }
        // What looks misspelt may be the name of something that is yet to come.
        let mut codes = found.iter().map(|finding| finding.code);
        if codes.any(|code| {
            matches!(
                code,
                Code::UnknownStep | Code::UnknownInput | Code::UnwrittenSlot
            )
        }) {
            return None;
        }
        written = written.mended(&found, creation.check.catalog)?.0;
    }
    None
}

/// Reads and checks a text; the plan as it was read, and as it was proven.
fn judge(
    written: &Written,
    context: CheckContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<(Plan, CheckedPlan)> {
    let result = written.parsed();
    let plan = result.plan.clone();
    let checked = checked(result, context, diagnostics);
    plan.zip(checked)
}

fn checked(
    result: ParseResult,
    context: CheckContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<CheckedPlan> {
    diagnostics.extend(result.diagnostics);
    let plan = result.plan.and_then(|plan| {
        let (checked, found) = check(plan, &context);
        diagnostics.extend(found);
        checked
    });
    diagnostics.sort();
    plan.filter(|_| !diagnostics.has_errors())
}

/// The plan in our own dialect, proven once more in that form: it is the one that runs.
fn written_down(
    plan: &Plan,
    context: CheckContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<CreatedPlan> {
    let (text, unsaid) = Native.print(plan);
    let Some(text) = text else {
        diagnostics.extend(unsaid);
        return None;
    };
    // Findings about the text that the model wrote are told already.
    let mut found = Diagnostics::new();
    let result = parse_as(&Native, text.as_bytes(), &ReadOptions::new(NAME));
    let Some(checked) = checked(result, context, &mut found) else {
        diagnostics.extend(found);
        return None;
    };
    Some(CreatedPlan { text, checked })
}
