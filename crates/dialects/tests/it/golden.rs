//! Golden plans of every dialect: their meaning, their recognition, and their round trip.

use std::fs;
use std::path::{Path, PathBuf};

use planwright_core::plan::Source;
use planwright_core::{Diagnostics, Plan};
use planwright_dialects::{ReadOptions, dialect, parse};

use crate::meaning::meaning;

/// The files in `tests/golden/{folder}`, sorted by name.
pub(crate) fn cases(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json" || extension == "txt")
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

/// Compares `content` with the snapshot beside the case `file`.
pub(crate) fn assert_golden(file: &Path, content: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(file.parent().unwrap());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!(file.file_stem().unwrap().to_str().unwrap(), content);
    });
}

/// Returns true if `diagnostics` are empty, except for those about references of other systems: random texts hold some,
/// which do not change what a text means.
pub(crate) fn is_clean(diagnostics: &Diagnostics) -> bool {
    diagnostics
        .iter()
        .all(|one| one.message.contains("is a reference in other systems"))
}

/// The plan in `text`, which has no diagnostics.
#[track_caller]
pub(crate) fn sound_plan(text: &str, name: &str) -> Plan {
    let options = ReadOptions::new("test").in_dialect(name);
    let result = parse(text.as_bytes(), &options);
    assert!(
        is_clean(&result.diagnostics),
        "{:#?}\n{text}",
        result.diagnostics
    );
    result.plan.unwrap()
}

/// Prints `plan` in its own dialect and checks that nothing is lost, or that it is refused: the dialects of other
/// systems are read more widely than those systems read them, and printed so that those systems read them.
#[track_caller]
pub(crate) fn assert_survives_printing(plan: &Plan, name: &str) {
    let (printed, diagnostics) = dialect(name).unwrap().print(plan);
    let is_of_another = !matches!(name, "native" | "lines" | "acts");
    assert!(diagnostics.is_empty() || is_of_another, "{diagnostics:#?}");
    assert_eq!(
        printed.is_none(),
        diagnostics.has_errors(),
        "{diagnostics:#?}"
    );
    if let Some(printed) = printed {
        let again = sound_plan(&printed, name);
        let (again, plan) = (normalized(&again, name), normalized(plan, name));
        assert_eq!(meaning(&again), meaning(&plan), "{printed}");
    }
}

/// `plan` without what printing adds: titles, and dependencies that follow from references.
fn normalized(plan: &Plan, name: &str) -> Plan {
    let mut plan = plan.clone();
    if name == "mcp-cli" {
        plan.title = None;
    }
    for step in &mut plan.steps {
        if name == "mcp-cli" {
            step.title = None;
        }
        step.after.retain(|name| {
            let mut is_read = false;
            step.args.each_reference(&mut |reference| {
                is_read |= reference.reads().iter().any(|read| match &read.source {
                    Source::Step(id) | Source::Result(id) => *id.text() == name.text,
                    _ => false,
                });
            });
            !is_read
        });
        step.after.sort_by(|one, two| one.text.cmp(&two.text));
        step.after.dedup_by(|one, two| one.text == two.text);
    }
    plan
}

fn check(name: &str) {
    for file in cases(name) {
        let bytes = fs::read(&file).unwrap();
        let result = parse(&bytes, &ReadOptions::new("test"));
        let shown = file.display();
        assert!(
            result.diagnostics.is_empty(),
            "{shown}: {:#?}",
            result.diagnostics
        );
        assert_eq!(result.dialect, Some(name), "{shown}");
        let plan = result.plan.unwrap();
        assert_golden(&file, &meaning(&plan));
        assert_survives_printing(&plan, name);
    }
}

/// Checks a dialect that is only read: its plans are printed in the native one.
fn check_read_only(name: &str) {
    for file in cases(name) {
        let bytes = fs::read(&file).unwrap();
        let result = parse(&bytes, &ReadOptions::new("test"));
        let shown = file.display();
        let diagnostics = result.diagnostics;
        assert!(is_clean(&diagnostics), "{shown}: {diagnostics:#?}");
        assert_eq!(result.dialect, Some(name), "{shown}");
        let plan = result.plan.unwrap();
        assert_golden(&file, &meaning(&plan));
        assert_survives_printing(&plan, "native");
        let (printed, diagnostics) = dialect(name).unwrap().print(&plan);
        assert_eq!(printed, None);
        let help = diagnostics
            .iter()
            .next()
            .and_then(|diagnostic| diagnostic.help.as_deref());
        let wanted = "plans can be written in `native`, `lines`, `concierge`, `acts`, `mcp-cli`, `clear-ai`, `agentle`";
        assert_eq!(help, Some(wanted));
    }
}

#[test]
fn dialects_that_are_only_read() {
    for name in ["openai", "anthropic", "llm-compiler", "rewoo", "nestful"] {
        assert!(!dialect(name).unwrap().is_writable());
        check_read_only(name);
    }
}

#[test]
fn lines() {
    check("lines");
}

#[test]
fn concierge() {
    check("concierge");
}

#[test]
fn acts() {
    check("acts");
}

#[test]
fn mcp_cli() {
    check("mcp-cli");
}

#[test]
fn clear_ai() {
    check("clear-ai");
}

#[test]
fn agentle() {
    check("agentle");
}
