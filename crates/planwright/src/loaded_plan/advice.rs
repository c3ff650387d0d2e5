//! The advice of diagnostics as plans and edits: the plan that a hint spells, and what a hint says to write in place of a part.

mod renaming;

use std::ops::Range;

use planwright_core::{Code, Diagnostic, Diagnostics, Plan, TextEdit, Value};
use planwright_dialects::ReadOptions;

/// The maximum number of passes. There are several, because one fix may enable another.
pub(crate) const MAX_READINGS: usize = 16;

/// The plan that the last words of a hint of `diagnostics` spell as JSON.
pub(super) fn proposed_plan(diagnostics: &Diagnostics) -> Option<Plan> {
    diagnostics.iter().find_map(|found| {
        let (_, json) = found.help.as_deref()?.strip_suffix('`')?.rsplit_once('`')?;
        // The general form of a plan has words in place of values.
        Value::from_json(json).ok()?.as_object()?;
        planwright_dialects::parse(json.as_bytes(), &ReadOptions::new("proposal")).plan
    })
}

/// The plan of `text`, which is none, with the fixes of `diagnostics`.
pub(super) fn fixed_plan(diagnostics: &Diagnostics, text: &str) -> Option<Plan> {
    let mut text = diagnostics.apply_fixes(text)?;
    for _ in 0..MAX_READINGS {
        let read = planwright_dialects::parse(text.as_bytes(), &ReadOptions::new("proposal"));
        match read.diagnostics.apply_fixes(&text) {
            Some(next) if next != text => text = next,
            Some(_) | None => return read.plan,
        }
    }
    None
}

