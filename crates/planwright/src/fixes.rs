//! Fixes of plans: the edits of diagnostics are applied as long as the text gets better.

use planwright_core::check::Policy;
use planwright_core::{Catalog, Code, Diagnostic, Diagnostics, TextEdit, Value};
use planwright_dialects::Dialect as _;
use planwright_dialects::native::Native;

use crate::loaded_plan::LoadedPlan;

/// The maximum number of passes. There are several, because one fix may enable another.
pub(crate) const MAX_READINGS: usize = 16;

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

    fn errors(&self) -> usize {
        self.diagnostics
            .iter()
            .filter(|found| found.is_error())
            .count()
    }
}

/// Applies the fixes of all diagnostics of `text`, which `load` reads; `None` if that makes nothing better.
///
/// The result has fewer problems than `text`, and none where something was fixed. A plan in place of a text that is none has no problem
/// at all. A plan that could run stays the same.
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
    let read = |text: &str| Ok(CheckedText::new(load(text)?, catalog, policy));
    let first = read(text)?;
    let mut best: Option<FixedText> = None;
    let mut fixed = FixedText {
        text: text.to_owned(),
        count: 0,
        is_rewritten: false,
    };
    let mut before = read(text)?;
    let mut pointers = Vec::new();
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
        fixed.is_rewritten |= rewrites(&before.diagnostics, &fixed.text);
        (fixed.text, before) = (next, after);
        if is_better(&first, &before, &pointers, fixed.is_rewritten) {
            best = Some(fixed.clone());
        }
    }
    let Some(mut best) = best else {
        return Ok(None);
    };
    best.count = best.count.max(1);
    // The replacement is on one line.
    if best.is_rewritten
        && let Some(plan) = &load(&best.text)?.plan
        && let Some(printed) = Native.print(plan).0
    {
        best.text = printed.trim_end().to_owned() + "\n";
    }
    Ok(Some(best))
}

/// Returns true if `now` has fewer problems than `first`, and no new one at the `pointers` of fixes.
fn is_better(
    first: &CheckedText,
    now: &CheckedText,
    pointers: &[String],
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
        // What a text that is no plan calls was not checked.
        None => (text.of_reading, fixable(&text.diagnostics)),
    };
    let is_lost = first.plan.is_some() && (now.plan.is_none() || first.errors() < now.errors());
    let is_new = |found: &Diagnostic| {
        let mut known = problems(&first.diagnostics);
        pointers.contains(&found.pointer)
            && first.plan.is_some()
            && !known.any(|known| known.message == found.message)
    };
    count(now) < count(first) && !is_lost && !problems(&now.diagnostics).any(is_new)
}

/// Returns false if a plan that could run has become a different one.
fn is_same(before: &CheckedText, after: &CheckedText) -> bool {
    before.diagnostics.has_errors()
        || (before.dialect == after.dialect && before.plan == after.plan)
}

/// Returns true if an edit replaces all of `text`, which is no JSON, by JSON.
fn rewrites(diagnostics: &Diagnostics, text: &str) -> bool {
    let all = text.trim();
    let is_all = |edit: &TextEdit| {
        let replaced = text.get(edit.span.start..edit.span.end);
        replaced.map(str::trim) == Some(all) && edit.replacement.starts_with('{')
    };
    let mut edits = diagnostics.iter().flat_map(|found| found.fixes.iter());
    !all.starts_with('{') && edits.any(is_all)
}

fn problems(diagnostics: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|found| !found.is_note())
}

fn fixable(diagnostics: &Diagnostics) -> usize {
    let is_fixable = |found: &&Diagnostic| !found.fixes.is_empty();
    diagnostics.iter().filter(is_fixable).count()
}

/// Adds the edits to errors about a reference or a tool whose advice is the only one to write in its place.
pub(crate) fn add_advised_edits(diagnostics: &mut Diagnostics, text: &str) {
    for found in diagnostics.iter_mut() {
        if let Some(edit) = advised_edit(found, text) {
            found.fixes = [edit].into();
        }
    }
}

fn advised_edit(found: &Diagnostic, text: &str) -> Option<TextEdit> {
    let is_open = found.is_error() && found.source.is_none() && found.fixes.is_empty();
    let span = found.span.filter(|_| is_open)?;
    let written = text.get(span.start..span.end)?;
    let (before, quoted) = found.message.split_once('`')?;
    let (quoted, _) = quoted.split_once('`')?;
    let (_, advice) = found.help.as_deref()?.split_once("write `")?;
    let (meant, rest) = advice.split_once('`')?;
    let rest = rest
        .split("; for the text itself")
        .next()
        .unwrap_or_default();
    let is_only = !rest.contains("`$") && !rest.contains(" or ");
    let is_reference = before.is_empty() && quoted.starts_with('$') && meant.starts_with("${");
    let is_tool = found.code == Code::UnknownTool;
    (is_only && (is_reference || is_tool)).then_some(())?;
    // The text of a string in JSON has escapes.
    let is_json = text.trim_start().starts_with(['{', '[']) || written.starts_with('"');
    let form = |text: &str| {
        let json = Value::text(text).to_json();
        let inside = json.get(1..json.len().saturating_sub(1))?;
        let is_plain = is_json || inside == text;
        is_plain.then(|| inside.to_owned())
    };
    let (quoted, meant) = (form(quoted)?, form(meant)?);
    let mut places = written.match_indices(&quoted);
    let (Some((at, _)), None) = (places.next(), places.next()) else {
        return None;
    };
    let start = span.start + at;
    Some(TextEdit::new(start..start + quoted.len(), meant))
}
