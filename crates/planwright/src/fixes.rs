//! Fixes of plans: the edits of diagnostics are applied as long as the text gets better.

use std::collections::BTreeSet;

use planwright_core::check::Policy;
use planwright_core::{Catalog, Diagnostic, Diagnostics, TextEdit, Value};
use planwright_dialects::Dialect as _;
use planwright_dialects::native::Native;

use crate::loaded_plan::{LoadedPlan, MAX_READINGS};

/// A text with all fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FixedText {
    /// The text.
    pub text: String,
    /// The number of problems that are fixed.
    pub count: usize,
    /// True if the text was in another format, and is JSON now.
    pub is_rewritten: bool,
}

/// A text as it is read and checked.
struct CheckedText {
    plan: Option<String>,
    dialect: Option<&'static str>,
    /// The number of problems of the text alone.
    of_reading: usize,
    diagnostics: Diagnostics,
}

impl CheckedText {
    fn new(loaded: LoadedPlan, catalog: &Catalog, policy: &Policy) -> Self {
        let plan = loaded.plan.as_ref().and_then(|plan| Native.print(plan).0);
        let dialect = loaded.dialect;
        let of_reading = problems(&loaded.diagnostics).count();
        // The values of inputs are part of a run.
        let diagnostics = if loaded.plan.is_some() {
            loaded.check_without_inputs(catalog, policy).diagnostics
        } else {
            loaded.diagnostics
        };
        Self {
            plan,
            dialect,
            of_reading,
            diagnostics,
        }
    }

    /// Returns the text without the fixes at the pointers `excluded`.
    fn without(mut self, excluded: &BTreeSet<String>) -> Self {
        for found in &mut self.diagnostics {
            if excluded.contains(&found.pointer) {
                found.fixes = [].into();
            }
        }
        self
    }

    fn errors(&self) -> usize {
        self.diagnostics
            .iter()
            .filter(|found| found.is_error())
            .count()
    }
}

/// Applies the fixes of all diagnostics of `text`, which `load` reads; `None` if that makes nothing better.
///
/// The result has fewer problems than `text`, not more errors, and no new problem where something was fixed: a fix that would lead to one is
/// left out. A plan in place of a text that is none has no problem at all. A plan that could run stays the same.
///
/// # Errors
///
/// Those of `load`.
pub fn fixed_text<E>(
    text: &str,
    load: impl Fn(&str) -> Result<LoadedPlan, E>,
    catalog: &Catalog,
    policy: &Policy,
) -> Result<Option<FixedText>, E> {
    let mut excluded = BTreeSet::new();
    let mut best: Option<FixedText> = None;
    for _ in 0..MAX_READINGS {
        let read = |text: &str| {
            let checked = CheckedText::new(load(text)?, catalog, policy);
            Ok(checked.without(&excluded))
        };
        let (fixed, failed) = fixed_once(text, read)?;
        let has_more =
            |fixed: &FixedText| best.as_ref().is_none_or(|best| best.count < fixed.count);
        best = fixed.filter(has_more).or(best);
        let known = excluded.len();
        excluded.extend(failed);
        if excluded.len() == known {
            break;
        }
    }
    let Some(mut best) = best else {
        return Ok(None);
    };
    // The replacement is on one line.
    if best.is_rewritten
        && let Some(plan) = &load(&best.text)?.plan
        && let Some(printed) = Native.print(plan).0
    {
        best.text = printed.trim_end().to_owned() + "\n";
    }
    Ok(Some(best))
}