/// Adds the edits to errors, and to warnings of values of a wrong type, whose advice is the only one to write in their place.
pub(super) fn add_advised_edits(diagnostics: &mut Diagnostics, text: &str) {
    let renamed = renaming::starts(diagnostics);
    let is_refused = diagnostics.has_errors();
    for found in diagnostics.iter_mut() {
        let is_wrong = found.is_error()
            || found.code == Code::WrongReferenceType
            || is_refused && has_certain_meaning(found);
        let is_open = is_wrong && found.source.is_none() && found.fixes.is_empty();
        let span = found.span.filter(|_| is_open);
        let written = span.and_then(|span| text.get(span.start..span.end));
        if let Some(edits) = renaming::edits(found, &renamed, text).filter(|_| is_open) {
            found.fixes = edits.into();
        } else if let Some(plan) = advised_plan(found).filter(|_| is_open) {
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

/// Returns true for a warning about the output of a step whose advice has only one meaning. A plan without errors stays as it is.
fn has_certain_meaning(found: &Diagnostic) -> bool {
    let help = found.help.as_deref().unwrap_or_default();
    match found.code {
        Code::UnlistedPath => help.starts_with("the name of a step is its output: write `${"),
        Code::MalformedReference => help.starts_with("write `[\""),
        _ => false,
    }
}

/// The name of an argument, the last word of the text `before` its value, and the one in place of it.
fn advised_key<'a>(found: &'a Diagnostic, before: Option<&str>) -> Option<(Range<usize>, &'a str)> {
    let advice = found.help.as_deref()?.strip_prefix("write `")?;
    let (meant, written) = advice.split_once("` in place of `")?;
    let (written, _) = written.split_once('`')?;
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
    let renamed = renamed_reference(found);
    let (quoted, meant) = match &renamed {
        Some((reference, renamed)) => (*reference, renamed.as_str()),
        None => advised_words(found)?,
    };
    // The text of a string in JSON has escapes.
    let is_json = text.trim_start().starts_with(['{', '[']) || written.starts_with('"');
    let form = |text: &str| {
        let json = Value::text(text).to_json();
        let inside = json.get(1..json.len().saturating_sub(1))?;
        let is_plain = is_json || inside == text;
        is_plain.then(|| inside.to_owned())
    };
    let (quoted, meant) = (form(quoted)?, form(meant)?);
    if let Some(start) = quoted.strip_suffix('…').filter(|_| !meant.contains('…')) {
        return Some((cut_reference(written, start)?, meant));
    }
    let mut places = written.match_indices(&quoted);
    let (Some((at, _)), None) = (places.next(), places.next()) else {
        return None;
    };
    Some((at..at + quoted.len(), meant))
}

/// The bytes of the only reference in `written` that begins with `start`, which a message cuts off.
fn cut_reference(written: &str, start: &str) -> Option<Range<usize>> {
    let mut places = written.match_indices(start);
    let (Some((at, _)), None) = (places.next(), places.next()) else {
        return None;
    };
    let mut depth = 0_usize;
    let mut quote = None;
    for (within, sign) in written.get(at..)?.char_indices() {
        match (quote, sign) {
            (Some(open), sign) => quote = Some(open).filter(|open| *open != sign),
            (None, '\'' | '`') => quote = Some(sign),
            (None, '{') => depth += 1,
            (None, '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at..at + within + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The reference or the name that an error is about, and the one in place of it.
fn advised_words(found: &Diagnostic) -> Option<(&str, &str)> {
    let help = found.help.as_deref()?;
    if let Some(words) = other_letters(found, help) {
        return (found.code == Code::UnknownTool).then_some(words);
    }
    let (before, quoted) = found.message.split_once('`')?;
    let (quoted, _) = quoted.split_once('`')?;
    if found.code == Code::UnknownTool && help.starts_with("did you mean `") {
        return None;
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
    // The sign of another system before a reference goes with it.
    let is_foreign = found
        .message
        .ends_with("is a reference in other systems, and only text here");
    let is_reference =
        before.is_empty() && (meant.starts_with("${") || is_foreign && meant.contains("${"));
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

/// The reference to a step that does not exist, and the one to the step whose id has the same letters and digits.
fn renamed_reference(found: &Diagnostic) -> Option<(&str, String)> {
    let (name, meant) = other_letters(found, found.help.as_deref()?)?;
    let reference = found.message.strip_prefix('`')?;
    let (reference, _) = reference.split_once("` refers to the step `")?;
    let is_only = reference.matches(name).count() == 1;
    is_only.then(|| (reference, reference.replace(name, meant)))
}

/// The name of a tool or a step that does not exist, and the only one with the same letters and digits: one with others is another.
fn other_letters<'a>(found: &'a Diagnostic, help: &'a str) -> Option<(&'a str, &'a str)> {
    let meant = help.strip_prefix("did you mean `")?.strip_suffix("`?")?;
    let (_, name) = match found.code {
        Code::UnknownTool => found.message.split_once('`')?,
        // "`${a.b}` refers to the step `a`, which is not in the plan"
        Code::UnknownStep => found.message.split_once("` refers to the step `")?,
        _ => return None,
    };
    let (name, _) = name.split_once('`')?;
    let letters = |name: &str| -> String {
        let letters = name.chars().filter(|sign| sign.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    (letters(name) == letters(meant)).then_some((name, meant))
}

/// The JSON that the advice of an error about a whole value says to write in place of it, with the fields after it.
fn advised_value(found: &Diagnostic, written: &str) -> Option<(Range<usize>, String)> {
    let advice = found.help.as_deref()?.strip_prefix("write `")?;
    let (advice, _) = advice
        .split_once("`: ")
        .or_else(|| Some((advice.strip_suffix('`')?, "")))?;
    let json = match found.code {
        Code::WrongFieldType | Code::UnknownStep => {
            let (_, key) = found.pointer.rsplit_once('/')?;
            let json = advice.strip_prefix(&format!("\"{key}\": "))?;
            Value::from_json(&format!("{{\"{key}\": {json}}}")).ok()?;
            json
        }
        Code::InvalidLiteral => {
            Value::from_json(advice).ok()?;
            advice
        }
        // The output of a step, in place of its name.
        Code::MalformedReference if found.pointer == "/output" && advice.starts_with("[\"") => {
            let (list, _) = advice.split_once('`').unwrap_or((advice, ""));
            Value::from_json(list).ok()?;
            list
        }
        // An object that is a reference in another system.
        Code::MalformedReference if advice.starts_with("${") && written.starts_with('{') => {
            Value::from_json(written).ok()?;
            return Some((0..written.len(), Value::text(advice).to_json()));
        }
        _ => return None,
    };
    Value::from_json(written).ok()?;
    Some((0..written.len(), json.to_owned()))
}
