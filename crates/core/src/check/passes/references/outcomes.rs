//! Outcomes of steps that are read as fields of their outputs, as in `job.status == 'failed'`.

use super::ReadPass;
use crate::check::passes::meant::replaced;
use crate::check::reporter::Reporter;
use crate::plan::{Action, NodeKind, OnError};
use crate::{Code, Severity, StepId};

/// Words of other systems for the outcome of a step.
const WORDS: [&str; 6] = ["success", "succeeded", "failed", "error", "status", "state"];

/// The comparison of the field `word` of the step `id` in `text` with the name of an outcome, `a.status == 'failed'`, and the condition
/// that is meant.
fn outcome_comparison<'t>(text: &'t str, id: &str, word: &str) -> Option<(&'t str, String)> {
    let (start, end) = place(text, &format!("{id}.{word}"))?;
    let operator = text.get(end..)?.trim_start();
    let (is_equal, operand) = match operator.strip_prefix("==") {
        Some(operand) => (true, operand.trim_start()),
        None => (false, operator.strip_prefix("!=")?.trim_start()),
    };
    let (is_success, length) = outcome(operand, word)?;
    let end = text.len() - operand.len() + length;
    let sign = if is_equal == is_success { "" } else { "!" };
    Some((text.get(start..end)?, format!("{sign}results.{id}.success")))
}

/// The bytes of the only place of `path` in `text`.
fn place(text: &str, path: &str) -> Option<(usize, usize)> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '.';
    let mut places = text.match_indices(path).filter(|(at, _)| {
        let (before, after) = (text.get(..*at), text.get(at + path.len()..));
        !before.is_some_and(|before| before.ends_with(is_part))
            && !after.is_some_and(|after| after.starts_with(is_part))
    });
    let (at, _) = places.next()?;
    Some((at, at + path.len()))
}

/// The outcome at the start of `operand`, with which the field `word` is compared, and its length: true for a success.
fn outcome(operand: &str, word: &str) -> Option<(bool, usize)> {
    let is_of_failure = matches!(word, "failed" | "error");
    for (name, value) in [("true", true), ("false", false)] {
        let rest = operand.strip_prefix(name);
        let is_word = rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
        if is_word && !matches!(word, "status" | "state") {
            return Some((value != is_of_failure, name.len()));
        }
    }
    // `job.error != null`
    if word == "error" && operand.starts_with("null") {
        return Some((true, "null".len()));
    }
    let quote = operand
        .chars()
        .next()
        .filter(|sign| "'\"".contains(*sign))?;
    let name = operand.get(1..)?.split_once(quote)?.0;
    let is_success = match &*name.to_lowercase() {
        "success" | "succeeded" | "successful" | "ok" | "completed" | "complete" | "done"
        | "passed" => true,
        "failed" | "failure" | "error" | "errored" => false,
        _ => return None,
    };
    Some((is_success, name.len() + 2))
}

impl ReadPass<'_> {
    /// The hint for a comparison of the field `word` of the step `id` with the name of an outcome, or for such a field as a condition.
    /// `purpose` stands behind the form to write.
    pub(super) fn outcome_advice(&self, id: &StepId, word: &str, purpose: &str) -> Option<String> {
        let text = self.text();
        let (written, meant) = outcome_comparison(&text, id.as_str(), word)
            .map(|(written, meant)| (written.to_owned(), meant))
            .or_else(|| self.outcome_condition(id, word))?;
        let meant_text = replaced(&text, &written, &meant);
        let advice = format!("write `{meant_text}`{purpose}");
        let step = self.resolved.ids.get(id);
        let step = step.and_then(|index| self.resolved.step(*index));
        let fails = step.is_some_and(|step| step.on_error == OnError::Fail);
        // A step that answers to a failure is seldom meant in a run that fails.
        Some(if fails && meant.starts_with('!') {
            format!(
                "{advice}, and `\"on_error\": \"continue\"` in `{id}`: without it, its failure is that of the run"
            )
        } else {
            advice
        })
    }

    /// The field `word` of the step `id` where it is a condition by itself, as in `when: ${job.failed}`, and the condition that is meant.
    fn outcome_condition(&self, id: &StepId, word: &str) -> Option<(String, String)> {
        let (_, step) = self.usage.step?;
        let is_condition = step.when.as_ref().is_some_and(|when| match &when.kind {
            NodeKind::Reference(reference) => std::ptr::eq(reference, self.usage.reference),
            _ => false,
        });
        (is_condition && !matches!(word, "status" | "state")).then_some(())?;
        let text = self.text();
        let path = format!("{id}.{word}");
        let (start, end) = place(&text, &path)?;
        let before = text.get(..start)?.trim_end();
        let after = text.get(end..)?.trim_start();
        let starts = ["{", "!", "(", "&&", "||"];
        let ends = ["}", ")", "&&", "||"];
        let is_operand = starts.iter().any(|sign| before.ends_with(sign))
            && ends.iter().any(|sign| after.starts_with(sign));
        is_operand.then_some(())?;
        let is_negated = before.ends_with('!');
        let is_success = matches!(word, "failed" | "error") == is_negated;
        let sign = if is_success { "" } else { "!" };
        let written = if is_negated { format!("!{path}") } else { path };
        Some((written, format!("{sign}results.{id}.success")))
    }

    /// Warns of an outcome that is read as a field of an output of an unknown form. Returns true if it does.
    pub(super) fn warn_of_outcome(
        &self,
        id: &StepId,
        word: &str,
        reporter: &mut Reporter<'_>,
    ) -> bool {
        let step = self.resolved.ids.get(id);
        let step = step.and_then(|index| self.resolved.step(*index));
        let is_call = step.is_some_and(|step| matches!(step.action, Action::Tool(_)));
        // In its own `until`, a step asks what its server answered. The fields of a value are those of its data.
        if !WORDS.contains(&word) || !is_call || self.is_own() {
            return false;
        }
        let purpose = " for the outcome of the step";
        let Some(advice) = self.outcome_advice(id, word, purpose) else {
            return false;
        };
        if !reporter.count_if_full(Severity::Warning) {
            let message = format!(
                "`{}` reads the field `{word}` in the output of `{id}`, which the tool need not have",
                self.text()
            );
            let place = self.usage.reference.place;
            let diagnostic = reporter.warning(Code::UnlistedPath, place, message);
            reporter.push(diagnostic.help(advice));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::outcome_comparison;

    #[test]
    fn outcomes_are_compared_with_names_and_truths() {
        fn check(text: &str, word: &str, expected: Option<(&str, &str)>) {
            let found = outcome_comparison(text, "job", word);
            let found = found.as_ref().map(|(written, meant)| (*written, &**meant));
            assert_eq!(found, expected, "{text}");
        }

        check(
            "${job.state != 'failed' && x}",
            "state",
            Some(("job.state != 'failed'", "results.job.success")),
        );
        check(
            "${job.failed == true}",
            "failed",
            Some(("job.failed == true", "!results.job.success")),
        );
        check(
            "${job.success==false}",
            "success",
            Some(("job.success==false", "!results.job.success")),
        );
        check(
            "${job.error == null}",
            "error",
            Some(("job.error == null", "results.job.success")),
        );
        // Another step, another field, and a value that is no outcome.
        check("${old_job.status == 'done'}", "status", None);
        check("${job.status_code == 'done'}", "status", None);
        check("${job.status == 'paid'}", "status", None);
        check("${job.status == true}", "status", None);
    }
}