/// Applies the fixes of `text`, which `read` checks. Returns the best text, if any is better, and the pointers of fixes that lead to new
/// problems.
fn fixed_once<E>(
    text: &str,
    read: impl Fn(&str) -> Result<CheckedText, E>,
) -> Result<(Option<FixedText>, Vec<String>), E> {
    let first = read(text)?;
    let mut best: Option<FixedText> = None;
    let mut fixed = FixedText {
        text: text.to_owned(),
        count: 0,
        is_rewritten: false,
    };
    let mut before = read(text)?;
    let mut pointers = Vec::new();
    let mut is_replaced = false;
    for _ in 0..MAX_READINGS {
        let Some(next) = before.diagnostics.apply_fixes(&fixed.text) else {
            break;
        };
        let after = read(&next)?;
        if next == fixed.text || !is_same(&before, &after) {
            break;
        }
        let edited = before
            .diagnostics
            .iter()
            .filter(|found| !found.fixes.is_empty());
        pointers.extend(edited.map(|found| found.pointer.clone()));
        fixed.count += fixable(&before.diagnostics).saturating_sub(fixable(&after.diagnostics));
        let replaces = replaces(&before.diagnostics, &fixed.text);
        is_replaced |= replaces;
        fixed.is_rewritten |= replaces && !fixed.text.trim().starts_with('{');
        (fixed.text, before) = (next, after);
        // A plan in place of another one that is refused would lose the text that its author understands.
        let is_lost = is_replaced && before.diagnostics.has_errors();
        if !is_lost && is_better(&first, &before, &pointers, text, fixed.is_rewritten) {
            best = Some(fixed.clone());
        }
    }
    if let Some(best) = &mut best {
        best.count = best.count.max(1);
    }
    let failed = new_problems(&first, &before, &pointers, text);
    let failed = failed.map(|found| found.pointer.clone()).collect();
    Ok((best, failed))
}

/// The problems of `now` at the `pointers` of fixes of `text` that `first` does not have, and the errors about what a fix wrote.
fn new_problems<'a>(
    first: &'a CheckedText,
    now: &'a CheckedText,
    pointers: &'a [String],
    text: &'a str,
) -> impl Iterator<Item = &'a Diagnostic> {
    problems(&now.diagnostics).filter(move |found| {
        let mut known = problems(&first.diagnostics);
        pointers.contains(&found.pointer)
            && first.plan.is_some()
            && (found.is_error() && is_about_fix(found, text)
                || !known.any(|known| known.message == found.message))
    })
}

/// Returns true if `found` is about a reference that `text` does not have, so that a fix wrote it.
fn is_about_fix(found: &Diagnostic, text: &str) -> bool {
    let Some((reference, _)) = found
        .message
        .strip_prefix('`')
        .filter(|message| message.starts_with("${"))
        .and_then(|message| message.split_once('`'))
    else {
        return false;
    };
    let json = Value::text(reference).to_json();
    // A long reference is cut off in messages.
    let is_cut = reference.contains('…');
    !is_cut && !text.contains(reference) && !text.contains(json.trim_matches('"'))
}

/// Returns true if `now` has fewer problems than `first`, and no new one at the `pointers` of fixes.
fn is_better(
    first: &CheckedText,
    now: &CheckedText,
    pointers: &[String],
    text: &str,
    is_rewritten: bool,
) -> bool {
    if is_rewritten {
        return !now.diagnostics.has_problems();
    }
    let count = |text: &CheckedText| match &first.plan {
        Some(_) => (
            problems(&text.diagnostics).count(),
            fixable(&text.diagnostics),
        ),
        // A text that is not a plan was not checked, so only the diagnostics of its reading count.
        None => (text.of_reading, fixable(&text.diagnostics)),
    };
    // A text that becomes readable may have more problems than were found before, but a fix that adds errors is no help.
    let is_lost = (first.plan.is_some() && now.plan.is_none()) || first.errors() < now.errors();
    let has_new = new_problems(first, now, pointers, text).next().is_some();
    count(now) < count(first) && !is_lost && !has_new
}

/// Returns false if a plan that could run has become a different one.
fn is_same(before: &CheckedText, after: &CheckedText) -> bool {
    before.diagnostics.has_errors()
        || (before.dialect == after.dialect && before.plan == after.plan)
}

/// Returns true if an edit replaces all of `text` by JSON.
fn replaces(diagnostics: &Diagnostics, text: &str) -> bool {
    let all = text.trim();
    let is_all = |edit: &TextEdit| {
        let replaced = text.get(edit.span.start..edit.span.end);
        replaced.map(str::trim) == Some(all) && edit.replacement.starts_with('{')
    };
    let mut edits = diagnostics.iter().flat_map(|found| found.fixes.iter());
    edits.any(is_all)
}

fn problems(diagnostics: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|found| !found.is_note())
}

fn fixable(diagnostics: &Diagnostics) -> usize {
    let is_fixable = |found: &&Diagnostic| !found.fixes.is_empty();
    diagnostics.iter().filter(is_fixable).count()
}
