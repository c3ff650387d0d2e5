//! Every diagnostic of a check, from `tests/golden/findings/CODE-what.json`, each with a snapshot.
//!
//! A case is `{"dialect", "plan", "tools", "library", "given", "policy"}`; `text` stands in place of `plan`
//! if the layout matters, and with `"run": true` the plan is run as well. Only the plan is required.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use planwright::core::{Diagnostic, FixPart, Object, Severity, Value};

use crate::inspect::{Inspection, Subject};

/// The longest message and the longest help, in characters: a model reads them all.
const MAX_MESSAGE: usize = 300;

#[test]
fn every_problem_is_found_and_reported() {
    let mut problems = Vec::new();
    for file in cases() {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let (code, _) = stem.split_once('-').unwrap();
        let subject = subject(&fs::read_to_string(&file).unwrap(), stem);
        let inspection = subject.inspect();
        let mut blame = |problem: String| problems.push(format!("{stem}: {problem}"));
        if !inspection
            .codes()
            .iter()
            .any(|found| found.as_str() == code)
        {
            blame(format!("has {:?}", inspection.codes()));
        }
        for finding in &inspection.findings {
            check_style(finding, &inspection, &mut blame);
            mended_by_its_fix(finding, &subject, &mut blame);
        }
        let shown: Vec<String> = inspection
            .findings
            .iter()
            .map(|finding| show(finding, &inspection))
            .collect();
        assert_golden(&file, &shown.join("\n"));
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/findings");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

fn subject(case: &str, name: &str) -> Subject {
    let case = Value::from_json(case).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut subject = Subject::default();
    for (key, value) in case.as_object().unwrap() {
        match &**key {
            "plan" => subject.text = value.to_json().into_bytes(),
            "text" => subject.text = value.as_text().unwrap().into(),
            "dialect" => subject.dialect = Some(value.as_text().unwrap().to_owned()),
            "run" => subject.runs = value.as_bool().unwrap(),
            "tools" => subject.tools = Some(value.clone()),
            "library" => subject.library = object(value),
            "given" => subject.inputs = object(value),
            "policy" => subject.policy = object(value),
            _ => panic!("{name}: a case has no field `{key}`"),
        }
    }
    subject
}

fn object(value: &Value) -> Object {
    value.as_object().unwrap().clone()
}

/// Fails for a diagnostic that violates our style or points to a place that does not exist.
fn check_style(finding: &Diagnostic, inspection: &Inspection, blame: &mut impl FnMut(String)) {
    let texts = [Some(&finding.message), finding.help.as_ref()];
    for text in texts.into_iter().flatten() {
        if text.chars().next().is_none_or(char::is_uppercase) {
            blame(format!("begins with a capital: {text}"));
        }
        if text.ends_with('.') {
            blame(format!("ends with a full stop: {text}"));
        }
        if text.contains('\n') {
            blame(format!("breaks the line: {text}"));
        }
        if text.matches('`').count() % 2 != 0 {
            blame(format!("leaves a backtick open: {text}"));
        }
        if text.chars().count() > MAX_MESSAGE {
            blame(format!("is long: {text}"));
        }
    }
    if !leads_somewhere(inspection.text_of(finding), &finding.pointer) {
        blame(format!("nothing is at `{}`: {finding}", finding.pointer));
    }
}

/// Returns true if `pointer` exists in the JSON `text`, or in the JSON that a text inside of it holds.
fn leads_somewhere(text: &str, pointer: &str) -> bool {
    // A text in lines is not JSON; its pointers refer to the parsed plan.
    if !text.trim_start().starts_with(['{', '[']) {
        return true;
    }
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else {
        return pointer.is_empty();
    };
    let mut ends = pointer.match_indices('/').map(|(at, _)| at);
    value.pointer(pointer).is_some()
        || ends.any(|end| {
            let around = value.pointer(&pointer[..end]);
            let text = around.and_then(serde_json::Value::as_str);
            text.is_some_and(|text| leads_somewhere(text, &pointer[end..]))
        })
}

/// Blames a fix that leaves an error where it was.
fn mended_by_its_fix(finding: &Diagnostic, subject: &Subject, blame: &mut impl FnMut(String)) {
    let Some(fix) = finding.fix.as_ref().filter(|_| finding.source.is_none()) else {
        return;
    };
    let mut plan: serde_json::Value = serde_json::from_slice(&subject.text).unwrap();
    match fix.part {
        FixPart::Value => {
            *plan.pointer_mut(&fix.pointer).unwrap() = fix.replacement.as_str().into();
        }
        FixPart::Key => {
            let (around, key) = fix.pointer.rsplit_once('/').unwrap();
            let around = plan.pointer_mut(around).unwrap().as_object_mut().unwrap();
            let value = around.remove(&key.replace("~1", "/").replace("~0", "~"));
            around.insert(fix.replacement.clone(), value.unwrap());
        }
    }
    let mended = Subject {
        text: plan.to_string().into_bytes(),
        ..subject.clone()
    };
    let left = mended.inspect().findings;
    let is_there = |left: &Diagnostic| left.pointer == finding.pointer && left.is_error();
    if left.iter().any(is_there) {
        blame(format!("{fix:?} leaves {left:#?}"));
    }
}

fn show(finding: &Diagnostic, inspection: &Inspection) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut shown = format!("{severity} {}", finding.code);
    if let Some(source) = &finding.source {
        write!(shown, " in `{source}`").unwrap();
    }
    write!(shown, " at {:?}: {}", finding.pointer, finding.message).unwrap();
    if let Some(help) = &finding.help {
        write!(shown, "\n  help: {help}").unwrap();
    }
    if let Some(fix) = &finding.fix {
        let part = match fix.part {
            FixPart::Value => "",
            FixPart::Key => " as the key",
        };
        write!(
            shown,
            "\n  fix: {:?} at {:?}{part}",
            fix.replacement, fix.pointer
        )
        .unwrap();
    }
    if let Some(text) = inspection.text_at(finding) {
        write!(shown, "\n  text: {}", short(text)).unwrap();
    }
    shown
}

/// As much of `text` as shows which one it is.
fn short(text: &str) -> String {
    let (max_letters, around) = (100, 40);
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= max_letters {
        return text.to_owned();
    }
    let start: String = letters[..around].iter().collect();
    let end: String = letters[letters.len() - around..].iter().collect();
    format!("{start} … {end}")
}

/// Compares `content` with the snapshot that lies beside the case `file`.
fn assert_golden(file: &Path, content: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(file.parent().unwrap());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!(file.file_stem().unwrap().to_str().unwrap(), content);
    });
}
