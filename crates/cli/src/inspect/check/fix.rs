//! `planwright check --fix`: applies the fixes of diagnostics to plans in files.
//!
//! A fix never changes what a plan does: it is a text edit of a diagnostic, and preserves comments and formatting.

use std::path::Path;

use planwright::core::{Diagnostic, Diagnostics};
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
    let (fixed, count) = apply_fixes(&before, plan);
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
        return Ok(());
    }
    text_file::replace(&fixed, file)?;
    printer.status(&format!("fixed {problems} in {name}"));
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

/// The text with all fixes, and the number of problems that are fixed.
fn apply_fixes(text: &str, plan: &TextArguments) -> (String, usize) {
    let read =
        |text: &str| plan_file::parse_text(plan, String::new(), text.as_bytes(), None).result;
    let mut text = text.to_owned();
    let mut count = 0;
    let mut before = read(&text);
    for _ in 0..MAX_READINGS {
        let Some(next) = before.diagnostics.apply_fixes(&text) else {
            break;
        };
        let after = read(&next);
        if next == text || !is_same(&before, &after) {
            break;
        }
        let fixes = |found: &ParseResult| fixable(&found.diagnostics);
        count += fixes(&before).saturating_sub(fixes(&after));
        (text, before) = (next, after);
    }
    (text, count.max(1))
}

/// Returns false if a plan that could run has become a different one.
fn is_same(before: &ParseResult, after: &ParseResult) -> bool {
    let written = |read: &ParseResult| Native.print(read.plan.as_ref()?).0;
    before.diagnostics.has_errors()
        || (before.dialect == after.dialect && written(before) == written(after))
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
