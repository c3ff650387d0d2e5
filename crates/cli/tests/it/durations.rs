//! Durations end to end: `run --durations` measures, `show --estimate` predicts.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{planwright, stderr, stdout};

const TOOLS: &str = r#"{"tools": {"slow": {"sleep_ms": 40}, "quick": {"sleep_ms": 1}}}"#;
const PLAN: &str = r#"{"name": "p", "inputs": {"list": {"type": "array", "default": [1, 2, 3]}}, "steps": [
    {"id": "each", "for_each": "${inputs.list}", "tool": "quick", "args": {}},
    {"id": "last", "tool": "slow", "args": {}, "after": ["each"], "when": "${inputs.list[0] == 1}"}]}"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    fs::write(folder.path().join("plan.json"), PLAN).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str], exit: i32) -> Output {
    let output = planwright(folder).args(args).output().unwrap();
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{args:?}\n{log}");
    output
}

const RUN: [&str; 6] = [
    "run",
    "plan.json",
    "--simulate",
    "tools.json",
    "--durations",
    "d.json",
];

#[test]
fn a_run_learns_and_the_next_one_goes_on() {
    let folder = folder();
    let file = folder.path().join("d.json");
    for calls in [1, 2] {
        run(folder.path(), &RUN, 0);
        let stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(stored["schema"], "planwright.durations/1");
        assert_eq!(stored["tools"][0]["tool"], "quick");
        assert_eq!(stored["tools"][0]["calls"], 3 * calls);
        assert_eq!(stored["tools"][1]["tool"], "slow");
        assert!(stored["tools"][1]["mean_ns"].as_u64().unwrap() >= 40_000_000);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let estimate = ["show", "plan.json", "--estimate", "--durations", "d.json"];
    let text = stdout(&run(folder.path(), &estimate, 0));
    assert!(text.contains("critical path: "), "{text}");
    assert!(!text.contains("nothing is known of it"), "{text}");
}

#[test]
fn a_file_that_cannot_be_used_is_refused_before_anything_is_called() {
    let folder = folder();
    let file = folder.path().join("d.json");
    for (text, expected) in [
        (
            r#"{"schema": "planwright.durations/9", "tools": []}"#,
            "unknown version",
        ),
        (
            r#"{"schema": "planwright.durations/1", "tool": []}"#,
            "has an invalid format",
        ),
        ("[]", "not a file of durations"),
        ("{", "is not JSON"),
        (
            r#"{"schema": "planwright.durations/1", "tools": [], "tools": []}"#,
            "the key `tools` occurs twice",
        ),
    ] {
        fs::write(&file, text).unwrap();
        let log = stderr(&run(folder.path(), &RUN, 2));
        assert!(log.contains(expected), "`{expected}` is not in {log}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn an_estimate_names_its_path_and_what_it_assumes() {
    let folder = folder();
    let estimate = [
        "show",
        "plan.json",
        "--simulate",
        "tools.json",
        "--estimate",
    ];
    let text = stdout(&run(folder.path(), &estimate, 0));
    for expected in [
        "expected:      41.0 ms for 4 calls, at most 16 at the same time",
        "critical path: 41.0 ms",
        "each[0]",
        "step by step:  8.04 s",
        "a round trip to the model takes 2.00 s (`--round-trip`)",
        "the condition of `last` is true",
    ] {
        assert!(text.contains(expected), "`{expected}` is not in {text}");
    }
    let json = [
        &estimate[..],
        &[
            "--format",
            "json",
            "--max-parallel",
            "1",
            "--round-trip",
            "1s",
        ],
    ]
    .concat();
    let estimate: Value = serde_json::from_str(&stdout(&run(folder.path(), &json, 0))).unwrap();
    assert_eq!(estimate["schema"], "planwright.estimate/1");
    assert_eq!(estimate["expected_s"], 0.043);
    assert_eq!(estimate["critical_path_s"], 0.041);
    assert_eq!(estimate["step_by_step_s"], 4.043);
    assert_eq!(estimate["critical_path"][1]["at"], "last");
}
