//! An answer, read as a plan: found, read in whichever dialect, mended, checked, and written down in our own.

use planwright_core::{CheckContext, CheckedPlan, Code, Diagnostic, Diagnostics, Plan, check};
use planwright_dialects::native::Native;
use planwright_dialects::{Dialect, ParseResult, ReadOptions, parse, parse_as};

use super::attempt::{CreatedPlan, Creation};
use super::extract::extract;
use super::repair::{Repair, repair};
use super::slots::unfilled;
use crate::model::Reply;

/// What the text of a created plan is called.
const NAME: &str = "answer";

/// How often something is mended: a name that is right now may show what else is wrong.
const ROUNDS: usize = 4;

/// An answer, as far as it is a plan.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) plan: Option<CreatedPlan>,
    /// The plan as the model wrote it.
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
        return Answered::rejected(finding.help("write a smaller plan"));
    }
    let Some(written) = extract(&reply.text) else {
        let finding = Diagnostic::error(Code::NotJson, "the answer holds no plan");
        return Answered::rejected(
            finding.help("answer with one JSON object, {\"steps\": [...], \"output\": [...]}"),
        );
    };
    let mut answered = Answered {
        written: Some(written.to_owned()),
        ..Answered::default()
    };
    let mut text = unwrapped(written);
    let mut sound = judge(&text, creation.check, &mut answered.diagnostics);
    for _ in 0..ROUNDS {
        let Some((mended, repairs)) = repair(&text, &answered.diagnostics, creation.check.catalog)
        else {
            break;
        };
        answered.repairs.extend(repairs);
        answered.diagnostics = Diagnostics::new();
        sound = judge(&mended, creation.check, &mut answered.diagnostics);
        text = mended;
    }
    if reply.is_cut_off && sound.is_none() {
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
    fn rejected(finding: Diagnostic) -> Self {
        Self {
            diagnostics: Diagnostics::from_iter([finding]),
            ..Self::default()
        }
    }
}

/// A plan that stands alone in an object: `{"plan": {…}}`.
fn unwrapped(text: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(text);
    let inner = value.ok().and_then(|value| {
        let fields = value.as_object()?;
        let inner = fields
            .get("plan")
            .filter(|_| !fields.contains_key("steps"))?;
        inner.is_object().then(|| inner.to_string())
    });
    inner.unwrap_or_else(|| text.to_owned())
}

/// A plan that is still being written, as far as it goes: mended and written down as the whole of it will be. Nothing where it is
/// not sound, which what is yet to come may change.
pub(crate) fn beginning(written: &str, creation: &Creation<'_>) -> Option<CreatedPlan> {
    let mut text = written.to_owned();
    for _ in 0..=ROUNDS {
        let mut result = parsed(&text);
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
        text = repair(&text, &found, creation.check.catalog)?.0;
    }
    None
}

/// Reads and checks a text; the plan as it was read, and as it was proven.
fn judge(
    text: &str,
    context: CheckContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<(Plan, CheckedPlan)> {
    let result = parsed(text);
    let plan = result.plan.clone();
    let checked = checked(result, context, diagnostics);
    plan.zip(checked)
}

fn parsed(text: &str) -> ParseResult {
    let options = ReadOptions::new(NAME);
    let mut result = parse(text.as_bytes(), &options);
    let has_shape = |finding: &Diagnostic| {
        !matches!(finding.code, Code::UnknownDialect | Code::AmbiguousDialect)
    };
    if !result.diagnostics.iter().all(has_shape) {
        // Where its shape does not tell, it is what the model was asked for.
        result = parse_as(&Native, text.as_bytes(), &options);
    }
    result
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
