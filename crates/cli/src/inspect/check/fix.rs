//! `planwright check --fix`: applies the fixes of diagnostics to plans in files.
//!
//! A fix never changes what a plan does: it is a text edit of a diagnostic, and preserves comments and formatting, unless it replaces the whole
//! text because the plan is in another format.

use std::path::Path;

use planwright::core::{Diagnostic, Diagnostics, TextEdit};
use planwright::dialects::{Dialect as _, ParseResult, native::Native};
use planwright::terminal_text;
use similar::TextDiff;

use crate::args::{CheckArguments, Format, TextArguments};
use crate::error::CommandError;
use crate::run::plan_file;
use crate::runs::store::shell_word;
use crate::system::text_file;
use crate::view::printer::{Printer, counted};

/// The maximum number of passes. There are several, because one fix may enable another.
const MAX_READINGS: usize = 16;

/// The number of unchanged lines around a change in the diff.
const CONTEXT: usize = 2;

/// Fixes the plans of `arguments`, and prints a diff of each file that changes.
pub(super) fn fix(arguments: &CheckArguments, printer: Printer) -> Result<(), CommandError> {
    for plan in arguments.plans() {
        fix_file(&plan.text, arguments, printer)?;
    }
    Ok(())
}

fn fix_file(
    plan: &TextArguments,
    arguments: &CheckArguments,
    printer: Printer,
) -> Result<(), CommandError> {
    let file = plan_in_file(plan, "--fix")?;
    let bytes = plan_file::read_file(file, plan.max_size)
        .map_err(|error| CommandError::unreadable(file, &error))?;
    // The check reports a text that is not UTF-8 or too large.
    let Ok(before) = String::from_utf8(bytes) else {
        return Ok(());
    };
    let FixedText {
        text: fixed,
        count,
        is_rewritten,
    } = apply_fixes(&before, plan);
    if fixed == before {
        return Ok(());
    }
    let name = terminal_text::one_line(&file.display().to_string()).into_owned();
    let diff = TextDiff::from_lines(&before, &fixed);
    let mut diff = diff.unified_diff();
    let diff = diff
        .context_radius(CONTEXT)
        .header(&name, &name)
        .to_string();
    match arguments.format {
        Format::Text => printer.untrusted_data(&diff),
        // Programs read only the document of the check.
        Format::Json => printer.quote(diff.trim_end()),
    }
    let problems = counted(count, "problem");
    if arguments.dry_run {
        printer.status(&format!("would fix {problems} in {name}"));
    } else {
        text_file::replace(&fixed, file)?;
        printer.status(&format!("fixed {problems} in {name}"));
    }
    if is_rewritten {
        printer.status("note: the whole text is rewritten as JSON, without comments");
    }
    Ok(())
}

/// The file of a plan that `flag` reads again or writes.
///
/// # Errors
///
/// The plan comes from standard input or from the store.
pub(super) fn plan_in_file<'a>(
    plan: &'a TextArguments,
    flag: &str,
) -> Result<&'a Path, CommandError> {
    let name = plan.plan.display();
    if plan.plan == Path::new("-") {
        return Err(CommandError::new(format!(
            "`{flag}` needs a plan in a file, not on standard input"
        )));
    }
    if plan_file::find_stored(plan)?.is_some() {
        let error = CommandError::new(format!(
            "`{flag}` needs a plan in a file; `{name}` is stored"
        ));
        let word = shell_word(&name);
        let hint = format!(
            "`planwright show {word} --as source > FILE` writes it to one, `planwright save FILE` stores it again"
        );
        return Err(error.hint(hint));
    }
    Ok(&plan.plan)
}

/// A text with all fixes.
struct FixedText {
    text: String,
    /// The number of problems that are fixed.
    count: usize,
    /// True if the text was in another format, and is JSON now.
    is_rewritten: bool,
}

fn apply_fixes(text: &str, plan: &TextArguments) -> FixedText {
    let read =
        |text: &str| plan_file::parse_text(plan, String::new(), text.as_bytes(), None).result;
    let mut text = text.to_owned();
    let mut count = 0;
    let mut is_rewritten = false;
    let mut before = read(&text);
    for _ in 0..MAX_READINGS {
        let Some(next) = before.diagnostics.apply_fixes(&text) else {
            break;
        };
        let after = read(&next);
        if next == text || !is_same(&before, &after) || is_worse(&before, &after) {
            break;
        }
        let fixes = |found: &ParseResult| fixable(&found.diagnostics);
        count += fixes(&before).saturating_sub(fixes(&after));
        is_rewritten |= rewrites(&before.diagnostics, &text);
        (text, before) = (next, after);
    }
    // The replacement is on one line.
    if is_rewritten
        && !before.diagnostics.has_errors()
        && let Some(plan) = &before.plan
        && let Some(printed) = Native.print(plan).0
    {
        text = printed.trim_end().to_owned() + "\n";
    }
    FixedText {
        text,
        count: count.max(1),
        is_rewritten,
    }
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

/// Returns false if a plan that could run has become a different one.
fn is_same(before: &ParseResult, after: &ParseResult) -> bool {
    let written = |read: &ParseResult| Native.print(read.plan.as_ref()?).0;
    before.diagnostics.has_errors()
        || (before.dialect == after.dialect && written(before) == written(after))
}

/// Returns true if a text that was read as a plan has more errors than before, or is none any more.
fn is_worse(before: &ParseResult, after: &ParseResult) -> bool {
    let errors = |read: &ParseResult| {
        read.diagnostics
            .iter()
            .filter(|found| found.is_error())
            .count()
    };
    before.plan.is_some() && (after.plan.is_none() || errors(after) > errors(before))
}

fn fixable(diagnostics: &Diagnostics) -> usize {
    let is_fixable = |found: &&Diagnostic| !found.fixes.is_empty();
    diagnostics.iter().filter(is_fixable).count()
}

/// Prints a hint if `--fix` fixes some of the diagnostics.
pub(super) fn print_fix_hint(
    arguments: &CheckArguments,
    diagnostics: &Diagnostics,
    printer: Printer,
) {
    let count = fixable(diagnostics);
    if count == 0 || arguments.fix || plan_in_file(&arguments.plan.text, "--fix").is_err() {
        return;
    }
    // A note without a fix asks for nothing.
    let asks = |found: &&Diagnostic| !found.is_note() || !found.fixes.is_empty();
    let total = diagnostics.iter().filter(asks).count();
    let what = match total {
        1 => "this".to_owned(),
        total if count == total => "all of them".to_owned(),
        total => format!("{count} of {total}"),
    };
    printer.hint(format!("`planwright check --fix` fixes {what}"));
}
