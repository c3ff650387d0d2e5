//! The program `workflow`, from outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use planwright_testkit::generated;
use serde_json::Value;

use crate::shapes::montage;

/// The workflow that the documentation shows.
const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../docs/workflows/montage.json"
);

fn workflow(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow"));
    command.current_dir(folder);
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sample() -> String {
    let document = montage(60, 1).document();
    format!("{}\n", serde_json::to_string_pretty(&document).unwrap())
}

#[test]
fn generated_sample() {
    generated::check("docs/workflows/montage.json", &sample());
}

#[test]
fn a_table_for_people_and_json_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let output = workflow(folder.path())
        .args([SAMPLE, "--width", "1,8"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.starts_with("montage-60-1: "), "{text}");
    assert!(text.contains("first-come"), "{text}");

    let output = workflow(folder.path())
        .args([
            SAMPLE, "--width", "1,8", "--format", "json", "--noise", "20%",
        ])
        .output()
        .unwrap();
    let measured: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(measured["schema"], "planwright.bench/1");
    assert_eq!(measured["noise"], 0.2);
    let widths = measured["widths"].as_array().unwrap();
    assert_eq!(widths.len(), 2);
    for order in ["barrier", "first_come", "ours"] {
        let alone = widths[0][order]["makespan_s"].as_f64().unwrap();
        assert_eq!(widths[0]["bound_s"], alone, "one place leaves no choice");
        let wide = widths[1][order]["makespan_s"].as_f64().unwrap();
        assert!(widths[1]["bound_s"].as_f64().unwrap() <= wide && wide < alone);
    }
}

fn check_refused(text: &str, args: &[&str], expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.json"), text).unwrap();
    let output = workflow(folder.path())
        .args(["w.json"])
        .args(args)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let talk = stderr(&output);
    assert!(talk.contains(expected), "`{expected}` is not in {talk}");
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    check_refused("{", &[], "`w.json` is not JSON");
    check_refused("{}", &[], "`schemaVersion`");
    let sample = sample();
    let gone = sample.replacen("\"id\": \"mProject_00002\"", "\"id\": \"gone\"", 1);
    check_refused(&gone, &[], "at /workflow/");
    check_refused(&sample, &["--width", "0"], "whole number from 1");
    check_refused(&sample, &["--noise", "200%"], "from `0%` to `100%`");
}
