//! `planwright check --fix`: applies the fixes of diagnostics to plans in files.
//!
//! A fix never changes what a plan does: it is a text edit of a diagnostic, and preserves comments and formatting, unless it replaces the whole
//! text because the plan is in another format.

use std::fmt::Write as _;
use std::path::Path;

use planwright::core::check::Policy;
use planwright::core::{Catalog, Diagnostic, Diagnostics};
use planwright::fixes::{FixedText, fixed_text};
use planwright::terminal_text;
use similar::udiff::UnifiedDiffHunk;
use similar::{DiffOp, DiffTag, TextDiff, group_diff_ops};

use crate::args::{CheckArguments, Format, PlanArguments, TextArguments};
use crate::error::CommandError;
use crate::run::plan_file;
use crate::runs::store::shell_word;
use crate::system::text_file;
use crate::view::printer::{Printer, counted};

/// The number of unchanged lines around a change in the diff.
const CONTEXT: usize = 2;

/// Fixes the plans of `arguments`, and prints a diff of each file that changes.
pub(super) fn fix(
    arguments: &CheckArguments,
    catalog: &Catalog,
    policy: &Policy,
    printer: Printer,
) -> Result<(), CommandError> {
    for plan in arguments.plans() {
        fix_file(&plan, (arguments, catalog, policy), printer)?;
    }
    Ok(())
}

fn fix_file(
    plan: &PlanArguments,
    (arguments, catalog, policy): (&CheckArguments, &Catalog, &Policy),
    printer: Printer,
) -> Result<(), CommandError> {
    let file = plan_in_file(&plan.text, "--fix")?;
    let Some((before, fixed)) = fixed_file(plan, catalog, policy)? else {
        return Ok(());
    };
    let FixedText {
        text,
        count,
        is_rewritten,
        ..
    } = fixed;
    let name = terminal_text::one_line(&file.display().to_string()).into_owned();
    let diff = unified_diff(&before, &text, &name);
    match arguments.format {
        Format::Text => printer.untrusted_data(&diff),
        // Programs read only the document of the check.
        Format::Json => printer.quote(diff.trim_end()),
    }
    let problems = counted(count, "problem");
    if arguments.dry_run {
        printer.status(&format!("would fix {problems} in {name}"));
    } else {
        text_file::replace(&text, file)?;
        printer.status(&format!("fixed {problems} in {name}"));
    }
    if is_rewritten {
        printer.status("note: the whole text is rewritten as JSON, without comments");
    }
    Ok(())
}

/// The unified diff from `before` to `after`, the two texts of the file `name`.
fn unified_diff(before: &str, after: &str, name: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = format!("--- {name}\n+++ {name}\n");
    for group in group_diff_ops(with_recomputed_positions(diff.ops()), CONTEXT) {
        let hunk = UnifiedDiffHunk::new(group, &diff, true);
        let _ = write!(text, "{hunk}");
    }
    text
}

/// Returns `ops` with recomputed positions. `similar` swaps deletions with insertions but keeps their positions in the other text, so
/// the header of a hunk that begins with one of them would be wrong.
fn with_recomputed_positions(ops: &[DiffOp]) -> Vec<DiffOp> {
    let (mut old_index, mut new_index) = (0, 0);
    let placed = ops.iter().map(|op| {
        let (old_len, new_len) = (op.old_range().len(), op.new_range().len());
        let op = match op.tag() {
            DiffTag::Equal => DiffOp::Equal {
                old_index,
                new_index,
                len: old_len,
            },
            DiffTag::Delete => DiffOp::Delete {
                old_index,
                old_len,
                new_index,
            },
            DiffTag::Insert => DiffOp::Insert {
                old_index,
                new_index,
                new_len,
            },
            DiffTag::Replace => DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            },
        };
        old_index += old_len;
        new_index += new_len;
        op
    });
    placed.collect()
}

/// Returns the text of the plan in a file and the text with all fixes; `None` if no fix applies.
fn fixed_file(
    plan: &PlanArguments,
    catalog: &Catalog,
    policy: &Policy,
) -> Result<Option<(String, FixedText)>, CommandError> {
    let file = &plan.text.plan;
    let bytes = plan_file::read_file(file, plan.text.max_size)
        .map_err(|error| CommandError::unreadable(file, &error))?;
    // `check` itself reports a text that is too large or not UTF-8.
    let Ok(before) = String::from_utf8(bytes) else {
        return Ok(None);
    };
    let load = |text: &str| {
        let parsed = plan_file::parse_text(&plan.text, String::new(), text.as_bytes(), None);
        plan_file::load(plan, parsed)
    };
    let fixed = fixed_text(&before, load, catalog, policy)?;
    Ok(fixed.map(|fixed| (before, fixed)))
}

/// Returns the file of a plan, for the option `flag`, which reads the file again or writes it.
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

fn fixable(diagnostics: &Diagnostics) -> usize {
    let is_fixable = |found: &&Diagnostic| !found.fixes.is_empty();
    diagnostics.iter().filter(is_fixable).count()
}

/// Prints a hint if `--fix` fixes some of the diagnostics.
pub(super) fn print_fix_hint(
    (arguments, catalog, policy): (&CheckArguments, &Catalog, &Policy),
    diagnostics: &Diagnostics,
    printer: Printer,
) -> Result<(), CommandError> {
    let count = fixable(diagnostics);
    if count == 0 || plan_in_file(&arguments.plan.text, "--fix").is_err() {
        return Ok(());
    }
    if arguments.fix {
        // What is left after `--fix` was left out.
        if !arguments.dry_run && diagnostics.has_errors() {
            printer.hint(match count {
                1 => "one fix was left out: it would lead to another problem".to_owned(),
                count => format!("{count} fixes were left out: they would lead to other problems"),
            });
        }
        return Ok(());
    }
    let Some((_, fixed)) = fixed_file(&arguments.plan, catalog, policy)? else {
        return Ok(());
    };
    let count = count.min(fixed.count);
    // Notes without a fix need no action, so they are not counted.
    let needs_action = |found: &&Diagnostic| !found.is_note() || !found.fixes.is_empty();
    let total = diagnostics.iter().filter(needs_action).count();
    let what = match total {
        1 => "this".to_owned(),
        total if count == total => "all of them".to_owned(),
        total => format!("{count} of {total}"),
    };
    printer.hint(format!("`planwright check --fix` fixes {what}"));
    Ok(())
}
