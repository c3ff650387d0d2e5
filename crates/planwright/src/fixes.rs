//! Fixes of plans: the edits of diagnostics are applied as long as the text gets better.

use std::ops::Range;

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

/// Adds the edits to errors whose advice is the only one to write in their place.
pub(crate) fn add_advised_edits(diagnostics: &mut Diagnostics, text: &str) {
    for found in diagnostics.iter_mut() {
        let is_open = found.is_error() && found.source.is_none() && found.fixes.is_empty();
        let span = found.span.filter(|_| is_open);
        let written = span.and_then(|span| text.get(span.start..span.end));
        if let Some(plan) = advised_plan(found).filter(|_| is_open) {
            found.fixes = [TextEdit::new(0..text.len(), plan)].into();
        } else if let (Some(span), Some(written)) = (span, written)
            && let Some((range, replacement)) =
                advised_value(found, written).or_else(|| advised_part(found, written, text))
        {
            let range = span.start + range.start..span.start + range.end;
            found.fixes = [TextEdit::new(range, replacement)].into();
        } else if let Some(span) = span
            && let Some((range, name)) = advised_key(found, text.get(..span.start))
        {
            found.fixes = [TextEdit::new(range, name)].into();
        }
    }
}

/// The name of an argument, the last word of the text `before` its value, and the one in place of it.
fn advised_key<'a>(found: &'a Diagnostic, before: Option<&str>) -> Option<(Range<usize>, &'a str)> {
    let advice = found.help.as_deref()?.strip_prefix("write `")?;
    let (meant, written) = advice.strip_suffix('`')?.split_once("` in place of `")?;
    let before = before.filter(|_| found.code == Code::MissingArgument)?;
    let key = before.trim_end().strip_suffix([':', '='])?.trim_end();
    let key = key.strip_suffix(['"', '\'']).unwrap_or(key);
    let start = key.strip_suffix(written)?;
    let is_word = start.ends_with(|sign: char| sign.is_alphanumeric() || sign == '_');
    (!is_word).then_some((start.len()..key.len(), meant))
}

/// The plan in the native dialect that the advice for a reference of another system has.
fn advised_plan(found: &Diagnostic) -> Option<String> {
    let (_, plan) = found
        .help
        .as_deref()?
        .split_once("write the plan in the native dialect, `{")?;
    let plan = format!("{{{}", plan.strip_suffix('`')?);
    Value::from_json(&plan).is_ok().then_some(plan)
}

/// The part of `written` that an error is about, and what its advice says to write in place of that part.
fn advised_part(found: &Diagnostic, written: &str, text: &str) -> Option<(Range<usize>, String)> {
    let (quoted, meant) = advised_words(found)?;
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
    Some((at..at + quoted.len(), meant))
}

/// The reference or the name that an error is about, and the one in place of it.
fn advised_words(found: &Diagnostic) -> Option<(&str, &str)> {
    let help = found.help.as_deref()?;
    let (before, quoted) = found.message.split_once('`')?;
    let (quoted, _) = quoted.split_once('`')?;
    if found.code == Code::UnknownTool
        && let Some(meant) = help.strip_prefix("did you mean `")
    {
        let meant = meant.strip_suffix("`?")?;
        let letters = |name: &str| -> String {
            let letters = name.chars().filter(|sign| sign.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        // A tool whose name has other letters is another one.
        return (letters(quoted) == letters(meant)).then_some((quoted, meant));
    }
    let (_, advice) = help.split_once("write `")?;
    let (meant, rest) = advice.split_once('`')?;
    let rest = rest
        .split("; for the text itself")
        .next()
        .unwrap_or_default();
    if rest.contains("`$") || rest.contains(" or ") {
        return None;
    }
    let is_reference = before.is_empty() && meant.starts_with("${");
    match found.code {
        Code::UnknownTool => Some((quoted, meant)),
        // "the argument `a` takes text, but `${b}` gives a number"
        Code::WrongReferenceType if meant.starts_with("${") => {
            let (_, whole) = found.message.split_once("but `")?;
            let (whole, _) = whole.split_once("` gives ")?;
            Some((whole, meant))
        }
        Code::MalformedReference if is_reference => Some((quoted, meant)),
        _ if is_reference && quoted.starts_with('$') => Some((quoted, meant)),
        // "`===` is not an operator in `${a === b}`"
        Code::InvalidExpression if meant.starts_with("${") => {
            let (_, whole) = found.message.rsplit_once(" in `${")?;
            let start = found.message.len() - whole.len() - "${".len();
            let whole = found.message.get(start..)?.strip_suffix('`')?;
            Some((whole, meant))
        }
        _ => None,
    }
}

/// The JSON that the advice of an error about a whole value says to write in place of it, with the fields after it.
fn advised_value(found: &Diagnostic, written: &str) -> Option<(Range<usize>, String)> {
    let advice = found.help.as_deref()?.strip_prefix("write `")?;
    let (advice, _) = advice
        .split_once("`: ")
        .or_else(|| Some((advice.strip_suffix('`')?, "")))?;
    let json = match found.code {
        Code::WrongFieldType => {
            let (_, key) = found.pointer.rsplit_once('/')?;
            let json = advice.strip_prefix(&format!("\"{key}\": "))?;
            Value::from_json(&format!("{{\"{key}\": {json}}}")).ok()?;
            json
        }
        Code::InvalidLiteral => {
            Value::from_json(advice).ok()?;
            advice
        }
        _ => return None,
    };
    Value::from_json(written).ok()?;
    Some((0..written.len(), json.to_owned()))
}
