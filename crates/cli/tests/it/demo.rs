//! The demo does the main job on any folder.

use std::fs;

use serde_json::Value;

use crate::program::{planwright, stderr, stdout};

#[test]
fn the_demo_reports_on_real_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(
        folder.path().join("README.md"),
        "# Hello\nsecond\nthird\nfourth\n",
    )
    .unwrap();
    fs::write(
        folder.path().join("src/a.rs"),
        "// TODO: one\n// FIXME two\n".repeat(150),
    )
    .unwrap();
    let output = planwright(folder.path())
        .args(["demo", "--format", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["status"], "succeeded", "{report:#}");
    let calls = report["calls"].as_array().unwrap().len();
    assert!(calls >= 10, "{calls} calls");
    let found = &report["output"];
    assert_eq!(found["files_looked_at"], 2);
    assert_eq!(found["first_lines_of_readme"], "# Hello\nsecond\nthird\n");
    assert_eq!(found["long_files"][0]["path"], "src/a.rs");
    assert_eq!(found["marks_found"][0]["mark"], "TODO");
    assert_eq!(found["marks_found"][0]["lines"], 150);
}

#[test]
fn an_empty_folder_is_no_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let output = planwright(folder.path()).arg("demo").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let log = stderr(&output);
    assert!(log.contains("round trips"), "{log}");
}
